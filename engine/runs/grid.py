"""Grids: runs started together (models × benchmarks), with one engine and one budget.

Each run's folder has a ``grid.json`` with the grid's id and the shared budget.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from evalbench.engine.errors import RunBusy, UsageError
from evalbench.engine.files import parse_json, read_plain
from evalbench.engine.paths import write_file
from evalbench.engine.runs.folder import INTERRUPTED, RunFolder, all_runs
from evalbench.engine.runs.status import State

FILE = "grid.json"


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid.

    Attributes:
        id: a unique id.
        budget: US dollars that all its runs may cost together; None for no limit.
    """

    id: str
    budget: float | None = None


def new_grid(budget: float | None) -> Grid:
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
        name, budget = value["id"], value["budget"]
        if not isinstance(name, str) or not (budget is None or 0 <= float(budget) < 1e12):
            raise ValueError("id and budget")
        return Grid(name, None if budget is None else float(budget))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} is damaged",
            why=str(error),
            hint="remove it to go on with this run alone, under a budget of its own",
        ) from None


def join_grid(run: RunFolder, grid: Grid) -> None:
    """Record that a run belongs to a grid."""
    write_file(run.path / FILE, orjson.dumps({"id": grid.id, "budget": grid.budget}))


def others_of(grid: Grid, runs: Sequence[RunFolder]) -> list[RunFolder]:
    """The grid's other runs, in the same parent folder as the first of ``runs``."""
    here = {run.id for run in runs}
    beside = all_runs(runs[0].path.parent) if runs else []
    found = []
    for run in beside:
        other = grid_of(run) if run.id not in here else None
        if other and other.id == grid.id:
            found.append(run)
    return found


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
        if other.live_pid(status) is None and not (
            status.state is State.COMPLETE and not status.failed
        ):
            others.append(other)
    return sorted([run, *others], key=lambda one: one.id)


def spent_by(run: RunFolder) -> float:
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
    return (status.spend_usd or 0.0) + (status.possible_usd or 0.0)
