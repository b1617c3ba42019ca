"""Scores are made anew from what the journal holds; nobody is asked."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest

from evalbench.engine.errors import UsageError
from evalbench.engine.execution.rescoring import rescore
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.status import State
from tests.faults.engines import Engines, scores

JUDGES = ["scripted/better", "scripted/good"]


def spoil(run: RunFolder) -> None:
    """Make every score another one, as an older parser might have."""
    with sqlite3.connect(run.journal) as journal:
        journal.execute("INSERT OR IGNORE INTO name (text) VALUES ('{\"accuracy\":0.25}')")
        journal.execute(
            "UPDATE score SET vals = (SELECT id FROM name WHERE text = '{\"accuracy\":0.25}')"
        )
    journal.close()


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("benchmark", "more"),
    [
        ("synthetic", {}),
        ("two-turn", {}),
        ("judged", {"judge": JUDGES}),
        ("synthetic", {"epochs": 3}),
    ],
)
def test_scores_come_back_from_replies_alone(
    engines: Engines, benchmark: str, more: dict[str, object]
) -> None:
    run = engines.start(engines.spec(benchmark, size=20, **more))
    before = engines.finish(run)
    right, asked = scores(run), len(engines.ledger.lines())
    same = asyncio.run(rescore(run))
    each = 20 * int(str(more.get("epochs", 1)))
    assert (same.scored, same.changed, same.kept) == (each, 0, 0)
    assert same.before == same.after
    spoil(run)
    done = asyncio.run(rescore(run))
    assert (done.scored, done.changed) == (each, each)
    assert scores(run) == right
    status = run.status()
    assert (status.state, status.metrics) == (State.COMPLETE, before.metrics)
    assert len(engines.ledger.lines()) == asked
    assert [file.name for file in run.path.glob("journal.db*")] == ["journal.db"]
    # A resume still knows it for the same run.
    assert engines.finish(engines.resume(run)).done == each


def test_replies_to_other_questions_keep_their_scores(
    engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = engines.start(engines.spec(size=10))
    engines.finish(run)
    right = scores(run)
    monkeypatch.setattr("evalbench_testing._GREETING", "Hello. ")
    done = asyncio.run(rescore(run))
    assert (done.scored, done.kept) == (0, 10)
    assert scores(run) == right


def test_a_run_without_scores_is_told(engines: Engines) -> None:
    run = engines.start(engines.spec(size=10))
    engines.end()
    with sqlite3.connect(run.journal) as journal:
        journal.execute("DELETE FROM score")
    journal.close()
    with pytest.raises(UsageError, match="no score yet"):
        asyncio.run(rescore(run))
