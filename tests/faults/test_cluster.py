"""A Ray cluster of three nodes on this machine; one joins late, one is killed in the middle."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.runfolder import RunFolder
from evalbench.engine.settings import make_spec
from tests.faults.engines import Engines, replied, scores, wait_until
from tests.faults.test_workers import events
from tests.faults.workers import Homely

SIZE = 400
PATIENCE_S = 240.0

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def homely(engines: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homely:
    return Homely(tmp_path / "installed", monkeypatch)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that is a node, and room for others; nothing of it stays."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        yield from started()


def started() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    held = Cluster(
        initialize_head=True, head_node_args={**SMALL, "include_dashboard": False}, connect=False
    )
    pids = [process.process.pid for node in held.list_all_nodes() for process in running(node)]
    try:
        yield held
    finally:
        pids += [process.process.pid for node in held.list_all_nodes() for process in running(node)]
        held.shutdown()
        for pid in set(pids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


SMALL = {"num_cpus": 1, "num_gpus": 0, "object_store_memory": 80 << 20}


def running(node: Any) -> list[Any]:
    """All processes of a node."""
    return [one for kind in node.all_processes.values() for one in kind]


def answers(run: RunFolder) -> dict[str, int]:
    """Answers of each worker so far, by its node."""
    return {one["node"]: one["answers"] for one in run.status().gauges.get("workers") or []}


def has_answered(run: RunFolder, nodes: int) -> bool:
    """Whether workers on so many nodes have answered all that they may for now."""
    return sum(count == 20 for count in answers(run).values()) >= nodes


def test_a_node_joins_and_one_dies_and_every_sample_is_answered_once(
    engines: Engines, homely: Homely, cluster: Any
) -> None:
    second = cluster.add_node(**SMALL)
    homely.hold(20)
    options = {"size": SIZE}
    run = engines.start(
        make_spec(
            "synthetic", "homely/any", options=options, mode="cluster", address=cluster.address
        )
    )
    wait_until(lambda: has_answered(run, 2), "answers of two nodes", PATIENCE_S)
    cluster.add_node(**SMALL)
    wait_until(lambda: has_answered(run, 3), "answers of the node that joined", PATIENCE_S)
    assert sum(answers(run).values()) == 60
    cluster.remove_node(second, allow_graceful=False)
    wait_until(lambda: events(run, "worker-lost"), "the loss of a node", PATIENCE_S)
    homely.go_on()
    wait_until(lambda: run.status().at_rest, "the end of the run", PATIENCE_S)
    status = engines.finish(run)
    assert (status.state, status.problem, status.done, status.failed) == ("complete", "", SIZE, 0)
    assert sorted(replied(run).values()) == [1] * SIZE, "every sample is answered once"
    nodes = {body["worker"] for body in events(run, "model-loaded")}
    assert len(nodes) == 3
    lost = events(run, "worker-lost")[0]
    assert lost["worker"] in nodes
    assert lost["waiting"] > 0
    assert events(run, "worker-restarted") == []

    alone = engines.start(make_spec("synthetic", "homely/any", options=options))
    assert engines.finish(alone).state == "complete"
    assert scores(alone) == scores(run)


def test_a_run_on_one_node_can_be_stopped_and_resumed(
    engines: Engines, homely: Homely, cluster: Any
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
