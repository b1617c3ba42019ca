"""What an engine is handed survives the pipe, and the status file has one shape."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from pathlib import Path

import orjson
import pytest

from evalbench.engine.calls import Outcome
from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.engine.execution.request import EngineOptions, EngineRequest, RunRequest
from evalbench.engine.field_checks import Misfit
from evalbench.engine.keys import KeyRef, KeySource
from evalbench.engine.runs.status import State, Status

RUNS = [
    RunRequest(Path("/runs/a"), None, {}, {}, {}, {}),
    RunRequest(
        Path("/runs/b"),
        Path("/cache/x.jsonl"),
        {"candidate": KeyRef("openai", KeySource.KEYCHAIN, "work")},
        {"candidate": "sk-secret"},
        {"candidate": UnitPrices(Rates(Decimal(1), Decimal(2))), "judge/x": None},
        {"candidate": {"need": 5}},
    ),
]


@pytest.mark.parametrize(
    "options",
    [
        EngineOptions(),
        EngineOptions(
            True, True, (Outcome.REFUSED,), True, 20, True, ("b-1", "b-2"), True, ("true", "x")
        ),
    ],
)
def test_a_request_is_what_it_was_behind_the_pipe(options: EngineOptions) -> None:
    request = EngineRequest(RUNS, options, {"evalbench.providers": {"p": "m:P"}})
    assert EngineRequest.from_json(orjson.loads(orjson.dumps(request.to_json()))) == request
    assert options.ask_again == {Outcome.ERROR, *options.retry}


def test_every_field_of_a_status_is_written_read_and_checked() -> None:
    status = Status("a", State.RUNNING, tags=["x"], latest=[[1, 0]], outcomes={"ok": 3})
    assert Status.from_json(orjson.loads(orjson.dumps(status.to_json()))) == status
    told = {one.name for one in fields(Status)} - {"unreadable"}
    assert set(status.to_json()) == told
    for name in told:
        with pytest.raises(Misfit):
            Status.from_json(status.to_json() | {name: b"no JSON at all"})
