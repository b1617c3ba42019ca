"""What the app puts on the line and takes of the processor while it watches a run.

    python -m bench.app_screen [--rounds 3] [--seconds 15] [--rate 500]

A real engine asks a model that answers after a while (``tests/plugins``), as
many calls at once as give at least ``--rate`` calls a second where the machine
can. The app watches it on a pseudo-terminal of ``--width`` × ``--height`` cells
(120×40), drawing normally and in low-bandwidth mode; besides it stands on Home
with the run going on, and with none. Bytes are counted at the master's side;
CPU time is user and system of app and guard, in percent of one processor. The
first seconds (opening) do not count. Prints medians. Linux only.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path

from bench.figures import Figure, declare, tell
from bench.on_pty import OnPty
from bench.own_home import draw, own_home

_PLUGINS = Path(__file__).resolve().parents[1] / "tests" / "plugins"
_LATENCY_S = 0.2
_MORE = 2
"""More calls at once than would do if the engine took no time itself."""
_SETTLE_S = 5.0
_TARGETS = {"run page": (25.0, 5.0), "run page, low bandwidth": (4.0, None)}
"""Most KB/s and most percent of a core, by what is looked at."""


def watch(
    words: list[str], env: dict[str, str], text: str, seconds: float, size: tuple[int, int]
) -> tuple[float, float]:
    """Bytes a second, and percent of a processor, once the app shows ``text`` and has settled."""
    app = OnPty([sys.executable, "-m", "evalbench.tui.cli.main", *words], env, *size)
    try:
        app.read(60, until=text)
        app.read(_SETTLE_S)
        begun, written, used = time.monotonic(), app.bytes, app.cpu_s()
        app.read(seconds)
        wall = time.monotonic() - begun
        return (app.bytes - written) / wall, 100 * (app.cpu_s() - used) / wall
    finally:
        app.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15, help="of watching, each time")
    parser.add_argument("--rate", type=int, default=500, help="calls a second that are wanted")
    parser.add_argument("--width", type=int, default=120, help="columns")
    parser.add_argument("--height", type=int, default=40, help="rows")
    declare(parser)
    args = parser.parse_args()
    os.environ["SCRIPTED_LATENCY"] = str(_LATENCY_S)
    with own_home(_PLUGINS) as home:
        tell(
            args.figures,
            measure(home, args.rounds, args.seconds, args.rate, (args.width, args.height)),
        )


def measure(
    home: Path, rounds: int, seconds: float, rate: int, size: tuple[int, int]
) -> list[Figure]:
    """Start the run, watch it in every way, print medians and give them."""
    from evalbench.engine.config.spec import make_spec
    from evalbench.engine.process.launch import launch_runs, stop_run

    env = dict(os.environ)
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    rates: list[float] = []

    def look(name: str, bandwidth: str, *words: str, text: str) -> None:
        draw(home, bandwidth)
        found[name].append(watch(list(words), env, text, seconds, size))

    for _ in range(rounds):
        look("home, no run", "full", text="No runs yet" if not rates else "stopped")
        samples = int(_MORE * rate * 4 * (seconds + _SETTLE_S + 10))
        spec = make_spec(
            "synthetic",
            "scripted/good",
            options={"size": samples},
            concurrency=round(_MORE * rate * _LATENCY_S),
        )
        run = launch_runs(spec).runs[0]
        begun = time.monotonic()
        look("run page", "full", "attach", run.id, text="score and outcomes")
        look("run page, low bandwidth", "low", "attach", run.id, text="score and outcomes")
        look("home, a run going on", "full", text="running")
        status = run.status()
        rates.append(status.done / (time.monotonic() - begun))
        assert status.done < status.total, "the run ended too early"
        stop_run(run)
        while run.live_pid():
            time.sleep(0.1)
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, {size[0]}×{size[1]}")
    print(f"{statistics.median(rates):.0f} calls a second")
    figures = []
    for name, pairs in found.items():
        line = statistics.median(pair[0] for pair in pairs) / 1000
        cpu = statistics.median(pair[1] for pair in pairs)
        print(f"{name:<26}{line:7.2f} KB/s {cpu:7.1f} % of a processor")
        most_kb, most_cpu = _TARGETS.get(name, (None, None))
        note = f"{statistics.median(rates):.0f} calls a second" if "no run" not in name else ""
        figures += [
            Figure(f"app's output, {name}", line, "KB/s", most_kb, note=note),
            Figure(f"app's CPU, {name}", cpu, "% of a core", most_cpu, note=note),
        ]
    return figures


if __name__ == "__main__":
    main()
