"""Where and how evalbench writes: folders and files that only their user can read.

``EVALBENCH_HOME`` moves everything into one folder; otherwise the platform's standard locations
are used (platformdirs).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path
from typing import IO, Any

from evalbench.engine.errors import UsageError


def runs_dir() -> Path:
    """The parent folder of run folders.

    Raises:
        UsageError: this user has no home folder, and ``EVALBENCH_HOME`` is not set; also raised by
            :func:`cache_dir` and :func:`config_dir`.
    """
    home = _home()
    return home / "runs" if home else usual_runs_dir()


def usual_runs_dir() -> Path:
    """The default runs folder of a user."""
    return _usual("user_data_path") / "runs"


def cache_dir() -> Path:
    """Folder for downloads, converted weights and prepared data sets; safe to delete."""
    home = _home()
    return home / "cache" if home else _usual("user_cache_path")


def config_dir() -> Path:
    """Folder for the user's settings and override files."""
    home = _home()
    return home / "config" if home else _usual("user_config_path")


def runtime_dir() -> Path:
    """Folder for the sockets of this user's processes on this machine, whatever their home is.

    It is created, accessible to this user only.

    Raises:
        OSError: it cannot be created, or others have access to it.
    """
    own = os.environ.get("XDG_RUNTIME_DIR", "")
    if own and Path(own).is_dir():
        folder = Path(own) / "evalbench"
    else:
        folder = Path(tempfile.gettempdir()) / f"evalbench-{os.geteuid()}"
    make_private(folder)
    found = folder.lstat()
    if found.st_uid != os.geteuid() or found.st_mode & 0o077 or not stat.S_ISDIR(found.st_mode):
        raise PermissionError(errno.EPERM, "others have access to it", str(folder))
    return folder


def _home() -> Path | None:
    value = os.environ.get("EVALBENCH_HOME")
    if not value:
        return None
    path = absolute(expand(value))
    if path.is_file():
        raise UsageError(
            f"EVALBENCH_HOME names a file: {path}", hint="let it name a folder, or unset it"
        )
    return path


def _usual(which: str) -> Path:
    """One of the platform's standard folders, by the name of its function in platformdirs."""
    import platformdirs

    try:
        found: Path = getattr(platformdirs, which)("evalbench", appauthor=False)
    except (RuntimeError, KeyError) as error:
        raise _homeless(str(error)) from None
    # Older versions return the ``~`` that they could not expand.
    if not found.is_absolute():
        raise _homeless(f"{found} is no absolute path")
    return found


def _homeless(why: str) -> UsageError:
    return UsageError(
        "there is no home folder for this user", why=why, hint="set HOME or EVALBENCH_HOME"
    )


def expand(path: str | Path) -> Path:
    """A path as entered, with ``~`` and ``~user`` expanded.

    Raises:
        UsageError: the home folder is unknown.
    """
    try:
        return Path(path).expanduser()
    except (RuntimeError, KeyError):
        raise UsageError(
            f"the home folder in {str(path)!r} is not known",
            why="there is no such user, or HOME is not set and this user has no name",
            hint="give the whole path, or set HOME",
        ) from None


def absolute(path: Path) -> Path:
    """A path that is valid in every working directory.

    Raises:
        UsageError: it is relative, and the working directory was deleted.
    """
    try:
        return path.absolute()
    except FileNotFoundError:
        raise UsageError(
            f"{str(path)!r} is relative to a folder that is not there any more",
            why="the current folder was deleted",
            hint="change to another folder, or give the whole path",
        ) from None


def identity(found: os.stat_result) -> tuple[int, int]:
    """What identifies a file or folder regardless of its name: device and inode."""
    return found.st_dev, found.st_ino


def make_private(folder: Path) -> None:
    """Create a folder, and missing parents, accessible to this user only.

    The contents may include questions, answers and settings. An existing folder keeps its mode.

    Raises:
        OSError: it cannot be created.
    """
    if not folder.parent.exists():
        make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def open_private(path: Path, mode: str = "wb", buffering: int = -1) -> IO[Any]:
    """Open a file for writing that only its user can read (0600), even if it already exists.

    Args:
        path: the file.
        mode, buffering: see :func:`open`; binary.

    Raises:
        OSError: see :func:`open`.
    """
    return open(path, mode, buffering, opener=_opened_private)


def _opened_private(path: str, flags: int) -> int:
    number = os.open(path, flags, 0o600)
    # Not ours, or a file system without modes.
    with contextlib.suppress(OSError):
        os.fchmod(number, 0o600)
    return number


def write_file(path: Path, data: bytes) -> None:
    """Replace a file atomically, readable only by its owner.

    Raises:
        OSError: it cannot be written; the file is unchanged.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open_private(partial) as file:
            file.write(data)
        partial.replace(path)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
