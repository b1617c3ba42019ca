"""What holds for every parser: registered, versioned, and unmoved by whatever it is given."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.benchmarks.parsers import KINDS, ReplyKind, kind
from evalbench.engine.errors import UsageError

CHOICES = ("Yes", "No", "X axis", "-5")
BOTH = [(entry, which) for entry in KINDS.values() for which in ("faithful", "lenient")]
MILLION = 1_000_000

LONG = 200_000  # what takes quadratic time does not end

# Pieces that patterns look for, each of them repeated, and bombs.
HOSTILE = {
    "spaces": " " * MILLION,
    "lines": "\n" * MILLION,
    "digits": "[[" + "7" * MILLION,
    "long rating": f"[[{'9' * MILLION}]]",
    "long fraction": f"Rating: [[1.{'0' * MILLION}]]",
    "nul": "\0" * MILLION,
    "surrogates": "\ud800" * 1000 + "[ANSWER]assert f('\ud800') == '\udfff'[/ANSWER]",
    "deep object": '{"compliant":' * 100_000,
    "deep list": '{"compliant": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "deep confidence": '{"compliant": true, "confidence": ' + "[" * 500 + "]" * 500 + "}",
    "deep literal": f"[ANSWER]assert f() == {'[' * 10_000}{']' * 10_000}[/ANSWER]",
    "deep choice": '{"chosen_program": "A", "outputs": ' + "[" * 900 + "]" * 900 + "}",
    "minus": f"[ANSWER]{'-' * 20_000}1[/ANSWER]",
    "sum": f"[ANSWER]{'1+' * 20_000}1[/ANSWER]",
    "not": f"assert f() == {'not ' * 10_000}1",
    "calls": f"assert f{'()' * 15_000} == 1",
    "huge number": f'{{"compliant": {"9" * 10_000}, "confidence": {"9" * 10_000}}}',
    "huge choice": f'{{"chosen_program": "A", "outputs": [{"9" * 10_000}]}}',
    "huge float": '{"compliant": true, "confidence": 1e999}',
    "long list": f"[ANSWER][{'1,' * 400_000}][/ANSWER]",
    "spaces in a fence": f"```json{' ' * MILLION}x```",
    "spaces in an assertion": f'{{"chosen_program": "A", "assertion": "{" " * MILLION}x"}}',
    **{
        f"many {piece!r}": piece * (LONG // len(piece))
        for piece in (
            *("[", "]", "[[", "[[A", "[[8", "{", "}", '{"', '"', "'", "(", ")", "<", "*", "_", "`"),
            *("\\", "\\[", "$", "|", "-", ".", "=", "==", "A ", "A\n", "B) ", "a", "é", "８", "?"),
            *("<think>", "</think>", "<|", "<answer>", "[ANSWER]", "[/ANSWER]", "[ANSWER]x"),
            *(
                "assert ",
                "assert f(",
                "assert f()",
                "assert f() ==",
                "assert f() == 3\n",
                "f() == ",
            ),
            *("Model:", "Model: A\n", "Model: A ", "model ", "Rating: ", "Rating: [", "rating (1"),
            *("Answer: ", "answer ", "answer is ", "The answer is Yes or ", "Yes or ", "Yes, No, "),
            *('{"compliant": true} ', '{"compliant": ', "compliant: ", "Compliant: yes\n"),
            *('"confidence": ', '{"chosen_program": "A', '{"chosen_program": "A"} ', '"outputs":['),
            *('{"chosen_program":"A","assertion":"', "```", "```json\n", "not ", "or ", "is the "),
            *(
                "I choose ",
                "verdict [",
                "[[A]] or ",
                "X axis ",
                "\\text{",
                "<b ",
                "# ",
                "> ",
                "1. ",
            ),
        )
    },
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", list(HOSTILE))
def test_no_reply_breaks_or_holds_up_a_parser(name: str) -> None:
    for entry, which in BOTH:
        json.dumps(getattr(entry, which).read(HOSTILE[name], CHOICES), allow_nan=False)


ANYTHING = st.text() | st.lists(
    st.sampled_from(
        [
            *("[[", "]]", "[", "]", "{", "}", '"', "'", "(", ")", ":", ",", " ", "\n", "==", "8"),
            *("A", "B", "tie", "Model:", "Rating:", "assert f(1)", "[ANSWER]", "[/ANSWER]", "```"),
            *('"compliant"', '"confidence"', '"chosen_program"', '"assertion"', "true", "null"),
            *("Yes", "No", "X axis", "Answer:", "<think>", "</think>", "\\", "not ", " or ", "-5"),
        ]
    ),
    max_size=20,
).map("".join)


@pytest.mark.parametrize(("entry", "which"), BOTH, ids=lambda value: getattr(value, "name", value))
@given(reply=ANYTHING)
def test_no_text_makes_a_parser_raise(entry: ReplyKind, which: str, reply: str) -> None:
    parser = getattr(entry, which)
    for choices in ((), CHOICES):
        value = parser.read(reply, choices)
        json.dumps(value, allow_nan=False)
        assert parser.read(reply, choices) == value


def test_versions_name_each_parser_once() -> None:
    versions = [getattr(entry, which).version for entry, which in BOTH]
    assert len(set(versions)) == len(versions) == 16
    assert all(re.fullmatch(r"[a-z-]+/\d+", version) for version in versions)


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean mt-bench"):
        kind("mt-bench")


@pytest.mark.parametrize(
    ("name", "reply", "expected", "faithful", "lenient"),
    [
        ("mmlu-letter", "(B)", 1, False, True),
        ("mmlu-letter", "B", "B", True, True),
        ("mt-bench-single", "Rating: [[7.0]]", 7, True, True),
        ("mt-bench-single", "Rating: [[ 7 ]]", 7, False, True),
        ("mt-bench-pair", "[[C]]", "tie", True, True),
        ("speceval-ranking", "Model: **B**", -1, False, True),
        ("speceval-ranking", "Model: N/A", "n/a", True, True),
        ("speceval-ranking", "Model: N/A", "equal", True, False),
        ("speceval-ranking", "ERROR: none", 0, True, False),
        ("speceval-compliance", '{"compliant": "no"}', False, False, True),
        ("speceval-compliance", '{"compliant": "no"}', {"compliant": None}, True, False),
        ("execution-prediction", "[ANSWER]assert f() == 3.0[/ANSWER]", "3", True, False),
        ("execution-prediction", "[ANSWER]assert f((1,)) == 3[/ANSWER]", "3", False, True),
        ("execution-choice", '{"chosen_program": "A", "outputs": [true]}', ["A", "1"], True, False),
        ("execution-choice", '{"chosen_program": "a", "outputs": [3]}', ["A", "3"], False, True),
        ("openseesime", "yes", "Yes", True, True),
        ("openseesime", "Yes!", "yes", False, True),
    ],
)
def test_each_parser_compares_with_what_is_expected(
    name: str, reply: str, expected: Any, faithful: bool, lenient: bool
) -> None:
    entry = kind(name)
    assert entry.accepts(expected)
    choices = ("Yes", "No") if name == "openseesime" else ()
    for parser, right in ((entry.faithful, faithful), (entry.lenient, lenient)):
        assert parser.is_right(parser.read(reply, choices), expected) is right
