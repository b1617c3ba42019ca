"""What a run's status means: at rest or not, its exit code, its metrics as JSON."""

from __future__ import annotations

import pytest

from evalbench.engine.errors import BadKey, EvalbenchError, JournalTooNew
from evalbench.engine.runs.status import State, Status, exit_code, metrics_json
from evalbench.engine.scoring.tally import Metric

REST = {
    State.PAUSED,
    State.STOPPED,
    State.WAITING,
    State.COMPLETE,
    State.FAILED,
    State.BUDGET,
}


@pytest.mark.parametrize("state", State)
def test_which_states_are_at_rest(state: State) -> None:
    assert Status("r", state).at_rest is (state in REST)


@pytest.mark.parametrize(
    ("state", "failed", "problem", "code"),
    [
        (State.COMPLETE, 0, None, 0),
        (State.COMPLETE, 3, None, 2),
        (State.BUDGET, 3, None, 3),
        (State.WAITING, 3, None, 7),
        (State.PAUSED, 0, None, 4),
        (State.STOPPED, 3, None, 4),
        (State.FAILED, 0, BadKey("no"), 5),
        (State.FAILED, 0, JournalTooNew("new"), 1),
        (State.FAILED, 0, EvalbenchError("odd"), 1),
        (State.FAILED, 0, None, 6),
    ],
)
def test_the_exit_code_tells_how_a_run_ended(
    state: State, failed: int, problem: EvalbenchError | None, code: int
) -> None:
    assert exit_code(Status("r", state, failed=failed), problem) == code


def test_metrics_keep_their_order_and_everything_they_stand_on() -> None:
    first = Metric("accuracy", 0.5, 0.1, 0.9, k=1, n=2, interval="wilson", title="Accuracy")
    told = metrics_json([first, Metric("a", None)])
    assert list(told) == ["accuracy", "a"]
    assert told["accuracy"]["value"] == 0.5
    assert (told["accuracy"]["n"], told["accuracy"]["interval"]) == (2, "wilson")
    assert "name" not in told["accuracy"]
    assert told["a"]["value"] is None
