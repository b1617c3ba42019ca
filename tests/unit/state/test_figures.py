"""Numbers for people."""

from __future__ import annotations

from typing import Any

import pytest

from evalbench.tui.state import figures


def _metric(**fields: Any) -> dict[str, Any]:
    return {"value": None, "low": None, "high": None, "k": 0, "n": 0, **fields}


@pytest.mark.parametrize(
    ("metric", "shown"),
    [
        (_metric(value=0.272, low=0.2348, high=0.3126), "27.2 % (23.5–31.3)"),
        (_metric(value=0.0), "0.0 %"),
        (_metric(value=1.0, low=0.9, high=1.0), "100.0 % (90.0–100.0)"),
        (_metric(value=7.91, low=7.5, high=8.25), "7.910 (7.500–8.250)"),
        (_metric(value=-0.5), "−0.500"),
        (_metric(), "not scored"),
    ],
)
def test_score(metric: dict[str, Any], shown: str) -> None:
    assert figures.score(metric) == shown


def test_bounds_are_told_only_when_something_failed() -> None:
    assert figures.bounds(_metric(value=0.5, bound_low=0.5, bound_high=0.5)) == ""
    assert figures.bounds(_metric(value=0.5, bound_low=0.4, bound_high=0.6)) == "40.0–60.0"


def test_outcomes_leave_out_what_did_not_occur() -> None:
    outcomes = {"ok": 1470, "truncated": 0, "refused": 30, "filtered": 0, "unparsed": 0, "error": 0}
    assert figures.outcome_line(outcomes) == "parsed 98.0 % (1,470) · refused 2.0 % (30) · failed 0"
    assert figures.outcome_line({}) == "parsed 0 · failed 0"


@pytest.mark.parametrize(
    ("share", "whole", "tenths"),
    [
        (0.0, "0 %", "0.0 %"),
        (1 / 400, "<1 %", "0.2 %"),
        (1 / 10_000, "<1 %", "<0.1 %"),
        (0.5, "50 %", "50.0 %"),
        (199 / 200, "99 %", "99.5 %"),
        (9_999 / 10_000, "99 %", "99.9 %"),
        (1.0, "100 %", "100.0 %"),
        (1.4, "140 %", "140.0 %"),
    ],
)
def test_nearly_all_is_not_all(share: float, whole: str, tenths: str) -> None:
    assert figures.percent(share) == whole
    assert figures.percent(share, 1) == tenths


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (12.4, "12 s"),
        (59.7, "1:00"),
        (310, "5:10"),
        (3599.7, "1:00:00"),
        (7384, "2:03:04"),
    ],
)
def test_duration(seconds: float, shown: str) -> None:
    assert figures.duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-3, "now"), (59, "now"), (60, "1 min"), (3 * 3600, "3 h"), (12 * 86400, "12 d")],
)
def test_age(seconds: float, shown: str) -> None:
    assert figures.age(seconds) == shown


@pytest.mark.parametrize(
    ("number", "unit", "shown"),
    [
        (512, "B", "512 B"),
        (92_900_000, "B", "92.9 MB"),
        (2.5e9, "B", "2.5 GB"),
        (20_000, "", "20,000"),
        (3, "layers", "3 layers"),
    ],
)
def test_amount(number: float, unit: str, shown: str) -> None:
    assert figures.amount(number, unit) == shown


def test_rate_of_slow_runs_is_told_by_the_minute() -> None:
    assert figures.rate(41.34) == "41.3/s"
    assert figures.rate(0.1) == "6.0/min"
    assert figures.rate(0) == "0.0/s"


def test_small_sums_keep_the_digits_that_matter() -> None:
    assert figures.dollars(0) == "$0.00"
    assert figures.dollars(0.00123) == "$0.0012"
    assert figures.dollars(1234.5) == "$1,234.50"


@pytest.mark.parametrize(
    ("metric", "shown"),
    [
        ({"value": 0.25, "k": 25, "n": 100}, "25 / 100"),
        ({"value": 0.0, "k": 0, "n": 100}, "0 / 100"),
        ({"value": 0.012, "n": 100, "share": False}, "100"),
        ({"value": 0.0, "n": 100, "share": False}, "100"),
        ({"value": 0.0, "n": 0, "share": False}, ""),
        ({"value": None, "k": 0, "n": 0}, ""),
    ],
)
def test_a_fraction_is_told_only_of_what_is_one(metric: dict[str, Any], shown: str) -> None:
    assert figures.fraction(metric) == shown


def test_what_is_counted_agrees_with_its_number() -> None:
    told = [
        figures.counted(1, "request"),
        figures.counted(0, "request"),
        figures.counted(14_042, "reply"),
        figures.counted(2, "batch"),
        figures.counted(2.5, "more key"),
        figures.counted(1.0, "reply"),
    ]
    assert told == [
        *("1 request", "0 requests", "14,042 replies"),
        *("2 batches", "2.50 more keys", "1 reply"),
    ]


def test_negative_numbers_have_a_minus_sign() -> None:
    kappa = _metric(value=-0.125, low=-0.25, high=0.5, share=False)
    assert figures.score(kappa) == "−0.125 (−0.250–0.500)"
    assert [figures.signed(number, 1) for number in (-3.14, 2, -0.04)] == ["−3.1", "+2.0", "+0.0"]


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0"), (9_999, "9,999"), (88_000, "88 k"), (1_000_000, "1 M"), (2.5e9, "2.5 G")],
)
def test_large_numbers_take_three_digits(number: float, words: str) -> None:
    assert figures.short(number) == words
