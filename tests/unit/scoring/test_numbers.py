"""Numbers in replies: what a careful reader reads, and nothing where nobody could say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.scoring.numbers import parse_number, read_number

REPLIES = [
    json.loads(line)
    for line in Path(__file__).with_name("number_replies.jsonl").read_text().splitlines()
]


def test_replies_in_the_styles_of_many_models_are_read_as_a_person_would() -> None:
    read = {case["reply"]: read_number(case["reply"]) for case in REPLIES}
    assert read == {case["reply"]: case["value"] for case in REPLIES}


FORMS: dict[str, Callable[[str, str], str]] = {
    "hashes": lambda work, n: f"{work}\n#### {n}",
    "thousands": lambda work, n: f"{work}\n#### {int(n):,}",
    "boxed": lambda work, n: f"{work}\n\\boxed{{{n}}}",
    "sentence with a box": lambda work, n: f"{work}\n\nThe final answer is $\\boxed{{{n}}}$.",
    "final answer": lambda work, n: f"{work}\nFinal answer: {n}",
    "the answer is": lambda work, n: f"{work}\nThe answer is {n}.",
    "bold": lambda work, n: f"{work}\n**{n}**",
    "bold label": lambda work, n: f"{work}\n**Answer: {n}**",
    "tags": lambda work, n: f"{work}\n<answer>{n}</answer>",
    "currency": lambda work, n: f"{work}\nAnswer: ${int(n):,}.00",
    "the number": lambda work, n: n,
}


def test_all_forms_of_the_solutions_of_gsm8k(shared_data: Path) -> None:
    lines = (shared_data / "gsm8k" / "test.jsonl").read_text().splitlines()
    for line in lines[::40]:
        solution, _, gold = json.loads(line)["answer"].partition("\n#### ")
        number = gold.replace(",", "").strip()
        plain = re.sub("<<[^>]*>>", "", solution)
        for name, form in FORMS.items():
            for work in (solution, plain):
                assert read_number(form(work, number)) == number, name


def test_the_cases_from_outside_have_no_wrong_value(shared_data: Path) -> None:
    lines = (shared_data / "outside" / "numbers.jsonl").read_text().splitlines()
    for case in map(json.loads, lines):
        assert read_number(case["reply"]) == case["target"]


@given(st.text())
def test_any_text_is_read_without_an_error(reply: str) -> None:
    read = read_number(reply)
    assert read is None or float(read) == float(read)


@given(st.integers(-(10**12), 10**12), st.integers(0, 99))
def test_a_plain_number_is_read_as_itself(whole: int, parts: int) -> None:
    for number in (str(whole), f"{whole}.{parts:02d}", f"{whole:,}", f"{whole:_}"):
        read = read_number(number)
        assert read is not None
        assert float(read) == float(number.replace(",", "").replace("_", ""))


@pytest.mark.parametrize(
    ("cell", "value"),
    [("70.000", 70), ("1,234.5", 1234.5), ("1/2", 0.5), ("1e3", 1000), ("-3", -3), ("twelve", 12)],
)
def test_right_answers_are_numbers_as_tables_write_them(cell: str, value: float) -> None:
    assert parse_number(cell) == value


@pytest.mark.parametrize("cell", ["", " ", "n/a", "none", "nan", "inf", "Paris", "3 or 4"])
def test_what_is_no_number_is_none(cell: str) -> None:
    assert parse_number(cell) is None


def test_a_number_has_at_most_300_digits() -> None:
    assert parse_number("9" * 300) == 10**300 - 1
    assert parse_number("9" * 301) is None
    assert read_number("9" * 300) == "9" * 300
    assert read_number("9" * 301) is None
