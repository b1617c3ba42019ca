"""How opening, showing and resuming a run grow with its samples.

    python -m bench.growth [--sizes 10000,100000,1000000] [--rounds 3]

The real engine makes one run of the smallest size (``bench/plugins``: questions,
answered at once). The longer runs are copies of it whose rows are repeated under
other numbers and hashes, so a million takes seconds to make and not an hour. Of
each, in turns: CPU and wall seconds of ``evalbench show``, of the app's page of the
run up to its figures, and of an engine that resumes the finished run, from its birth
to its end; the engine's memory besides. Ratios are to the smallest size. Linux only.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sqlite3
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import orjson

from bench.comparing import took
from bench.engine_overhead import MODEL, Life, watch, yardstick
from bench.figures import Figure, declare, median, tell
from bench.on_pty import OnPty
from bench.own_home import own_home
from evalbench.engine.config.spec import make_spec
from evalbench.engine.journal.schema import EPOCH_BITS, SLOT_BITS
from evalbench.engine.process.launch import launch_runs, resume_run
from evalbench.engine.runs.folder import RunFolder

_APP = ("-m", "evalbench.tui.cli.main")
_PAGE = "score and outcomes"
_PROMISED = {100_000: 0.5, 1_000_000: 2.0}
"""Most seconds to open or resume, by the number of samples."""

Found = dict[tuple[str, int], list[tuple[float, float]]]
"""CPU and wall seconds by what was done and on how many samples."""


def longer(run: RunFolder, size: int) -> RunFolder:
    """A copy of a complete run, ``size`` samples long: a multiple of the run's own."""
    begun = run.status().total
    copy = RunFolder(run.path.with_name(f"{run.id}-{size}"))
    shutil.copytree(run.path, copy.path)
    with sqlite3.connect(copy.journal, isolation_level=None) as db:
        db.create_function("other", 2, _other, deterministic=True)
        db.execute("PRAGMA synchronous = OFF")
        db.execute("BEGIN")
        for number in range(1, size // begun):
            rows = number * begun
            db.execute(
                "INSERT INTO sample SELECT row + ?, other(hash, ?), occurrence, tags, body"
                " FROM sample WHERE row <= ?",
                (rows, number, begun),
            )
            for table, columns, bits in (
                ("call", "hash, sent, shape, body", SLOT_BITS),
                ("reply", "at, outcome, input, output, cost, possible, body", SLOT_BITS),
                ("score", "at, tags, outcome, vals, detail", EPOCH_BITS),
            ):
                db.execute(
                    f"INSERT INTO {table} SELECT id + ?, {columns} FROM {table} WHERE id < ?",
                    (rows << bits, (begun + 1) << bits),
                )
        db.execute("UPDATE run SET value = ? WHERE key = 'samples'", (orjson.dumps(size),))
        # The first engine on it, whose life is not measured, counts its rows.
        db.execute("DELETE FROM run WHERE key = 'sums'")
        db.execute("COMMIT")
    status = copy.status()
    outcomes = {name: count * (size // begun) for name, count in status.outcomes.items()}
    copy.write_status(replace(status, total=size, done=size, outcomes=outcomes))
    return copy


def _other(digest: bytes, number: int) -> bytes:
    return hashlib.sha256(digest + number.to_bytes(4)).digest()[: len(digest)]


def opened(run: RunFolder, env: dict[str, str]) -> tuple[float, float]:
    """CPU and wall seconds until the app shows the run's page."""
    begun = time.perf_counter()
    app = OnPty([sys.executable, *_APP, "attach", run.id], env, 120, 40)
    try:
        app.read(120, until=_PAGE)
        return app.cpu_s(), time.perf_counter() - begun
    finally:
        app.close()


def shown(run: RunFolder, env: dict[str, str]) -> tuple[float, float]:
    """CPU and wall seconds of ``evalbench show``."""
    wall, cpu, _ = took((*_APP, "show", run.id), env)
    return cpu, wall


def resumed(run: RunFolder, best: float) -> Life:
    """The life of an engine that finds nothing to do."""
    life = watch(resume_run(run), best)
    status = run.status()
    assert status.done == status.total, status
    return life


def measure(runs: dict[int, RunFolder], rounds: int) -> Iterator[Figure]:
    """Look at every run in turns, and tell what it took."""
    found: Found = defaultdict(list)
    memory: dict[int, list[float]] = defaultdict(list)
    env, best = dict(os.environ), min(yardstick() for _ in range(30))
    for number in range(rounds + 1):
        for size, run in runs.items():
            life = resumed(run, best)
            seen = {
                "`evalbench show`": shown(run, env),
                "the app from its start to the run's page": opened(run, env),
                "resume of the finished run": (life.cpu_s, life.alive_s),
            }
            if number:  # the first round compiles, and fills the system's cache of files
                memory[size].append(life.peak_mb)
                for what, pair in seen.items():
                    found[what, size].append(pair)
    smallest = min(runs)
    for (what, size), pairs in sorted(found.items(), key=lambda one: (one[0][0], one[0][1])):
        base = median(cpu for cpu, _ in found[what, smallest])
        yield Figure(
            f"{what}, {size:,} samples, CPU",
            median(cpu for cpu, _ in pairs),
            "s",
            None if what.startswith("the app") else _PROMISED.get(size),
            beside="" if size == smallest else f"{smallest:,} samples",
            beside_value=None if size == smallest else base,
            note=f"{median(wall for _, wall in pairs):.2f} s by the clock",
        )
    for size in runs:
        name = f"memory of a resuming engine, {size:,} samples"
        yield Figure(name, median(memory[size]), "MB", 120)


def main() -> None:
    """Make the runs, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="10000,100000,1000000", help="multiples of the first")
    parser.add_argument("--rounds", type=int, default=3)
    declare(parser)
    args = parser.parse_args()
    sizes = sorted(int(size) for size in args.sizes.split(","))
    with own_home():
        engine = launch_runs(make_spec("questions", str(MODEL), options={"size": sizes[0]}))
        watch(engine, 1.0)
        runs = {sizes[0]: engine.runs[0]}
        runs |= {size: longer(runs[sizes[0]], size) for size in sizes[1:]}
        figures = list(measure(runs, args.rounds))
    print(f"load {os.getloadavg()[0]:.1f}, {args.rounds} rounds")
    for one in figures:
        ratio = f"   {one.ratio:.2f} of {one.beside}" if one.ratio else ""
        print(f"{one.name:<60} {one.value:8.3f} {one.unit}   {one.note}{ratio}")
    tell(args.figures, figures)


if __name__ == "__main__":
    main()
