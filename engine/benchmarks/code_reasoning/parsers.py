"""Parses predicted outputs of programs as the original code does.

Faithful to ``bedrock_claude/prompts.py`` of akshsgaur/code-reasoning-repro, commit 6c43fa8a. What a
person would read is in :mod:`evalbench.engine.benchmarks.code_reasoning.lenient`. Values are source
text; none of it is executed, and no function raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from evalbench.engine.scoring.literals import LONGEST_SAID, NotALiteral, equal, literal

PREDICTION = "assertion-first/1"
CHOICE = "choice-first-object/1"


class Choice(NamedTuple):
    """The program that was chosen, ``A`` or ``B``, and the output predicted for it."""

    program: str
    value: str


_OPEN = re.compile(r"\[ANSWER\]", re.IGNORECASE)
_CLOSE = re.compile(r"\[/ANSWER\]", re.IGNORECASE)
# Possessive: backtracking could never lead to a match.
_CALL = re.compile(r"assert\s++\w++\(")
_CALL_OR_METHOD = re.compile(r"assert\s++[\w.]++\(")
_EQUALS = re.compile(r"\)\s*+==\s*(.+)")


def read_prediction(reply: str) -> str:
    """The right side of the first assertion in the first ``[ANSWER]`` block.

    Without an assertion the whole block; without a block the first assertion anywhere; without that
    the whole reply, as in the original, which has no unparsed replies. Known bug of the original,
    kept: an assertion whose arguments contain ``)`` is not recognised.
    """
    opened = _OPEN.search(reply)
    closed = _CLOSE.search(reply, opened.end()) if opened else None
    text = reply[opened.end() : closed.start()] if opened and closed else reply
    text = text.strip() if closed else text
    found = _right_side(text, _CALL)
    return text.strip() if found is None else found


def is_right(prediction: str, expected: str) -> bool:
    """Faithful comparison: the same text, or equal by ``literal_eval`` (True is 1, 3.0 is 3)."""
    return equal(prediction, expected)


def _right_side(text: str, call: re.Pattern[str]) -> str | None:
    """What ``assert f(…) == (.+)`` with no ``)`` in the arguments finds, in linear time."""
    closing = -1
    for found in call.finditer(text):
        if found.end() <= closing:
            continue  # the next ")" is the one that has just failed
        closing = text.find(")", found.end())
        if closing < 0:
            return None
        if right := _EQUALS.match(text, closing):
            return right[1].strip()
    return None


_OBJECT = re.compile(r"\{\s*+\"chosen_program\"\s*+:")
_CHOSEN = re.compile(r'"chosen_program"\s*+:\s*+"?([A-Za-z])"?')
_ASSERTION = re.compile(r'"assertion"\s*+:\s*+("[^"\\]*+(?:\\.[^"\\]*+)*+")')
_OUTPUTS = re.compile(r'"outputs"\s*+:\s*+(?=\[)')
_BEFORE = re.compile(r"\[ASSERTION\]\s*", re.IGNORECASE)
_AFTER = "[/ASSERTION]"


def read_choice(reply: str) -> Choice | None:
    """The first object that starts with ``chosen_program``, cut off at the first ``}``.

    If that is not JSON, its fields are extracted by pattern. None is what the original counts as an
    invalid run, or crashes on (an assertion that is not text). Known bugs of the original, kept: a
    ``}`` in the value cuts the object off; an empty assertion is a valid, wrong run.
    """
    found = _OBJECT.search(reply)
    end = reply.find("}", found.end()) if found else -1
    if not found or end < 0:
        return None
    fields = _fields(reply[found.start() : end + 1])
    program = fields.get("chosen_program") if fields else None
    if not fields or program not in ("A", "B"):
        return None
    outputs = fields.get("outputs")
    if outputs is not None:
        return Choice(program, _from_outputs(outputs))
    value = _from_assertion(fields.get("assertion", ""))
    return None if value is None else Choice(program, value)


def _fields(text: str) -> Mapping[str, Any] | None:
    try:
        parsed: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError:
        return _picked(text)
    except (ValueError, RecursionError):
        return None
    return parsed


def _picked(text: str) -> Mapping[str, Any] | None:
    """The fields of an object that is not JSON."""
    chosen = _CHOSEN.search(text)
    if not chosen:
        return None
    outputs = _OUTPUTS.search(text)
    end = text.find("]", outputs.end()) if outputs else -1
    assertion = _ASSERTION.search(text)
    if outputs and end >= 0:
        try:
            return {"chosen_program": chosen[1], "outputs": _literal(text[outputs.end() : end + 1])}
        except NotALiteral:
            return None
    if not assertion:
        return None
    try:
        value = _literal(assertion[1])
    except NotALiteral:
        value = assertion[1].strip('"')
    return {"chosen_program": chosen[1], "assertion": value}


def _literal(text: str) -> Any:
    return literal(text, LONGEST_SAID)


def _from_outputs(outputs: Any) -> str:
    if isinstance(outputs, str):
        try:
            outputs = _literal(outputs)
        except NotALiteral:
            outputs = [outputs]
    if isinstance(outputs, list) and len(outputs) == 1:
        outputs = outputs[0]
    return written(outputs)


def written(value: Any) -> str:
    """A value in Python notation; empty if it cannot be written."""
    try:
        return repr(value)
    except (ValueError, RecursionError):
        return ""


def _from_assertion(assertion: Any) -> str | None:
    if not assertion:
        return ""
    if not isinstance(assertion, str):
        return None
    text = assertion.strip()
    if found := _BEFORE.match(text):
        text = text[found.end() :]
    if text[-len(_AFTER) :].upper() == _AFTER:
        text = text[: -len(_AFTER)].rstrip()
    found_value = _right_side(text, _CALL_OR_METHOD)
    return text if found_value is None else found_value
