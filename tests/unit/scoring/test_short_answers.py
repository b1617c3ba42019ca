"""Reading short answers: numbers, yes or no, phrases, printed text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.scoring.numbers import read_number
from evalbench.engine.scoring.short_answers import (
    read_output,
    read_phrase,
    read_yes_no,
    same_output,
    says,
)


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ("13", "13"),
        ("13.", "13"),
        ("**13**", "13"),
        ("1,024", "1024"),
        ("1,024.50", "1024.5"),
        ("2.250", "2.25"),
        ("-0", "0"),
        ("-7", "-7"),
        ("－４２．５", "-42.5"),
        ("答えは１，０２４です", "1024"),
        ("−7", "-7"),
        ("$26", "26"),
        ("12%", "12"),
        ("85 minutes", "85"),
        ("26 pencils are left because 36 minus 10 is 26", "26"),
        ("6 + 7 = 13", "13"),
        ("3*12=36", "36"),
        ("5 - 12 = -7", "-7"),
        ("6 + 7 is 13", "13"),
        ("15 percent of 80 is 12", "12"),
        ("There are 26 pencils left.", "26"),
        ("The sum of 6 and 7 is 13.", "13"),
        ("The answer is 13. Check: 13 - 7 = 6", "13"),
        ("First 36, then minus 10.\nTotal: 26", "26"),
        (r"\boxed{391}", "391"),
        ("<think>12? 14?</think>13", "13"),
        ("thirteen", "13"),
        ("I do not know", None),
        ("", None),
    ],
)
def test_numbers(reply: str, number: str | None) -> None:
    assert read_number(reply) == number


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Yes", "Yes"),
        ("no.", "No"),
        ("**Yes**", "Yes"),
        ("NO!", "No"),
        ("Ｙｅｓ", "Yes"),
        ("ＮＯ！", "No"),
        ("Yes, ice is frozen water.", "Yes"),
        ("No, it is not", "No"),
        ("The answer is no", "No"),
        ("Yes... wait, the answer is no.", "No"),
        ("Ice is frozen water, so yes.", "Yes"),
        ("There is no evidence", None),
        ("Nobody knows", None),
        ("", None),
    ],
)
def test_yes_and_no(reply: str, answer: str | None) -> None:
    assert read_yes_no(reply) == answer


def test_yes_and_no_in_the_styles_of_many_models() -> None:
    lines = Path(__file__).with_name("yes_no_replies.jsonl").read_text().splitlines()
    cases = {case["reply"]: case["answer"] for case in map(json.loads, lines)}
    assert {reply: read_yes_no(reply) for reply in cases} == cases


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("Mercury", True),
        ("mercury.", True),
        ('"Mercury"', True),
        ("The Mercury", True),
        ("The answer is Mercury.", True),
        ("Answer:\nMercury", True),
        ("The planet closest to the Sun is Mercury.", True),
        ("Mercury\n\nIt is closer than Venus or the Earth.", True),
        ("Venus", False),
        ("Mercury or Venus", False),
        ("It is not Mercury", False),
        ("Mercuryish", False),
        ("Some say one thing, some say another, and quite a few have said Mercury", False),
    ],
)
def test_phrases(reply: str, right: bool) -> None:
    phrase = read_phrase(reply)
    assert phrase is not None
    assert says(phrase, ["Mercury"]) is right


def test_accents_and_alternatives_do_not_count() -> None:
    assert says("café", ["Cafe"])
    assert says("Pacific Ocean", ["Atlantic", "Pacific Ocean"])


@pytest.mark.parametrize("reply", ["", "  \n", "**", "<think>hm"])
def test_an_empty_reply_gives_nothing(reply: str) -> None:
    assert read_phrase(reply) is None
    assert read_output(reply) is None


@pytest.mark.parametrize(
    ("reply", "printed"),
    [
        ("hello", "hello"),
        ("'hello'", "hello"),
        ("```\nhello\n```", "hello"),
        ("Here it is:\n```text\nhello\n```\nDone.", "hello"),
        ("The output is hello.", "hello"),
        ("Output:\nhello", "hello"),
        ("The program prints `hello`.", "hello"),
        ("The code will print hello because of line 1", "hello"),
        ("[1,2,  3]", "[1, 2, 3]"),
        ("hello\n\nThis is the greeting.", "hello"),
        ("HELLO", "HELLO"),
        ('This Python program prints "hello" to the console.', "hello"),
        ("It prints the list `[1, 2]` and the output is `[1, 2]`.", "[1, 2]"),
        ("This prints the last item of `[10, 30]` which is 30.", "30"),
        ("['a', 'b']", "['a', 'b']"),
        ("['a']", "['a']"),
        ("**Output:** hello", "hello"),
        ("don't panic", "don't panic"),
    ],
)
def test_printed_text(reply: str, printed: str) -> None:
    assert read_output(reply) == same_output(printed)


def test_case_counts_in_printed_text() -> None:
    assert read_output("cat") != same_output("CAT")


@given(st.text())
def test_readers_never_raise(reply: str) -> None:
    for read in (read_number, read_yes_no, read_phrase, read_output):
        assert read(reply) is None or read(reply)
    assert says(read_phrase(reply) or "", [reply]) in (True, False)


@pytest.mark.timeout(20)
def test_long_replies_are_read_in_a_moment() -> None:
    # As long as a model that thinks may write; reading it once took minutes.
    reply = "word " * 20_000
    for read in (read_output, read_phrase, read_yes_no):
        read(reply)


def test_how_much_longer_than_the_answers_a_phrase_may_be() -> None:
    longest = 2000 + 4 * len("Paris")
    assert says("Paris".ljust(longest, "!"), ["Rome", "Paris"])
    assert not says("Paris".ljust(longest + 1, "!"), ["Rome", "Paris"])
