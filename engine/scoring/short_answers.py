"""Reading short free answers the way a person would: numbers, yes or no, phrases, printed text.

Each reader takes the reply text and returns what it reads in a canonical form,
or None. Reasoning tags, control tokens and markup are taken off first, and of a very
long reply only both ends are read (``reply_text.ends``).
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterable
from decimal import Decimal

from evalbench.engine.scoring.reply_text import spoken, without_markup

LENIENT = "short-answer-lenient/1"
EXACT = "short-answer-exact/1"

_SIGN = r"(?<![\w.)])[-−–]"
_NUMBER = rf"(?:{_SIGN})?(?:\d{{1,3}}(?:,\d{{3}})+(?!\d)|\d+)(?:\.\d+)?|(?:{_SIGN})?(?<!\d)\.\d+"
# A look at the first letter saves most words a try of each alternative.
_NAME = r"\b(?=[adpqrst])(?:answer|result|total|sum|product|difference|quotient|remainder)\b"
_NAMES = re.compile(_NAME, re.IGNORECASE)
_MOST_NAMES = 300
_NAMED_NUMBER = re.compile(
    rf"{_NAME}[^.\n\d=]{{0,60}}?"
    rf"(?:\bis|\bare|:|=)\s*(?:about\s+|approximately\s+|£|€)?({_NUMBER})",
    re.IGNORECASE,
)
_AFTER_EQUALS = re.compile(rf"[=≈]\s*(?:£|€)?({_NUMBER})")
# Not the first term of a sum: "6 + 7 is 13". Atomic, so that no digits are given back.
_FIRST_NUMBER = re.compile(
    rf"(?:£|€)?((?>{_NUMBER}))(?!\s*(?:[-+*/×÷=^]|(?:percent|%)\s+of\b|(?:times|plus|minus)\b))"
)
_ANY_NUMBER = re.compile(_NUMBER)
_DIGIT = re.compile(r"\d")  # found sooner than a number is
_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen", "twenty"),
)
_NUMBER_WORD = re.compile(rf"\b(?=[efnostz])({'|'.join(_WORDS)})\b", re.IGNORECASE)


def read_number(reply: str) -> str | None:
    """The number a reply gives, as plain decimal digits: ``1,024.50`` reads as ``1024.5``.

    In this order: the last one named as the answer ("the result is 7"), the
    last after an equals sign, one that opens the reply, the last on the first
    line that has any. Without digits, a number word up to twenty.
    """
    text = _plain(reply)
    names = deque((found.start() for found in _NAMES.finditer(text)), maxlen=_MOST_NAMES)
    for pattern in (_NAMED_NUMBER, _AFTER_EQUALS):
        if found := pattern.findall(text, names[0] if len(names) == _MOST_NAMES else 0):
            return _canonical(found[-1])
    if opening := _FIRST_NUMBER.match(text):
        return _canonical(opening[1])
    for line in text.splitlines():
        if _DIGIT.search(line):
            return _canonical(_ANY_NUMBER.findall(line)[-1])
    words = _NUMBER_WORD.findall(text)
    return str(_WORDS.index(words[-1].lower())) if words else None


def _canonical(number: str) -> str:
    value = Decimal(re.sub("[−–]", "-", number).replace(",", ""))
    digits = format(value, "f")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return "0" if digits in ("-0", "") else digits


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
    """The first line that says something, without a lead-in such as "The answer is"."""
    line = _first_line(_plain(reply))
    return line.strip(" \t.!" + _QUOTES) or None if line else None


def says(phrase: str, accepted: Iterable[str]) -> bool:
    """Whether a phrase gives one of the accepted answers.

    Case, punctuation, articles and accents do not count. A sentence of at most
    twelve words may hold the answer among others, unless it hedges or denies
    ("not", "or"). One that is far longer than the answers gives none of them.
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

    In this order: a fenced block; what a sentence ends with after "the output
    is" or "which is"; the one thing a sentence sets in quotes; the first line
    without lead-in and quotes. White space is collapsed and dropped after
    commas, so ``[1,2]`` equals ``[1, 2]``; case counts, as it does in print.
    """
    text = spoken(reply)
    if fenced := _FENCE.search(text):
        return same_output(fenced[1]) or None
    line = _REASON.sub("", _first_line(text.strip()) or "").strip().removesuffix(".")
    quoted = {found[2] for found in _QUOTED.finditer(line[:_LONGEST_SENTENCE])}
    if named := _NAMED_OUTPUT.match(line):  # searching would take the square of its length
        line = named[1]
    elif len(quoted) == 1 and not line.startswith(("[", "(", "{")):
        line = quoted.pop()
    plain = _first_line(without_markup(line)) or ""
    return same_output(plain.strip(_QUOTES + " ")) or None


def same_output(text: str) -> str:
    """The form in which two printed texts are compared."""
    return re.sub(r",\s+", ",", " ".join(text.split())).replace('"', "'")


def occurs(text: str, answer: str) -> bool:
    """Whether an answer stands in a text, whatever the case and the white space within it."""
    words = [re.escape(word) for word in answer.casefold().split()]
    return re.search(r"\s++".join(words), text.casefold()) is not None


def _first_line(text: str) -> str | None:
    rest = _LEAD_IN.sub("", text, count=1) if _LEAD_IN.match(text) else text
    return next((line.strip() for line in rest.splitlines() if line.strip()), None)


def _plain(reply: str) -> str:
    return without_markup(spoken(reply)).strip()


def _words(text: str) -> list[str]:
    flat = unicodedata.normalize("NFKD", text.casefold()).replace("'", "").replace("’", "")
    letters = "".join(c for c in flat if not unicodedata.combining(c))
    return [word for word in re.findall(r"\w+", letters) if word not in _ARTICLES]
