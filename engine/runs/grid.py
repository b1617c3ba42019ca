"""Grids: runs started together (models × benchmarks), with one engine and one budget.

Each run's folder has a ``grid.json`` with the grid's id, the shared budget, and what runs that were
deleted since have spent of it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from typing import Any

import orjson

from evalbench.engine.errors import EvalbenchError, RunBusy, UsageError
from evalbench.engine.files import parse_json, read_plain
from evalbench.engine.paths import write_file
from evalbench.engine.runs.folder import INTERRUPTED, RunFolder, all_runs

FILE = "grid.json"
_MOST_USD = 1e12


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid.

    Attributes:
        id: a unique id.
        budget: US dollars that all its runs may cost together; None for no limit.
        gone: US dollars that deleted runs have cost or may have cost, by run ID.
    """

    id: str
    budget: Decimal | None = None
    gone: Mapping[str, Decimal] = field(default_factory=dict)


def new_grid(budget: Decimal | None) -> Grid:
    """A new grid without runs."""
    return Grid(f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}", budget)


def grid_of(run: RunFolder) -> Grid | None:
    """The grid that a run belongs to; None if it was started alone.

    Raises:
        UsageError: its file is damaged.
    """
    path = run.path / FILE
    try:
        value: Any = parse_json(read_plain(path))
        name, budget, deleted = value["id"], value["budget"], value.get("gone", {})
        if not isinstance(name, str):
            raise ValueError("id")
        return Grid(
            name,
            None if budget is None else _dollars(budget),
            {run: _dollars(usd) for run, usd in deleted.items()},
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} is damaged",
            why=str(error),
            hint="remove it to go on with this run alone, under a budget of its own",
        ) from None


def _dollars(value: Any) -> Decimal:
    amount = float(value)
    if not 0 <= amount < _MOST_USD:
        raise ValueError(f"{value} is no amount of US dollars")
    return Decimal(str(value))


def join_grid(run: RunFolder, grid: Grid) -> None:
    """Record that a run belongs to a grid."""
    write_file(run.path / FILE, orjson.dumps(asdict(grid), default=float))


def set_budget(run: RunFolder, budget: Decimal | None) -> None:
    """Change what all runs of a run's grid may cost together.

    Args:
        run: any of them.
        budget: US dollars; None for no limit.

    Raises:
        UsageError: the run's file is damaged.
        OSError: it cannot be written.
    """
    if grid := grid_of(run):
        for one in [run, *others_of(grid, [run])]:
            if joined := grid_of(one):
                join_grid(one, replace(joined, budget=budget))


def leave_grid(run: RunFolder) -> None:
    """Before a run is deleted: let the others of its grid remember what it has cost.

    Raises:
        OSError: it cannot be written.
    """
    grid = _grid_or_none(run)
    if grid is None:
        return
    deleted = {**grid.gone, run.id: _cost(run)}
    for other in others_of(grid, [run]):
        if others := _grid_or_none(other):
            join_grid(other, replace(others, gone={**others.gone, **deleted}))


def others_of(grid: Grid, runs: Sequence[RunFolder]) -> list[RunFolder]:
    """The grid's other runs, in the same parent folder as the first of ``runs``."""
    here = {run.id for run in runs}
    beside = all_runs(runs[0].path.parent) if runs else []
    found = []
    for run in beside:
        other = _grid_or_none(run) if run.id not in here else None
        if other and other.id == grid.id:
            found.append(run)
    return found


def _grid_or_none(run: RunFolder) -> Grid | None:
    """The same, for what must not fail because of another run's file."""
    try:
        return grid_of(run)
    except UsageError:
        return None


def unfinished(run: RunFolder) -> list[RunFolder]:
    """The unfinished runs of a run's grid, oldest first.

    The run itself is included, whatever its state; a run started alone is the only one.
    """
    grid = grid_of(run)
    if grid is None:
        return [run]
    others = []
    for other in others_of(grid, [run]):
        status = other.status()
        if other.live_pid(status) is None and not status.finished:
            others.append(other)
    return sorted([run, *others], key=lambda one: one.id)


def spent_by(run: RunFolder) -> Decimal:
    """US dollars that a run of the grid, not driven by this engine, has cost or may have cost.

    Raises:
        RunBusy: another engine drives it, or it was killed: the cost of its calls is unknown.
    """
    status = run.status()
    if not status.at_rest:
        who = "is driven by another engine" if run.live_pid(status) else f"is {INTERRUPTED}"
        raise RunBusy(
            f"run {run.id} {who}, and shares a budget with this one",
            hint="go on with all of them together: evalbench resume last",
        )
    return _cost(run)


def _cost(run: RunFolder) -> Decimal:
    """US dollars that a run has cost or may have cost, by its status."""
    try:
        status = run.status()
    except EvalbenchError:
        return Decimal(0)
    return Decimal(str((status.spend_usd or 0.0) + (status.possible_usd or 0.0)))


def spent_before(grid: Grid, runs: Sequence[RunFolder]) -> dict[str, Decimal]:
    """US dollars spent by the runs of a grid that an engine does not drive, deleted ones too.

    Args:
        grid: the grid.
        runs: those of its runs that the engine drives.

    Returns:
        Amounts by run ID.

    Raises:
        RunBusy: see :func:`spent_by`.
    """
    others = others_of(grid, runs)
    spent: dict[str, Decimal] = {}
    for run in [*runs, *others]:
        if known := _grid_or_none(run):
            spent |= known.gone
    spent |= {other.id: spent_by(other) for other in others}
    here = {run.id for run in runs}
    return {name: usd for name, usd in spent.items() if name not in here}
