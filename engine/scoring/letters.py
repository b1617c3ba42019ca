"""Parses the letter of a multiple-choice answer: faithful parsers and log-likelihoods.

Every parser takes the reply text and returns the index of an option (0 = A) or None. Its name
carries a version that changes whenever a reply could be parsed differently. The parsers ``LENIENT``
and ``MANY`` are in :mod:`letters_lenient` and :mod:`letters_many`. Import these two when a reply is
read, not before: their patterns take a tenth of a second to compile.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

LETTERS = "ABCDEFG"

STRICT = "mmlu-letter-strict/1"
SEED_LATER = "mmlu-letter-first/1"
SIMPLE_EVALS = "simple-evals-letter/1"
LOGLIKELIHOOD = "loglikelihood-greatest/1"
LENIENT = "letter-lenient/12"
MANY = "letter-many/8"


def read_strict(reply: str, options: int = 4) -> int | None:
    """Faithful to the MMLU experimenter's first parser: one capital letter, nothing else."""
    letter = reply.strip()
    return _index(letter, options) if len(letter) == 1 else None


_FIRST = re.compile(r"([A-Ga-g])[.)]?.*$")


def read_first(reply: str, options: int = 4) -> int | None:
    """Faithful to the MMLU experimenter's later parser: a one-line reply's first character.

    Known bug of the original, kept: every reply that starts with one of the letters A to G counts,
    so "A car" is A and "Because" is B. A letter past the last option is returned as it is; it names
    no option and is a wrong answer.
    """
    found = _FIRST.match(reply.strip())
    return LETTERS.index(found[1].upper()) if found else None


_MARKS = (
    *("**", "}$", "\\$", "\\(", "\\{"),
    *("\\boxed", "\\text", "\\mathrm{", "\\mathbf{", "$", "{"),
)
"""In the order in which the original's pattern tries them."""
_ANSWER = re.compile(r"Answer[ \t]*:[ \t]*\$?([A-D])\$?", re.IGNORECASE)


def read_simple_evals(reply: str, options: int = 4) -> int | None:
    """Faithful to openai/simple-evals: the first ``Answer: X`` after its marks are stripped.

    The pattern ignores case and does not require a word boundary after the letter, so "Answer:
    because" is B, as in the original.
    """
    found = _ANSWER.search(_without_marks(reply))
    return _index(found[1].upper(), options) if found else None


def _without_marks(reply: str) -> str:
    """The reply without :data:`_MARKS`, as one pattern of them all would leave it.

    A character that does not occur in the reply stands in for each mark meanwhile, so that the text
    around a removed mark does not form another.
    """
    sign = "\ue000"
    if sign in reply:
        there = set(reply)
        sign = next(sign for sign in map(chr, range(0x110000)) if sign not in there)
    for mark in _MARKS:
        reply = reply.replace(mark, sign)
    return reply.replace(sign, "")


def greatest(logprobs: Sequence[float]) -> int | None:
    """Index of the greatest log-likelihood; the first in case of ties.

    NaN counts as the smallest. None if there is nothing to compare.
    """
    ranked = [-math.inf if math.isnan(value) else value for value in logprobs]
    return ranked.index(max(ranked)) if ranked else None


def _index(letter: str, options: int) -> int | None:
    at = LETTERS.find(letter)
    return at if 0 <= at < options else None
