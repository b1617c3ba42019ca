"""The journal's tables, their version, and how to open it.

Row numbers carry structure, so no table needs a second index::

    sample.row           1, 2, 3 … in the order of the data
    call.id, reply.id    sample.row << 20 | slot.id
    batched.call         a call.id
    reused.call          a call.id
    attempts.call        a call.id
    score.id             sample.row << 10 | epoch

A *slot* is the rest of a call's key: epoch, role, model, step, repeat and re-ask number; a run
has few of them. Times are milliseconds since the run's creation. Repeated texts (tags, values,
prompt shapes) are interned in ``name``; ``score.detail`` is such a number too, or a compressed
text if it is long. Money is in whole picodollars (10⁻¹² US dollars).

Version 2 added ``batch`` and ``batched``: the provider batches, and which call is in which line
of which batch. A call is in at most one batch, the newest it was sent in.

Version 3 added ``reused``: replies reused from earlier runs, each with the run (a ``name``) and
the call's number there.

Version 4 added no table: sums over all rows may be stored in ``run``, see ``sums``, and any
write of a row deletes them.

Version 5 added ``attempts``: calls that were attempted but not answered, so that an engine after
a crash knows which of them were in flight.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
import tempfile
from pathlib import Path

from evalbench.engine.errors import (
    NO_SPACE,
    JournalError,
    JournalFull,
    JournalTooNew,
    system_limit,
)
from evalbench.engine.files import check_plain

VERSION = 5
FILE = "journal.db"
SLOT_BITS = 20
EPOCH_BITS = 10

_HEAD = 100
"""Minimum size of an SQLite file in bytes."""
MOUNTS = Path("/proc/mounts")

_TABLES = """
CREATE TABLE run (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE blob (hash BLOB PRIMARY KEY, kind TEXT NOT NULL, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE slot (
    id INTEGER PRIMARY KEY, epoch INTEGER, role TEXT, model TEXT, step TEXT,
    repeat INTEGER, reask INTEGER, UNIQUE (epoch, role, model, step, repeat, reask)
);
CREATE TABLE sample (
    row INTEGER PRIMARY KEY, hash BLOB, occurrence INTEGER, tags INTEGER, body BLOB
);
CREATE TABLE call (id INTEGER PRIMARY KEY, hash BLOB, sent INTEGER, shape INTEGER, body BLOB);
CREATE TABLE reply (
    id INTEGER PRIMARY KEY, at INTEGER, outcome INTEGER,
    input INTEGER, output INTEGER, cost INTEGER, possible INTEGER, body BLOB
);
CREATE TABLE score (
    id INTEGER PRIMARY KEY, at INTEGER, tags INTEGER, outcome INTEGER, vals INTEGER, detail
);
CREATE TABLE event (id INTEGER PRIMARY KEY, at INTEGER, kind TEXT, count INTEGER, body BLOB);
"""
_BATCH_TABLES = """
CREATE TABLE batch (id INTEGER PRIMARY KEY, name TEXT UNIQUE, state TEXT, body BLOB);
CREATE TABLE batched (call INTEGER PRIMARY KEY, batch INTEGER, item INTEGER);
"""
_REUSED_TABLE = """
CREATE TABLE reused (call INTEGER PRIMARY KEY, run INTEGER, source INTEGER);
"""
_ATTEMPTS_TABLE = """
CREATE TABLE attempts (call INTEGER PRIMARY KEY, billed INTEGER, flying INTEGER);
"""
_ADDED = {2: _BATCH_TABLES, 3: _REUSED_TABLE, 4: "", 5: _ATTEMPTS_TABLE}
"""The changes in each version."""


def connect(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    """Open a journal and check that this evalbench supports it.

    Raises:
        JournalError: missing, not a journal, or damaged.
        JournalTooNew: written by a newer version.
    """
    _check_file(path)
    if _ends_in_a_page(path):
        raise _unreadable(path, "the file ends in the middle of a page: its end was cut off")
    try:
        try:
            connection, version = _opened(path, "ro" if readonly else "rw")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_READONLY_ROLLBACK":
                raise
            # An engine was killed while it changed the file itself, as at its end or on a network
            # disk. Only who may write can undo that; SQLite does so when the file is opened.
            _opened(path, "rw")[0].close()
            connection, version = _opened(path, "ro")
    except sqlite3.Error as error:
        raise understand(error, path) from error
    if version > VERSION:
        connection.close()
        raise JournalTooNew(
            f"{path} was written by a newer evalbench",
            why=f"its schema is version {version}; this one reads up to {VERSION}",
            hint="upgrade evalbench",
        )
    return connection


def _opened(path: Path, mode: str) -> tuple[sqlite3.Connection, int]:
    """A connection, and the version of the schema."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=5,
    )
    # The file may come from someone else: its schema must not call anything harmful.
    connection.execute("PRAGMA trusted_schema = OFF")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.execute("SELECT 1 FROM run LIMIT 1").fetchone()
    return connection, version


def _check_file(path: Path) -> None:
    """Reject what SQLite would block on, treat as empty, or follow to another location.

    For an empty file it would delete the write-ahead log.
    """
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        raise JournalError(f"there is no journal at {path}") from None
    except OSError as error:
        raise understand(error, path) from error
    if stat.S_ISLNK(found.st_mode):
        raise JournalError(
            f"{path} is not a readable journal",
            why="it is a link; a journal is a file in its run's folder",
            hint="put the journal itself there",
        )
    try:
        check_plain(path)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from None
    if found.st_size < _HEAD:
        raise _unreadable(path, f"it has {found.st_size} bytes: it was emptied or cut off")


def create(path: Path) -> None:
    """Create an empty journal atomically (built next to it and renamed)."""
    partial = path.with_name(path.name + ".new")
    partial.unlink(missing_ok=True)
    try:
        file = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        try:
            connection = sqlite3.connect(partial, isolation_level=None)
            # One sync at the end instead of one per step.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(f"PRAGMA journal_mode = {journal_mode(path)}")
            connection.executescript(
                f"BEGIN; {_TABLES} {''.join(_ADDED.values())}"
                f" PRAGMA user_version = {VERSION}; COMMIT;"
            )
            connection.close()
            os.fsync(file)
        finally:
            os.close(file)
        partial.replace(path)
    except (sqlite3.Error, OSError) as error:
        raise understand(error, path) from error


def migrate(connection: sqlite3.Connection) -> None:
    """Migrate a journal to the newest version before it is written."""
    found = _version(connection)
    if found < VERSION:
        missing = "".join(tables for version, tables in _ADDED.items() if version > found)
        connection.executescript(f"BEGIN; {missing} PRAGMA user_version = {VERSION}; COMMIT;")


def has_batches(connection: sqlite3.Connection) -> bool:
    """Whether the journal's version supports batches."""
    return _version(connection) >= 2


def has_reused(connection: sqlite3.Connection) -> bool:
    """Whether the journal's version supports reused replies."""
    return _version(connection) >= 3


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def understand(error: Exception, path: Path) -> JournalError:
    """Translate an SQLite or operating-system error into our own."""
    text = str(error)
    code = getattr(error, "sqlite_errorname", "")
    failure: BaseException | None = error
    if code.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN")):
        # SQLite distinguishes a full disk from other failures, but not a quota or open-file limit.
        failure = _failure_in(path.parent)
    number = getattr(failure, "errno", None)
    if code == "SQLITE_FULL" or number in NO_SPACE:
        return JournalFull(
            f"no space is left for {path}",
            why="the disk or your quota is full; everything recorded so far is safe",
            hint="free some space, then: evalbench resume " + path.parent.name,
        )
    if code.startswith("SQLITE_READONLY") or number in (errno.EACCES, errno.EPERM, errno.EROFS):
        again = f"make it writable again, then: evalbench resume {path.parent.name}"
        return JournalError(
            f"{path.parent} cannot be written to",
            why=text,
            hint=again if path.exists() else "choose another --run-dir",
        )
    if code in ("SQLITE_NOTADB", "SQLITE_CORRUPT") or text.startswith("no such table"):
        return _unreadable(path, text)
    what = f"the journal {path} cannot be used"
    if failure and (limit := system_limit(failure, what)):
        return JournalError(what, why=limit.why, hint=limit.hint)
    return JournalError(what, why=text)


def why_not_written(path: Path) -> JournalError | None:
    """Why nothing can be written next to a journal: its disk is full, read only or broken."""
    failure = _failure_in(path.parent)
    return understand(failure, path) if failure else None


def _unreadable(path: Path, why: str) -> JournalError:
    return JournalError(
        f"{path} is not a readable journal",
        why=why,
        hint=f"save what can still be read: evalbench export {path.parent.name} -o FOLDER",
    )


def page_size(head: bytes) -> int:
    """Page size in bytes from an SQLite file header (its file format, section 1.3.2)."""
    return int.from_bytes(head[16:18]) if head[16:18] != b"\x00\x01" else 1 << 16


def needs_its_log(path: Path) -> bool:
    """Whether a killed engine left the journal, and the write-ahead log next to it is missing.

    A journal at rest is in another mode, as its header shows (SQLite file format, 1.3.3).
    """
    log = path.with_name(path.name + "-wal")
    try:
        with path.open("rb") as file:
            in_wal_mode = file.read(20)[18:] == b"\x02\x02"
        return in_wal_mode and not (log.exists() and log.stat().st_size)
    except OSError:
        return False


def _ends_in_a_page(path: Path) -> bool:
    """Whether the end of a journal at rest is missing, which SQLite would read as zeros."""
    if any(path.with_name(path.name + log).exists() for log in ("-wal", "-journal")):
        return False
    try:
        with path.open("rb") as file:
            head = file.read(18)
            size = file.seek(0, os.SEEK_END)
    except OSError:
        return False  # SQLite will report why
    return len(head) == 18 and page_size(head) > 0 and size % page_size(head) > 0


_FILES = 4
"""Files that SQLite keeps open at once, including the journal and its log."""


def _failure_in(folder: Path) -> OSError | None:
    """The error when writing a little more there, if there is one."""
    try:
        with contextlib.ExitStack() as opened, tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(64 * 1024))
            file.flush()
            for _ in range(_FILES):
                opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error
    return None


_NETWORK_TYPES = {
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "fuse.sshfs",
    "9p",
    "lustre",
    "afs",
    "ceph",
}


def journal_mode(path: Path) -> str:
    """SQLite's journal mode for a journal being written."""
    return "DELETE" if on_network_disk(path) else "WAL"


def on_network_disk(path: Path) -> str:
    """The type of the network file system that holds ``path``, or empty for a local disk.

    SQLite's write-ahead log needs shared memory, which network file systems do not provide; there
    the journal uses a rollback log.
    """
    try:
        mounts = MOUNTS.read_text("utf-8").splitlines()
    except OSError:
        return ""
    target = str(path.absolute())
    best, kind = "", ""
    for line in mounts:
        _, point, fstype, *_ = line.split(" ")
        point = point.replace("\\040", " ")
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fstype
    return kind if kind in _NETWORK_TYPES else ""
