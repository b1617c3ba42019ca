"""Which option a reply chooses: by its letter, or by its text."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from string import ascii_uppercase

from evalbench.engine.scoring import short_answers
from evalbench.engine.scoring.letters import LETTERS
from evalbench.engine.scoring.reply_text import (
    before_next_question,
    ends,
    spoken,
    without_markup,
)

_BEGINNING = 4000
"""Characters of a reply in which the first line is searched."""


_MARKED = re.compile(r"\\boxed\s?\{((?:[^{}]|\{[^{}]{0,200}\}){1,300})\}")
_LABEL = re.compile(r"\banswer(?:[ ]is)?|答案|答え|정답", re.IGNORECASE)
_NAMED = re.compile(r"[ ]?(?:[:：是は은는][ ]*)?\s*([^\n]{1,1000}?)[.。!]?[ \t]*(?:\n|$)")
_MOST = 20
"""The last boxes and words for an answer are looked at."""


def read_choice(reply: str, choices: Sequence[str]) -> int | None:
    """Index of the option that a person would read, or None.

    A reply that is the text of one option, or boxes or names it as the answer, chooses it, whatever
    letters are in that text. Otherwise the letter counts. A reply without one chooses the option
    that it gives in other words of the same kind ("It is Paris"), or the only one it contains; if
    the text of one option contains another (``2`` and ``12``), the longest.
    """
    text = spoken(reply)
    keys = [_key(choice) for choice in choices]
    if (same := _named(before_next_question(text)[0], keys)) is not None:
        return same
    lines = _outer_lines(text)
    if len(lines) == 1 and (same := _ends_with(lines[0], keys)) is not None:
        return same
    # As spoken() leaves it: removing twice changes nothing.
    if (place := _by_letter(text, len(choices))) is not None:
        return place
    for line in lines:
        if (same := _ends_with(line, keys)) is not None:
            return same
    for found in _given(text):
        phrase = without_markup(found).strip(" .*\"'“”")
        matching = [at for at, one in enumerate(choices) if short_answers.is_same(phrase, one)]
        if phrase and len(matching) == 1:
            return matching[0]
    phrase = short_answers.read_phrase(_MARKED.sub(r" \1 ", text[:_BEGINNING])) or ""
    if not phrase:
        return None
    matching = [at for at, text in enumerate(choices) if short_answers.is_same(phrase, text)]
    if not matching:
        matching = [at for at, text in enumerate(choices) if short_answers.says(phrase, [text])]
        matching = [
            at
            for at in matching
            if not any(_holds(choices[o], choices[at]) for o in matching if o != at)
        ]
    return matching[0] if len(matching) == 1 else _spoken_for(text, choices)


_LONGEST = 2000
_LONGEST_CHOICE = 200
# Words of which a sentence may be full
_COMMON = {"yes", "no", "true", "false", "both", "neither", "none", "all", "not", "and", "or"}
_UNSPACED = "\u0e00-\u0e7f\u3040-\u9fff\uac00-\ud7af"


def _spoken_for(text: str, choices: Sequence[str]) -> int | None:
    """The option that a reply speaks for by its text, read as if the letter stood in its place."""
    from evalbench.engine.scoring.letter_evidence import settled
    from evalbench.engine.scoring.letter_text import clean

    texts = [without_markup(choice).strip() for choice in choices]
    named = {
        one: at
        for at, one in enumerate(texts)
        if 1 < len(one) <= _LONGEST_CHOICE
        and one.casefold() not in _COMMON
        and texts.count(one) == 1
    }
    if not named or len(choices) > len(ascii_uppercase):
        return None
    ordered = sorted(named, key=len, reverse=True)
    any_text = "|".join(f"({re.escape(one)})" for one in ordered)
    pattern = rf"(?:(?<![\w.])|(?<=[{_UNSPACED}]))(?:{any_text})(?![a-zà-ÿ\d]|[.,]\d)"
    lettered = re.sub(
        pattern,
        lambda found: f"option {ascii_uppercase[named[ordered[(found.lastindex or 1) - 1]]]}",
        without_markup(before_next_question(ends(text, _BEGINNING))[0]),
        flags=re.IGNORECASE,
    )
    letter = settled(clean(lettered), len(choices))
    return ascii_uppercase.index(letter) if letter else None


_TAKEN_BACK = re.compile(
    r"\b(?:wait|actually|correction|sorry|oops|instead|rather|should be|no,)", re.IGNORECASE
)


def _by_letter(text: str, options: int) -> int | None:
    if options <= len(LETTERS):
        from evalbench.engine.scoring.letters_lenient import read_lenient

        return read_lenient(text, options)
    from evalbench.engine.scoring.letters_many import read_many

    return read_many(text, options)


def _named(text: str, keys: Sequence[str]) -> int | None:
    """The option that a reply is, or boxes or names as the answer without taking it back."""
    if _TAKEN_BACK.search(text):
        return _equal(text, keys)
    return next(
        (one for found in (text, *_given(text)) if (one := _equal(found, keys)) is not None), None
    )


def _key(text: str) -> str:
    """A text for comparison: without markup, case, and marks around it."""
    return " ".join(without_markup(text[:_LONGEST]).casefold().split()).strip(" .,;:!*\"'“”‘’`")


def _equal(text: str, keys: Sequence[str]) -> int | None:
    """The only option of which this is the text; a single character may be a letter instead."""
    if len(text) > _LONGEST:
        return None
    key = _key(text)
    matching = [at for at, one in enumerate(keys) if one == key]
    return matching[0] if len(matching) == 1 and len(key) > 1 else None


_LEADS = re.compile(r"\b(?:is|are|was|were|be|choose|select|pick|say)\b:?|[:：]", re.IGNORECASE)
_DENIES = re.compile(
    r"\b(?:not|never|no|nor|neither|wrong|incorrect|false|except|unlike|if|whether|or)\b|n['’]t\b",
    re.IGNORECASE,
)


def _outer_lines(text: str) -> list[str]:
    """The last line with content and the first, once if they are the same."""
    lines = text.strip().splitlines()
    return list(dict.fromkeys((lines[-1], lines[0]))) if lines else []


def _ends_with(line: str, keys: Sequence[str]) -> int | None:
    """The option whose text follows the first words such as "is" after which there is one."""
    for lead in islice(_LEADS.finditer(line[:_LONGEST]), _MOST):
        if _DENIES.search(line[: lead.end()]):
            return None
        if (place := _equal(line[lead.end() :], keys)) is not None:
            return place
    return None


def _given(text: str) -> Iterator[str]:
    """What a reply boxes, and what it names as the answer; the last first."""
    yield from reversed(deque(_MARKED.findall(text), _MOST))
    for label in reversed(deque(_LABEL.finditer(text), _MOST)):
        if named := _NAMED.match(text, label.end()):
            yield named[1]


def _holds(long: str, short: str) -> bool:
    return len(long) > len(short) and short_answers.says(long, [short])
