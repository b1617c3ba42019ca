"""Whether memory stays where it is: a run that goes on for long, watched by the app.

    python -m bench.soak [--minutes 30] [--rate 40]

The engine asks a bare server on this machine ``--rate`` times a second over the
network path; the app shows the run's page on a pseudo-terminal all the while.
Resident memory of both (the app with its guard) is read every few seconds. Report
are start (once the app has settled), middle and end, and the slope: the straight
line through the second half, by least squares. Linux only.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.figures import Figure, declare, tell
from bench.on_pty import OnPty
from bench.own_home import own_home
from bench.provider_overhead import quick_server

_PLUGINS = Path(__file__).resolve().parent / "plugins"
_PAUSE_S = 0.05
_SETTLE_S = 20.0


class Look(NamedTuple):
    """Resident memory at one moment, in MB.

    Attributes:
        at: seconds since the first look.
        engine: of the engine's process.
        app: of everything in the app's session.
    """

    at: float
    engine: float
    app: float


def resident(pid: int) -> float:
    """Resident memory of a process in MB; 0 of one that is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def slope(looks: Sequence[Look], who: str) -> float:
    """MB an hour through the second half of the looks; 0 where there are too few."""
    late = [look for look in looks if look.at >= looks[-1].at / 2]
    if len(late) < 3:
        return 0.0
    line = statistics.linear_regression(
        [look.at for look in late], [getattr(look, who) for look in late]
    )
    return line.slope * 3600


def around(looks: Sequence[Look], who: str, at: float) -> float:
    """The median of the looks next to a moment."""
    nearest = sorted(looks, key=lambda look: abs(look.at - at))[:5]
    return statistics.median(getattr(look, who) for look in nearest)


def soak(home: Path, minutes: float, rate: float, every: float) -> tuple[list[Look], int]:
    """Run, watch, and stop: what was seen, and how many samples were done."""
    from evalbench.engine.config.spec import make_spec
    from evalbench.engine.process.launch import launch_runs, stop_run

    looks: list[Look] = []
    with quick_server(_PAUSE_S) as url:
        spec = make_spec(
            "questions",
            "compatible/mine",
            options={"size": int(rate * (minutes * 60 + 10 * _SETTLE_S)) + 1000},
            provider_options={"base_url": url},
            concurrency=max(2, round(2 * rate * _PAUSE_S)),
            qps=rate,
        )
        engine = launch_runs(spec)
        run = engine.runs[0]
        words = [sys.executable, "-m", "evalbench.tui.cli.main", "attach", run.id]
        app = OnPty(words, dict(os.environ), 120, 40)
        try:
            app.read(120, until="score and outcomes")
            app.read(min(_SETTLE_S, minutes * 20))
            begun = time.monotonic()
            while (at := time.monotonic() - begun) < minutes * 60:
                held = sum(map(resident, app.processes()))
                looks.append(Look(at, resident(engine.pid), held))
                app.read(every)
            done = run.status().done
            assert run.live_pid(), "the run ended too early"
        finally:
            app.close()
            stop_run(run)
    while run.live_pid():
        os.waitpid(engine.pid, 0)
    return looks, done


def figures(looks: Sequence[Look], minutes: float, done: int) -> list[Figure]:
    """Start, middle, end and slope of both."""
    found = []
    for who, limit in (("engine", 120), ("app", 150)):
        start, middle, end = (around(looks, who, share * looks[-1].at) for share in (0.0, 0.5, 1.0))
        found.append(
            Figure(
                f"memory of the {who} after {minutes:g} minutes of a run",
                round(end, 1),
                "MB",
                limit,
                beside="at the start",
                beside_value=round(start, 1),
                note=f"{middle:.1f} in the middle, {slope(looks, who):+.1f} MB an hour in the "
                f"second half; {done:,} samples",
            )
        )
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=float, default=40, help="calls a second")
    parser.add_argument("--every", type=float, default=5, help="seconds between two looks")
    declare(parser)
    args = parser.parse_args()
    with own_home(_PLUGINS) as home:
        looks, done = soak(home, args.minutes, args.rate, args.every)
    measured = figures(looks, args.minutes, done)
    print(f"load {os.getloadavg()[0]:.1f}, {len(looks)} looks in {args.minutes:g} minutes")
    for one in measured:
        print(f"{one.name}: {one.value:g} MB (start {one.beside_value:g}; {one.note})")
    tell(args.figures, measured)


if __name__ == "__main__":
    main()
