"""kill -9 at random moments, in every mode, held to what the asked side saw.

After each kill and at the end the same must hold, whoever answers: nothing that
the journal holds is asked again, nothing is lost, and the scores are those of a
run that nobody disturbed. The cluster's are in ``test_cluster.py``.
"""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import psutil
import pytest

from evalbench.engine.config.spec import make_spec
from tests.faults.engines import Engines, scores, wait_until
from tests.faults.kills import AT_ONCE, KILLS, Trial, kill_at, riddles
from tests.faults.workers import Homely
from tests.simulator.handle import Handle

LATENCY_S = 0.02


@pytest.mark.share(2)
@pytest.mark.parametrize("benchmark", ["synthetic", "two-turn"])
def test_an_engine_that_asks_at_once(engines: Engines, dice: random.Random, benchmark: str) -> None:
    size = 120 if benchmark == "synthetic" else 30
    Trial(engines, engines.spec(benchmark, size=size, concurrency=AT_ONCE), dice).hold()


@pytest.mark.slow
def test_an_engine_whose_answers_are_judged(engines: Engines, dice: random.Random) -> None:
    judges = ["scripted/better,temperature=0", "scripted/good"]
    spec = engines.spec("judged", size=40, concurrency=AT_ONCE, judge=judges)
    # Candidate and judges have places of their own.
    Trial(engines, spec, dice, in_flight=3 * AT_ONCE).hold()


@pytest.fixture
def homely(engines: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homely:
    found = Homely(tmp_path / "installed", monkeypatch)
    found.keep_ledger(engines.ledger, LATENCY_S)
    return found


def of_two_workers(engines: Engines, dice: random.Random) -> Trial:
    spec = make_spec("synthetic", "homely/any", options={"size": 120}, workers=2)
    # What a worker has is not lost but asked anew.
    return Trial(engines, spec, dice, known=riddles, in_flight=120)


@pytest.mark.slow
def test_an_engine_with_workers_of_a_local_model(
    engines: Engines, homely: Homely, dice: random.Random
) -> None:
    of_two_workers(engines, dice).hold()
    last = {pid for pid, _ in homely.lives}
    wait_until(lambda: not any(map(psutil.pid_exists, last)), "the workers' end")


@pytest.mark.slow
def test_workers_of_a_local_model(engines: Engines, homely: Homely, dice: random.Random) -> None:
    trial = of_two_workers(engines, dice)

    def kill_one() -> None:
        if alive := [pid for pid, _ in homely.lives if psutil.pid_exists(pid)]:
            os.kill(trial.dice.choice(alive), signal.SIGKILL)

    trial.hold(kill_one)


@pytest.mark.slow
def test_an_engine_with_batches(
    engines: Engines, sim: Handle, dice: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk_" + "z" * 48)
    sim.batch(running=0.5)
    spec = make_spec(
        "synthetic",
        "groq/llama-3.3-70b-versatile",
        options={"size": 60},
        provider_options={"base_url": sim.base_url("groq")},
        mode="batch",
        batch_size=20,
        batch_poll=0.05,
    )
    twin = engines.start(spec)
    assert engines.finish(twin).exit_code == 0
    asked = sim.summary()["requests"]
    run = engines.start(spec)

    moments = sorted(dice.sample(range(1, asked), KILLS))
    kill_at(engines, run, moments, lambda: sim.summary()["requests"] - asked)
    status = run.status()
    assert (status.state, status.done, status.failed) == ("complete", 60, 0)
    # Once for the twin and once for this run: nothing was worked on a second time.
    assert sim.summary()["answered"] == {"2": 60}
    assert scores(run) == scores(twin)
