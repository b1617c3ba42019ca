"""Workers on the nodes of a cluster: where they go, what is refused, what travels.

Ray is pretended here: its actors run in this process, and their workers are real ones.
tests/faults/test_cluster.py asks the real one.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from evalbench.engine.calls import Call, ModelRef, Reply, generate
from evalbench.engine.config.spec import check_cluster_address, make_spec
from evalbench.engine.dispatch.base import SendLog
from evalbench.engine.dispatch.local import worker_actor as carriers
from evalbench.engine.dispatch.local.cluster import (
    Cluster,
    node_slots,
    refuse_other_versions,
    unreachable,
)
from evalbench.engine.dispatch.local.dispatcher import LocalDispatcher
from evalbench.engine.dispatch.local.replica import WorkerModel
from evalbench.engine.dispatch.local.worker_actor import WorkerActor
from evalbench.engine.dispatch.local.worker_slots import end_process
from evalbench.engine.errors import SpecError, UsageError, WorkerFailed
from evalbench.engine.installed import install_command
from tests.unit.engine.test_local import ANSWERS, LANGUAGE, Scripted, until


def node(ident: str, host: str, *, alive: bool = True, **resources: float) -> dict[str, Any]:
    return {
        "NodeID": ident,
        "Alive": alive,
        "NodeManagerHostname": host,
        "Resources": resources or {"CPU": 2.0},
    }


# -- addresses and places -----------------------------------------------------------------


@pytest.mark.parametrize("address", ["auto", "10.0.0.1:6379", "head.example:6379"])
def test_addresses_of_a_cluster(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    check_cluster_address(address)


@pytest.mark.parametrize("address", ["", "head", "head:", ":6379", "head:port"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(SpecError, match="--address cannot be"):
        check_cluster_address(address)


def test_ray_client_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpecError, match="address of Ray Client") as error:
        check_cluster_address("ray://head:10001")
    assert "on a node of the cluster" in error.value.hint
    monkeypatch.setenv("RAY_ADDRESS", "ray://head:10001")
    with pytest.raises(SpecError, match="Ray Client"):
        check_cluster_address("auto")
    check_cluster_address("head:6379")


def test_every_gpu_is_a_place_and_nodes_without_one_are_left_out() -> None:
    names: dict[str, str] = {}
    told = [
        node("h", "head", CPU=8.0),
        node("a", "gpu-a", CPU=8.0, GPU=2.0),
        node("b", "gpu-b", CPU=8.0, GPU=1.0),
        node("c", "gpu-c", alive=False, CPU=8.0, GPU=1.0),
    ]
    assert [(one.name, one.node, one.sharing) for one in node_slots(told, names, "auto")] == [
        ("gpu-a gpu 0", "gpu-a", 2),
        ("gpu-a gpu 1", "gpu-a", 2),
        ("gpu-b gpu 0", "gpu-b", 1),
    ]
    on_cpus = node_slots(told, names, "cpu")
    assert [one.name for one in on_cpus] == ["head", "gpu-a", "gpu-b"]
    assert not any(one.card for one in on_cpus)


def test_without_gpus_every_node_with_a_processor_is_a_place() -> None:
    told = [node("h", "head", CPU=0.0), node("a", "one"), node("b", "two")]
    assert [one.name for one in node_slots(told, {}, "auto")] == ["one", "two"]
    assert node_slots(told, {}, "cuda") == []


def test_nodes_of_one_host_have_names_that_stay() -> None:
    names: dict[str, str] = {}
    first = [node("a", "host"), node("b", "host")]
    assert [one.name for one in node_slots(first, names, "auto")] == ["host", "host#2"]
    later = [node("a", "host", alive=False), *first[1:], node("c", "host")]
    assert [one.name for one in node_slots(later, names, "auto")] == ["host#2", "host#3"]


def test_other_versions_are_refused() -> None:
    ours = {"Python": "3.12", "Ray": "2.60.0", "evalbench": "1"}
    refuse_other_versions("a", ours, dict(ours))
    with pytest.raises(WorkerFailed, match="node a has other versions") as error:
        refuse_other_versions("a", ours, {**ours, "Ray": "2.9.0"})
    assert error.value.why == "Ray 2.9.0 and not 2.60.0"


def test_why_a_cluster_cannot_be_used_is_told_shortly() -> None:
    other = unreachable("auto", RuntimeError("Version mismatch: The cluster was\n  started with"))
    assert (other.what, "ray start" in other.hint) == (
        "this Python or Ray is not the cluster's",
        True,
    )
    nothing = unreachable("auto", ConnectionError("\nCould not find any\nRay\n"))
    assert (nothing.why, "ray status" in nothing.hint) == ("Could not find any", True)


@pytest.mark.usefixtures("plugins")
def test_hosted_models_are_not_asked_on_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    part = make_spec("synthetic", "scripted/good", mode="cluster").roles()["candidate"]
    with pytest.raises(SpecError, match="asked over the network, not on a cluster"):
        part.check({"generate"}, "synthetic")
    judges = ["scripted/better", "local/gpt2-large"]
    roles = make_spec("judged", "local/gpt2-large", mode="cluster", judge=judges).roles()
    modes = {role: one.get("mode") for role, one in roles.items()}
    assert modes == {
        "candidate": "cluster",
        "judge/scripted/better": "realtime",
        "judge/local/gpt2-large": "cluster",
    }
    with pytest.raises(SpecError, match="Ray Client"):
        make_spec("synthetic", "scripted/good", mode="cluster", address="ray://head:1")


def test_without_ray_a_run_is_refused_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    part = make_spec("quickstart", "local/gpt2-large", mode="cluster").roles()["candidate"]
    with pytest.raises(SpecError, match="needs Ray, which is not installed") as error:
        part.check({"generate"}, "quickstart")
    assert error.value.hint == f"on every node: {install_command('cluster')}"


# -- with a pretended Ray -----------------------------------------------------------------


class RayError(Exception):
    """What Ray raises when an actor or a node is gone."""


class Handle:
    """A reference to an actor of this process."""

    def __init__(self, actor: WorkerActor, options: dict[str, Any]) -> None:
        self.actor = actor
        self.options = options
        self.lost = ""

    def __getattr__(self, name: str) -> Any:
        async def ask(*args: Any) -> Any:
            found = await getattr(self.actor, name)(*args)
            if self.lost:
                raise RayError(self.lost)
            return found

        return SimpleNamespace(remote=lambda *args: asyncio.ensure_future(ask(*args)))

    def die(self) -> None:
        """What happens to an actor whose node is gone: its worker's pipe closes."""
        self.lost = "\nThe actor died unexpectedly\nand much more"
        process = self.actor._process
        if process and process.stdin:
            process.stdin.close()


class PretendRay(ModuleType):
    """The part of Ray that is used."""

    def __init__(self) -> None:
        super().__init__("ray")
        self.nodes_told = [node("a", "one"), node("b", "two")]
        self.handles: list[Handle] = []
        self.begun: list[dict[str, Any]] = []
        self.shut = 0
        self.exceptions = ModuleType("ray.exceptions")
        self.exceptions.RayError = RayError  # type: ignore[attr-defined]

    def is_initialized(self) -> bool:
        return len(self.begun) > self.shut

    def init(self, **how: Any) -> None:
        self.begun.append(how)

    def shutdown(self) -> None:
        self.shut += 1

    def nodes(self) -> list[dict[str, Any]]:
        return self.nodes_told

    def kill(self, handle: Handle) -> None:
        self.loop.call_soon_threadsafe(handle.die)

    def remote(self, cls: type[WorkerActor]) -> Any:
        self.loop = asyncio.get_running_loop()

        def options(**how: Any) -> Any:
            def start() -> Handle:
                self.handles.append(Handle(cls(), how))
                return self.handles[-1]

            return SimpleNamespace(remote=start)

        return SimpleNamespace(options=options)


@pytest.fixture
async def ray(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[PretendRay]:
    made = PretendRay()
    strategies = ModuleType("ray.util.scheduling_strategies")
    strategies.NodeAffinitySchedulingStrategy = (  # type: ignore[attr-defined]
        lambda ident, soft: (ident, soft)
    )
    monkeypatch.setitem(sys.modules, "ray", made)
    monkeypatch.setitem(sys.modules, "ray.exceptions", made.exceptions)
    monkeypatch.setitem(sys.modules, "ray.util", ModuleType("ray.util"))
    monkeypatch.setitem(sys.modules, "ray.util.scheduling_strategies", strategies)
    monkeypatch.setattr(carriers, "version", lambda name: "1.0")
    monkeypatch.setattr(Cluster, "look_s", 0.05)
    yield made
    for actor in (handle.actor for handle in made.handles):
        if actor._process:
            await end_process(actor._process)
        if actor._reader:
            await actor._reader


class Held:
    """A dispatcher on a pretended cluster."""

    def __init__(self, folder: Path, body: str, **more: Any) -> None:
        provider = Scripted({"script": folder / "worker.py"})
        provider.script.write_text(LANGUAGE + body)
        self.log = folder / "worker.log"
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.cluster = Cluster("auto", self.log, **more)
        self.local = LocalDispatcher(
            WorkerModel(provider, "m", env={"HF": "t"}),
            report=self._report,
            log=self.log,
            pool=self.cluster,
        )

    def _report(self, kind: str, **body: Any) -> None:
        self.events.append((kind, body))

    def ask(self, text: str) -> asyncio.Task[Reply]:
        call = Call(ModelRef("scripted-worker", "m"), generate(text))
        return asyncio.create_task(self.local.answer(call, text, SendLog()))


def in_work(held: Held) -> int:
    """Calls that are in workers."""
    return sum(one["in_flight"] for one in held.local.gauges()["workers"])


LOADED = "say(type='loaded', info={'token': os.environ.get('HF')})\n"


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    logs = tmp_path / "logs"
    logs.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(logs))
    return logs


async def test_calls_are_answered_on_the_nodes(ray: PretendRay, tmp_path: Path) -> None:
    held = Held(tmp_path, LOADED + ANSWERS)
    replies = await asyncio.gather(*(held.ask(f"call {n}") for n in range(80)))
    assert [reply.text for reply in replies] == [f"CALL {n}" for n in range(80)]
    await until(lambda: len(held.events) == 2, "both workers")
    assert sorted(body["worker"] for _, body in held.events) == ["one", "two"]
    assert {body["token"] for _, body in held.events} == {"t"}
    how = [handle.options for handle in ray.handles]
    assert [one["scheduling_strategy"] for one in how] == [("a", False), ("b", False)]
    assert {(one["num_cpus"], one.get("num_gpus")) for one in how} == {(1.0, None)}
    assert ray.begun[0]["address"] == "auto"
    told = held.local.gauges()["workers"]
    assert {one["node"] for one in told} == {"one", "two"}
    assert all(one["pid"] != os.getpid() for one in told)
    await held.local.close()
    assert (ray.shut, held.events[-1][0]) == (1, "model-unloaded")


async def test_a_fault_while_a_worker_is_started_ends_the_run(
    ray: PretendRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray.exceptions", None)
    held = Held(tmp_path, LOADED + ANSWERS)
    with pytest.raises(WorkerFailed, match="cannot be driven") as caught:
        await held.ask("a call")
    assert "ray.exceptions" in caught.value.why
    await held.local.close()


async def test_the_calls_of_a_node_that_dies_go_to_another(ray: PretendRay, tmp_path: Path) -> None:
    body = LOADED + "for key, text in calls():\n    if text != 'slow' or life > 1: reply(key)"
    ray.nodes_told.pop()
    held = Held(tmp_path, body)
    slow = held.ask("slow")
    await until(lambda: in_work(held), "the call on its way")
    ray.nodes_told[0] = node("a", "one", alive=False)
    ray.nodes_told.append(node("b", "two"))
    ray.handles[0].die()
    assert (await slow).text == "yes"
    (lost,) = [body for kind, body in held.events if kind == "worker-lost"]
    assert lost == {"worker": "one", "why": "The actor died unexpectedly", "waiting": 1}
    await held.local.close()


async def test_a_dead_worker_leaves_its_last_words_in_the_runs_log(
    ray: PretendRay, tmp_path: Path, logs: Path
) -> None:
    ray.nodes_told.pop()
    body = "next(calls())\nif life < 2: print('oh no', file=sys.stderr); os._exit(3)\n"
    held = Held(tmp_path, LOADED + body + "reply('a'); next(calls())")
    assert (await held.ask("a")).text == "yes"
    assert "[one] oh no\n" in held.log.read_text()
    assert held.events[1][0] == "worker-restarted"
    assert held.events[1][1]["exit"] == 3
    await held.local.close()
    assert len(list(logs.iterdir())) <= 1, "only that of a worker cut off"


async def test_a_node_with_another_version_is_not_used(
    ray: PretendRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def about(self: WorkerActor) -> dict[str, str]:
        return {"Python": "3.1", "Ray": "0", "evalbench": "0"}

    monkeypatch.setattr(WorkerActor, "about", about)
    held = Held(tmp_path, LOADED + ANSWERS)
    with pytest.raises(WorkerFailed, match="has other versions"):
        await held.ask("a")
    assert len(ray.handles) == 2
    await held.local.close()


async def test_cards_of_the_nodes_are_told_with_their_node(
    ray: PretendRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cards(self: WorkerActor) -> list[dict[str, Any]]:
        return [{"name": "Pretend 9000"}]

    monkeypatch.setattr(WorkerActor, "cards", cards)
    held = Held(tmp_path, LOADED + ANSWERS)
    await held.ask("a")
    await until(lambda: len(held.local.cards()) == 2, "both nodes' cards")
    assert held.local.cards() == [
        {"name": "Pretend 9000", "node": "one"},
        {"name": "Pretend 9000", "node": "two"},
    ]
    assert not held.local.here
    await held.local.close()


async def test_models_share_a_gpu_and_the_connection(ray: PretendRay, tmp_path: Path) -> None:
    ray.nodes_told = [node("a", "one", CPU=4.0, GPU=1.0)]
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    both = [Held(tmp_path / name, LOADED + ANSWERS, models=2) for name in ("first", "second")]
    for held in both:
        await held.ask("a")
    assert [(one.options["num_gpus"], one.options["num_cpus"]) for one in ray.handles] == [
        (0.5, 0)
    ] * 2
    assert len(ray.begun) == 1
    await both[0].local.close()
    assert ray.shut == 0
    await both[1].local.close()
    assert ray.shut == 1


async def test_one_engine_is_in_one_cluster(ray: PretendRay, tmp_path: Path) -> None:
    held = Held(tmp_path, LOADED + ANSWERS)
    await held.ask("a")
    other = Held(tmp_path, LOADED + ANSWERS)
    other.cluster._address = "elsewhere:1"
    with pytest.raises(UsageError, match="clusters at auto and at elsewhere:1"):
        await other.ask("a")
    await other.local.close()
    await held.local.close()


async def test_workers_go_on_while_the_head_is_away(
    ray: PretendRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(tmp_path, LOADED + ANSWERS)
    await held.ask("a")
    tried: list[int] = []

    def nodes() -> list[dict[str, Any]]:
        tried.append(1)
        raise RuntimeError("no answer")

    monkeypatch.setattr(ray, "nodes", nodes)
    await until(lambda: len(tried) > 1, "looks at the nodes")
    assert (await held.ask("b")).text == "B"
    await held.local.close()


async def test_without_ray_the_run_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    held = Held(tmp_path, ANSWERS)
    with pytest.raises(UsageError, match="not installed") as error:
        await held.ask("a")
    assert error.value.hint == f"on every node: {install_command('cluster')}"
    await held.local.close()


async def test_a_cluster_that_is_not_there_ends_the_run(
    ray: PretendRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def init(**how: Any) -> None:
        raise ConnectionError("nobody there")

    monkeypatch.setattr(ray, "init", init)
    held = Held(tmp_path, ANSWERS)
    with pytest.raises(WorkerFailed, match="no Ray cluster at auto"):
        await held.ask("a")
    await held.local.close()


async def test_a_place_that_is_cut_off_while_it_starts_gives_its_actor_back(
    ray: PretendRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def about(self: WorkerActor) -> dict[str, str]:
        await asyncio.sleep(3600)
        return {}

    monkeypatch.setattr(WorkerActor, "about", about)
    held = Held(tmp_path, ANSWERS)
    ask = held.ask("a")
    await until(lambda: len(ray.handles) == 2, "both actors")
    await held.local.close()
    await until(lambda: all(handle.lost for handle in ray.handles), "their end")
    ask.cancel()
