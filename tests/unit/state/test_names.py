"""Names that are cut stay different where they were different."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from evalbench.tui.state.cells import cell
from evalbench.tui.state.names import apart

METRICS = (
    "Accuracy, over questions (micro)",
    "Accuracy, mean of subjects (macro)",
    "Accuracy as read by mmlu-letter-strict/1",
    "Accuracy as read by mmlu-letter-first/1",
    "Agreement of openai/gpt-5-mini, first turn, with people",
    "Agreement of openai/gpt-5-mini, second turn, with people",
)


@pytest.mark.parametrize("width", [16, 20, 24, 30, 40, 60])
def test_every_cut_name_is_another_and_fits(width: int) -> None:
    names = apart(METRICS)
    shown = [name.fit(width) for name in names]
    assert len(set(shown)) == len(METRICS)
    assert all(cell_len(one) <= width for one in shown)
    assert [cell(name, width).rstrip() for name in names] == shown


def test_the_beginning_is_kept_where_it_tells_enough() -> None:
    micro, macro = apart(METRICS[:2])
    assert (micro.fit(16), macro.fit(16)) == ("Accuracy, over…", "Accuracy, mean…")
    assert micro.fit(80) == METRICS[0]


@pytest.mark.parametrize(
    "names",
    [
        ("a" * 50, "a" * 50),
        ("a" * 50 + "b", "a" * 50 + "c"),
        ("漢字" * 20, "漢字" * 20 + "x"),
        ("",),
    ],
)
def test_whatever_they_are_they_fit(names: tuple[str, ...]) -> None:
    for width in range(12):
        assert all(cell_len(cell(name, width)) == width for name in apart(names))


def test_a_name_is_one_line_without_anything_that_acts() -> None:
    (name,) = apart(["a\x1b[2J\nb\u202e\u200d"])
    assert name == "a b"
