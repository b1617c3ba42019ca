"""Files that are not a whole journal, or of another time or place, are told for what they are."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from evalbench.engine.calls import Reply, generate
from evalbench.engine.errors import JournalError, JournalFull, JournalTooNew
from evalbench.engine.journal import Journal, JournalReader, salvage, schema
from evalbench.engine.journal.schema import VERSION, create, on_network_disk, understand
from tests.unit.engine.journals import ask, fill, journal, sample


@pytest.fixture
async def resting(tmp_path: Path) -> Path:
    """A journal of 300 samples, at rest."""
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        await fill(opened, range(1, 301))
    return path


def read_all(path: Path) -> int:
    """Read everything there is; the number of samples."""
    with JournalReader(path) as reader:
        rows = [found.row for found in reader.samples()]
        for row in rows:
            reader.calls(row)
        list(reader.scores())
        reader.events()
        reader.tally()
        return len(rows)


async def test_a_journal_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="there is no journal"):
        JournalReader(tmp_path / "journal.db")
    with pytest.raises(JournalError, match="there is no journal"):
        Journal(tmp_path / "journal.db")


@pytest.mark.parametrize("body", [b"", b"a letter to somebody" * 500])
async def test_a_file_that_is_no_journal(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(body)
    for opens in (JournalReader, Journal):
        with pytest.raises(JournalError, match="is not a readable journal"):
            opens(path)


async def test_one_whose_engine_was_killed_while_it_changed_the_file_itself(
    resting: Path, tmp_path: Path
) -> None:
    """As at the end of a run, or on a network disk: half a transaction, and what undoes it."""
    with closing(sqlite3.connect(resting, isolation_level=None)) as killed:
        killed.execute("PRAGMA cache_size = 1")
        killed.execute("BEGIN IMMEDIATE")
        killed.execute("DELETE FROM sample")
        left = tmp_path / "left"
        left.mkdir()
        for file in resting.parent.glob("journal.db*"):
            shutil.copy(file, left)
    assert (left / "journal.db-journal").stat().st_size > 0
    assert read_all(left / "journal.db") == 300
    assert read_all(left / "journal.db") == 300


async def test_a_newer_journal_is_refused_by_both_and_left_alone(resting: Path) -> None:
    with sqlite3.connect(resting) as database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = resting.read_bytes()
    for opens in (JournalReader, Journal):
        with pytest.raises(JournalTooNew) as caught:
            opens(resting)
        assert f"version {VERSION + 1}" in caught.value.why
        assert "upgrade" in caught.value.hint
    assert resting.read_bytes() == before


async def test_a_cut_file_opens_or_says_why(resting: Path) -> None:
    whole = resting.read_bytes()
    read, told = [], []
    for cut in [*range(0, len(whole), len(whole) // 24), len(whole) - 1, len(whole)]:
        resting.write_bytes(whole[:cut])
        try:
            read.append(read_all(resting))
        except JournalError as error:
            told.append(str(error))
        try:
            async with journal(resting) as opened:
                opened.event("started")
        except JournalError as error:
            told.append(str(error))
    assert read[-1] == 300
    assert len(told) > 24
    assert all(str(resting) in text or "damaged" in text for text in told)


async def test_a_damaged_record_is_told(resting: Path) -> None:
    with sqlite3.connect(resting) as database:
        database.execute("UPDATE sample SET body = ?", (b"\x01 no frame at all",))
    with JournalReader(resting) as reader, pytest.raises(JournalError, match="damaged"):
        list(reader.samples())


async def test_a_record_whose_dictionary_is_gone_is_told(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        await fill(opened, range(1, 700))
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM blob WHERE kind = 'dictionary'")
    with JournalReader(path) as reader, pytest.raises(JournalError, match="dictionary"):
        list(reader.samples())


async def test_a_failed_query_is_told(resting: Path) -> None:
    async with journal(resting) as opened:
        with pytest.raises(JournalError):
            opened.query(lambda decoder: decoder.db.execute("SELECT * FROM nowhere"))
        opened.event("goes on")


async def test_a_journal_is_made_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    monkeypatch.setattr(schema, "_TABLES", "CREATE TABLE run (key TEXT); no such words;")
    with pytest.raises(JournalError):
        create(path)
    assert not path.exists()
    monkeypatch.undo()
    create(path)
    with JournalReader(path) as reader:
        assert reader.size() == 0


async def test_a_journal_in_a_place_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(JournalError):
        create(tmp_path / "nowhere" / "journal.db")


# -- room ------------------------------------------------------------------------------


def sqlite_error(name: str) -> sqlite3.OperationalError:
    failed = sqlite3.OperationalError("disk I/O error")
    failed.sqlite_errorname = name
    return failed


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_write_that_failed_for_want_of_room_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """SQLite says the same of an exceeded quota as of a broken disk."""

    def refuse(*args: object, **more: object) -> None:
        raise OSError(number, os.strerror(number))

    path = tmp_path / "run-1" / "journal.db"
    path.parent.mkdir()
    assert not isinstance(understand(sqlite_error("SQLITE_IOERR_WRITE"), path), JournalFull)
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    told = understand(sqlite_error("SQLITE_IOERR_WRITE"), path)
    assert isinstance(told, JournalFull)
    assert "evalbench resume run-1" in told.hint
    assert isinstance(understand(OSError(number, "full"), path), JournalFull)


# -- network disks -------------------------------------------------------------------

MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/home /mnt/far nfs4 rw 0 0
tmpfs /mnt/far/fast tmpfs rw 0 0
me@there:/ /mnt/with\\040space fuse.sshfs rw 0 0
"""


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/home/me/runs/journal.db", ""),
        ("/mnt/far/runs/journal.db", "nfs4"),
        ("/mnt/farther/journal.db", ""),
        ("/mnt/far/fast/journal.db", ""),
        ("/mnt/with space/journal.db", "fuse.sshfs"),
    ],
)
def test_the_innermost_mount_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, kind: str
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    monkeypatch.setattr(schema, "MOUNTS", mounts)
    assert on_network_disk(Path(place)) == kind


def test_a_system_without_mounts_counts_as_local(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "MOUNTS", tmp_path / "none")
    assert on_network_disk(Path("/mnt/far/journal.db")) == ""


async def test_on_a_network_disk_there_is_no_write_ahead_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mounts").write_text(f"server:/home {tmp_path} nfs rw 0 0\n")
    monkeypatch.setattr(schema, "MOUNTS", tmp_path / "mounts")
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        assert opened.rollback_on == "nfs"
        await opened.add_samples([(1, sample(1))])
        await ask(opened, 1, sample(1), generate("?"), Reply("A"))
        with JournalReader(path) as live:
            assert live.calls(1)[0].reply == Reply("A")
        assert not path.with_name("journal.db-wal").exists()
        assert not path.with_name("journal.db-shm").exists()


def test_salvage_copies_every_table_there_is(tmp_path: Path) -> None:
    create(tmp_path / "journal.db")
    with closing(sqlite3.connect(tmp_path / "journal.db")) as file:
        columns = file.execute(
            "SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c"
            " WHERE t.type = 'table' AND c.pk"
        )
        keys = dict(columns)
    known = {**salvage._KEYS, **{name: key for name, (key, _) in salvage._NUMBERED.items()}}
    assert keys == known
