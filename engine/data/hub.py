"""Single files of data sets on the Hugging Face hub, at a commit that never changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalbench.engine.data.reading import Row, read_rows
from evalbench.engine.errors import DataError


@dataclass(frozen=True)
class PinnedFile:
    """A table on the hub.

    Attributes:
        repository: OWNER/NAME of a data set.
        revision: its commit.
        path: of the file in it.
    """

    repository: str
    revision: str
    path: str


@contextmanager
def fetching(
    name: str,
    progress: Any = None,
    hint: str = "check the network, or give a copy of the data with --data PATH",
) -> Iterator[None]:
    """Says that a data set is fetched, and what to do where that fails.

    Args:
        name: OWNER/NAME of the data set.
        progress: told, if there is one.
        hint: what to do.

    Raises:
        DataError: for whatever the hub's clients raise, which is a dozen unrelated types.
    """
    if progress:
        progress(f"fetching {name} from the Hugging Face hub", 0, None)
    try:
        yield
    except Exception as error:
        raise DataError(
            f"{name} could not be fetched from the Hugging Face hub",
            why=f"{type(error).__name__}: {error}",
            hint=hint,
        ) from error


def fetch_rows(file: PinnedFile, progress: Any = None) -> Iterator[tuple[int, Row]]:
    """The rows of a file with their numbers; fetched unless the hub's cache has it.

    A file in the cache is read without asking the hub, so that no network is needed.

    Raises:
        DataError: it cannot be fetched.
    """
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    where = {"revision": file.revision, "repo_type": "dataset"}
    held = try_to_load_from_cache(file.repository, file.path, **where)
    if not isinstance(held, str):
        with fetching(file.repository, progress):
            held = hf_hub_download(file.repository, file.path, **where)
    return read_rows(Path(held))
