"""Opens files supplied or editable by users: only plain files, of a reasonable size.

A named pipe could block forever, a device or kernel-generated file may be endless, and compressed
data may expand a thousandfold. All of these are rejected before reading, with an ``OSError``, so
that code that already reports unreadable files reports these too.
"""

from __future__ import annotations

import errno
import os
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import orjson

from evalbench.engine.errors import UsageError
from evalbench.engine.field_checks import DEEPEST, too_deep
from evalbench.engine.paths import make_private, write_file

MB = 1 << 20

SETTINGS = 4 * MB
"""Maximum bytes of a hand-written file: settings, suites, themes, prices."""

RECORD = 256 * MB
"""Maximum bytes of one record: a status file, or a line of a table."""

WHOLE = 1024 * MB
"""Maximum bytes of a file that is read as one value, or that is packed inside another."""

MOST_FILES = 50_000
"""Maximum files below a folder that is looked through: the task files of
lm-evaluation-harness are 14,000."""

_TOOLS_OWN = frozenset({"__pycache__", "node_modules"})
"""Folders that tools keep; hidden ones and virtual environments are theirs too."""

_UNPACKED = 256 * MB
_TIMES = 500
"""Compressed data may expand to this many bytes, or this many times its size if that is more."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_MADE_UP = ("/proc", "/sys")
"""Where the kernel generates files; some are endless, and some block until written."""


def check_plain(path: Path) -> None:
    """Check that reading a file will terminate.

    Raises:
        OSError: it does not exist, or is not a plain file.
    """
    # Checked before opening: opening some devices has side effects.
    _check(os.stat(path), path)


def open_plain(path: Path) -> IO[bytes]:
    """Open a file for reading bytes.

    Raises:
        OSError: it cannot be read, or is not a plain file.
    """
    check_plain(path)
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: SIM115
    try:
        _check(os.fstat(file.fileno()), path)  # it may have been replaced
    except OSError:
        file.close()
        raise
    return file


def read_plain(path: Path, most: int = WHOLE) -> bytes:
    """All bytes of a file.

    Raises:
        OSError: it cannot be read, is not a plain file, or has more than ``most`` bytes.
    """
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"it has more than {most // MB} MB", str(path))
        return file.read(size)


def read_text(path: Path, most: int = SETTINGS, encoding: str = "utf-8") -> str:
    """The text of a file.

    Raises:
        OSError: see :func:`read_plain`.
        UnicodeDecodeError: it is not text in this encoding.
    """
    return read_plain(path, most).decode(encoding).replace("\r\n", "\n")


def read_toml(path: Path, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
        OSError: see :func:`read_plain`.
        ValueError: it is not TOML (``tomllib.TOMLDecodeError``), or not text.
    """
    return parse_toml(read_text(path, encoding="utf-8-sig"), parse_float)


def own_toml(path: Path, parse_float: Callable[[str], Any] = float) -> Mapping[str, Any]:
    """The tables of one of the user's own files, read again only when it has changed.

    Raises:
        FileNotFoundError: there is none.
        OSError, ValueError: as :func:`read_toml`.
    """
    found = path.stat()
    return _own_toml(path, parse_float, (found.st_ino, found.st_size, found.st_mtime_ns))


@lru_cache(8)
def _own_toml(
    path: Path, parse_float: Callable[[str], Any], _version: tuple[int, int, int]
) -> Mapping[str, Any]:
    return MappingProxyType(read_toml(path, parse_float))


@contextmanager
def edited_toml(path: Path, *, replace_broken: bool = False) -> Iterator[Any]:
    """One of the user's own files as a ``tomlkit`` document, which is written at the end.

    What is not changed keeps its layout and comments. Without a file it is a new document; with
    ``replace_broken``, also if the file cannot be read.

    Raises:
        UsageError: it cannot be read or written.
    """
    import tomlkit

    try:
        document = tomlkit.parse(read_text(path, encoding="utf-8-sig"))
    except FileNotFoundError:
        document = tomlkit.document()
    except (OSError, ValueError, RecursionError) as error:
        if not replace_broken:
            raise UsageError(f"{path} cannot be read", why=str(error)) from None
        document = tomlkit.document()
    yield document
    try:
        make_private(path.parent)
        write_file(path, tomlkit.dumps(document).encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written", why=error.strerror or str(error)) from None


def parse_toml(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Parse TOML text.

    Raises:
        ValueError: it is not TOML (``tomllib.TOMLDecodeError``).
    """
    try:
        body = tomllib.loads(text, parse_float=parse_float)
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from None
    if too_deep(body):
        raise tomllib.TOMLDecodeError(f"it is nested more than {DEEPEST} deep")
    return body


def parse_json(data: bytes) -> Any:
    """Parse a JSON value.

    Raises:
        orjson.JSONDecodeError: it is not JSON, or nested too deeply.
    """
    value = orjson.loads(data)
    # There are rarely even this many.
    if data.count(b"[") + data.count(b"{") > DEEPEST and too_deep(value):
        raise orjson.JSONDecodeError(f"it is nested more than {DEEPEST} deep", "", 0)
    return value


def why_unread(error: Exception) -> str:
    """Why a file could not be read, as text: the system's own message if there is one."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def check_unpacked(size: int, packed: int) -> None:
    """Check that compressed data does not expand implausibly.

    Args:
        size: bytes unpacked so far.
        packed: size of the compressed file.

    Raises:
        ValueError: it is too much.
    """
    if size > max(_UNPACKED, _TIMES * packed):
        raise ValueError(
            f"{packed:,} bytes unpack to {size:,}: more than {_TIMES} times as many,"
            f" and more than {_UNPACKED // MB} MB"
        )


def files_below(folder: Path) -> list[Path]:
    """The files in a folder and below, in order, without those that tools keep there.

    Those are in hidden folders, virtual environments, ``node_modules`` and ``__pycache__``. Links
    to folders are not followed.

    Raises:
        UsageError: there are more than ``MOST_FILES``.
    """
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        below = Path(place)
        if below != folder and "pyvenv.cfg" in names:
            folders.clear()
            continue
        folders[:] = [one for one in folders if one[0] != "." and one not in _TOOLS_OWN]
        found += [path for name in names if (path := below / name).is_file()]
        if len(found) > MOST_FILES:
            raise UsageError(
                f"there are more than {MOST_FILES:,} files below {folder}",
                hint="name the folder that has only the files that are meant",
            )
    return sorted(found, key=Path.as_posix)


def lines_of(file: IO[bytes], path: Path, longest: int = RECORD) -> Iterator[bytes]:
    """The lines of a file, unchanged.

    Raises:
        OSError: one is longer than ``longest`` bytes.
    """
    while line := file.readline(longest + 1):
        if len(line) > longest:
            raise OSError(errno.EFBIG, f"a line has more than {longest // MB} MB", str(path))
        yield line


def _check(found: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = next((words for fits, words in _KINDS if fits(found.st_mode)), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a file", str(path))
    if found.st_dev in _made_up():
        raise OSError(errno.EINVAL, "it is made up by the kernel, not a file", str(path))


@cache
def _made_up() -> frozenset[int]:
    found = set()
    for folder in _MADE_UP:
        try:
            found.add(os.stat(folder).st_dev)
        except OSError:
            continue
    return frozenset(found - {os.stat("/").st_dev})
