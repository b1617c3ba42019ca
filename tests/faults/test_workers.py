"""Several worker processes answer the calls of one run; one of them is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.config.spec import RunSpec, make_spec
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import RunFolder
from tests.faults.engines import Engines, replied, scores, wait_until
from tests.faults.workers import Homely

pytestmark = pytest.mark.slow

SIZE = 400


@pytest.fixture
def homely(engines: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homely:
    return Homely(tmp_path / "installed", monkeypatch)


def spec_of(**common: Any) -> RunSpec:
    return make_spec("synthetic", "homely/any", options={"size": SIZE}, **common)


def pids_after(run: RunFolder, answers: int, workers: int) -> list[int]:
    """The workers' processes, once so many of them have given so many answers each."""
    told = run.status().gauges.get("workers") or []
    found = [one["pid"] for one in told if one["pid"] and one["answers"] >= answers]
    return found if len(found) >= workers else []


def events(run: RunFolder, kind: str) -> list[dict[str, Any]]:
    with JournalReader(run.journal) as reader:
        return [dict(event.body) for event in reader.events() if event.kind == kind]


def test_a_killed_worker_loses_nothing_and_answers_are_those_of_one(
    engines: Engines, homely: Homely
) -> None:
    homely.hold(30)
    run = engines.start(spec_of(workers=2))
    first, second = wait_until(lambda: pids_after(run, 30, 2), "answers of both workers")
    assert {first, second} == {pid for pid, _ in homely.lives}
    os.kill(second, signal.SIGKILL)
    wait_until(lambda: len(homely.lives) == 3, "the third worker")
    homely.go_on()
    status = engines.finish(run)
    assert (status.state, status.problem, status.done, status.failed) == ("complete", "", SIZE, 0)
    assert sorted(replied(run).values()) == [1] * SIZE, "every sample is answered once"
    assert [smaller for _, smaller in homely.lives] == [0, 0, 1]
    (restart,) = events(run, "worker-restarted")
    assert (restart["worker"], restart["exit"]) == ("worker 2", -9)
    assert {body["worker"] for body in events(run, "model-loaded")} == {"worker 1", "worker 2"}
    assert {body["sharing"] for body in events(run, "model-loaded")} == {2}
    (unloaded,) = events(run, "model-unloaded")
    each = [held["answers"] for held in unloaded["workers"].values()]
    assert (len(each), sum(each)) == (2, unloaded["answers"])

    alone = engines.start(spec_of())
    assert engines.finish(alone).state == "complete"
    assert scores(alone) == scores(run)
