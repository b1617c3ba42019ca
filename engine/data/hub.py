"""Single files of data sets on the Hugging Face Hub, at a fixed commit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalbench.engine.data.reading import Row, read_rows
from evalbench.engine.errors import DataError


@dataclass(frozen=True)
class PinnedFile:
    """A table on the Hub.

    Attributes:
        repository: OWNER/NAME of the data set.
        revision: its commit.
        path: the file's path in the repository.
    """

    repository: str
    revision: str
    path: str


ANSWER_S = 10.0
"""Time limit for a first small request: the Hub's clients try downloads six times, which takes
minutes if the Hub does not respond."""


def hub_trouble(error: Exception) -> str:
    """Why a request to the Hub failed, in a few words.

    Its clients raise a dozen unrelated types, and the reason is often only in their causes.
    """
    seen: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in seen:
        seen.append(one)
        one = one.__cause__ or one.__context__
    where = os.environ.get("HF_ENDPOINT", "").strip()
    hub = f"the hub at {where}" if where else "the hub"
    for cause in seen:
        status = getattr(getattr(cause, "response", None), "status_code", None)
        if isinstance(status, int):
            more = {401: ": a token is needed", 403: ": no access", 404: ": it is not there",
                    429: ": too many requests from here, for now"}  # fmt: skip
            return f"{hub} answered {status}{more.get(status, '')}"
    for cause in seen:
        kind = type(cause).__name__
        if "Timeout" in kind:
            return f"{hub} did not answer in time"
        if kind in ("ConnectError", "ConnectionError", "NewConnectionError", "gaierror"):
            return f"{hub} cannot be reached: {_first_line(cause)}"
    return f"{type(error).__name__}: {_first_line(error)}"


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), "")


@contextmanager
def fetching(
    name: str,
    progress: Any = None,
    hint: str = "check the network, or give a copy of the data with --data PATH",
) -> Iterator[None]:
    """Report that a data set is being downloaded, and give a hint if that fails.

    Args:
        name: OWNER/NAME of the data set.
        progress: called, if given.
        hint: what to do.

    Raises:
        DataError: for whatever the Hub's clients raise, which is a dozen unrelated types.
    """
    if progress:
        progress(f"fetching {name} from the Hugging Face hub", 0, None)
    try:
        yield
    except Exception as error:
        raise DataError(
            f"{name} could not be fetched from the Hugging Face hub",
            why=hub_trouble(error),
            hint=hint,
        ) from error


def fetch_rows(file: PinnedFile, progress: Any = None) -> Iterator[tuple[int, Row]]:
    """The rows of a file with their numbers; downloaded unless it is in the Hub's cache.

    A cached file is read without contacting the Hub, so that no network is needed.

    Raises:
        DataError: it cannot be downloaded.
    """
    from huggingface_hub import HfApi, hf_hub_download, try_to_load_from_cache

    path = try_to_load_from_cache(
        file.repository, file.path, revision=file.revision, repo_type="dataset"
    )
    if not isinstance(path, str):
        with fetching(file.repository, progress):
            HfApi().dataset_info(file.repository, revision=file.revision, timeout=ANSWER_S)
            path = hf_hub_download(
                file.repository, file.path, revision=file.revision, repo_type="dataset"
            )
    return read_rows(Path(path))
