"""A disk on which every commit of the journal and every new status takes its time."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import STALE_S, RunFolder
from tests.faults.engines import Engines, replied, scores, wait_until

pytestmark = pytest.mark.slow

AT_ONCE = 16
SAMPLES = 48
DELAY_S = 0.1

SITE = """
import os, sqlite3, time

DELAY = float(os.environ["SLOW_DISK_S"])
connect, replace = sqlite3.connect, os.replace

class Slow(sqlite3.Connection):
    def execute(self, sql, *values):
        if sql.startswith(("COMMIT", "PRAGMA wal_checkpoint")):
            time.sleep(DELAY)
        return super().execute(sql, *values)

def slow_connect(database, *more, **named):
    if "journal.db" in str(database) and "mode=ro" not in str(database):
        named.setdefault("factory", Slow)
    return connect(database, *more, **named)

def slow_replace(source, target, **named):
    time.sleep(DELAY)
    return replace(source, target, **named)

sqlite3.connect, os.replace = slow_connect, slow_replace
"""
"""Slows the disk down for engines alone: nothing else in this machine waits for it."""


@pytest.fixture
def slow_disk(engines: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engines:
    """Engines whose disk takes its time for whatever it is to keep."""
    folder = tmp_path / "slow"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SITE)
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ['PYTHONPATH']}")
    monkeypatch.setenv("SLOW_DISK_S", str(DELAY_S))
    return engines


def most_in_flight(engines: Engines) -> int:
    """The most calls that the provider had at once."""
    inside = most = 0
    for what, _ in engines.ledger.lines():
        inside += 1 if what == "asked" else -1
        most = max(most, inside)
    return most


def beats(run: RunFolder, engines: Engines) -> list[float]:
    """Every time at which the status was written until the run came to rest."""
    seen = [run.status().updated]

    def rests() -> bool:
        status = run.status()
        if status.updated != seen[-1]:
            seen.append(status.updated)
        return status.at_rest

    wait_until(rests, "the run's end")
    return seen


def test_calls_go_on_within_their_bounds_and_no_reply_is_lost(slow_disk: Engines) -> None:
    run = slow_disk.start(slow_disk.spec(size=SAMPLES, concurrency=AT_ONCE))
    times = beats(run, slow_disk)
    status = slow_disk.finish(run)
    assert (status.state, status.exit_code) == ("complete", 0)
    assert (status.done, status.failed) == (SAMPLES, 0)
    assert {*slow_disk.ledger.asked().values()} == {1}
    assert replied(run) == slow_disk.ledger.answered()
    assert len(scores(run)) == SAMPLES
    # Before a call leaves and after it came back, the disk was waited for.
    assert status.seconds > 2 * DELAY_S * SAMPLES / AT_ONCE
    # One commit holds what came meanwhile, so calls run side by side as on any disk.
    assert AT_ONCE / 2 < most_in_flight(slow_disk) <= AT_ONCE
    # Nobody takes it for dead, although it waits for the disk most of the time.
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert len(gaps) >= 2
    assert max(gaps) < STALE_S


def test_it_still_obeys_and_keeps_what_was_answered(slow_disk: Engines) -> None:
    run = slow_disk.start(slow_disk.spec(size=2000, concurrency=4))
    wait_until(lambda: slow_disk.ledger.answered().total() >= 10, "answers")
    run.command("concurrency", value=8)
    wait_until(lambda: run.status().gauges.get("concurrency") == 8, "eight in flight")
    run.command("stop")
    status = slow_disk.finish(run)
    assert (status.state, status.exit_code, status.problem) == ("stopped", 4, "")
    assert 0 < status.done < 2000
    assert replied(run) == slow_disk.ledger.answered() == slow_disk.ledger.asked()
    with JournalReader(run.journal) as reader:
        assert [event.kind for event in reader.events()][-1] == "ended"


def test_a_kill_while_the_disk_is_waited_for_loses_no_more_than_what_was_in_flight(
    slow_disk: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = slow_disk.start(slow_disk.spec(size=SAMPLES, concurrency=AT_ONCE))
    wait_until(lambda: slow_disk.ledger.answered().total() >= 20, "answers")
    slow_disk.end()
    known, mark = replied(run), len(slow_disk.ledger.lines())
    assert (slow_disk.ledger.answered() - known).total() <= AT_ONCE
    monkeypatch.setenv("SLOW_DISK_S", "0")
    slow_disk.resume(run)
    assert slow_disk.finish(run).state == "complete"
    assert not slow_disk.ledger.asked(after=mark) & known
    assert len(scores(run)) == SAMPLES
