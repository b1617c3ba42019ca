"""A Ray cluster of three nodes on this machine; one joins late, one is killed in the middle."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalbench.engine.config.spec import make_spec
from evalbench.engine.runs.folder import RunFolder
from tests.faults.engines import Engines, replied, scores, wait_until
from tests.faults.kills import Trial, riddles
from tests.faults.ray_nodes import Nodes, small_cluster
from tests.faults.test_workers import events
from tests.faults.workers import Homely

SIZE = 400
PATIENCE_S = 240.0

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def homely(engines: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homely:
    return Homely(tmp_path / "installed", monkeypatch)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Nodes]:
    with small_cluster() as nodes:
        yield nodes


def answers(run: RunFolder) -> dict[str, int]:
    """Answers of each worker so far, by its node."""
    return {one["node"]: one["answers"] for one in run.status().gauges.get("workers") or []}


def has_answered(run: RunFolder, nodes: int) -> bool:
    """Whether workers on so many nodes have answered all that they may for now."""
    return sum(count == 20 for count in answers(run).values()) >= nodes


def test_a_node_joins_and_one_dies_and_every_sample_is_answered_once(
    engines: Engines, homely: Homely, cluster: Nodes
) -> None:
    second = cluster.add()
    homely.hold(20)
    options = {"size": SIZE}
    run = engines.start(
        make_spec(
            "synthetic", "homely/any", options=options, mode="cluster", address=cluster.address
        )
    )
    wait_until(lambda: has_answered(run, 2), "answers of two nodes", PATIENCE_S)
    cluster.add()
    wait_until(lambda: has_answered(run, 3), "answers of the node that joined", PATIENCE_S)
    cluster.kill(second)
    wait_until(lambda: events(run, "worker-lost"), "the loss of a node", PATIENCE_S)
    homely.go_on()
    wait_until(lambda: run.status().at_rest, "the end of the run", PATIENCE_S)
    status = engines.finish(run)
    assert (status.state, status.problem, status.done, status.failed) == ("complete", "", SIZE, 0)
    assert sorted(replied(run).values()) == [1] * SIZE, "every sample is answered once"
    nodes = {body["worker"] for body in events(run, "model-loaded")}
    assert len(nodes) >= 3
    lost = events(run, "worker-lost")[0]
    assert lost["worker"] in nodes
    assert lost["waiting"] > 0
    assert events(run, "worker-restarted") == []

    alone = engines.start(make_spec("synthetic", "homely/any", options=options))
    assert engines.finish(alone).state == "complete"
    assert scores(alone) == scores(run)


def test_a_run_on_one_node_can_be_stopped_and_resumed(
    engines: Engines, homely: Homely, cluster: Nodes
) -> None:
    homely.hold(20)
    run = engines.start(
        make_spec(
            "synthetic",
            "homely/any",
            options={"size": 50},
            mode="cluster",
            workers=1,
            address=cluster.address,
        )
    )
    wait_until(lambda: has_answered(run, 1), "answers of the node", PATIENCE_S)
    os.kill(engines.pid, signal.SIGTERM)
    assert engines.finish(run).state == "stopped"
    assert sum(replied(run).values()) == 20
    homely.go_on()
    engines.resume(run)
    assert engines.finish(run).state == "complete"
    assert sorted(replied(run).values()) == [1] * 50


def test_an_engine_that_is_killed_asks_nothing_twice_and_changes_no_score(
    engines: Engines, homely: Homely, cluster: Nodes, dice: random.Random
) -> None:
    homely.keep_ledger(engines.ledger, 0.02)
    spec = make_spec(
        "synthetic",
        "homely/any",
        options={"size": 100},
        mode="cluster",
        address=cluster.address,
    )
    # On a busy machine Ray alone takes minutes until the workers of the killed engine are gone.
    trial = Trial(engines, spec, dice, riddles, in_flight=100, kills=1, patience_s=2 * PATIENCE_S)
    trial.hold()
