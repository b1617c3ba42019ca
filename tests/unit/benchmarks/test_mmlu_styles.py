"""Option styles: what moves, what changes case, and that every place can be mapped back."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.benchmarks.mmlu.styles import STYLES, show

CHOICES = ["one", "two", "Three ½", "ONE"]


@given(
    st.sampled_from(STYLES),
    st.integers(0, 3),
    st.integers(),
    st.lists(st.text(), min_size=4, max_size=4),
)
def test_every_place_maps_back_to_its_option(
    style: str, gold: int, seed: int, choices: list[str]
) -> None:
    shown = show(style, "Q?", choices, gold, random.Random(seed))
    assert len(shown.options) == len(shown.order)
    assert shown.order.count(gold) == 1
    assert set(shown.order) == {0, 1, 2, 3}
    if style not in ("uppercase", "randomcase"):
        assert shown.question == "Q?"
        assert list(shown.options) == [choices[index] for index in shown.order]


@pytest.mark.parametrize("gold", range(4))
def test_permuted_always_moves_the_right_option_and_favours_no_place(gold: int) -> None:
    rng = random.Random(5)
    orders = [show("permuted", "Q?", CHOICES, gold, rng).order for _ in range(3000)]
    places = Counter(order.index(gold) for order in orders)
    assert set(places) == {0, 1, 2, 3} - {gold}
    assert max(places.values()) - min(places.values()) < 200
    assert len(set(orders)) == 18  # three places for the right one, six orders of the others


def test_duplicatewrong_repeats_the_wrong_options_after_the_original_four() -> None:
    shown = show("duplicatewrong", "Q?", CHOICES, 1, random.Random(0))
    assert shown.order == (0, 1, 2, 3, 0, 2, 3)
    assert shown.options == ("one", "two", "Three ½", "ONE", "one", "Three ½", "ONE")
    assert shown.moved


def test_uppercase() -> None:
    shown = show("uppercase", "Why so?", CHOICES, 1, random.Random(0))
    assert shown.question == "WHY SO?"
    assert shown.options == ("ONE", "TWO", "THREE ½", "ONE")
    assert not shown.moved


def test_randomcase_changes_only_case() -> None:
    question = "The quick brown fox jumps over the lazy dog"
    shown = show("randomcase", question, CHOICES, 1, random.Random(0))
    assert shown.question.lower() == question.lower()
    assert shown.question not in (question, question.lower(), question.upper())
    assert [option.lower() for option in shown.options] == [text.lower() for text in CHOICES]
