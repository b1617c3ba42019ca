"""kill -9 of the engine at any moment: nothing answered is asked again, nothing is lost."""

from __future__ import annotations

import random
import signal
from collections import Counter
from functools import partial

import pytest

from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.status import State
from tests.faults.engines import Engines, replied, scores, wait_until

CALLS = 500
KILLS = 10
AT_ONCE = 32


def kill_when_asked(engines: Engines, requests: int) -> None:
    """Kill the newest engine as soon as the provider has seen so many requests in all."""
    wait_until(lambda: sum(engines.ledger.asked().values()) >= requests, "the moment of the kill")
    engines.end(signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize(("benchmark", "calls_each"), [("synthetic", 1), ("two-turn", 4)])
def test_ten_kills_ask_nothing_twice_and_change_no_score(
    engines: Engines, benchmark: str, calls_each: int
) -> None:
    samples = CALLS // calls_each
    spec = engines.spec(benchmark, size=samples, concurrency=AT_ONCE)
    whole = engines.start(spec)
    engines.finish(whole)
    undisturbed, once = scores(whole), engines.ledger.asked()
    assert len(undisturbed) == samples
    engines.ledger.path.write_bytes(b"")

    rng = random.Random(20261)
    run = engines.start(spec)
    for moment in sorted(rng.sample(range(5, CALLS - 60), KILLS)):
        kill_when_asked(engines, moment)
        seen, done = len(engines.ledger.lines()), replied(run)
        engines.resume(run)
        # What the journal answers is not asked: of each call only the rest may still come.
        wait_until(partial(engines.ledger.asked, seen), "a request")
        assert not engines.ledger.asked(seen) - (once - done)
    status = engines.finish(run)

    assert (status.state, status.exit_code) == (State.COMPLETE, 0)
    assert scores(run) == undisturbed
    assert replied(run) == once
    # Only what was in flight at a kill was asked twice.
    assert sum((engines.ledger.asked() - once).values()) <= KILLS * AT_ONCE
    assert [file.name for file in run.path.glob("journal.db*")] == ["journal.db"]


def cut_off(run: RunFolder) -> tuple[int, Counter[int]]:
    """How many calls the events tell were cut off, and how many there are by re-ask number."""
    with JournalReader(run.journal) as journal:
        told = sum(e.body["calls"] for e in journal.events() if e.kind == "cut-off")
        calls = [call for item in journal.samples() for call in journal.calls(item.row)]
    cut = [call for call in calls if call.reply and call.reply.error.startswith("CutOff")]
    again = Counter(call.reask for call in calls)
    assert len(cut) == told == again[1]
    return told, again


def test_calls_in_flight_at_a_kill_are_told_and_asked_again(engines: Engines) -> None:
    run = engines.start(engines.spec(size=60, concurrency=8))
    kill_when_asked(engines, 20)
    engines.resume(run)
    assert engines.finish(run).state is State.COMPLETE
    told, again = cut_off(run)
    assert 0 < told <= 8
    assert again[0] == 60


@pytest.mark.share(2)
@pytest.mark.parametrize("answers", [0, 40])
def test_an_engine_killed_while_samples_are_loaded(
    engines: Engines, monkeypatch: pytest.MonkeyPatch, answers: int
) -> None:
    monkeypatch.setenv("SCRIPTED_LATENCY", "0")
    size = 3000
    run = engines.start(engines.spec(size=size))
    wait_until(lambda: engines.ledger.answered().total() >= answers, "answers")
    engines.end(signal.SIGKILL)
    done, seen = replied(run), len(engines.ledger.lines())
    engines.resume(run)
    assert engines.finish(run).done == size
    assert not engines.ledger.asked(seen) & done
    assert set(replied(run).values()) == {1}
    assert len(scores(run)) == size
