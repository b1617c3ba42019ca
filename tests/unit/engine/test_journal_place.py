"""Whether what lies at a journal's path is still what is written, and what a resume compares."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from evalbench.engine.errors import JournalError
from evalbench.engine.execution.lost_replies import lost_replies
from evalbench.engine.journal import Journal, JournalReader
from evalbench.engine.journal.schema import create
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.status import Status
from tests.unit.engine.journals import fill, journal

CREATED = 1_800_000_000.5


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def swap_for_a_link(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("real.db")))


def swap_for_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def swap_for_a_copy(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


def swap_the_folder(path: Path) -> None:
    folder = path.parent
    shutil.copytree(folder, folder.with_name("copy"))
    folder.rename(folder.with_name("away"))
    folder.with_name("copy").rename(folder)


def swap_the_log(path: Path) -> None:
    log_of(path).unlink()
    log_of(path).write_bytes(b"")


def overwrite(path: Path) -> None:
    """The same file, of the same size, with something else in it."""
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.write(data[:4096].ljust(len(data), b"\0"))
    assert path.stat().st_size == len(data)


def overwrite_log(path: Path, start: int = 0, length: int | None = None) -> None:
    """The same with its write-ahead log, or a part of it."""
    with log_of(path).open("r+b") as file:
        file.seek(start)
        data = file.read(length)
        file.seek(start)
        file.write(bytes(255 - byte for byte in data))


@pytest.mark.parametrize(
    ("take_away", "said"),
    [
        (lambda path: path.unlink(), "it was deleted"),
        (lambda path: shutil.rmtree(path.parent), "folder was deleted or renamed"),
        (lambda path: path.parent.rename(path.parent.with_name("x")), "folder was deleted or"),
        (swap_for_a_link, "something else than a file"),
        (swap_for_a_pipe, "something else than a file"),
        (swap_for_a_copy, "another file was put in its place"),
        (swap_the_folder, "another file was put in its place"),
        (lambda path: os.truncate(path, 0), "its end was cut off"),
        (overwrite, "something else wrote into it"),
        (overwrite_log, "something else wrote into its write-ahead log"),
        (lambda path: overwrite_log(path, 0, 4), "something else wrote into its write-ahead log"),
        (lambda path: overwrite_log(path, 9000, 1), "something else wrote into its write-ahead"),
        (lambda path: os.truncate(log_of(path), 5000), "write-ahead log was cut off"),
        (lambda path: os.truncate(log_of(path), 0), "something else wrote into its write-ahead"),
        (lambda path: log_of(path).unlink(), "write-ahead log was deleted"),
        (swap_the_log, "in the place of its write-ahead log"),
    ],
)
async def test_a_journal_that_is_no_longer_where_it_was(
    tmp_path: Path, take_away: Callable[[Path], None], said: str
) -> None:
    path = tmp_path / "run" / "journal.db"
    path.parent.mkdir()
    async with journal(path) as opened:
        await fill(opened, range(1, 4))
        opened.check_place()
        take_away(path)
        with pytest.raises(JournalError, match=said) as caught:
            opened.check_place()
        assert caught.value.exit_code == 5
        assert "evalbench resume run" in caught.value.hint


async def test_what_is_written_after_it_was_overwritten_hides_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        await fill(opened, range(1, 4))
        overwrite(path)
        await fill(opened, range(4, 7))
        opened.flush()
        with pytest.raises(JournalError, match="something else wrote into it"):
            opened.check_place()


async def test_a_log_that_was_overwritten_is_not_copied_into_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        await fill(opened, range(1, 4))
        opened.check_place()
        before = path.read_bytes()
        old = log_of(path).read_bytes()
        # The log is started over; then the earlier one is copied over it.
        opened._db.execute("PRAGMA wal_checkpoint(RESTART)")
        assert path.read_bytes() != before
        before = path.read_bytes()
        await fill(opened, range(4, 6))
        opened.check_place()
        with log_of(path).open("r+b") as file:
            file.write(old)
        with pytest.raises(JournalError, match="wrote into its write-ahead log"):
            opened.check_place()
    assert path.read_bytes() == before
    alone = path.with_name("alone.db")
    alone.write_bytes(before)
    with JournalReader(alone) as reader:
        assert reader.size() == 3


async def test_new_times_of_a_journal_end_no_run(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        await fill(opened, range(1, 4))
        for file in (path, log_of(path)):
            os.utime(file, (1, 1))
            opened.check_place()
            os.utime(file)
            await fill(opened, [len(file.name)])
            opened.check_place()
        data = path.read_bytes()
        with path.open("r+b") as same:
            same.write(data)
        opened.check_place()


async def test_what_a_run_does_to_its_journal_is_no_displacement(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        opened.check_place()
        await fill(opened, range(1, 300))
        opened.flush()
        opened.check_place()
        opened._db.execute("PRAGMA wal_autocheckpoint = 1")
        for row in range(300, 330):
            await fill(opened, [row])
            opened.check_place()
        path.with_name("journal.db-shm").unlink()
        opened.check_place()
    async with journal(path) as opened:
        opened.check_place()


async def test_the_log_of_a_journal_that_was_replaced_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        await fill(opened, range(1, 4))
        swap_for_a_copy(path)
        log = log_of(path).read_bytes()
    assert log_of(path).read_bytes().startswith(log)
    # The copy was as new as the file, and with the log beside it nothing is lost.
    with JournalReader(path) as reader:
        assert reader.size() == 3


@pytest.mark.parametrize("size", [0, 50])
async def test_an_emptied_journal_is_refused_and_the_log_beside_it_kept(
    tmp_path: Path, size: int
) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        await fill(opened, range(1, 4))
        left = tmp_path / "left" / "journal.db"
        left.parent.mkdir()
        left.write_bytes(path.read_bytes()[:size])
        log_of(left).write_bytes(log_of(path).read_bytes())
    for open_it in (Journal, JournalReader):
        with pytest.raises(JournalError, match="emptied or cut off"):
            open_it(left)
    assert log_of(left).stat().st_size > 0


def test_a_pipe_or_a_link_is_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    os.mkfifo(path)
    with pytest.raises(JournalError, match="not a readable journal"):
        JournalReader(path)
    path.unlink()
    create(tmp_path / "other.db")
    path.symlink_to(tmp_path / "other.db")
    with pytest.raises(JournalError, match="not a readable journal") as caught:
        JournalReader(path)
    assert "link" in caught.value.why


# -- what a resume compares ------------------------------------------------------------------


@pytest.fixture
async def at_rest(tmp_path: Path) -> RunFolder:
    """A run with three replies."""
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    async with journal(folder.journal) as opened:
        opened.set(created=CREATED)
        await fill(opened, range(1, 4))
    return folder


def status(replies: int | None, **fields: object) -> Status:
    return Status("run", created=CREATED, replies=replies, **fields)  # type: ignore[arg-type]


async def test_a_journal_that_has_all_that_the_status_says(at_rest: RunFolder) -> None:
    for held in (status(3), status(2), status(0), status(None, done=3)):
        assert lost_replies(at_rest, held) is None


async def test_a_journal_that_lacks_replies(at_rest: RunFolder) -> None:
    lost = lost_replies(at_rest, status(5, spend_usd=0.25, possible_usd=0.5))
    assert lost
    assert (lost.replies, lost.usd) == (2, Decimal("0.75"))
    told = str(lost.refusal("run"))
    assert "lacks replies" in told
    assert "holds 3 of 5 replies" in told
    assert "evalbench resume run --accept-loss" in told
    # A status of an earlier version counts scores only; failed ones may have been forgotten.
    assert lost_replies(at_rest, status(None, done=9, failed=6)) is None
    lost = lost_replies(at_rest, status(None, done=9, failed=2))
    assert lost
    assert lost.replies == 4


async def test_a_journal_that_is_gone(at_rest: RunFolder) -> None:
    at_rest.journal.unlink()
    for held in (status(3), status(None, done=3), status(0, sent=3)):
        lost = lost_replies(at_rest, held)
        assert lost
        assert lost.replies == 3
        assert "is gone" in lost.what
    # Its engine was killed before it had asked anything.
    assert lost_replies(at_rest, status(0)) is None


async def test_a_status_of_another_run_says_nothing(at_rest: RunFolder) -> None:
    for held in (Status("other", created=CREATED + 9, replies=900), Status("run")):
        assert lost_replies(at_rest, held) is None


@pytest.fixture
async def logless(tmp_path: Path) -> RunFolder:
    """A run whose engine was killed, and whose write-ahead log was deleted then."""
    folder = RunFolder(tmp_path / "left")
    folder.path.mkdir()
    live = tmp_path / "journal.db"
    async with journal(live) as opened:
        opened.set(created=CREATED)
        await fill(opened, range(1, 4))
        folder.journal.write_bytes(live.read_bytes())
    return folder


async def test_a_log_that_is_missing_is_named(logless: RunFolder) -> None:
    before = logless.journal.read_bytes()
    lost = lost_replies(logless, status(3))
    assert lost
    assert lost.replies == 3
    assert lost.what == "journal.db-wal is missing"
    assert "put journal.db-wal back" in lost.hint
    assert logless.journal.read_bytes() == before
    assert lost_replies(logless, status(0)) is None


async def test_a_log_that_is_missing_where_nobody_knows_what_it_held(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "left")
    folder.path.mkdir()
    live = tmp_path / "journal.db"
    async with journal(live) as opened:
        opened.set(created=CREATED)
    async with journal(live) as opened:
        await fill(opened, range(1, 4))
        folder.journal.write_bytes(live.read_bytes())
    lost = lost_replies(folder, Status("left"))
    assert lost
    assert lost.replies is None
    assert "an unknown number" in str(lost.refusal("left"))
