"""A benchmark whose calls are wanted before the run, and not its scores."""

from __future__ import annotations

from pathlib import Path

from evalbench.engine.benchmark import Benchmark
from evalbench.engine.config.roles import JUDGE
from evalbench.engine.config.spec import RunSpec, build_benchmark
from evalbench.engine.data.dataset import read_header


def rehearsed(spec: RunSpec, file: Path) -> Benchmark:
    """A run's benchmark for made-up replies; one that lacks a judge asks one called ``judge``.

    Args:
        spec: the run.
        file: its prepared samples.
    """
    benchmark = build_benchmark(spec, read_header(file).shared)
    benchmark.rehearsal = True
    if benchmark.needs_judge() and not benchmark.judges:
        benchmark.judges = (JUDGE,)
    return benchmark
