"""Judges are calls like any other: kept, counted, and asked once."""

from __future__ import annotations

from collections import Counter

from evalbench.engine.calls import Outcome
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.status import State
from tests.faults.engines import Engines, replied, scores, wait_until

JUDGES = ["scripted/better,temperature=0", "scripted/good"]


def calls_by(run: RunFolder) -> Counter[tuple[str, str]]:
    """How many calls each (role, model) has answered."""
    with JournalReader(run.journal) as journal:
        calls = [call for item in journal.samples() for call in journal.calls(item.row)]
    answered = [call for call in calls if call.reply and call.reply.outcome is Outcome.OK]
    return Counter((call.key.role, call.key.model) for call in answered)


def test_several_judges_grade_every_answer(engines: Engines) -> None:
    run = engines.start(engines.spec("judged", size=30, judge=JUDGES))
    status = engines.finish(run)
    assert (status.state, status.done, status.sent) == (State.COMPLETE, 30, 90)
    assert calls_by(run) == {
        ("candidate", "scripted/good"): 30,
        ("judge", "scripted/better"): 30,
        ("judge", "scripted/good"): 30,
    }


def test_a_kill_in_the_judge_stage_repeats_no_candidate_call(engines: Engines) -> None:
    spec = engines.spec("judged", size=60, concurrency=8, judge=JUDGES)
    run = engines.start(spec)
    wait_until(lambda: engines.ledger.answered().total() >= 90, "the judges at work")
    engines.end()
    done, seen = replied(run), len(engines.ledger.lines())
    engines.resume(run)
    assert engines.finish(run).state is State.COMPLETE
    assert not engines.ledger.asked(seen) & done
    assert set(calls_by(run).values()) == {60}
    assert len(scores(run)) == 60


def test_a_finished_run_is_not_judged_anew_without_a_word(engines: Engines) -> None:
    run = engines.start(engines.spec("judged", size=10, judge=JUDGES[:1]))
    engines.finish(run)
    with JournalReader(run.journal) as journal:
        assert journal.meta("identity")["settings"]["judges"]["scripted/better"]
        assert set(journal.meta("prices")) == {"candidate", "judge/scripted/better"}
