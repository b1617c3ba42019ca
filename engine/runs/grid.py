"""Runs that were started together: models × benchmarks, driven as one and under one budget.

Each of their folders holds ``grid.json``: which grid it belongs to, and the budget of all.
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
        id: unlike that of any other.
        budget: US dollars that all its runs may cost together; None: no ceiling.
    """

    id: str
    budget: float | None = None


def new_grid(budget: float | None) -> Grid:
    """A grid that has no runs yet."""
    return Grid(f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}", budget)


def grid_of(run: RunFolder) -> Grid | None:
    """The grid that a run belongs to; None: it was started alone.

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
    """Say that a run belongs to a grid."""
    write_file(run.path / FILE, orjson.dumps({"id": grid.id, "budget": grid.budget}))


def others_of(grid: Grid, runs: Sequence[RunFolder]) -> list[RunFolder]:
    """The grid's runs beside these, in the folder of the first."""
    here = {run.id for run in runs}
    beside = all_runs(runs[0].path.parent) if runs else []
    found = []
    for run in beside:
        other = grid_of(run) if run.id not in here else None
        if other and other.id == grid.id:
            found.append(run)
    return found


def unfinished(run: RunFolder) -> list[RunFolder]:
    """The runs of a run's grid that still lack something, the oldest first.

    The run itself is among them, whatever its state; one that was started alone is the only one.
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
    """US dollars that a run of the grid has cost, or may have, which this engine does not drive.

    Raises:
        RunBusy: another engine drives it, or it was cut: what its calls cost is not known.
    """
    status = run.status()
    if not status.at_rest:
        who = "is driven by another engine" if run.live_pid(status) else f"is {INTERRUPTED}"
        raise RunBusy(
            f"run {run.id} {who}, and shares a budget with this one",
            hint="go on with all of them together: evalbench resume last",
        )
    return (status.spend_usd or 0.0) + (status.possible_usd or 0.0)
