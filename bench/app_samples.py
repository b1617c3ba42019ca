"""How long the app's samples page takes to open, page, jump, filter and sort; and its memory.

    python -m bench.app_samples [--size 100000] [--rounds 5] [--width 120 --height 40]

A finished run of ``--size`` samples is made first (``made_run.py``). The app
runs headless under Textual's pilot, drawing into memory. *Blocked* is how long
the event loop went without a turn, which a person feels as stalling: in wall
time, and in CPU time of its thread, which other work on the machine does not
change. Every key costs the pilot some 15 ms besides. Medians and worst of all rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import resource
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "plugins"))

from bench.figures import Figure, declare, tell
from bench.made_run import make
from bench.own_home import own_home
from evalbench.engine.runs.folder import RunFolder
from evalbench.tui.start_app import prepare_environment

Figures = dict[str, list[float]]

_BEAT_S = 0.002


class Pulse:
    """Watches for how long the event loop has no turn, in seconds of wall and CPU time."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Pulse:
        self._task = asyncio.create_task(self._beat())
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task
        await asyncio.sleep(_BEAT_S)
        self._task.cancel()

    async def _beat(self) -> None:
        wall, cpu = time.perf_counter(), time.thread_time()
        while True:
            await asyncio.sleep(_BEAT_S)
            before = wall, cpu
            wall, cpu = time.perf_counter(), time.thread_time()
            self.wall = max(self.wall, wall - before[0] - _BEAT_S)
            self.cpu = max(self.cpu, cpu - before[1])

    def tell(self, into: Figures, name: str) -> None:
        into[f"{name}: longest blocked, ms"].append(1000 * self.wall)
        into[f"{name}: longest blocked, CPU ms"].append(1000 * self.cpu)


@contextmanager
def timed(into: Figures, name: str) -> Iterator[None]:
    """Milliseconds of wall time and of CPU time."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    into[f"{name}, ms"].append(1000 * (time.perf_counter() - wall))
    into[f"{name}, CPU ms"].append(1000 * (time.process_time() - cpu))


async def until(pilot: Any, condition: Callable[[], bool]) -> None:
    """Wait for so much work of our own: on a busy machine a search of all texts takes a minute."""
    end = time.process_time() + 30
    while not condition():
        if time.process_time() > end:
            raise TimeoutError(f"in vain, with {type(pilot.app.screen).__name__} on top")
        await pilot.pause()
        await asyncio.sleep(_BEAT_S)


def memory_mb() -> float:
    """Resident memory now."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * resource.getpagesize() / 1e6


async def measure(folder: RunFolder, size: tuple[int, int], into: Figures) -> None:
    from evalbench.tui.app import EvalbenchApp
    from evalbench.tui.screens.samples import SamplesPage
    from evalbench.tui.state.preferences import Preferences
    from evalbench.tui.state.sample_rows import SampleRows
    from evalbench.tui.widgets.table import Table

    gc.disable()  # as the app's start does; the app enables it again
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        into["memory before, MB"].append(memory_mb())
        with timed(into, "open"):
            await app.push_screen(SamplesPage(folder))
            await pilot.pause()
        table = app.screen.query_one(Table)
        everything = len(table.rows)

        async def pressed(name: str, key: str, times: int) -> None:
            async with Pulse() as pulse:
                with timed(into, f"{times} × {name}"):
                    for _ in range(times):
                        await pilot.press(key)
                        await pilot.pause()
            pulse.tell(into, name)

        await pressed("page down", "pagedown", 30)
        await pressed("down", "down", 60)
        with timed(into, "jump to the end"):
            await pilot.press("G")
            await pilot.pause()
        await pressed("page up", "pageup", 30)
        await pilot.press("g")

        async def filtered(name: str, act: Callable[[], Awaitable[None]], *, done: Any) -> None:
            async with Pulse() as pulse:
                with timed(into, f"filter {name}"):
                    await act()
                    await until(pilot, done)
            pulse.tell(into, f"filter {name}")
            await pilot.press("x")
            await until(pilot, lambda: len(table.rows) == everything)

        def narrowed() -> bool:
            return isinstance(app.screen, SamplesPage) and len(table.rows) < everything

        await filtered("by outcome", lambda: pilot.press("o"), done=narrowed)
        await filtered("by score (wrong)", lambda: pilot.press("w"), done=narrowed)

        async def group() -> None:
            await pilot.press("c")
            await until(pilot, lambda: type(app.screen).__name__ == "Choose")
            await pilot.press(*"07")
            await pilot.press("enter")

        await filtered("by group", group, done=narrowed)

        async def find(text: str) -> None:
            await pilot.press("slash")
            await pilot.press(*text)
            await pilot.press("enter")

        def searched() -> bool:
            page = app.screen
            return isinstance(page, SamplesPage) and narrowed() and not page.looking

        await filtered("by text, all of it", lambda: find("cannot"), done=searched)

        with timed(into, "open one sample"):
            await pilot.press("enter")
            await pilot.pause()
        await pressed("next sample", "n", 20)
        await pilot.press("escape")

        def first() -> list[int]:
            assert isinstance(table.rows, SampleRows)
            return list(table.rows.numbers[:50])

        for name in ("score", "latency"):
            shown = first()
            async with Pulse() as pulse:
                with timed(into, f"sort by {name}"):
                    await pilot.press("S")
                    await until(pilot, lambda: first() != shown)  # noqa: B023
            pulse.tell(into, f"sort by {name}")
        into["memory, MB"].append(memory_mb())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--width", type=int, default=120)
    parser.add_argument("--height", type=int, default=40)
    parser.add_argument("--run", type=Path, help="a run made before, instead of a new one")
    declare(parser)
    args = parser.parse_args()
    prepare_environment(low=False)
    figures: Figures = defaultdict(list)
    with own_home() as parent:
        folder = RunFolder(args.run) if args.run else make(parent, args.size)
        for _ in range(args.rounds):
            asyncio.run(measure(folder, (args.width, args.height), figures))
    print(
        f"{args.size} samples, {args.width}×{args.height}, {args.rounds} rounds, {os.getloadavg()}"
    )
    for name, values in figures.items():
        print(f"{name:<46} median {statistics.median(values):8.1f}   worst {max(values):8.1f}")
    blocked = {n: v for n, v in figures.items() if n.endswith("longest blocked, CPU ms")}
    slowest = max(blocked, key=lambda name: statistics.median(blocked[name]))
    page = f"page of {args.size:,} samples"
    measured = [
        Figure(f"{page}, opened, CPU", statistics.median(figures["open, CPU ms"]), "ms"),
        Figure(
            f"{page}, longest without a look at the keyboard, CPU",
            statistics.median(blocked[slowest]),
            "ms",
            50,
            note=slowest.partition(":")[0],
        ),
        Figure(f"{page}, memory", statistics.median(figures["memory, MB"]), "MB", 150),
    ]
    tell(args.figures, measured)


if __name__ == "__main__":
    main()
