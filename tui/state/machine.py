"""Load of this machine: GPUs, CPUs, memory, and which run uses how much of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalbench.engine.hardware.gpu import HISTORY, Gpus
from evalbench.engine.hardware.system import System, SystemReading, process_name
from evalbench.engine.kept_workers import KeptWorker, kept_workers
from evalbench.engine.runs.folder import short_id
from evalbench.engine.terminal_text import one_line
from evalbench.tui.state.run_list import RunLine


class Holder(NamedTuple):
    """A process that uses resources of this machine.

    Attributes:
        what: ``engine``, ``worker``, or the name of its program.
        run: the run it works for; None for a foreign process on a card.
        memory, cpu: as in ``Process``; None for foreign processes.
        card_memory: bytes that it uses on cards; None if it uses none, or it is unknown.
        kept: the model that it, or the worker that started it, keeps loaded for a later run; None
            for others.
    """

    pid: int
    what: str
    run: RunLine | None
    memory: int | None
    cpu: float | None
    card_memory: int | None
    kept: KeptWorker | None = None


@dataclass(slots=True)
class MachineReading:
    """One reading.

    Attributes:
        system: CPUs, memory, processes of runs.
        cards: a mapping like ``Card`` for each.
        trouble: why there is no card; empty if there is one.
        holders: processes of runs, then foreign processes on cards.
        busy, memory: fractions in the last readings, from 0 to 1, the newest last.
    """

    system: SystemReading = field(default_factory=SystemReading)
    cards: Sequence[Mapping[str, Any]] = ()
    trouble: str = ""
    holders: Sequence[Holder] = ()
    busy: Sequence[float] = ()
    memory: Sequence[float] = ()


class Machine:
    """Reads this machine repeatedly, at any interval; one thread at a time."""

    def __init__(self) -> None:
        self._system = System()
        self._gpus = Gpus()
        self._busy: deque[float] = deque(maxlen=HISTORY)
        self._memory: deque[float] = deque(maxlen=HISTORY)

    def read(self, runs: Sequence[RunLine]) -> MachineReading:
        """The current reading.

        Args:
            runs: runs whose processes to report; only live ones have any.
        """
        engines, workers = _engines(runs)
        kept = {one.pid: one for one in kept_workers()}
        # A worker that an earlier engine has started is no descendant of the one that uses it.
        system = self._system.read((*engines, *workers, *kept))
        cards = self._gpus.read()
        if system.busy is not None:
            self._busy.append(system.busy)
        if system.used is not None and system.total:
            self._memory.append(system.used / system.total)
        holders = [*_ours(system, engines, workers, kept, cards)]
        known = {one.pid for one in holders}
        holders += _strangers(cards, known)
        return MachineReading(
            system, cards, self._gpus.trouble, holders, list(self._busy), list(self._memory)
        )


def _engines(runs: Sequence[RunLine]) -> tuple[dict[int, RunLine], dict[int, RunLine]]:
    """Each live run's engine on this machine, and the workers it reported."""
    engines: dict[int, RunLine] = {}
    workers: dict[int, RunLine] = {}
    for line in runs:
        if not line.live:
            continue
        status = line.folder.status()
        if (pid := line.folder.live_pid(status)) is None:
            continue
        engines.setdefault(pid, line)
        gauges = status.gauges
        pids = [gauges.get("worker_pid"), *(one.get("pid") for one in gauges.get("workers") or ())]
        workers |= {one: line for one in pids if isinstance(one, int)}
    return engines, workers


def _on_cards(cards: Sequence[Mapping[str, Any]]) -> dict[int, int | None]:
    """Bytes that each process uses on all cards; None if a card does not report it."""
    memory: dict[int, int | None] = {}
    for card in cards:
        for word, used in card["processes"].items():
            pid = int(word)
            before = memory.get(pid, 0)
            memory[pid] = None if before is None or used is None else before + used
    return memory


def _ours(
    system: SystemReading,
    engines: Mapping[int, RunLine],
    workers: Mapping[int, RunLine],
    kept: Mapping[int, KeptWorker],
    cards: Sequence[Mapping[str, Any]],
) -> Iterator[Holder]:
    memory = _on_cards(cards)
    roots = {*engines, *workers, *kept}
    for pid, one in system.processes.items():
        root = pid
        while root not in roots and root in system.processes:
            root = system.processes[root].parent
        what = "engine" if pid in engines else "worker" if pid in workers else one_line(one.name)
        run = engines.get(root) or workers.get(root)
        stays = kept.get(root)
        yield Holder(
            pid,
            "loaded model" if pid in kept else what,
            None if stays else run,
            one.memory,
            one.cpu,
            memory.get(pid),
            stays,
        )


def _strangers(cards: Sequence[Mapping[str, Any]], known: set[int]) -> Iterator[Holder]:
    for pid, used in _on_cards(cards).items():
        if pid not in known:
            yield Holder(pid, one_line(process_name(pid)) or "process", None, None, None, used)


def holder_of(pid: str, holders: Sequence[Holder]) -> str:
    """``worker of 20260101-…-ab12``, or program and pid of a foreign process."""
    for one in holders:
        if str(one.pid) == pid:
            return f"{one.what} of {short_id(one.run.folder)}" if one.run else f"{one.what} {pid}"
    return f"process {pid}"


def card_facts(temperature: int | None, power: float | None, limit: float | None) -> list[str]:
    """A GPU's temperature in degrees Celsius, and its power and power limit in watts."""
    facts = []
    if temperature is not None:
        facts.append(f"{temperature} °C")
    if power is not None:
        most = f" of {limit:.0f}" if limit is not None else ""
        facts.append(f"{power:.0f}{most} W")
    return facts
