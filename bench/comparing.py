"""What ``evalbench compare`` takes for runs as long as MMLU.

    python -m bench.comparing [--size 14042] [--runs 2] [--rounds 5]

Finished runs are made first (``made_run.py``). The whole command is measured, in
turns with a Python that only imports what it stands on (NumPy and SciPy's special
functions). Medians, least and most of all rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "plugins"))

from bench.figures import Figure, declare, median, tell
from bench.made_run import make

_BARE = ("-c", "import numpy, scipy.special")


def took(words: tuple[str, ...], env: dict[str, str]) -> tuple[float, float, float]:
    """Seconds, seconds of CPU and megabytes that one Python took."""
    began = time.perf_counter()
    child = subprocess.Popen([sys.executable, *words], env=env, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - began
    if status:
        raise SystemExit(f"{words} ended with {os.waitstatus_to_exitcode(status)}")
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / unit


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=14_042)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    declare(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = [make(Path(folder), args.size, seed) for seed in range(args.runs)]
        env = {**os.environ, "PYTHONPATH": sys.path[0]}
        compare = ("-m", "evalbench.tui.cli.main", "compare", *(str(run.path) for run in runs))
        kinds = {
            "imports alone": _BARE,
            "compare": compare,
            "compare --json --flips all": (*compare, "--json", "--flips", "all"),
        }
        found = {
            name: [took(words, env) for _ in range(args.rounds)] for name, words in kinds.items()
        }
    seconds, cpu, memory = (median(part) for part in zip(*found["compare"], strict=True))
    bare = median(cpu for _, cpu, _ in found["imports alone"])
    figures = [
        Figure(f"`compare` of {args.runs} runs of {args.size:,} samples, CPU", cpu, "s", 3,
               beside="importing NumPy and SciPy", beside_value=bare,
               note=f"{seconds:.1f} s by the clock, {memory:.0f} MB")
    ]  # fmt: skip
    tell(args.figures, figures)
    print(f"{args.runs} runs of {args.size:,} samples, {args.rounds} rounds")
    for name, rounds in found.items():
        cells = [
            f"{statistics.median(values):.2f} {unit} ({min(values):.2f}-{max(values):.2f})"
            for values, unit in zip(zip(*rounds, strict=True), ("s", "s CPU", "MB"), strict=True)
        ]
        print(f"{name:<28}" + "   ".join(cells))


if __name__ == "__main__":
    main()
