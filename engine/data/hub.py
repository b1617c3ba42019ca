"""Single files of data sets on the Hugging Face hub, at a commit that never changes."""

from __future__ import annotations

from collections.abc import Iterator
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


def fetch_rows(file: PinnedFile, progress: Any = None) -> Iterator[tuple[int, Row]]:
    """The rows of a file with their numbers; fetched unless the hub's cache has it.

    Raises:
        DataError: it cannot be fetched.
    """
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    where = {"revision": file.revision, "repo_type": "dataset"}
    try:
        held = try_to_load_from_cache(file.repository, file.path, **where)
        if not isinstance(held, str):
            if progress:
                progress(f"fetching {file.repository} from the Hugging Face hub", 0, None)
            held = hf_hub_download(file.repository, file.path, **where)
    except Exception as error:  # the hub's clients raise a dozen unrelated types
        raise DataError(
            f"{file.repository} could not be fetched from the Hugging Face hub",
            why=f"{type(error).__name__}: {error}",
            hint="check the network, or give a copy of the data with --data PATH",
        ) from error
    return read_rows(Path(held))
