"""Parses answers of data sets in which the kind of answer differs from row to row.

Each function takes a reply and its sample, and returns the parsed answer and the score. The lenient
reading is the headline; the strict one is the published rule, named with each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from evalbench.engine.benchmark import Sample
from evalbench.engine.benchmarks.custom.scorers import Read
from evalbench.engine.scoring import numbers, short_answers
from evalbench.engine.scoring.choices import read_choice
from evalbench.engine.scoring.reply_text import answer_text, without_markup

_ANSWER_IS = re.compile(
    r"(?:\banswer\b(?:\s+to\s+\w+)?\s*(?:is\b:?|:)|\\boxed\{)\s*([^\n]+)", re.IGNORECASE
)
_OFFICIAL = re.compile(
    r"(?<=The answer is )(.*)(?=.)|(?<=the answer is )(.*)(?=.)"
    r"|(?<=The answer: )(.*)(?=.)|(?<=The final answer: )(.*)(?=.)"
)
_WORDS = (("true", "false"), ("yes", "no"), ("valid", "invalid"))
_BRACKETS = re.compile(r"[^\[\](){}<>]")


def bbh(reply: str, sample: Sample) -> Read:
    """An answer of BIG-Bench Hard: an option, one of two words, a number, brackets, or words.

    Strict: the first text after "the answer is", compared as in lm-evaluation-harness
    (``bbh_cot_zeroshot``, filter ``strict-match``).
    """
    text, target = without_markup(answer_text(reply)).strip(), str(sample.gold[0])
    strict = _strict_bbh(reply, target)
    stated = _ANSWER_IS.findall(text)
    answer = stated[-1] if stated else text
    if re.fullmatch(r"\([A-Z]\)", target):
        from evalbench.engine.scoring.letters_many import read_many

        place = read_many(text, 26)
        letter = None if place is None else f"({chr(ord('A') + place)})"
        return Read(letter, float(letter == target), strict)
    if pair := next((pair for pair in _WORDS if target.lower() in pair), None):
        found = re.findall(rf"\b({pair[0]}|{pair[1]})\b", answer, re.IGNORECASE)
        # After "the answer is" (as in "yes, because …") the first counts, in free text the last.
        word = (found[0 if stated else -1]).lower() if found else None
        return Read(word, float(word == target.lower()), strict)
    if re.fullmatch(r"-?\d+", target):
        return Read(*_number(text, target), strict)
    if not re.search(r"\w", target):
        # Unchanged: stripping marks would remove brackets.
        raw = answer_text(reply).strip()
        return _brackets((_ANSWER_IS.findall(raw) or raw.splitlines() or [""])[-1], sample, strict)
    words = re.findall(r"\w[\w'&-]*", answer.lower())
    wanted = target.lower().split()
    return Read(" ".join(words)[:200] or None, float(words == wanted), strict)


def _brackets(answer: str, sample: Sample, strict: float) -> Read:
    """The closing part of a Dyck word; an answer that repeats the whole word counts as the same."""
    closing = _BRACKETS.sub("", answer)
    wanted = _BRACKETS.sub("", str(sample.gold[0]))
    question = str(sample.inputs["row"]["question"]).rpartition("Input:")[2]
    whole = _BRACKETS.sub("", question) + wanted
    return Read(closing or None, float(closing in (wanted, whole)), strict)


def _strict_bbh(reply: str, target: str) -> float:
    found = _OFFICIAL.search(reply)
    text = next((one for one in found.groups() if one is not None), "") if found else ""
    return float(_plain(text) == _plain(target))


def _plain(text: str) -> str:
    return re.sub(r'\.$|,|\\|\n|"', "", text).strip().lower()


_CONCLUDED = re.compile(r"The answer is (-?[0-9.,]+).")


def gsm8k(reply: str, sample: Sample) -> Read:
    """A number. Strict: the first after "The answer is", compared as text without commas, as in
    lm-evaluation-harness (``gsm8k_cot``, filter ``strict-match``)."""
    target = str(sample.gold[0])
    read, right = _number(reply, target)
    found = _CONCLUDED.search(answer_text(reply))
    stated = found[1].replace(",", "").removesuffix(".") if found else None
    return Read(read, right, float(stated == target))


def _number(reply: str, target: str) -> tuple[str | None, float]:
    """The number that a reply concludes, and whether it is the right one."""
    read = numbers.read_number(reply)
    right = read is not None and numbers.parse_number(read) == numbers.parse_number(target)
    return read, float(right)


def mgsm(reply: str, sample: Sample) -> Read:
    """An integer. Strict: the last one after the language's word for "Answer", as in the source;
    without that word, None."""
    target = str(sample.gold[0])
    read, right = _number(reply, target)
    _, label, after = reply.rpartition(sample.inputs["row"]["label"])
    found = re.findall(r"\d+\.?\d*", after.replace(",", "")) if label else []
    number = found[-1].rstrip(".") if found else ""
    number = number.rstrip("0").rstrip(".") if "." in number else number
    return Read(read, right, float(number == target))


def mmmu(reply: str, sample: Sample) -> Read:
    """An option's letter, or a short free answer that is a number or a phrase.

    Numbers match if they are equal to two decimal places, phrases if the correct one occurs in the
    answer. Strict: as the authors read a reply (https://github.com/MMMU-Benchmark/MMMU,
    ``eval_utils.py``), except that they draw a random option where they find none.
    """
    options: Sequence[str] = sample.inputs["row"]["options"]
    accepted = [str(one) for one in sample.gold]
    text = answer_text(reply)
    if options:
        place = read_choice(reply, options)
        letter = None if place is None else chr(ord("A") + place)
        strict = _authors_letter(text, options) == accepted[0]
        return Read(letter, float(letter == accepted[0]), float(strict))
    wanted = {form for one in accepted for form in _forms(one)}
    strict = any(
        any(isinstance(one, str) and one in form for one in wanted)
        if isinstance(form, str)
        else form in wanted
        for form in _authors_answers(text)
    )
    phrase = short_answers.read_phrase(reply)
    if phrase is None:
        return Read(None, 0.0, float(strict))
    return Read(
        phrase[:200],
        float(any(_agrees(text, phrase, one) for one in accepted)),
        float(strict),
    )


_ENDS = ",.!?;:'"
_CONCLUDES = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
_NUMBERS = (
    re.compile(r"-?\b\d{1,3}(?:,\d{3})+\b"),
    re.compile(r"-?\d+(?:\.\d+)?[eE][+-]?\d+"),
    re.compile(r"-?(?:\d+\.\d+|\.\d+|\d+\b)(?![eE][+-]?\d+)(?![,\d])"),
)


def _authors_letter(reply: str, options: Sequence[str]) -> str | None:
    """The last option in brackets, else the last letter alone, else the last option's text."""
    for mark in _ENDS:
        reply = reply.strip(mark)
    text = f" {reply} "
    letters = [chr(ord("A") + place) for place in range(len(options))]
    forms = [[f"({letter})" for letter in letters], [f" {letter} " for letter in letters]]
    if len(text.split()) > 5:
        forms.append([option.lower() for option in options])
    for number, names in enumerate(forms):
        within = text if number < 2 else text.lower()
        found = {within.rfind(name): letter for name, letter in zip(names, letters, strict=True)}
        if (last := max(found)) >= 0:
            return found[last]
    return None


def _authors_answers(reply: str) -> list[str | float]:
    """What each line of a free answer concludes, and the numbers in it."""
    text = reply.strip().strip(".").lower()
    *lines, last = text.split("\n")
    found = []
    for line, words in [*((line, _CONCLUDES) for line in lines), (last, (*_CONCLUDES, "="))]:
        shortest = ""
        for word in words:
            ending = line.rpartition(word)[2].strip() if word in line else None
            if ending is not None and (not shortest or len(ending) < len(shortest)):
                shortest = ending
        if shortest and shortest not in _ENDS:
            found.append(shortest)
    endings = found or [text]
    numbers_in = [one for ending in endings for form in _NUMBERS for one in form.findall(ending)]
    return [form for one in (*endings, *numbers_in) for form in _forms(one)]


def _forms(text: str) -> list[str | float]:
    """A number to two decimal places, or a phrase; a single letter only beside a space."""
    text = text.strip()
    try:
        return [round(float(text.replace(",", "")), 2)]
    except ValueError:
        text = text.lower()
        return [f" {text}", f"{text} "] if len(text) == 1 else [text]


def _agrees(text: str, phrase: str, right: str) -> bool:
    wanted = numbers.parse_number(right)
    if wanted is None or not re.search(r"\d", right):
        return short_answers.says(phrase, [right]) or short_answers.occurs(text, right)
    given = numbers.read_number(text)
    value = None if given is None else numbers.parse_number(given)
    return value is not None and round(float(value), 2) == round(float(wanted), 2)
