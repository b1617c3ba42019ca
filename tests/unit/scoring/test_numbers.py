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


def test_no_reply_is_read_as_another_number() -> None:
    """``value`` is what a careful reader would take, ``optional`` if one could leave it."""
    read = {case["reply"]: read_number(case["reply"]) for case in REPLIES}
    wrong = {
        case["reply"]: read[case["reply"]]
        for case in REPLIES
        if read[case["reply"]] not in (None, case["value"])
    }
    assert wrong == {}
    stated = [one["reply"] for one in REPLIES if one["value"] and not one.get("optional")]
    assert sum(read[reply] is not None for reply in stated) > 0.9 * len(stated)


STATED = (
    *("42", "42.", "**42**", "= $42", "42 apples", "$42.00", "forty-two", "-> 42", "4.2e1"),
    *("So the answer is 42.", "The answer is 42 apples.", "Answer: 42", "**Answer:** 42 km"),
    *("#### 42", "\\boxed{42}", "<answer>42</answer>", '{"answer": 42, "steps": 3}', "≈ 42"),
    *("**Final answer: $42**", "The final answer is $\\boxed{42}$.", "答案是42。", "Antwort: 42"),
    *("6 × 7 = 42", "The product of 6 and 7 is 42.", "Tom has 42 left.", "Total: 42"),
    *("6 * 7 = 42. So Tom has 42 apples.", "16 + 5 = 21\n21 * 2 = 42", "x = 42", "Hence, 42."),
    *("There are 6 rows of 7, so there are 42 seats.", "42\n\nThere are 6 rows."),
    *("She needs 42 more, because 8 + 42 = 50.", "It is 42, not 48.", "42 (6 × 7)"),
    "The answer is 40. Wait, I forgot two. The answer is 42.",
    "Step 1: 3 + 4 = 7\nStep 2: 7 * 6 = 42",
    "The first has 20 and the second 22. **Together they have 42.**\n\nLet me know if that helps!",
)


def test_plain_statements_are_read() -> None:
    assert [one for one in STATED if read_number(one) != "42"] == []


DOUBTFUL = (
    *("42 or 43", "40-42", "at least 42", "not 42", "42?", "maybe 42", "6 * 7", "42x", "42:43"),
    *("The answer is 41. The answer is 42.", "#### 42\nWait, that is wrong.", "\\boxed{42"),
    *("#### 42\n#### 43", "42\n43", "**42** and **43**", "Tom: 42\nAnn: 43", "1. 42\n2. 43"),
    *("Tom has 42 and Ann has 43.", "So Tom has 42, and Ann has 43.", "42 (43 with tax)"),
    *("First, 6 * 7 = 42.", "She buys 42 apples. She then sells", "The total is 40 +"),
    *("a = 42, b = 43", "20 + 22 = 42\n3 + 4 = 7", "mindestens 42", "1.042 Stück sind da"),
    *(
        "The total is 42 because 20 + 25 = 45.",
        "42 hours and 30 minutes",
        "0.42 = 42%",
        "The answer is 42. However, it could be 43.",
    ),
    *("The answer is 42.\nSo he has 43.", "42\nSo he has 43 in total.", "Question 42"),
)


def test_doubtful_statements_are_not_read() -> None:
    assert {one: read for one in DOUBTFUL if (read := read_number(one)) is not None} == {}


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
