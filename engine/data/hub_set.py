"""Any data set on the Hugging Face Hub as the data of a run: ``--data hf:OWNER/NAME``."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.benchmark import HubSet
from evalbench.engine.data.hub import ANSWER_S, fetching
from evalbench.engine.errors import DataError
from evalbench.engine.installed import require
from evalbench.engine.paths import make_private, open_private

_COMMIT = re.compile(r"[0-9a-f]{40}")
_EXAMPLES = "dev"
"""The split of solved examples, which some benchmarks read along with the questions."""


def load_splits(
    hub: HubSet, cache: Path, hint: str, progress: Any = None, *, beside: str = ""
) -> tuple[dict[str, Any], str]:
    """Download a split of a data set, and another one if the data set has it.

    Args:
        hub: the data set.
        cache: folder for downloads.
        hint: what to do if that fails.
        progress: as of a :class:`DataSource`.
        beside: the other split.

    Returns:
        The splits by name, the first one first, and their commit.

    Raises:
        DataError: they cannot be downloaded.
    """
    require("data", f"{hub.name} of the Hugging Face hub", "datasets")
    with fetching(hub.name, progress, hint):
        import datasets
        from huggingface_hub import HfApi
        from huggingface_hub.constants import HF_HUB_OFFLINE

        datasets.disable_progress_bars()
        commit = hub.revision or "main"
        # What is downloaded already can be read without a network, if its commit is given.
        cached = _COMMIT.fullmatch(hub.revision) and [
            *cache.glob(f"{hub.name.partition('/')[0]}___*")
        ]
        if not HF_HUB_OFFLINE and not cached:
            known = HfApi().dataset_info(hub.name, revision=hub.revision or None, timeout=ANSWER_S)
            commit = known.sha or commit
        config, names = hub.config or None, []
        if beside or not hub.split:
            names = datasets.get_dataset_split_names(hub.name, config, revision=commit)
        split = hub.split or ("test" if "test" in names else names[0])
        wanted: list[str] = [split]
        if beside in names and beside != split:
            wanted.append(beside)
        return {
            one: datasets.load_dataset(
                hub.name, config, split=one, revision=commit, cache_dir=str(cache)
            )
            for one in wanted
        }, commit


def fetch(hub: HubSet, cache: Path, progress: Any = None) -> tuple[Path, str]:
    """The rows as JSON lines in the cache, and their commit.

    A split ``dev`` is downloaded too and stored next to them. Runs in a child process: it imports
    the Hub's clients, which find the token in their environment.

    Raises:
        DataError: they cannot be downloaded, or contain what JSON cannot express (images).
    """
    hint = (
        "check name, ?config= and ?split=, and the network (evalbench keys set huggingface"
        " for a private one), or give a copy with --data PATH"
    )
    splits, commit = load_splits(hub, cache, hint, progress, beside=_EXAMPLES)
    key = hashlib.sha256(repr((hub, commit)).encode()).hexdigest()[:16]
    folder = cache / f"hub-{key}"
    make_private(folder)
    for one, rows in splits.items():
        _write(folder / f"{one}.jsonl", rows, hub)
    return folder / f"{next(iter(splits))}.jsonl", commit


def _write(path: Path, rows: Any, hub: HubSet) -> None:
    with open_private(path) as file:
        for number, row in enumerate(rows, 1):
            try:
                file.write(orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")
            except TypeError as error:
                raise DataError(
                    "the row holds what is no text, number or list",
                    path=hub.name,
                    line=number,
                    why=str(error),
                    hint="download the set and give its folder with --data PATH",
                ) from None
