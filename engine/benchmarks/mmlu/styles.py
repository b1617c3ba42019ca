"""How a question's options are shown: as they are, reordered, recased or repeated."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

STYLES = ("default", "permuted", "uppercase", "randomcase", "duplicatewrong")


@dataclass(frozen=True, slots=True)
class Shown:
    """A question as shown to a model.

    Attributes:
        question, options: the texts, in the order shown.
        order: for each position, the index of the option in the data set. Answers are mapped
            back through it and never by text, since a few questions have two options with equal
            text.
    """

    question: str
    options: tuple[str, ...]
    order: tuple[int, ...]

    @property
    def moved(self) -> bool:
        """Whether any position shows a different option than in the data set."""
        return self.order != tuple(range(len(self.order)))


def show(style: str, question: str, choices: Sequence[str], gold: int, rng: random.Random) -> Shown:
    """The question in ``style``; all randomness comes from ``rng``.

    - ``default``: as in the data set.
    - ``permuted``: the correct option always moves, the wrong ones are shuffled.
    - ``uppercase``, ``randomcase``: question and options in upper case, or each letter in random
      case.
    - ``duplicatewrong``: the options in order, then the wrong ones repeated.
    """
    order = list(range(len(choices)))
    if style == "permuted":
        place = rng.choice([index for index in order if index != gold])
        order.remove(gold)
        rng.shuffle(order)
        order.insert(place, gold)
    elif style == "duplicatewrong":
        order += [index for index in order if index != gold]
    options = [choices[index] for index in order]
    if style == "uppercase":
        question, options = question.upper(), [option.upper() for option in options]
    elif style == "randomcase":
        question = _random_case(question, rng)
        options = [_random_case(option, rng) for option in options]
    return Shown(question, tuple(options), tuple(order))


def restyle_words(style: str, template: str, rng: random.Random) -> str:
    """A prompt's own text as the Claude MMLU Experimenter shows it in a style.

    It puts the whole prompt in upper case, or the two labels in random case.
    """
    if style == "uppercase":
        return re.sub(
            r"\{\w+\}|[^{}]+", lambda t: t[0] if t[0][0] == "{" else t[0].upper(), template
        )
    if style == "randomcase":
        for word in ("Question", "Options"):
            template = template.replace(f"{word}:", f"{_random_case(word, rng)}:")
    return template


def _random_case(text: str, rng: random.Random) -> str:
    return "".join(c.upper() if rng.random() < 0.5 else c.lower() for c in text)
