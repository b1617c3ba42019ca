"""Which words of two texts differ, and scores of two runs against each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.tui.state.glyphs import substitutes
from evalbench.tui.state.scatter import draw_scatter
from evalbench.tui.state.word_diff import word_diff


def marked(first: str, second: str) -> tuple[str, str]:
    one, other = word_diff(first, second)
    return tuple(  # type: ignore[return-value]
        "".join(f"<{part.text}>" if part.own else part.text for part in parts)
        for parts in (one, other)
    )


def test_words_that_only_one_has_are_marked() -> None:
    assert marked("The answer is A.", "The answer is B, surely.") == (
        "The answer is <A>.",
        "The answer is <B, surely>.",
    )
    assert marked("", "new") == ("", "<new>")
    assert marked("same", "same") == ("same", "same")


def test_long_texts_are_compared_by_line() -> None:
    many = "".join(f"line {n} of many words that are here\n" for n in range(400))
    one, other = word_diff(many, many.replace("line 7 ", "line X "))
    assert [part.text for part in one if part.own] == ["line 7 of many words that are here\n"]
    assert [part.text for part in other if part.own] == ["line X of many words that are here\n"]


@given(st.text(max_size=60), st.text(max_size=60))
def test_parts_joined_are_the_texts(first: str, second: str) -> None:
    one, other = word_diff(first, second)
    assert "".join(part.text for part in one) == first
    assert "".join(part.text for part in other) == second
    assert [p.text for p in one if not p.own] == [p.text for p in other if not p.own]


def test_a_scatter_has_its_points_where_they_belong() -> None:
    points = [(0.0, 1.0, 1), (1.0, 1.0, 12), (0.5, 0.0, 3)]
    _, told, *rows = draw_scatter("groups", points, ("A", "B"), share=True)
    lines = ["".join(text for text, _ in row) for row in rows]
    assert "B higher on 1, A on 3" in "".join(text for text, _ in told)
    assert lines[0].startswith("100 % ·")
    assert lines[0].endswith("●")
    assert lines[10][6 + 20] == "○"
    # Grades have a scale of their own, and equal ones are no division by nothing.
    assert draw_scatter("samples", [(7.0, 7.0, 1)], ("A", "B"), share=False)


def test_a_scatter_has_three_kinds_of_points_on_consoles_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = [(0.0, 1.0, 1), (1.0, 1.0, 12), (0.5, 0.0, 3)]
    monkeypatch.setenv("TERM", "linux")
    rows = draw_scatter("groups", points, ("A", "B"), share=True)
    legend = "".join(text for text, _ in rows[-1]).translate(substitutes())
    assert legend == "· one  ○ 2 or more  • 10 or more"
