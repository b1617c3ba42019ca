"""The score table."""

from __future__ import annotations

import io
import re
from typing import Any

from rich.console import Console

from evalbench.tui.cli.output import Out
from evalbench.tui.cli.table import FEW, print_columns, print_scores
from tests.unit.cli.terminal import Terminal


def _metric(k: int, n: int, **more: Any) -> dict[str, Any]:
    return {"value": k / n, "low": None, "high": None, "k": k, "n": n, "title": "", **more}


def _printed(metrics: dict[str, Any], *, all_groups: bool) -> list[str]:
    text = io.StringIO()
    print_scores(Out(text), metrics, all_groups=all_groups)
    return text.getvalue().splitlines()


def test_sections_follow_groups_and_columns_line_up() -> None:
    metrics = {
        "accuracy": _metric(30, 100, low=0.2, high=0.4, title="Accuracy"),
        "accuracy_macro": _metric(31, 100),
        "accuracy/subject=law": _metric(1, 3, title="law", group="subjects"),
    }
    assert _printed(metrics, all_groups=False) == [
        "metric           score       95 %     k / n",
        "Accuracy        30.0 %  20.0–40.0  30 / 100",
        "accuracy_macro  31.0 %             31 / 100",
        "",
        "subjects   score  95 %  k / n",
        "law       33.3 %        1 / 3",
        "",
    ]


def test_long_sections_are_left_to_show() -> None:
    many = {f"m{i}": _metric(1, 2, group="subjects") for i in range(FEW + 1)}
    assert _printed(many, all_groups=False) == [
        f"not shown: {FEW + 1} subjects (evalbench show prints them)",
        "",
    ]
    assert len(_printed(many, all_groups=True)) == FEW + 3


def test_bounds_have_a_column_when_something_failed() -> None:
    lines = _printed({"a": _metric(1, 2, bound_low=0.25, bound_high=0.75)}, all_groups=True)
    assert lines[0].endswith("if failed were wrong–right")
    assert lines[1].endswith("25.0–75.0")


def test_names_from_outside_are_text() -> None:
    lines = _printed({"a": _metric(1, 2, title="[red]x\x1b[2J[/red]")}, all_groups=True)
    assert lines[1].startswith("[red]x[/red]  50.0 %")


def test_names_and_texts_are_cut_where_a_terminal_is_narrow() -> None:
    class Narrow(Out):
        def console(self) -> Console:
            return Console(file=text, width=40, markup=False, highlight=False)

    text = io.StringIO()
    name, score, question = "compatible/Qwen/Qwen2.5-7B-Instruct", "10.0 %", "Why is it? " * 9
    print_columns(Narrow(text), ("model", "score"), [(name, score)], name="model")
    print_columns(Narrow(text), ("score", "question"), [(score, question)], text="question")
    assert text.getvalue().splitlines() == [
        "model                             score",
        "compatible/Qwen/Qwen2.5-7B-Inst…  10.0 %",
        "score   question",
        "10.0 %  Why is it? Why is it? Why is it…",
    ]


def test_columns_are_as_many_cells_wide_on_a_terminal_as_glyphs_take() -> None:
    family, e_acute = "\U0001f469\u200d\U0001f469\u200d\U0001f467", "e\u0301"
    rows = [("模型", "1"), (family, "2"), (f"caf{e_acute}", "3"), ("\x1b[31m\u202ered", "4")]
    terminal, file = Terminal(), io.StringIO()
    print_columns(Out(terminal), ("", "\x1b[1mn"), rows)
    assert re.sub(r"\x1b\[[\d;]*m", "", terminal.getvalue()).splitlines() == [
        "        n",
        "模型    1",
        "\U0001f469\U0001f469\U0001f467  2",
        "cafe    3",
        "red     4",
    ]
    # Nothing of a name is missing where no terminal lays it out.
    print_columns(Out(file), ("", "n"), rows)
    assert family in file.getvalue()
    assert f"caf{e_acute}" in file.getvalue()
    assert not {"\x1b", "\u202e"} & set(file.getvalue())
