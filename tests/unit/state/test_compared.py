"""Compared runs in words."""

from __future__ import annotations

from typing import Any

import pytest

from evalbench.tui.state.compared import Compared, p_words, score_words
from tests.compared import lines, pair


def test_letters_stand_for_runs_in_the_order_they_were_given() -> None:
    found = Compared.of(lines(28))
    assert [found.letter(f"run-{number}") for number in (0, 25, 26, 27)] == ["A", "Z", "AA", "AB"]


def test_everything_about_a_pair_is_told() -> None:
    facts = Compared.of(lines()).pair_facts(pair())
    assert facts == [
        ("difference", "B − A = +1.91 points: B higher"),
        ("95 %", "+1.01 to +2.81, paired score interval (Tango)"),
        ("", "+1.00 to +2.80, paired bootstrap"),
        ("", "−0.10 to +4.00, clustered by subject (57)"),
        ("p", "< 0.0001, McNemar's exact test; clustered 0.0620"),
        ("higher on", "A 800, B 1,068; both right 8,000, both wrong 4,174"),
        ("detectable", "0.90 points at least, with this many samples (80 % power)"),
        ("with failed", "+1.80 to +2.00 if wrong or right"),
        ("but", "so for these 57 of subject; for others like them not shown"),
    ]


def test_what_is_not_known_is_left_out() -> None:
    bare = pair(
        low=None, high=None, bootstrap=None, clustered=None, p=None, p_holm=None,
        both_right=None, both_wrong=None, detectable=None, bounds=None,
    )  # fmt: skip
    assert Compared.of(lines()).pair_facts(bare) == [
        ("difference", "B − A = +1.91 points: not significant"),
        ("higher on", "A 800, B 1,068, neither 12,174"),
    ]


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "B higher"),
        ({"difference": -0.02}, "A higher"),
        ({"p_holm": 0.05}, "not significant"),
        ({"p_holm": None}, "not significant"),
    ],
)
def test_the_verdict_goes_by_the_corrected_p_value(changed: dict[str, Any], verdict: str) -> None:
    assert Compared.of(lines()).verdict(pair(**changed)) == verdict


def test_ratings_are_plain_numbers() -> None:
    found = Compared.of(lines(share=False))
    assert found.gap(0.25) == "+0.250"
    assert found.between(-1, 0.5) == "−1.000 to +0.500"
    assert found.standings()[0][2:4] == ("0.500", "0.400–0.600")


def test_the_ranking_tells_places_and_failures() -> None:
    assert [row[4:6] for row in Compared.of(lines()).standings()] == [("1", ""), ("1–2", "1")]


def test_what_differs_is_an_alarm() -> None:
    other = [{"what": "data (hash)", "values": ["1", "2"]}]
    found = Compared.of(lines(differences=other))
    assert found.alarm().startswith("WARNING: one thing differs besides")
    assert found.differences() == [("data (hash)", ["1", "2"])]
    assert Compared.of(lines()).alarm() == ""
    several = Compared.of(lines(differences=other * 2, compared="nothing", values=[]))
    assert several.alarm().startswith("WARNING: 2 things differ;")
    assert several.subject() == "one model, and several things differ"


def test_what_is_compared_is_named() -> None:
    assert Compared.of(lines()).subject() == "compared: the model"
    warm = Compared.of(lines(compared="temperature", values=["0.0", "1.0"]))
    assert warm.subject() == "compared: temperature, with one model"
    assert warm.differences() == [("temperature", ["0.0", "1.0"])]
    same = Compared.of(lines(compared="nothing", values=[]))
    assert "the same configuration twice" in same.subject()


def test_p_values_and_scores() -> None:
    assert [p_words(p) for p in (None, 0.00002, 0.0123, 0.4)] == ["", "< 0.0001", "0.0123", "0.40"]
    told = [score_words(score, share=True) for score in (0, 1, 0.5, 1 / 3)]
    assert told == ["wrong", "right", "0.5", "0.333"]
    assert score_words(1.0, share=False) == "1"
