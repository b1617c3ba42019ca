"""Checks for values read from files, defined once per kind of record.

A *check* is a function that takes a value and raises :class:`Misfit` if it is invalid. Checks of
objects and lists are composed of checks of their parts, so a kind of record is a table of its
fields.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal, InvalidOperation
from sys import float_info
from typing import Any

Check = Callable[[Any], None]

DEEPEST = 100
"""Maximum nesting of lists and objects; real data is not deeper, and it would exhaust the stack."""

COUNT = 10**12
"""No count exceeds this."""

LAST_SECOND = 253_370_000_000
"""Maximum Unix time: nearly the end of the year 9999, the last with valid dates."""

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 60


_THERE = "there"


class Misfit(ValueError):
    """A value is invalid. ``str()`` says which one, what it is and what it should be."""

    def __init__(self, wanted: str, found: Any) -> None:
        super().__init__(wanted)
        self.wanted = wanted
        self.found = found
        self.path: list[str] = []

    def inside(self, name: object) -> Misfit:
        """The same error, seen from the object or list that holds the value under ``name``."""
        self.path.insert(0, str(name)[:60])
        return self

    def __str__(self) -> str:
        if self.wanted == _THERE:
            return f"{'.'.join(self.path[:-1]) or 'it'} has no {self.path[-1]!r}"
        where = ".".join(self.path) or "it"
        return f"{where} should be {self.wanted}, not {short(self.found)}"


def short(value: Any) -> str:
    """A short description of a value, however large it is."""
    if isinstance(value, float | bool) or value is None:
        # As written in the file.
        return {"True": "true", "False": "false", "None": "null"}.get(str(value), str(value))
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, Mapping):
        return f"an object with {len(value)} fields"
    return _REPR.repr(value)


def anything(value: Any) -> None:
    """Accepts every value."""


def text(value: Any) -> None:
    """Accepts strings."""
    if not isinstance(value, str):
        raise Misfit("a text", value)


def flag(value: Any) -> None:
    """Accepts true and false."""
    if not isinstance(value, bool):
        raise Misfit("true or false", value)


def whole(low: int = 0, high: int = COUNT) -> Check:
    """Accepts integers, bounds included."""

    def check(value: Any) -> None:
        if type(value) is not int or not low <= value <= high:
            raise Misfit(f"a whole number from {low} to {high}", value)

    return check


def number(low: float = -1e15, high: float = 1e15) -> Check:
    """Accepts finite numbers, bounds included."""

    def check(value: Any) -> None:
        if type(value) not in (int, float) or not low <= value <= high:
            raise Misfit(f"a number from {low:g} to {high:g}", value)

    return check


def grade(most: float = float_info.max) -> Check:
    """Accepts score values: numbers, or true and false for 1 and 0."""

    def check(value: Any) -> None:
        if type(value) not in (int, float, bool) or not -most <= value <= most:
            raise Misfit(f"a number from {-most:g} to {most:g}", value)

    return check


def decimal(high: int) -> Check:
    """Accepts decimal numbers from 0, as strings or numbers."""

    def check(value: Any) -> None:
        try:
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise InvalidOperation
            found = Decimal(value)
            if not found.is_finite() or not 0 <= found <= high:
                raise InvalidOperation
        except InvalidOperation:
            raise Misfit(f"an amount from 0 to {high}", value) from None

    return check


def numeral(value: Any) -> None:
    """Accepts numbers, also as strings, and infinities as strings."""
    try:
        if isinstance(value, bool) or math.isnan(float(value)):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise Misfit("a number", value) from None


def matching(pattern: str, words: str) -> Check:
    """Accepts strings that match a regular expression; ``words`` describe them."""
    compiled = re.compile(pattern)

    def check(value: Any) -> None:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            raise Misfit(words, value)

    return check


def one_of(names: Collection[str]) -> Check:
    """Accepts a few fixed strings."""

    def check(value: Any) -> None:
        if not isinstance(value, str) or value not in names:
            raise Misfit("one of " + ", ".join(names), value)

    return check


def maybe(part: Check) -> Check:
    """Accepts null, and what ``part`` accepts."""

    def check(value: Any) -> None:
        if value is not None:
            part(value)

    return check


def either(*parts: Check) -> Check:
    """Accepts what any of the checks accepts."""

    def check(value: Any) -> None:
        errors = []
        for part in parts:
            try:
                return part(value)
            except Misfit as error:
                errors.append(error)
        # An error inside says more than the alternatives.
        raise max(errors, key=lambda error: len(error.path))

    return check


def list_of(part: Check, least: int = 0, most: int | None = None) -> Check:
    """Accepts lists of what ``part`` accepts, with limits on their length."""

    def check(value: Any) -> None:
        if not isinstance(value, list):
            raise Misfit("a list", value)
        if len(value) < least or (most is not None and len(value) > most):
            raise Misfit(f"a list of {least} to {most}", value)
        for number_, item in enumerate(value, 1):
            try:
                part(item)
            except Misfit as error:
                raise error.inside(number_) from None

    return check


def pair_of(first: Check, second: Check) -> Check:
    """Accepts lists of two."""

    def check(value: Any) -> None:
        list_of(anything, 2, 2)(value)
        first(value[0])
        second(value[1])

    return check


def table_of(part: Check) -> Check:
    """Accepts objects whose values ``part`` accepts."""

    def check(value: Any) -> None:
        if not isinstance(value, dict):
            raise Misfit("an object whose names are texts", value)
        for name, item in value.items():
            if type(name) is not str:
                raise Misfit("an object whose names are texts", value)
            if part is anything:
                continue
            try:
                part(item)
            except Misfit as error:
                raise error.inside(name) from None

    return check


def record(
    needed: Mapping[str, Check],
    known: Mapping[str, Check] | None = None,
    *,
    closed: bool = False,
) -> Check:
    """Accepts objects with all fields of ``needed``, and optionally those of ``known``.

    Other fields are ignored; with ``closed`` they are rejected.
    """
    fields = {**needed, **(known or {})}

    def check(value: Any) -> None:
        if not isinstance(value, dict):
            raise Misfit("an object", value)
        for name in needed:
            if name not in value:
                raise Misfit(_THERE, None).inside(name)
        for name, item in value.items():
            if (part := fields.get(name)) is not None:
                try:
                    part(item)
                except Misfit as error:
                    raise error.inside(name) from None
            elif closed:
                raise Misfit("ignored: unknown name", item).inside(name)

    return check


def too_deep(value: Any) -> bool:
    """Whether lists and objects are nested more deeply than ``DEEPEST``."""
    level = [value]
    for _ in range(DEEPEST):
        level = [part for item in level for part in _parts(item) if isinstance(part, dict | list)]
        if not level:
            return False
    return True


def _parts(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
