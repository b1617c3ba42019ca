"""``--fail-under``: an exit code for pipelines if a score is too low."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from evalbench.engine.config.spec import RunSpec, build_benchmark
from evalbench.engine.errors import EvalbenchError, UsageError, nearest
from evalbench.engine.scoring.tally import Tally
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.output import stderr, stdout

FAILED = 8
"""The exit code if a score is too low."""

Metrics = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Gate:
    """One requirement: a metric, the bound of its interval that counts, and the minimum.

    ``bound`` is ``value`` itself; ``low``, if the score must certainly reach ``least``; or
    ``high``, if only a score fails that certainly does not.
    """

    metric: str
    bound: Literal["value", "low", "high"]
    least: float


def declare_gate(parser: argparse._ActionsContainer) -> None:
    """The flag."""
    parser.add_argument(
        "--fail-under",
        action="append",
        default=[],
        type=str,
        metavar="METRIC=X",
        help="exit with 8 when a metric is below X, for example accuracy=0.8; accuracy.low=0.8"
        " checks the lower end of its 95 %% interval, accuracy.high=0.8 the upper end (repeatable)",
    )


def gates(texts: Sequence[str]) -> list[Gate]:
    """Parse requirements as typed.

    Raises:
        UsageError: one is not of the form METRIC=X or METRIC.low=X, METRIC.high=X.
    """
    return [_gate(text) for text in texts]


def _gate(text: str) -> Gate:
    # The name of a group's metric has one of its own: accuracy/subject=anatomy.
    name, sign, number = text.rpartition("=")
    name, dot, bound = name.strip().rpartition(".")
    if not dot or bound not in ("low", "high", "value"):
        name, bound = f"{name}{dot}{bound}", "value"
    try:
        least = float(number.strip().rstrip("%")) / (100 if number.strip().endswith("%") else 1)
    except ValueError:
        least = math.nan
    if not sign or not name or not math.isfinite(least):
        raise UsageError(
            f"--fail-under cannot be {one_line(text)!r}",
            why="it names a metric and the least that it may be",
            hint="for example --fail-under accuracy=0.8, or accuracy.low=0.8",
        )
    return Gate(name, bound, least)  # type: ignore[arg-type]


def misspelt(wanted: Sequence[Gate], specs: Sequence[RunSpec]) -> tuple[str, ...]:
    """Notes on metrics that no run is known to have, said before anything is asked.

    Not errors: some benchmarks know their metrics only when there are samples.
    """
    if not wanted:
        return ()
    known: set[str] = set()
    for spec in specs:
        with suppress(EvalbenchError):
            known.update(metric.name for metric in build_benchmark(spec).metrics(Tally()))
    return tuple(
        f"--fail-under: no metric {gate.metric!r} is known so far; {near}"
        for gate in wanted
        if "/" not in gate.metric
        and gate.metric not in known
        and (near := nearest(gate.metric, known))
    )


def judged(wanted: Sequence[Gate], metrics: Metrics) -> list[str]:
    """Unmet requirements, one line each; empty if all are met. A missing score counts as unmet.

    Raises:
        UsageError: the run has no such metric.
    """
    missed = []
    for gate in wanted:
        metric = metrics.get(gate.metric)
        if metric is None:
            raise UsageError(
                f"--fail-under: there is no metric {gate.metric!r}",
                hint=nearest(gate.metric, metrics) or "evalbench show RUN --json | jq .metrics",
            )
        found = metric.get(gate.bound)
        name = gate.metric if gate.bound == "value" else f"{gate.metric}.{gate.bound}"
        if found is None:
            missed.append(f"{name} has no value, {gate.least:g} is wanted")
        elif found < gate.least:
            missed.append(f"{name} is {found:.4g}, below {gate.least:g}")
    return missed


def gate_code(code: int, wanted: Sequence[Gate], runs: Mapping[str, Metrics], *, json: bool) -> int:
    """The exit code of a command whose runs ended with ``code``; reports unmet requirements.

    Args:
        code: the runs' exit code; only 0 and 2 are replaced, others are more important.
        wanted: the requirements.
        runs: metrics by run.
        json: also print a JSON line.

    Raises:
        UsageError: a run that ended with a score has no such metric.
    """
    try:
        below = {run: judged(wanted, metrics) for run, metrics in runs.items()}
    except UsageError as error:
        if code in (0, 2):
            raise
        stderr().line(str(error))
        return code
    for run, lines in below.items():
        for line in lines:
            stderr().line(f"failed: {run}: {line}")
        if json and wanted:
            from evalbench.tui.cli import jsonlines

            jsonlines.write(stdout(), "fail-under", run=run, passed=not lines, below=lines)
    return FAILED if any(below.values()) and code in (0, 2) else code
