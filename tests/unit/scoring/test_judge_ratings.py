"""Judges' ratings and verdicts: what each parser reads in replies as judges write them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.benchmarks.mt_bench.ratings import (
    read_rating,
    read_rating_lenient,
    read_verdict,
    read_winner,
    read_winner_lenient,
)
from evalbench.engine.benchmarks.spec_adherence import ranking_parsers
from evalbench.engine.benchmarks.spec_adherence.compliance_parsers import read_compliance_lenient

# What a person would read; None: no rating in the form that was asked for, or outside of 1 to 10.
RATINGS: dict[float | None, list[str]] = {
    6: [
        "The assistant explains photosynthesis well but skips the dark reactions.\n\nRating: [[6]]",
        "[[6]]",
        "My rating for this response is [[6]].",
        "Rating: [[ 6 ]]",
        "Rating: [[6.0]]",
        "Rating: [[6.]]",
        "**Final rating:** [[6]]",
        "Rating: **[[6]]**",
        "Rating: [[**6**]]",
        "Rating: [[6/10]]",
        "Rating: [[6 out of 10]]",
        "Rating: [[6]]/10",
        "Rating: [[6]] out of [[10]]",
        "Rating: [[6]] / [[10]]",
        r"Rating: \[\[6\]\]",
        "Rating: [6]",
        "Score: [6]",
        "I give it a score of [6].",
        "Overall score (out of 10): [6]",
        "Rating (1-10): [6]",
        "**Rating**: [6]",
        "The rating is: [6]",
        "Rating: [6/10]",
        "Rating: [[6]",
        "A decent reply, as [2] shows.\nRating: [6]",
        "The code is wrong in one place.\n\n[6]",
        "<think>Perhaps [[3]]? It misses the point.</think>It is fair. Rating: [[6]]",
        "Rating: [[3]]\n\nOn reflection, the second half is much better. Rating: [[6]]",
        'You asked for the form "[[5]]". My verdict: [[6]]',
        "As in [1] and [2], the facts hold. Rating: [[6]]",
        "Rating: 【【6】】",
        "Rating： ［［6］］",
        "Rating： ［［６］］",
        "Rating: [[６]]",
        "[[６／１０]]",
        "評価：[[６．０]]",
        "Rating: [[06]]",
        "> Rating: [[6]]",
        "Rating: [[6]]<|im_end|>",
        "Rating:\n[[6]]",
        "Rating: [ [6] ]",
        '{"explanation": "fine", "rating": [[6]]}',
    ],
    7: [
        "Style: [[9]]\nFacts: [[6]]\nOverall: [[7]]",
        'You asked for the format "Rating: [[5]]", so here it is.\n\nRating: [[7]]',
        "In the format that was asked for, my rating: [[7]]",
        "<rating>[[7]]</rating>",
    ],
    1: ["Rating: [[1]]", "It is off topic. [[1]]", "Rating: [[1.0]]"],
    10: ["Rating: [[10]]", "Flawless. Rating: [[10/10]]", "Rating: [[10.0]]"],
    8.5: ["Rating: [[8,5]]", "Rating: [[8.5]]", "Rating: [[8.5/10]]", "Score: [8.5]"],
    None: [
        "",
        "   \n",
        "Rating: 8",
        "Rating: 8/10",
        "I would give it an eight.",
        "The source [3] supports it.",
        "See [1], [2] and [3].",
        "It cites [4].\nRating: 9",
        "Rating: [[0]]",
        "Rating: [[0.5]]",
        "Rating: [[11]]",
        "Rating: [[100]]",
        "Rating: [[-3]]",
        "Rating: [[]]",
        "Rating: [[rating]]",
        "Rating: [[N/A]]",
        "Rating: [[seven]]",
        "Rating: [[7-8]]",
        "Rating: [[7, 8]]",
        "Rating: [[7.5.1]]",
        "[[Rating: 6]]",
        "Rating: [[8]]\n\nIf I were strict: [[5]]",
        "[[7]] [[8]]",
        "Rating: [[4/5]]",
        "$ERROR$",
        "ERROR: 529 overloaded",
        "<think>I am inclined to [[7]] because",
        "The list xs[0] is indexed wrongly.",
        "Rating: [[8",
        'I rate on a scale of 1 to 10, for example: "Rating: [[5]]".',
        "I was told to use the format Rating: [[5]], but there is no answer to rate.",
        'Please send the answer. I will follow this format: "[[5]]"',
    ],
}


@pytest.mark.parametrize(("rating", "reply"), [(r, t) for r, ts in RATINGS.items() for t in ts])
def test_a_rating_is_read_as_a_person_would(rating: float | None, reply: str) -> None:
    assert read_rating_lenient(reply) == rating


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("Rating: [[4]] or rather [[9]]", 4),
        ("See [2]. Rating: [[9]]", 9),
        ("See [2]. Rating: 9", 2),
        ("[[8.]]", 8.0),
        ("[[00]]", 0),
        ("[[09]]", None),
        ("[[09.5]]", 9.5),
        ("[[ 9 ]]", None),
        ("[9.25]", 9.25),
        ("[[250]]", 250),
        ("[[-1]]", None),
        ("[[７]]", None),
        ("[[7/10]]", None),
        ("[[9]", 9),
        ("<think>[[2]]</think>[[9]]", 2),
        (f"[[{'9' * 30}]]", None),
        (f"[[{'9' * 5000}]]", None),
    ],
)
def test_the_faithful_rating_has_the_faults_of_the_original(
    reply: str, rating: float | None
) -> None:
    assert read_rating(reply) == rating
    assert type(read_rating(reply)) is type(rating)


VERDICTS: dict[str | None, list[str]] = {
    "A": [
        "Assistant A answers both parts. [[A]]",
        "[[A]]",
        "[[a]]",
        "[[ A ]]",
        "**[[A]]**",
        "[[**A**]]",
        "[[Assistant A]]",
        "[[Model A]]",
        "[[assistant_a]]",
        "Assistant A beats assistant B: [[A]]>[[B]]",
        "[[A is better]]",
        r"\[\[A\]\]",
        "【【A】】",
        "［［Ａ］］",
        "助手Ａ更好：[[Ａ]]",
        "Final verdict: [A]",
        "My final verdict is: [A]",
        "Verdict: [[A]",
        "Both are good.\n\n[A]",
        "At first B looked better: [[B]]. After checking the sums: [[A]]",
        "I decide [[A]], not [[B]].",
        "[[A]] rather than [[B]]",
        "[[A]] over [[B]]",
        "Not a [[C]]. My verdict: [[A]]",
        "<think>[[B]] seems right... no.</think>\n[[A]]",
        '"[[A]]" if assistant A is better, "[[B]]" if assistant B is better, and "[[C]]" for a tie.'
        "\n\nFinal verdict: [[A]]",
        "[[A]]\n\nAssistant A is better because of its depth.",
        "[[A]] for its clear structure",
        "[[A]], [[A]]",
        "<answer>[[A]]</answer>",
        "A is deeper.\n<verdict>\n[[A]]\n</verdict>",
    ],
    "B": [
        "Assistant B is more concise. [[B]]",
        "[[b]]",
        "The winner is [[B]].",
        "Winner: [B]",
        "It isn't [[A]] but [[B]]",
        "[[B]]<|eot_id|>",
        "I don't choose [[A]]; [[B]]",
        "[[Answer B]]",
        "I would say [[B]], though [[A]] was close.",
    ],
    "tie": [
        "Both made the same mistake. [[C]]",
        "[[c]]",
        "[[Tie]]",
        "[[tie]]",
        "[[C]] (tie)",
        "Final verdict: [C]",
        "Neither [[A]] nor [[B]]: [[C]]",
        "[[draw]]",
    ],
    None: [
        "",
        "Assistant A is better.",
        "A",
        "The answer of B is wrong in step [2].",
        "[A] and [B] both answer the question.",
        "[[D]]",
        "[[]]",
        "[[A, B]]",
        "[[A]] or [[B]]",
        "[[A]]\n\n[[B]]",
        "[[A]]/[[B]]",
        "It is not [[A]].",
        '"[[A]]" if assistant A is better, "[[B]]" if assistant B is better, and "[[C]]" for a tie',
        "$ERROR$",
        "ERROR: timeout",
        "<think>surely [[A]]",
        "[[verdict]]",
    ],
}


@pytest.mark.parametrize(("side", "reply"), [(s, t) for s, ts in VERDICTS.items() for t in ts])
def test_a_verdict_is_read_as_a_person_would(side: str | None, reply: str) -> None:
    assert read_winner_lenient(reply) == side


@pytest.mark.parametrize(
    ("reply", "side"),
    [
        ("[[B]] at first, then [[A]]", "A"),
        ("[[C]] at first, then [[B]]", "B"),
        ("[[C]]", "tie"),
        ("[[ A ]]", None),
        ("[[b]]", None),
        ("not [[A]]", "A"),
        ("[[8,7]]", None),
        ("[A]", None),
    ],
)
def test_the_faithful_verdict_goes_by_the_order_of_the_checks(reply: str, side: str | None) -> None:
    assert read_winner(reply) == side


def test_judgements_in_many_forms_are_read_as_a_person_would() -> None:
    lines = Path(__file__).with_name("judge_replies.jsonl").read_text().splitlines()
    readers: dict[str, Callable[[str], Any]] = {
        "rating": read_rating_lenient,
        "winner": read_winner_lenient,
        "right": read_verdict,
        "compliant": lambda reply: read_compliance_lenient(reply).compliant,
        "ranking": ranking_parsers.read_verdict,
    }
    for case in map(json.loads, lines):
        ((kind, expected),) = (item for item in case.items() if item[0] != "reply")
        assert readers[kind](case["reply"]) == expected, case


SOUP = st.lists(
    st.sampled_from(["[[", "]]", "[", "]", "8", "08", "10", ".", "5", " ", "\n", "Rating:", "A"]),
    max_size=14,
).map("".join)


@given(SOUP)
def test_the_faithful_rating_agrees_with_the_documented_patterns(reply: str) -> None:
    found = re.search(r"\[\[(\d+\.?\d*)\]\]", reply) or re.search(r"\[(\d+\.?\d*)\]", reply)
    try:
        expected = ast.literal_eval(found[1]) if found else None
    except SyntaxError:
        expected = None
    assert read_rating(reply) == expected


@given(SOUP | st.text())
def test_a_lenient_rating_is_always_in_range(reply: str) -> None:
    rating = read_rating_lenient(reply)
    assert rating is None or 1 <= rating <= 10
