"""Resuming a run in several epochs reads no score that was counted before, and counts alike."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.calls import Outcome
from evalbench.engine.execution.progress import RunProgress
from evalbench.engine.journal import Journal, JournalReader
from evalbench.engine.journal import file as journal_file
from evalbench.engine.journal.schema import connect, create
from tests.unit.engine.driving import Answers, World
from tests.unit.engine.journals import sample

EPOCHS = 3
ALL = [(row, epoch) for epoch in range(EPOCHS) for row in range(1, 6)]


def score(journal: Journal, progress: RunProgress, which: list[tuple[int, int]]) -> None:
    for row, epoch in which:
        outcome = Outcome.ERROR if row == 4 else Outcome.OK
        values = {} if row == 4 else {"x": float((row + epoch) % 2), "y": row / 7}
        tags = {"of": str(row % 2)}
        journal.store_score(row, epoch, tags, outcome, values, {})
        progress.count_score(row, epoch, tags, outcome, values)


def begun(path: Path, seen: list[str] | None = None) -> tuple[Journal, RunProgress]:
    """A journal that is opened for writing, and what an engine reads from it."""
    journal, progress = Journal(path, EPOCHS), RunProgress({}, EPOCHS)
    if seen is not None:
        journal._db.set_trace_callback(seen.append)
    progress.read(journal)
    return journal, progress


async def run_a_part(path: Path, which: list[tuple[int, int]]) -> None:
    journal, progress = begun(path)
    score(journal, progress, which)
    progress.keep(journal)
    await journal.close()


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    create(path)
    journal = Journal(path, EPOCHS)
    journal.add_samples([(row, sample(row)) for row in range(1, 6)])
    await journal.close()
    return path


def rows(counted: RunProgress | JournalReader) -> dict[Any, int]:
    """The samples that have all their scores, by their means."""
    tally = counted.tally(EPOCHS) if isinstance(counted, JournalReader) else counted.tally
    assert tally.means is not None
    return dict(tally.means.rows)


async def test_a_resume_reads_no_scores(path: Path) -> None:
    await run_a_part(path, ALL[:8])
    await run_a_part(path, ALL[8:])
    seen: list[str] = []
    journal, progress = begun(path, seen)
    await journal.close()
    assert not [sql for sql in seen if "FROM score" in sql]
    assert sum(rows(progress).values()) == 5
    with JournalReader(path) as reader:
        assert rows(reader) == rows(progress)
        assert reader.tally(EPOCHS).rows == progress.tally.rows
        # With another number of epochs, they are counted.
        other = reader.tally(EPOCHS + 1).means
        assert other is not None
        assert not other.rows


async def test_after_a_kill_they_are_read_once(path: Path) -> None:
    await run_a_part(path, ALL)
    _, expected = begun(path)
    await run_a_part(path, [])
    journal, progress = begun(path)
    score(journal, progress, [])
    journal.event("started")
    journal.flush()
    killed = path.with_name("killed.db")
    for end in ("", "-wal"):
        shutil.copyfile(f"{path}{end}", f"{killed}{end}")
    await journal.close()
    seen: list[str] = []
    resumed, again = begun(killed, seen)
    assert not [sql for sql in seen if "FROM score" in sql], "the scan at opening is the only one"
    assert rows(again) == rows(expected)
    await resumed.close()


@pytest.mark.parametrize("killed", [False, True])
async def test_a_whole_resume_scans_scores_once_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    world = World(tmp_path / "journal.db")
    await world.fill(30)
    journal = Journal(world.path, EPOCHS)
    driver = world.driver(journal, Answers(), epochs=EPOCHS, rows=range(1, 16))
    await driver.drive()
    journal.flush()
    left = World(tmp_path / "left.db")
    for end in ("", "-wal"):
        shutil.copyfile(f"{world.path}{end}", f"{left.path}{end}")
    driver.progress.keep(journal)
    await journal.close()

    seen: list[str] = []

    def traced(path: Path) -> sqlite3.Connection:
        made = connect(path)
        made.set_trace_callback(seen.append)
        return made

    monkeypatch.setattr(journal_file, "connect", traced)
    resumed = Journal((left if killed else world).path, EPOCHS)
    driver = world.driver(resumed, Answers(), epochs=EPOCHS)
    await driver.drive()
    driver.progress.keep(resumed)
    await resumed.close()

    assert driver.progress.done == 30 * EPOCHS
    assert sum(rows(driver.progress).values()) == 30
    # Those of one sample are found by its number.
    scans = [sql for sql in seen if "FROM score" in sql and "BETWEEN" not in sql]
    assert len(scans) == killed, scans


@pytest.mark.parametrize("which", [ALL, ALL[:8]], ids=["all", "begun"])
async def test_failed_scores_are_removed_without_counting_the_others(
    path: Path, which: list[tuple[int, int]]
) -> None:
    await run_a_part(path, which)
    seen: list[str] = []
    journal = Journal(path, EPOCHS)
    journal._db.set_trace_callback(seen.append)
    journal.forget_scores([Outcome.ERROR])
    progress = RunProgress({}, EPOCHS)
    progress.read(journal)
    scans = [sql for sql in seen if "FROM score" in sql and "SELECT" in sql]
    assert [sql for sql in scans if "BETWEEN" not in sql] == scans[:1], "only to find them"
    journal.recount()  # forgets the means
    counted = RunProgress({}, EPOCHS)
    counted.read(journal)
    assert rows(counted) == rows(progress)
    assert counted._epochs_of == progress._epochs_of
    await journal.close()


async def test_means_that_do_not_agree_with_the_scores_are_counted_anew(path: Path) -> None:
    await run_a_part(path, ALL)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE run SET value = replace(value, '\"error\"', '\"ok\"')")
    journal, progress = begun(path)
    assert sum(rows(progress).values()) == 5
    assert rows(progress)[(("of", "0"),), Outcome.OK, ()] == 1
    journal.forget_scores([Outcome.ERROR])
    progress.read(journal)
    assert [*rows(progress).values()] == [1, 1, 1, 1]
    assert all(values for _, _, values in rows(progress))
    await journal.close()


async def test_a_score_that_is_removed_can_be_made_again(path: Path) -> None:
    await run_a_part(path, ALL)
    journal = Journal(path, EPOCHS)
    journal.forget_scores([Outcome.ERROR])
    progress = RunProgress({}, EPOCHS)
    progress.read(journal)
    assert sum(rows(progress).values()) == 4
    score(journal, progress, [(4, epoch) for epoch in range(EPOCHS)])
    assert sum(rows(progress).values()) == 5
    progress.keep(journal)
    await journal.close()
    with JournalReader(path) as reader:
        assert rows(reader) == rows(progress)


async def test_edited_ones_are_counted_anew(path: Path) -> None:
    await run_a_part(path, ALL)
    journal, progress = begun(path)
    await journal.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE run SET value = replace(value, '\"means\"', '\"odd\"')")
    _, again = begun(path)
    assert rows(again) == rows(progress)
