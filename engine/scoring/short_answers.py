"""Parses short free-form answers as a person would: yes or no, phrases, printed text.

Each parser takes the reply text and returns a canonical form, or None. Reasoning tags, control
tokens and markup are removed first, and of a very long reply only both ends are read
(``reply_text.ends``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from evalbench.engine.scoring.reply_text import spoken, without_markup

LENIENT = "short-answer-lenient/2"
EXACT = "short-answer-exact/1"

_YES_NO = {"yes": "Yes", "yeah": "Yes", "yep": "Yes", "no": "No", "nope": "No"}
_NAMED_YES_NO = re.compile(r"\banswer\b[^.\n]{0,40}?(?:\bis|:)\s*(yes|no)\b", re.IGNORECASE)


def read_yes_no(reply: str) -> str | None:
    """``Yes`` or ``No``: the last one named as the answer, else the first word, else the last."""
    text = _plain(reply)
    if named := _NAMED_YES_NO.findall(text):
        return _YES_NO[named[-1].lower()]
    words = re.findall(r"[^\W\d_]+", text.lower())
    if not words:
        return None
    return _YES_NO.get(words[0]) or _YES_NO.get(words[-1])


_LEAD_IN = re.compile(
    r"(?:(?:sure|certainly|of course)[!,.:]\s*)?"
    r"(?:(?:the|this)\s+)?(?:(?:python|correct|right|final|printed|following)\s+)*"
    r"(?:answer|output|result|program|code|it)"
    r"(?:\s+of\s+th(?:e|is)\s+(?:program|code))?"
    r"(?:\s*:|\s+(?:is|will\s+be|would\s+be|(?:will\s+|would\s+)?(?:prints?|outputs?))\s*:?)\s*"
    r"(?:the\s+following\s*:\s*)?",
    re.IGNORECASE,
)
_REASON = re.compile(r"(?<!\s)\s++(?:because|since|as)\b.*", re.IGNORECASE)
_QUOTES = "\"'“”‘’«»"


def read_phrase(reply: str) -> str | None:
    """The first line with content, without a lead-in such as "The answer is"."""
    line = _first_line(_plain(reply))
    return line.strip(" \t.!" + _QUOTES) or None if line else None


def says(phrase: str, accepted: Iterable[str]) -> bool:
    """Whether a phrase gives one of the accepted answers.

    Case, punctuation, articles and accents do not count. A sentence of at most twelve words may
    contain the answer among others, unless it hedges or denies ("not", "or"). One far longer
    than the answers gives none of them.
    """
    answers = list(accepted)
    if len(phrase) > _FAR_LONGER + 4 * max(map(len, answers), default=0):
        return False
    given = _words(phrase)
    for answer in map(_words, answers):
        if given == answer:
            return True
        starts = range(len(given) - len(answer) + 1)
        if (
            len(given) <= 12
            and not _HEDGES.intersection(given)
            and any(given[at : at + len(answer)] == answer for at in starts)
        ):
            return True
    return False


_FAR_LONGER = 2000
_HEDGES = frozenset(("not", "no", "never", "nor", "or", "neither", "either", "isnt", "cannot"))
_ARTICLES = frozenset(("a", "an", "the"))
_NAMED_OUTPUT = re.compile(r".*\b(?:output|result|which|value)\s+(?:is|will be):?\s+(.+)$")
_QUOTED = re.compile(r"(?<!\w)([\"'`])(\S|\S.*?\S)\1(?!\w)")
_LONGEST_SENTENCE = 1000
_FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)


def read_output(reply: str) -> str | None:
    """The printed text that a reply gives.

    In this order: a fenced block; the end of a sentence after "the output is" or "which is"; the
    one thing quoted in a sentence; the first line without lead-in and quotes. Whitespace is
    collapsed, and dropped after commas, so ``[1,2]`` equals ``[1, 2]``; case counts, as it does in
    print.
    """
    text = spoken(reply)
    if fenced := _FENCE.search(text):
        return same_output(fenced[1]) or None
    line = _REASON.sub("", _first_line(text.strip()) or "").strip().removesuffix(".")
    quoted = {found[2] for found in _QUOTED.finditer(line[:_LONGEST_SENTENCE])}
    if named := _NAMED_OUTPUT.match(line):  # searching would take quadratic time
        line = named[1]
    elif len(quoted) == 1 and not line.startswith(("[", "(", "{")):
        line = quoted.pop()
    plain = _first_line(without_markup(line)) or ""
    return same_output(plain.strip(_QUOTES + " ")) or None


def same_output(text: str) -> str:
    """The normal form in which two printed texts are compared."""
    return re.sub(r",\s+", ",", " ".join(text.split())).replace('"', "'")


def occurs(text: str, answer: str) -> bool:
    """Whether an answer occurs in a text, ignoring case and whitespace within it."""
    words = [re.escape(word) for word in answer.casefold().split()]
    return re.search(r"\s++".join(words), text.casefold()) is not None


def _first_line(text: str) -> str | None:
    rest = _LEAD_IN.sub("", text, count=1) if _LEAD_IN.match(text) else text
    return next((line.strip() for line in rest.splitlines() if line.strip()), None)


def _plain(reply: str) -> str:
    return without_markup(spoken(reply)).strip()


def without_accents(text: str) -> str:
    """The text with plain letters instead of accented ones."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def is_same(phrase: str, answer: str) -> bool:
    """Whether a phrase is an answer, apart from case, punctuation, articles and accents."""
    return len(phrase) <= _FAR_LONGER + 4 * len(answer) and _words(phrase) == _words(answer)


def _words(text: str) -> list[str]:
    flat = without_accents(text.casefold()).replace("'", "").replace("’", "")
    return [word for word in re.findall(r"\w+", flat) if word not in _ARTICLES]
