"""Which option a reply chooses: by its letter, or by its text."""

from __future__ import annotations

from collections.abc import Sequence

from evalbench.engine.scoring import short_answers
from evalbench.engine.scoring.letters import LETTERS
from evalbench.engine.scoring.letters_lenient import read_lenient
from evalbench.engine.scoring.letters_many import read_many
from evalbench.engine.scoring.reply_text import spoken

_BEGINNING = 4000
"""Characters of a reply in which the first line is searched."""


def read_choice(reply: str, choices: Sequence[str]) -> int | None:
    """Index of the option that a person would read, or None.

    A reply without a letter that contains the text of exactly one option chooses that one. If the
    text of one option contains another (``2`` and ``12``), the longest counts.
    """
    read = read_lenient if len(choices) <= len(LETTERS) else read_many
    place = read(reply, len(choices))
    if place is not None:
        return place
    phrase = short_answers.read_phrase(spoken(reply)[:_BEGINNING]) or ""
    if not phrase:
        return None
    said = [at for at, text in enumerate(choices) if short_answers.is_same(phrase, text)]
    if not said:
        said = [at for at, text in enumerate(choices) if short_answers.says(phrase, [text])]
        said = [
            at for at in said if not any(_holds(choices[o], choices[at]) for o in said if o != at)
        ]
    return said[0] if len(said) == 1 else None


def _holds(long: str, short: str) -> bool:
    return len(long) > len(short) and short_answers.says(long, [short])
