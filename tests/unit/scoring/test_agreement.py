"""Krippendorff's alpha against a worked example that was published."""

from __future__ import annotations

import pytest

from evalbench.engine.scoring.agreement import krippendorff_alpha

# K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), sections C to E: a line for
# each rater, ``.`` where a rating is missing.
FOUR_RATERS = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)


def test_a_published_example() -> None:
    rows = [line.split() for line in FOUR_RATERS]
    items = [
        [None if told == "." else float(told) for told in item] for item in zip(*rows, strict=True)
    ]
    assert krippendorff_alpha(items) == pytest.approx(0.849, abs=0.0005)


def test_its_bounds_and_what_does_not_count() -> None:
    assert krippendorff_alpha([[1, 1], [2, 2], [4, 4, None]]) == 1.0
    # Nobody agrees on anything: below chance.
    below = krippendorff_alpha([[1, 2], [2, 1], [1, 2]])
    assert below is not None
    assert below < 0
    # An item with one rating pairs with nothing; who gave which rating does not matter.
    alone = krippendorff_alpha([[1, 1], [2, 4], [9, None]])
    assert alone == krippendorff_alpha([[1, 1], [4, 2]])
    # Zeros and negative ratings are ratings.
    assert krippendorff_alpha([[0, 0], [-1, -1], [0, 0]]) == 1.0


def test_it_is_undefined_without_two_items_or_two_ratings() -> None:
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([[1, 2]]) is None
    assert krippendorff_alpha([[1, None], [2, None]]) is None
    assert krippendorff_alpha([[3, 3], [3, 3]]) is None
