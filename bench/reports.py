"""What ``evalbench report`` takes for a run as long as MMLU.

    python -m bench.reports [--size 14042] [--rounds 5]

A finished run with all subjects is made first (``tests/reported.py``). The whole command
is measured; the files' sizes are printed beside it. Medians, least and most of all rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics

from bench.comparing import took
from bench.figures import Figure, declare, median, tell
from bench.own_home import own_home
from tests.reported import large_run


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=14_042)
    parser.add_argument("--rounds", type=int, default=5)
    declare(parser)
    args = parser.parse_args()
    with own_home() as home:
        run = str(asyncio.run(large_run(args.size)).path)
        command = ("-m", "evalbench.tui.cli.main", "report", run)
        files = {"page": home / "report.html", "Markdown": home / "report.md"}
        plots = home / "plots"
        kinds = {name: (*command, "-o", str(file)) for name, file in files.items()}
        kinds["plots, SVG and PNG"] = (*command, "--plots", str(plots))
        print(f"a run of {args.size:,} samples, {args.rounds} rounds")
        for name, words in kinds.items():
            rounds = [took(words, dict(os.environ)) for _ in range(args.rounds)]
            made = [files[name]] if name in files else list(plots.iterdir())
            size = sum(file.stat().st_size for file in made) / 1e6
            cells = [
                f"{statistics.median(values):.2f} {unit} ({min(values):.2f}-{max(values):.2f})"
                for values, unit in zip(
                    zip(*rounds, strict=True), ("s", "s CPU", "MB"), strict=True
                )
            ]
            wall, cpu, _ = (median(part) for part in zip(*rounds, strict=True))
            figure = Figure(
                f"`report`, {name}, of {args.size:,} samples, CPU",
                cpu,
                "s",
                5 if name == "page" else None,
                note=f"{wall:.1f} s by the clock, {size:.2f} MB on disk",
            )
            tell(args.figures, [figure])
            print(f"{name:<20}" + "   ".join(cells) + f"   {size:.2f} MB on disk")


if __name__ == "__main__":
    main()
