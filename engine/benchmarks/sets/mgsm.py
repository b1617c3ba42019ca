"""mgsm: the same 250 word problems in eleven languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from evalbench.engine.benchmark import DataSource
from evalbench.engine.benchmarks.custom.file import CustomFile
from evalbench.engine.benchmarks.custom.rows import Numbered, Tables
from evalbench.engine.benchmarks.sets.known import known_set
from evalbench.engine.compat import override
from evalbench.engine.data.hub import ANSWER_S, fetching

_NAMED = re.compile(r"mgsm_(\w+)\.tsv")


class Mgsm(known_set("mgsm")):  # type: ignore[misc]
    """The published files are tables without a header, one per language."""

    @override
    def tables(self, file: CustomFile, source: DataSource) -> tuple[Tables, str, str]:
        if source.path is None:
            folder, revision = _fetched(file.hub, self.about.configs, source)
            return Tables(file.hub, None, self._of_files(sorted(folder))), file.hub, revision
        path = source.path
        files = sorted(path.glob("mgsm_*.tsv")) if path.is_dir() else [path]
        if not files or files[0].suffix != ".tsv":
            found: tuple[Tables, str, str] = super().tables(file, source)
            return found
        return Tables(str(path), path.parent, self._of_files(files)), path.name, ""

    def _of_files(self, files: list[Path]) -> Iterator[Numbered]:
        for path in files:
            named = _NAMED.fullmatch(path.name)
            yield from self.flat(partial(_read_tsv, path), named[1] if named else "", str(path))


def _read_tsv(path: Path) -> Iterator[Numbered]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        question, _, answer = line.rpartition("\t")
        if line.strip():
            yield number, {"question": question, "answer_number": answer}


def _fetched(hub: str, languages: tuple[str, ...], source: DataSource) -> tuple[list[Path], str]:
    """The files, and their commit: the newest one when they are first downloaded.

    Files that are in the Hub's cache are taken from there, without a network.
    """
    names = [f"mgsm_{one}.tsv" for one in languages]
    if held := _cached(hub, names):
        return [held / name for name in names], held.name
    with fetching(hub, source.progress):
        from huggingface_hub import HfApi, hf_hub_download

        commit = HfApi().dataset_info(hub, timeout=ANSWER_S).sha or "main"
        return [
            Path(hf_hub_download(hub, name, repo_type="dataset", revision=commit)) for name in names
        ], commit


def _cached(hub: str, names: list[str]) -> Path | None:
    """The newest commit in the Hub's cache that has all these files, as a folder."""
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.file_download import repo_folder_name

    folder = Path(HF_HUB_CACHE) / repo_folder_name(repo_id=hub, repo_type="dataset") / "snapshots"
    held = [one for one in folder.glob("*") if all((one / name).is_file() for name in names)]
    return max(held, key=lambda one: one.stat().st_mtime, default=None)
