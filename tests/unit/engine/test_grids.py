"""Runs that share a budget: what each knows of the others, also when some are deleted."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from evalbench.engine.errors import RunBusy, UsageError
from evalbench.engine.process.launch import delete_run
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.grid import (
    Grid,
    grid_of,
    join_grid,
    set_budget,
    spent_before,
    unfinished,
)
from evalbench.engine.runs.status import State, Status


@pytest.fixture
def runs(tmp_path: Path) -> list[RunFolder]:
    """Three runs of a grid at rest, which cost 1, 2 and 3 dollars, and half of that maybe."""
    found = []
    for usd in (1, 2, 3):
        run = RunFolder(tmp_path / f"run-{usd}")
        run.path.mkdir()
        (run.path / "spec.json").write_text("{}")
        run.write_status(
            Status(run.id, state=State.PAUSED, spend_usd=usd, possible_usd=usd / 2, created=1.0)
        )
        join_grid(run, Grid("one", Decimal(20)))
        found.append(run)
    return found


def test_a_deleted_run_still_counts(runs: list[RunFolder]) -> None:
    first, second, third = runs
    delete_run(second)
    grid = grid_of(first)
    assert grid
    assert spent_before(grid, [first]) == {"run-2": Decimal(3), "run-3": Decimal("4.5")}
    # What the second has left behind is not lost with the next one.
    delete_run(first)
    held = grid_of(third)
    assert held
    assert spent_before(held, [third]) == {"run-1": Decimal("1.5"), "run-2": Decimal(3)}
    assert held.budget == 20


def test_a_budget_is_changed_for_all_and_forgets_nothing(runs: list[RunFolder]) -> None:
    first, second, third = runs
    delete_run(third)
    for budget in (Decimal("5.5"), None, Decimal(7)):
        set_budget(second, budget)
        assert [grid_of(one) for one in (first, second)] == [
            Grid("one", budget, {"run-3": Decimal("4.5")}),
            Grid("one", budget, {"run-3": Decimal("4.5")}),
        ]


def test_another_runs_damaged_file_is_no_hindrance(runs: list[RunFolder]) -> None:
    first, second, third = runs
    (second.path / "grid.json").write_text('{"id": "one", "budget": 1, "gone": {"x": -1}}')
    set_budget(first, Decimal(9))
    grid = grid_of(third)
    assert grid == Grid("one", Decimal(9))
    assert [one.id for one in unfinished(first)] == ["run-1", "run-3"]
    with pytest.raises(UsageError, match=r"grid.json is damaged"):
        grid_of(second)
    delete_run(second)
    assert not second.path.exists()


def test_what_a_run_costs_that_is_driven_elsewhere_is_unknown(runs: list[RunFolder]) -> None:
    first, second, _ = runs
    second.write_status(Status(second.id, state=State.RUNNING, spend_usd=2.0, created=1.0))
    grid = grid_of(first)
    assert grid
    with pytest.raises(RunBusy, match="run-2"):
        spent_before(grid, [first])
