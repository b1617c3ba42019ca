"""mgsm: the same 250 word problems in eleven languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from evalbench.engine.benchmark import DataSource
from evalbench.engine.benchmarks.custom.file import CustomFile
from evalbench.engine.benchmarks.custom.rows import Numbered, Tables
from evalbench.engine.benchmarks.sets.toml_sets import known_set
from evalbench.engine.compat import override

_NAMED = re.compile(r"mgsm_(\w+)\.tsv")


class Mgsm(known_set("mgsm")):  # type: ignore[misc]
    """The authors' files are tables without a header, one per language."""

    @override
    def tables(self, file: CustomFile, source: DataSource) -> tuple[Tables, str, str]:
        path = source.path
        if path and (files := _without_headers(path)):
            return Tables(str(path), path.parent, self._of_files(files)), path.name, ""
        found: tuple[Tables, str, str] = super().tables(file, source)
        return found

    def _of_files(self, files: list[Path]) -> Iterator[Numbered]:
        for path in files:
            named = _NAMED.fullmatch(path.name)
            yield from self.flat(partial(_read_tsv, path), named[1] if named else "", str(path))


def _without_headers(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("mgsm_*.tsv"))
    return [path] if path.suffix == ".tsv" else []


def _read_tsv(path: Path) -> Iterator[Numbered]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        question, _, answer = line.rpartition("\t")
        if line.strip():
            yield number, {"question": question, "answer_number": answer}
