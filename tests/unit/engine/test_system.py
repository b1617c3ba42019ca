"""What the machine is busy with, from files as Linux has them, and without them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from evalbench.engine.hardware.system import System

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def write(
    proc: Path, *, cores: list[tuple[int, int]], uptime: float, spent: dict[int, int]
) -> None:
    """``cores``: busy and idle ticks; ``spent``: ticks of the processes 10, 11, 12 and so on."""
    lines = ["cpu 1 1 1 1 1 1 1 1"]
    lines += [f"cpu{n} {busy} 0 0 {idle} 0 0 0 0 0 0" for n, (busy, idle) in enumerate(cores)]
    (proc / "stat").write_text("\n".join([*lines, "intr 5"]))
    (proc / "uptime").write_text(f"{uptime} 5.0\n")
    (proc / "meminfo").write_text("SwapTotal: 2000 kB\nSwapFree: 500 kB\n")
    # 11 came from 10, 12 from 11; 13 is a stranger with a name that reads like fields.
    for pid, parent, name in (
        (10, 1, "engine"),
        (11, 10, "wor ker)"),
        (12, 11, "x"),
        (13, 1, "a (b"),
    ):
        (proc / str(pid)).mkdir(exist_ok=True)
        fields = [parent, *[0] * 9, spent.get(pid, 0), 0, *[0] * 8, 7, 0]
        told = " ".join(map(str, fields))
        (proc / str(pid) / "stat").write_text(f"{pid} ({name}) S {told}")


def test_shares_are_over_the_time_between_two_readings(tmp_path: Path) -> None:
    system = System(tmp_path)
    write(tmp_path, cores=[(100, 100), (0, 50)], uptime=100.0, spent={11: 5 * TICK})
    first = system.read([10])
    assert (first.cores, first.busy) == ((), None)
    assert (first.swap_used, first.swap_total) == (1500 * 1024, 2000 * 1024)
    assert {pid: one.name for pid, one in first.processes.items()} == {
        10: "engine", 11: "wor ker)", 12: "x",
    }  # fmt: skip
    assert first.processes[11].memory == 7 * PAGE
    assert first.processes[11].cpu is None
    write(tmp_path, cores=[(130, 110), (0, 90)], uptime=104.0, spent={11: 11 * TICK})
    second = system.read([10])
    assert (second.cores, second.busy) == ((0.75, 0.0), 0.375)
    assert second.processes[11].cpu == pytest.approx(1.5)
    assert second.processes[12].cpu == 0.0
    # A processor was taken away: what was read before says nothing now.
    write(tmp_path, cores=[(140, 120)], uptime=105.0, spent={})
    assert system.read([10, 999]).cores == ()
    assert system.read().processes == {}


def test_a_system_without_proc_tells_what_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    found = System(tmp_path / "none").read([os.getpid()])
    assert (found.cores, found.used, dict(found.processes)) == ((), None, {})
    assert found.total > 0
    monkeypatch.setitem(sys.modules, "psutil", _Psutil())
    system = System(tmp_path / "none")
    system.read([1])
    found = system.read([1])
    assert (found.used, found.total, found.swap_total) == (600, 1000, 9)
    assert {pid: one.memory for pid, one in found.processes.items()} == {1: 10, 2: 20}
    assert found.cores == (0.5,)


class _Psutil(ModuleType):
    """As much of psutil as is asked for."""

    class Error(Exception):
        pass

    def __init__(self) -> None:
        super().__init__("psutil")
        self.told = 0

    def cpu_times(self, percpu: bool) -> list[SimpleNamespace]:
        self.told += 1
        told = {"user": self.told, "idle": self.told}
        return [SimpleNamespace(_asdict=lambda: told)]

    def virtual_memory(self) -> SimpleNamespace:
        return SimpleNamespace(total=1000, available=400)

    def swap_memory(self) -> SimpleNamespace:
        return SimpleNamespace(total=9, used=3)

    def Process(self, pid: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(
            pid=pid,
            ppid=lambda: pid - 1,
            name=lambda: "python",
            cpu_times=lambda: SimpleNamespace(user=1.0, system=2.0),
            memory_info=lambda: SimpleNamespace(rss=10 * pid),
            children=lambda recursive: [self.Process(pid + 1)],
        )
