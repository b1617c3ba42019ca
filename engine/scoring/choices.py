"""Which option a reply chooses: by its letter, or by its text."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence

from evalbench.engine.scoring import short_answers
from evalbench.engine.scoring.letters import LETTERS
from evalbench.engine.scoring.letters_lenient import read_lenient
from evalbench.engine.scoring.letters_many import read_many
from evalbench.engine.scoring.reply_text import spoken, without_markup

_BEGINNING = 4000
"""Characters of a reply in which the first line is searched."""


_MARKED = re.compile(r"\\boxed\s?\{((?:[^{}]|\{[^{}]{0,200}\}){1,300})\}")
_LABEL = re.compile(r"\banswer(?:[ ]is)?|答案|答え|정답", re.IGNORECASE)
_NAMED = re.compile(r"[ ]?(?:[:：是は은는][ ]*)?\s*([^\n]{1,200}?)[.。!]?[ \t]*(?:\n|$)")
_MOST = 20
"""The last boxes and words for an answer are looked at."""


def read_choice(reply: str, choices: Sequence[str]) -> int | None:
    """Index of the option that a person would read, or None.

    A reply without a letter that boxes or names the text of one option as the answer, or contains
    that of exactly one, chooses that one. If the text of one option contains another (``2`` and
    ``12``), the longest counts.
    """
    read = read_lenient if len(choices) <= len(LETTERS) else read_many
    place = read(reply, len(choices))
    if place is not None:
        return place
    text = spoken(reply)
    for found in _given(text):
        phrase = without_markup(found).strip(" .*\"'“”")
        said = [at for at, one in enumerate(choices) if short_answers.is_same(phrase, one)]
        if phrase and len(said) == 1:
            return said[0]
    phrase = short_answers.read_phrase(_MARKED.sub(r" \1 ", text[:_BEGINNING])) or ""
    if not phrase:
        return None
    said = [at for at, text in enumerate(choices) if short_answers.is_same(phrase, text)]
    if not said:
        said = [at for at, text in enumerate(choices) if short_answers.says(phrase, [text])]
        said = [
            at for at in said if not any(_holds(choices[o], choices[at]) for o in said if o != at)
        ]
    return said[0] if len(said) == 1 else None


def _given(text: str) -> Iterator[str]:
    """What a reply boxes, and what it names as the answer; the last first."""
    yield from reversed(deque(_MARKED.findall(text), _MOST))
    for label in reversed(deque(_LABEL.finditer(text), _MOST)):
        if named := _NAMED.match(text, label.end()):
            yield named[1]


def _holds(long: str, short: str) -> bool:
    return len(long) > len(short) and short_answers.says(long, [short])
