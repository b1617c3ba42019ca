"""Matrices as plain tables: values, intervals, and what each of them rests on."""

from __future__ import annotations

import pytest
from rich.console import Console

from evalbench.tui.cli.output import Out, stdout
from evalbench.tui.cli.table import print_matrix
from evalbench.tui.state.heatmap import Heatmap, Spot


def lines(capsys: pytest.CaptureFixture[str], *counts: float) -> list[str]:
    spots = [
        Spot("0.750", "0.5–0.9", 2, own, n) for own, n in zip((False, True), counts, strict=True)
    ]
    spots.append(Spot("not scored", "", None))
    matrix = Heatmap("By model", ("a",), ("x", "y", "z"), (tuple(spots),), "0", "1", ())
    print_matrix(stdout(), matrix)
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_counts_stand_in_every_cell_where_they_differ(capsys: pytest.CaptureFixture[str]) -> None:
    _, row, *_ = lines(capsys, 12, 1020)
    assert row == "a 0.750 (0.5–0.9) n 12 *0.750 (0.5–0.9) n 1,020 not scored"


def test_counts_are_told_once_where_all_are_alike(capsys: pytest.CaptureFixture[str]) -> None:
    _, row, below, *_ = lines(capsys, 12, 12)
    assert row == "a 0.750 (0.5–0.9) *0.750 (0.5–0.9) not scored"
    assert below == "n = 12 everywhere"


def test_a_matrix_that_is_too_wide_is_a_list(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Out, "console", lambda _: Console(width=50, highlight=False))
    head, *rows = lines(capsys, 12, 1020)
    assert head == "By model score 95 % n"
    assert rows[:3] == ["a x 0.750 0.5–0.9 12", "y *0.750 0.5–0.9 1,020", "z not scored"]
