"""Krippendorff's alpha against worked examples that were published."""

from __future__ import annotations

import pytest

from evalbench.engine.scoring.agreement import Level, krippendorff_alpha


def _by_item(*raters: str) -> list[list[float | None]]:
    """Items from one line of ratings for each rater; ``.`` is a missing one, letters are names."""
    rows = [line.split() for line in raters]
    names = {name: float(place) for place, name in enumerate("abcde")}
    return [
        [None if told == "." else float(names.get(told, told)) for told in item]
        for item in zip(*rows, strict=True)
    ]


# K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), sections A, B and C-F.
BINARY = _by_item("0 1 0 0 0 0 0 0 1 0", "1 1 1 0 0 1 0 0 0 0")
NAMES = _by_item("a a b b d c c c e d d a", "b a b b b c c c e d d d")
FOUR_RATERS = _by_item(
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)


@pytest.mark.parametrize(
    ("items", "level", "published"),
    [
        (BINARY, "nominal", 0.095),
        (NAMES, "nominal", 0.692),
        (FOUR_RATERS, "nominal", 0.743),
        (FOUR_RATERS, "ordinal", 0.815),
        (FOUR_RATERS, "interval", 0.849),
        (FOUR_RATERS, "ratio", 0.797),
    ],
)
def test_published_examples(
    items: list[list[float | None]], level: Level, published: float
) -> None:
    assert krippendorff_alpha(items, level) == pytest.approx(published, abs=0.0005)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_its_bounds_and_what_does_not_count(level: Level) -> None:
    assert krippendorff_alpha([[1, 1], [2, 2], [4, 4, None]], level) == 1.0
    # Nobody agrees on anything: below chance.
    below = krippendorff_alpha([[1, 2], [2, 1], [1, 2]], level)
    assert below is not None
    assert below < 0
    # An item with one rating pairs with nothing; who gave which rating does not matter.
    alone = krippendorff_alpha([[1, 1], [2, 4], [9, None]], level)
    assert alone == krippendorff_alpha([[1, 1], [4, 2]], level)
    # Zeros and negative ratings are ratings.
    assert krippendorff_alpha([[0, 0], [-1, -1], [0, 0]], level) == 1.0


def test_it_is_undefined_without_two_items_or_two_ratings() -> None:
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([[1, 2]]) is None
    assert krippendorff_alpha([[1, None], [2, None]]) is None
    assert krippendorff_alpha([[3, 3], [3, 3]]) is None
