"""Journals that were cut, lost or written by somebody newer: told, and nothing is sent."""

from __future__ import annotations

import sqlite3

import pytest

from evalbench.engine.errors import JournalError, JournalTooNew
from evalbench.engine.journal.schema import VERSION
from evalbench.engine.runs.folder import RunFolder
from tests.faults.engines import Engines, wait_until


@pytest.fixture
def stopped(engines: Engines) -> RunFolder:
    """A run of which a part is answered, at rest."""
    run = engines.start(engines.spec(size=300, concurrency=4))
    wait_until(lambda: engines.ledger.answered().total() >= 30, "answers")
    run.command("stop")
    assert engines.finish(run).state == "stopped"
    return run


def refused(engines: Engines, run: RunFolder, error: type[JournalError], words: str) -> None:
    sent, status = len(engines.ledger.lines()), run.status()
    with pytest.raises(error, match=words):
        engines.resume(run)
    assert len(engines.ledger.lines()) == sent
    assert run.status() == status
    assert run.live_pid() is None


def test_a_cut_journal(engines: Engines, stopped: RunFolder) -> None:
    whole = stopped.journal.read_bytes()
    for share in (0.0, 0.02, 0.5):
        stopped.journal.write_bytes(whole[: int(len(whole) * share)])
        refused(engines, stopped, JournalError, "journal")
    stopped.journal.write_bytes(whole)
    engines.resume(stopped)
    assert engines.finish(stopped).done == 300


def test_a_journal_that_is_gone(engines: Engines, stopped: RunFolder) -> None:
    stopped.journal.unlink()
    refused(engines, stopped, JournalError, "is gone")
    assert not stopped.journal.exists()


def test_a_journal_of_a_newer_schema(engines: Engines, stopped: RunFolder) -> None:
    with sqlite3.connect(stopped.journal) as database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")
    refused(engines, stopped, JournalTooNew, "newer evalbench")
