"""Weights from the Hugging Face hub, with actionable errors.

The hub's own client does the work: its cache is shared with other programs, short interruptions are
bridged, complete files are kept, and ``HF_ENDPOINT``, ``HF_HOME``, ``HF_TOKEN`` and
``HF_HUB_OFFLINE`` have their usual meaning.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import json
import logging
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from huggingface_hub import (
    DryRunFileInfo,
    HfApi,
    constants,
    hf_hub_download,
    snapshot_download,
)
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    NotASafetensorsRepoError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from tqdm import tqdm

from evalbench.engine.errors import AccessDenied, NoSuchModel, ProviderError, WorkerFailed
from evalbench.providers.local.catalogue import HubModel
from evalbench.providers.local.progress import ReportProgress
from evalbench.providers.local.weight_headers import safetensors_shapes

_WANTED = ("*.json", "*.safetensors", "*.jinja", "*.txt", "*.model")
_COMMIT = re.compile("[0-9a-f]{40}")
_UNWANTED = ("*/*", "consolidated*")
_PART = re.compile(r"-\d{5}-of-\d{5}\.gguf$")
_QUANTISED = re.compile(r"[.-]((?:I?Q\d|B?F\d\d)\w*)\.gguf$", re.IGNORECASE)
_SHOWN = 12
_ANSWER_S = 10.0
"""Time limit for the first, small request. It is made once; the client would repeat its own for
half a minute if nothing listens, and for minutes if nothing answers."""

_RETRYING = ("huggingface_hub.utils._http", "huggingface_hub.file_download")
"""Loggers that warn when the client tries a request again."""


def fetch(model: HubModel, progress: ReportProgress) -> Path:
    """Download a repository's configuration, tokenizer and safetensors, or one GGUF file.

    Returns:
        The snapshot's folder, whose name is the commit of ``model.revision``, or the GGUF file in
        it.

    Raises:
        AccessDenied: the repository is gated, or the token may not read it.
        NoSuchModel: no such repository or revision, or it has no usable weights.
        WorkerFailed: the hub cannot be reached, or the download cannot be stored.
    """
    if _COMMIT.fullmatch(model.revision) and (cached := at_hand(model)):
        return cached
    bar = _reporting(f"downloading {model.repo}", progress)
    file = ""
    try:
        _look(model)
    except OSError as error:
        # If the hub cannot be reached, use what is here.
        refused = isinstance(error, (RepositoryNotFoundError, GatedRepoError))
        if not refused and (cached := at_hand(model)):
            return cached
        raise explain(error, model) from error
    try:
        with _retries_reported(model, progress):
            file, wanted = _plan(model)
        _need_space(model, wanted)
    except ProviderError:
        raise
    except Exception as error:
        raise explain(error, model) from error
    try:
        with _retries_reported(model, progress):
            folder = Path(snapshot_download(**_request(model, file), tqdm_class=bar))
    except Exception as error:
        # The client does not wrap errors of its HTTP library; all of them mean that the download
        # failed.
        raise explain(error, model) from error
    if file:
        return folder / file
    if missing := _missing(folder):
        raise _not_usable(model, missing)
    return folder


def _look(model: HubModel) -> None:
    """Ask the hub once for the repository, before any request that its client would repeat.

    Raises:
        OSError: it is not, or the hub gives no answer in :data:`_ANSWER_S`.
    """
    try:
        HfApi().model_info(model.repo, revision=model.revision, timeout=_ANSWER_S)
    except OSError:
        raise
    except Exception as error:
        # What the client's HTTP library raises has no type in common with anything else.
        raise ConnectionError(_cause(error)) from error


@contextlib.contextmanager
def _retries_reported(model: HubModel, progress: ReportProgress) -> Iterator[None]:
    """Report each time that the client tries a request again; it only logs that."""

    class Retrying(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            progress(f"trying again to download {model.repo}: no answer", 0, None, "")

    handler = Retrying(logging.WARNING)
    loggers = [logging.getLogger(name) for name in _RETRYING]
    before = [(logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.WARNING)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, (level, propagate) in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate


def _plan(model: HubModel) -> tuple[str, list[DryRunFileInfo]]:
    """The requested GGUF file, if any, and all files that are needed."""
    wanted = snapshot_download(**_request(model), dry_run=True)
    if not model.gguf and any(info.filename.endswith(".safetensors") for info in wanted):
        return "", wanted
    files = _ggufs(model)
    if not model.gguf and not files:
        return "", wanted
    file = choose_gguf(model, files)
    return file, snapshot_download(**_request(model, file), dry_run=True)


def _ggufs(model: HubModel) -> list[str]:
    files = HfApi().list_repo_files(model.repo, revision=model.revision)
    return sorted(name for name in files if name.endswith(".gguf"))


def _need_space(model: HubModel, wanted: Iterable[DryRunFileInfo]) -> None:
    """Refuse a download that does not fit on the disk.

    Raises:
        WorkerFailed: with the space needed and available.
    """
    needed = sum(info.file_size or 0 for info in wanted if info.will_download)
    folder = Path(constants.HF_HUB_CACHE)
    there = next(path for path in (folder, *folder.parents) if path.is_dir())
    free = shutil.disk_usage(there).free
    if needed > free:
        raise WorkerFailed(
            f"no room for {model.repo} in {folder}",
            why=f"its files take {needed / 1e9:.2f} GB, and {free / 1e9:.2f} GB are free",
            hint=f"free {(needed - free) / 1e9:.2f} GB, or point HF_HOME at a larger disk",
        )


def choose_gguf(model: HubModel, files: Iterable[str]) -> str:
    """Select one of a repository's files.

    Raises:
        NoSuchModel: none matches, or several do; lists the names to choose from.
    """
    found = sorted(files)
    exact = [name for name in found if name in (model.gguf, f"{model.gguf}.gguf")]
    matching = exact or [name for name in found if model.gguf.lower() in name.lower()]
    if matching and all(map(_PART.search, matching)):
        raise NoSuchModel(
            f"{model.repo} cannot be used: {matching[0]} is a part of a file",
            why="only GGUF files that are whole are converted",
            hint="choose a smaller quantisation, or the repository that has safetensors",
        )
    if len(matching) == 1:
        return matching[0]
    names = ", ".join(found[:_SHOWN]) + (" and others" if len(found) > _SHOWN else "")
    what = "several GGUF files" if matching else f"no GGUF file {model.gguf!r}"
    raise NoSuchModel(
        f"{model.repo} has {what}",
        why=f"it has {names or 'none'}",
        hint=f"name one of them behind a colon: local/{model.repo}:"
        + (_QUANTISED.findall(found[0]) or [found[0]])[0]
        if found
        else "",
    )


def _not_usable(model: HubModel, missing: str) -> NoSuchModel:
    return NoSuchModel(
        f"{model.repo} cannot be used: {missing} is not in the repository",
        why="only models saved as safetensors are loaded",
        hint="look for a repository with config.json and .safetensors files",
    )


def describe(model: HubModel) -> tuple[dict[str, Any], list[list[int]], int | None]:
    """What a repository says about a model, without downloading its weights.

    Returns:
        Its configuration, the shapes of all tensors, and the size of its safetensors in bytes; 0 if
        they are already here.

    Raises:
        AccessDenied, NoSuchModel, WorkerFailed: as for :func:`fetch`.
    """
    if model.gguf:
        raise _not_described(model, model.gguf)
    folder = at_hand(model)
    if folder and folder.is_dir():
        config = json.loads((folder / "config.json").read_bytes())
        files = sorted(folder.glob("*.safetensors"))
        return config, [shape for file in files for shape in safetensors_shapes(file)], 0
    try:
        _look(model)
        path = hf_hub_download(model.repo, "config.json", revision=model.revision)
        config = json.loads(Path(path).read_bytes())
        metadata = HfApi().get_safetensors_metadata(model.repo, revision=model.revision)
    except NotASafetensorsRepoError:
        raise _not_described(model, "model.safetensors") from None
    except LocalEntryNotFoundError as error:
        raise explain(error, model) from error
    except EntryNotFoundError:
        raise _not_described(model, "config.json") from None
    except Exception as error:
        raise explain(error, model) from error
    tensors = [
        tensor for file in metadata.files_metadata.values() for tensor in file.tensors.values()
    ]
    size = sum(end - begin for begin, end in (tensor.data_offsets for tensor in tensors))
    return config, [list(tensor.shape) for tensor in tensors], size


def _not_described(model: HubModel, missing: str) -> ProviderError:
    try:
        files = _ggufs(model)
    except Exception as error:
        return explain(error, model)
    if not files:
        return _not_usable(model, missing)
    return WorkerFailed(
        f"how large {model.repo} is will be known when its GGUF file is here",
        hint="a run downloads it",
    )


def _request(model: HubModel, file: str = "") -> dict[str, Any]:
    """Arguments for a download: one file, or everything that safetensors need."""
    chosen = [glob.escape(file)] if file else [] if model.gguf else list(_WANTED)
    return {
        "repo_id": model.repo,
        "revision": model.revision,
        "allow_patterns": chosen,
        "ignore_patterns": None if file else list(_UNWANTED),
    }


def at_hand(model: HubModel) -> Path | None:
    """What :func:`fetch` would return, if all of it is already here.

    Without a network the client would find it only after half a minute of retries.
    """
    with contextlib.suppress(LocalEntryNotFoundError):
        folder = Path(snapshot_download(**_request(model), local_files_only=True))
        if not model.gguf and not _missing(folder):
            return folder
    with contextlib.suppress(LocalEntryNotFoundError, NoSuchModel):
        # For a repository with GGUF files, no other file was fetched.
        request = {**_request(model), "allow_patterns": []}
        folder = Path(snapshot_download(**request, local_files_only=True))
        files = [file.relative_to(folder).as_posix() for file in folder.rglob("*.gguf")]
        return folder / choose_gguf(model, files)
    return None


def explain(error: Exception, model: HubModel) -> ProviderError:
    """Interpret a failed download, with a hint."""
    name = model.repo
    if isinstance(error, GatedRepoError):
        return AccessDenied(
            f"{name} is gated",
            why="its owner gives access on request, and this token has none"
            if os.environ.get("HF_TOKEN")
            else "its owner gives access on request, and no token was found",
            hint=f"ask for access on the model's page ({_page(model)}), then set HF_TOKEN "
            "or run `hf auth login`",
        )
    if isinstance(error, RevisionNotFoundError):
        return NoSuchModel(
            f"{name} has no revision {model.revision!r}",
            hint="use a branch, tag or commit of the repository, or leave @revision out",
        )
    if isinstance(error, RepositoryNotFoundError):
        return NoSuchModel(
            f"there is no repository {name} on the hub, or it is private",
            hint="check the spelling; for a private repository set HF_TOKEN or run `hf auth login`",
        )
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return WorkerFailed(
            f"{name} could not be stored: no space left",
            why=str(error),
            hint="free some space, or point HF_HOME at a larger disk",
        )
    if isinstance(error, HfHubHTTPError) and error.response is not None:
        status = error.response.status_code
        if status in (401, 403):
            return AccessDenied(
                f"the hub refuses access to {name} (HTTP {status})",
                hint="check HF_TOKEN, or run `hf auth login` again",
                status=status,
            )
        if status == 429 or status >= 500:
            return WorkerFailed(
                f"the hub does not serve {name} for now",
                why=f"HTTP {status}",
                hint="try again later",
            )
    if isinstance(error, (LocalEntryNotFoundError, ConnectionError)):
        return WorkerFailed(
            f"{name} is not on this machine and the hub cannot be reached",
            why=_cause(error),
            hint="check the connection (HF_ENDPOINT names another hub, HF_HUB_OFFLINE=1 forbids "
            "it), or give a folder: local/./folder",
        )
    return WorkerFailed(
        f"the download of {name} was cut",
        why=f"{type(error).__name__}: {_cause(error)}",
        hint="start again; complete files are kept",
    )


def _page(model: HubModel) -> str:
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    return f"{endpoint}/{model.repo}"


def _cause(error: Exception) -> str:
    cause = error.__cause__ or error
    line = (str(cause).strip().splitlines() or [type(cause).__name__])[-1]
    if isinstance(cause, HfHubHTTPError) and cause.response is not None:
        return f"HTTP {cause.response.status_code}: {line}"
    return line


def _missing(folder: Path) -> str:
    """The first file that a model needs and ``folder`` lacks, or an empty string."""
    if not (folder / "config.json").is_file():
        return "config.json"
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return "" if (folder / "model.safetensors").is_file() else "model.safetensors"
    shards = set(json.loads(index.read_text())["weight_map"].values())
    return next((name for name in sorted(shards) if not (folder / name).is_file()), "")


def _reporting(shown: str, progress: ReportProgress) -> type[Any]:
    """A progress bar class that reports bytes instead of drawing."""

    class Reporting(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            kwargs["disable"] = False
            super().__init__(*args, **kwargs)

        def display(self, msg: str | None = None, pos: int | None = None) -> None:
            if self.unit == "B" and self.total and self.n:
                progress(shown, int(self.n), int(self.total), "B")

        def clear(self, nolock: bool = False) -> None:
            pass

        def close(self) -> None:
            self.disable = True

    return Reporting
