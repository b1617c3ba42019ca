"""Worker slots on the nodes of a Ray cluster; they come and go with the nodes.

Only the engine keeps a queue: Ray starts actors where requested and carries frames. Ray is
imported only here, when a run asks for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.calls import WorkerCommand, frames
from evalbench.engine.dispatch.local.worker_slots import Keep, NodeLost, WorkerHandle, WorkerSlot
from evalbench.engine.errors import EvalbenchError, UsageError, WorkerFailed
from evalbench.engine.installed import install_command
from evalbench.engine.paths import open_private

log = logging.getLogger("evalbench")

LOOK_S = 2.0
_PATIENCE_S = 20.0
_CARDS_S = 3.0
_AT_ONCE = 8
"""Messages that an actor handles concurrently; one of them waits for worker output."""


@dataclass(frozen=True, slots=True)
class NodeSlot:
    """A slot on a node, derived from Ray's list of nodes.

    Attributes:
        ident: Ray's id of the node.
        node: the node's display name.
        name: display name of the slot.
        card: whether it has a GPU.
        sharing: number of slots on this node.
    """

    ident: str
    node: str
    name: str
    card: bool
    sharing: int


def node_slots(
    nodes: Iterable[Mapping[str, Any]], names: dict[str, str], device: str
) -> list[NodeSlot]:
    """The worker slots: one per GPU of the live nodes, or one per node if there are no GPUs.

    If some nodes have GPUs, those without (often the head) get no worker: it would be slow and
    its numbers would differ.

    Args:
        nodes: the output of ``ray.nodes()``.
        names: display names of known nodes by Ray id; new ones are added.
        device: the provider's option: ``auto``, ``cpu``, ``cuda``, ``mps``.
    """
    alive = [node for node in nodes if node["Alive"]]
    for node in alive:
        if node["NodeID"] not in names:
            host = str(node.get("NodeManagerHostname") or node["NodeID"][:8])
            same = sum(name.partition("#")[0] == host for name in names.values())
            names[node["NodeID"]] = f"{host}#{same + 1}" if same else host
    cards = {node["NodeID"]: int(node["Resources"].get("GPU", 0)) for node in alive}
    with_cards = device in ("auto", "cuda") and any(cards.values())
    found: list[NodeSlot] = []
    for node in alive:
        ident, name = node["NodeID"], names[node["NodeID"]]
        if with_cards:
            count = cards[ident]
            found += [NodeSlot(ident, name, f"{name} gpu {n}", True, count) for n in range(count)]
        elif device != "cuda" and node["Resources"].get("CPU", 0) >= 1:
            found.append(NodeSlot(ident, name, name, False, 1))
    return found


class Cluster:
    """A Ray cluster; this process runs on one of its nodes."""

    look_s: float | None = LOOK_S
    here = False

    def __init__(
        self,
        address: str,
        log: Path,
        *,
        most: int | None = None,
        device: str = "auto",
        models: int = 1,
    ) -> None:
        """Describe the cluster without connecting.

        Args:
            address: ``auto`` or HOST:PORT.
            log: file for the last log lines of workers.
            most: maximum number of workers; None for one per slot.
            device: the provider's option.
            models: number of the run's models that share each slot.
        """
        self.most = most
        self.share = 1 / models
        self.log = log
        self._address = address
        self._device = device
        self._names: dict[str, str] = {}
        self._spots: list[NodeSlot] = []
        self._connected = False
        self._handles: dict[str, dict[RayWorkerHandle, None]] = {}
        self._cards: dict[str, list[dict[str, Any]]] = {}

    async def slots(self) -> Sequence[WorkerSlot]:
        """The worker slots, in the order in which to use them."""
        if not self._connected:
            await asyncio.to_thread(_connect, self._address)
            self._connected = True
        try:
            nodes = await asyncio.to_thread(_nodes)
        except Exception as error:
            # The head is unreachable. Ray ends this process if it stays away; workers keep running.
            log.warning("the cluster does not tell its nodes: %s", error)
        else:
            self._spots = node_slots(nodes, self._names, self._device)
            await self._ask_cards()
        return [RayWorkerSlot(self, spot) for spot in self._spots]

    async def _ask_cards(self) -> None:
        asked = {node: next(iter(links)) for node, links in self._handles.items() if links}
        readings = await asyncio.gather(
            *(handle.cards() for handle in asked.values()), return_exceptions=True
        )
        self._cards = {
            node: cards
            for node, cards in zip(asked, readings, strict=True)
            if not isinstance(cards, BaseException)
        }

    def joined(self, handle: RayWorkerHandle) -> None:
        """Register a worker on a node: it can be asked about the node's GPUs."""
        self._handles.setdefault(handle.node, {})[handle] = None

    def left(self, handle: RayWorkerHandle) -> None:
        """Unregister a worker that has ended."""
        self._handles.get(handle.node, {}).pop(handle, None)

    def cards(self) -> list[dict[str, Any]]:
        """Latest readings of other machines' GPUs, see :class:`..gpu.Card`, with ``node``."""
        return [
            {**card, "node": node} for node, cards in sorted(self._cards.items()) for card in cards
        ]

    async def close(self) -> None:
        """Release all resources."""
        if self._connected:
            self._connected = False
            await asyncio.to_thread(_disconnect)


class RayWorkerSlot:
    """A worker slot on a node."""

    def __init__(self, cluster: Cluster, spot: NodeSlot) -> None:
        self.name = spot.name
        self.node = spot.node
        self.sharing = spot.sharing
        self._cluster = cluster
        self._spot = spot

    async def start(
        self, command: WorkerCommand, env: Mapping[str, str], keep: Keep | None = None
    ) -> WorkerHandle:
        """Start a worker in this slot."""
        import ray
        from ray.exceptions import RayError
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        from evalbench.engine.dispatch.local.worker_actor import WorkerActor, versions

        share = self._cluster.share
        there = NodeAffinitySchedulingStrategy(self._spot.ident, soft=False)
        needs = {"num_cpus": 0, "num_gpus": share} if self._spot.card else {"num_cpus": share}
        made: Any = ray.remote(WorkerActor)
        actor = made.options(
            scheduling_strategy=there, max_concurrency=_AT_ONCE, max_restarts=0, **needs
        ).remote()
        handle = RayWorkerHandle(actor, self._cluster, self.node)
        try:
            refuse_other_versions(self.node, versions(), await actor.about.remote())
            more = {**command.env, **env}
            handle.pid = await actor.start.remote(command.argv, more, sys.executable)
        except RayError as error:
            await handle.end()
            raise NodeLost(_reason(error)) from error
        except BaseException:
            await handle.end()
            raise
        self._cluster.joined(handle)
        return handle


class RayWorkerHandle:
    """A worker process on a node, reached through its actor."""

    def __init__(self, actor: Any, cluster: Cluster, node: str) -> None:
        self.pid: int | None = None
        self.code: int | None = None
        self.node = node
        self._actor = actor
        self._cluster = cluster
        self._sent: Any = None
        self._held: deque[bytes] = deque()
        self._words = ""

    def send(self, frame: frames.EngineFrame) -> None:
        """Send a frame; it is lost if the process is gone."""
        self._sent = self._actor.send.remote(frames.encode(frame))

    async def drain(self) -> None:
        """Wait until everything sent is on its way."""
        from ray.exceptions import RayError

        try:
            await self._sent
        except RayError:
            # The reader finds out why.
            return

    async def read(self) -> frames.WorkerFrame | None:
        """The next frame; None at the end."""
        from ray.exceptions import RayError

        while not self._held:
            if self.code is not None:
                return None
            try:
                bodies, self.code, log = await self._actor.receive.remote(_PATIENCE_S)
            except RayError as error:
                raise NodeLost(_reason(error)) from error
            self._held.extend(bodies)
            if log:
                self._keep_log(log)
        frame: frames.WorkerFrame = orjson.loads(self._held.popleft())
        return frame

    def _keep_log(self, log: bytes) -> None:
        lines = log.decode("utf-8", "replace").strip().splitlines()
        self._words = lines[-1] if lines else ""
        text = "".join(f"[{self.node}] {line}\n" for line in lines)
        # A full disk is no reason to lose the worker's frames.
        with contextlib.suppress(OSError), open_private(self._cluster.log, "ab") as file:
            file.write(text.encode())

    async def cards(self) -> list[dict[str, Any]]:
        """Read the node's GPUs.

        Raises:
            TimeoutError: it takes too long.
            RayError: the node is gone.
        """
        async with asyncio.timeout(_CARDS_S):
            found: list[dict[str, Any]] = await self._actor.cards.remote()
            return found

    async def end(self) -> None:
        """End the actor, which closes the worker's pipe and so ends the worker."""
        import ray

        self._cluster.left(self)
        # The actor, or all of Ray, may be gone.
        with contextlib.suppress(Exception):
            await asyncio.to_thread(ray.kill, self._actor)

    def last_log_line(self) -> str:
        """The last line in its log; empty if there is none."""
        return self._words


def refuse_other_versions(node: str, ours: Mapping[str, str], theirs: Mapping[str, str]) -> None:
    """Require equal versions on all nodes, so that all answers come from the same program.

    Raises:
        WorkerFailed: a node has a different Python, Ray or evalbench.
    """
    other = [name for name, version in ours.items() if theirs.get(name) != version]
    if other:
        differences = ", ".join(f"{name} {theirs.get(name)} and not {ours[name]}" for name in other)
        raise WorkerFailed(
            f"node {node} has other versions than this one",
            why=differences,
            hint="use one environment on all nodes, on a shared folder or in one container image",
        )


def _reason(error: Exception) -> str:
    """The first meaningful line; Ray's errors are pages long."""
    lines = [line.strip() for line in str(error).splitlines()]
    missing = [line for line in lines if line.startswith(("ModuleNotFoundError", "ImportError"))]
    return (missing or [line for line in lines if line] or [type(error).__name__])[0][:300]


# A process has one connection, which serves all models of all its runs.
_lock = threading.Lock()
_users = 0
_joined = ""


def _connect(address: str) -> None:
    """Join the cluster.

    Raises:
        UsageError: Ray is not installed, or this process has joined another cluster.
        WorkerFailed: the cluster cannot be reached, or has a different Ray or Python.
    """
    global _users, _joined
    try:
        import ray
    except ImportError:
        raise UsageError(
            "--mode cluster needs Ray, which is not installed",
            hint=f"on every node: {install_command('cluster')}",
        ) from None
    with _lock:
        if not ray.is_initialized():
            try:
                ray.init(
                    address=address,
                    namespace="evalbench",
                    configure_logging=False,
                    log_to_driver=False,
                )
            except Exception as error:
                raise unreachable(address, error) from error
            _joined = address
        elif address != _joined:
            raise UsageError(
                f"one engine cannot use the clusters at {_joined} and at {address}",
                hint="give all runs of a suite one --address, or start them apart",
            )
        _users += 1


def unreachable(address: str, error: Exception) -> EvalbenchError:
    """The error for a cluster that cannot be used, with a hint."""
    text = str(error)
    if "ersion mismatch" in text:
        return WorkerFailed(
            "this Python or Ray is not the cluster's",
            why=" ".join(text.split())[:400],
            hint="start evalbench from the environment that ray start was called in",
        )
    return WorkerFailed(
        f"there is no Ray cluster at {address}, or this machine is no node of it",
        why=next((line for line in text.splitlines() if line.strip()), type(error).__name__)[:400],
        hint="see ray status; make this machine a node (ray start --head, or ray start"
        " --address=HEAD:PORT), then evalbench resume",
    )


def _nodes() -> list[dict[str, Any]]:
    import ray

    found: list[dict[str, Any]] = ray.nodes()
    return found


def _disconnect() -> None:
    global _users
    import ray

    with _lock:
        _users -= 1
        if not _users:
            ray.shutdown()
