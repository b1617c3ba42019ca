"""What a live engine does with requests in its folder, and what it tells of its work."""

from __future__ import annotations

import pytest

from evalbench.engine.journal import JournalReader
from tests.faults.engines import Engines, wait_until


def test_calls_in_flight_are_changed_live_and_let_go_again(
    engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Slow enough not to be over before the last request is read.
    monkeypatch.setenv("SCRIPTED_LATENCY", "1")
    run = engines.start(engines.spec(size=4000, concurrency=2))
    wait_until(lambda: run.status().gauges.get("concurrency") == 2, "the first size")
    run.command("concurrency", value=5)
    wait_until(lambda: run.status().gauges["concurrency"] == 5, "five in flight")
    assert run.status().gauges["fixed"]
    run.command("concurrency", value=None)
    wait_until(lambda: not run.status().gauges["fixed"], "its own level")
    run.command("concurrency", value=0)
    run.command("stop")
    engines.wait()
    with JournalReader(run.journal) as journal:
        told = [(event.kind, event.body) for event in journal.events()]
    assert ("command", {"do": "concurrency", "value": 5}) in told
    assert ("command", {"do": "concurrency", "value": None}) in told
    assert ("command-refused", {"command": {"do": "concurrency", "value": 0}}) in told


def test_the_status_names_the_scores_stored_last_and_counts_calls_by_role(
    engines: Engines,
) -> None:
    run = engines.start(engines.spec(size=30, concurrency=1))
    status = engines.finish(run)
    assert status.latest == [[row, 0] for row in range(23, 31)]
    assert status.roles == {
        "candidate": {"sent": 30, "from_journal": 0, "reused": 0, "in_flight": 0}
    }
