"""Measure ourselves and write one result table.

    python -m bench [--quick] [--only NAME] [--into FILE] [--list] [--table]
    python -m bench --only NAME -- WORDS     with other sizes than those of the plan

Every script runs in a process of its own, one after the other, and tells its
figures (``bench/figures.py``). They are kept in ``.make/bench/results``, so that
``--only`` measures one script anew and the table still has the others. Scripts
that take long (``bench/plan.py``) run only when they are named.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench import figures, table
from bench.plan import ROOT, SCRIPTS, SIDE, Script

_PAGE = ROOT / "docs" / "performance.md"


def measure(script: Script, words: Sequence[str]) -> table.Report:
    """Run one script with these arguments and take what it tells; one that fails tells that."""
    before, begun = os.getloadavg()[0], time.time()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures"
        command = [sys.executable, "-m", f"bench.{script.name}", *words, "--figures", str(file)]
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        figures_read, skipped = figures.read(file)
    if status and not figures_read:
        skipped.append(f"it ended with exit status {status}")
    return table.Report(
        script.name,
        figures_read,
        skipped,
        begun,
        time.time() - begun,
        (before, os.getloadavg()[0]),
        table.machine(),
    )


def _chosen(only: Sequence[str], *, quick: bool) -> list[Script]:
    there = [script for script in SCRIPTS if script.there]
    if unknown := set(only) - {script.name for script in there}:
        names = ", ".join(script.name for script in there)
        raise SystemExit(f"no such script: {', '.join(sorted(unknown))}; there are {names}")
    if only:
        return [script for script in there if script.name in only]
    return [script for script in there if (script.quick if quick else not script.long)]


def main(words: Sequence[str] | None = None) -> int:
    """Measure, keep, and write the table. Returns 1 where a script failed."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="may repeat")
    parser.add_argument("--quick", action="store_true", help="a small smoke, kept nowhere")
    parser.add_argument("--into", type=Path, help=f"file of the table (default: {_PAGE.name})")
    parser.add_argument("--list", action="store_true", help="name the scripts and do nothing")
    parser.add_argument("--table", action="store_true", help="measure nothing, write what is kept")
    parser.add_argument("words", nargs="*", help="arguments for the one script that is named")
    args = parser.parse_args(words)
    if args.list:
        for script in SCRIPTS:
            print(script.name, script.full, "(only when named)" if script.long else "")
        return 0
    if args.quick and args.into is None:
        raise SystemExit("a smoke says nothing about performance: give it a file with --into")
    if args.words and len(args.only) != 1:
        raise SystemExit("whose arguments are these? name one script with --only")
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) if args.quick else SIDE / "results"
        for script in [] if args.table else _chosen(args.only, quick=args.quick):
            print(f"== {script.name}", flush=True)
            usual = script.quick if args.quick else script.full
            report = measure(script, args.words or usual.split())
            report.keep(results)
            failed |= bool(report.skipped) and not report.figures
        everything = table.kept(results, [script.name for script in SCRIPTS])
        table.put(args.into or _PAGE, table.render(everything))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
