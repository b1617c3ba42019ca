"""The load of this machine: CPUs, main memory, and selected processes.

Linux reports it in ``/proc``; elsewhere psutil does if it is installed (it comes with local
models); without it only the load average and the memory size are known.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from evalbench.engine.hardware.devices import system_memory


class Process(NamedTuple):
    """One process of this machine.

    Attributes:
        parent: the process that started it.
        name: its program's name, truncated by the system.
        memory: resident bytes.
        cpu: CPUs kept busy since the previous reading; None at the first.
    """

    pid: int
    parent: int
    name: str
    memory: int
    cpu: float | None


@dataclass(frozen=True, slots=True)
class SystemReading:
    """One reading of the machine.

    Attributes:
        cores: fraction of each CPU that was busy since the previous reading, from 0 to 1; empty
            at the first reading, and if not reported.
        load: average number of runnable processes over 1, 5 and 15 minutes.
        used, total: bytes of main memory, within the container's limit; ``used`` is None if
            unknown.
        swap_used, swap_total: bytes; both 0 without swap.
        processes: the requested processes and all their descendants, by id.
    """

    cores: tuple[float, ...] = ()
    load: tuple[float, float, float] | None = None
    used: int | None = None
    total: int = 0
    swap_used: int = 0
    swap_total: int = 0
    processes: Mapping[int, Process] = field(default_factory=dict)

    @property
    def busy(self) -> float | None:
        """Fraction over all CPUs; None if unknown."""
        return sum(self.cores) / len(self.cores) if self.cores else None


class _Times(NamedTuple):
    """Busy seconds of a process or CPU, and when they were read."""

    busy: float
    at: float


class System:
    """Reads this machine repeatedly; fractions cover the time between two readings."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._cores: list[_Times] = []
        self._spent: dict[int, _Times] = {}

    def read(self, roots: Collection[int] = ()) -> SystemReading:
        """The current state. Takes milliseconds; never raises.

        Args:
            roots: processes to include, with all their descendants.
        """
        free, total = system_memory()
        try:
            load = os.getloadavg()
        except OSError:
            load = None
        if (self._proc / "stat").exists():
            cores, (swap_used, swap_total) = self._read_cores(), self._read_swap()
            processes = self._family(roots, self._read_processes()) if roots else {}
            return SystemReading(
                cores, load, max(0, total - free), total, swap_used, swap_total, processes
            )
        if (psutil := _psutil()) is None:
            return SystemReading((), load, None, total)
        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        return SystemReading(
            self._shares([_busy_of(one) for one in psutil.cpu_times(percpu=True)]),
            load,
            int(memory.total - memory.available),
            int(memory.total),
            int(swap.used),
            int(swap.total),
            self._family(roots, self._ask_processes(psutil, roots)) if roots else {},
        )

    # -- CPUs --------------------------------------------------------------------

    def _read_cores(self) -> tuple[float, ...]:
        lines = _text(self._proc / "stat").splitlines()
        found = []
        for line in lines:
            name, *words = line.split()
            if name.startswith("cpu") and name != "cpu":
                ticks = [int(word) for word in words[:8]]
                # Waiting for a disk counts as idle.
                found.append(_Times(sum(ticks) - sum(ticks[3:5]), sum(ticks)))
        return self._shares(found)

    def _shares(self, now: list[_Times]) -> tuple[float, ...]:
        before, self._cores = self._cores, now
        if len(before) != len(now):
            return ()
        return tuple(
            min(1.0, max(0.0, (new.busy - old.busy) / (new.at - old.at)))
            if new.at > old.at
            else 0.0
            for old, new in zip(before, now, strict=True)
        )

    def _read_swap(self) -> tuple[int, int]:
        sizes = {}
        for line in _text(self._proc / "meminfo").splitlines():
            name, _, words = line.partition(":")
            if name.startswith("Swap"):
                sizes[name] = int(words.split()[0]) * 1024
        total = sizes.get("SwapTotal", 0)
        return total - sizes.get("SwapFree", total), total

    # -- processes ---------------------------------------------------------------

    def _read_processes(self) -> Iterable[tuple[Process, _Times]]:
        clock = os.sysconf("SC_CLK_TCK")
        page = os.sysconf("SC_PAGE_SIZE")
        uptime = float((_text(self._proc / "uptime").split() or ["0"])[0])
        for entry in os.scandir(self._proc):
            if not entry.name.isdecimal():
                continue
            # Fields are counted after the parenthesised name, which may contain spaces.
            head, _, rest = _text(self._proc / entry.name / "stat").rpartition(")")
            words = rest.split()
            if len(words) < 22:
                continue
            spent = (int(words[11]) + int(words[12])) / clock
            pid, name = int(entry.name), head.partition("(")[2]
            found = Process(pid, int(words[1]), name, int(words[21]) * page, None)
            yield found, _Times(spent, uptime)

    def _ask_processes(
        self, psutil: ModuleType, roots: Collection[int]
    ) -> Iterable[tuple[Process, _Times]]:
        for root in roots:
            try:
                family = [psutil.Process(root), *psutil.Process(root).children(recursive=True)]
            except psutil.Error:
                continue
            for one in family:
                try:
                    times, memory = one.cpu_times(), int(one.memory_info().rss)
                    found = Process(one.pid, one.ppid(), one.name(), memory, None)
                except psutil.Error:
                    continue
                yield found, _Times(times.user + times.system, time.monotonic())

    def _family(
        self, roots: Collection[int], every: Iterable[tuple[Process, _Times]]
    ) -> dict[int, Process]:
        """The root processes and their descendants."""
        known = {one.pid: (one, times) for one, times in every}
        children: dict[int, list[int]] = {}
        for pid, (one, _) in known.items():
            children.setdefault(one.parent, []).append(pid)
        found: dict[int, Process] = {}
        spent: dict[int, _Times] = {}
        waiting = [pid for pid in roots if pid in known]
        while waiting:
            pid = waiting.pop(0)
            if pid in found:
                continue
            one, now = known[pid]
            before = self._spent.get(pid)
            if before and now.at > before.at:
                one = one._replace(cpu=max(0.0, (now.busy - before.busy) / (now.at - before.at)))
            found[pid], spent[pid] = one, now
            waiting += children.get(pid, ())
        self._spent = spent
        return found


def process_name(pid: int) -> str:
    """A process's program name; empty if not reported."""
    return _text(Path(f"/proc/{pid}/comm")).strip()


def _busy_of(times: object) -> _Times:
    seconds = times._asdict()  # type: ignore[attr-defined]
    whole = sum(seconds.values())
    return _Times(whole - seconds["idle"] - seconds.get("iowait", 0.0), whole)


def _text(path: Path) -> str:
    """The content of a system file; empty if it has just disappeared."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _psutil() -> ModuleType | None:
    try:
        return import_module("psutil")
    except ImportError:
        return None
