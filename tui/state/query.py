"""The filter language of lists: ``state:running model:claude score<50 cost>1 tag:paper``.

Words are searched everywhere, ``name:text`` in one field, and ``<``, ``<=``, ``>``, ``>=`` and
``=`` compare numbers. All terms must match; a leading ``-`` negates one. Texts with spaces go in
double quotes.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from evalbench.engine.errors import nearest

Row = TypeVar("Row")

Text = Callable[[Row], Sequence[str]]
"""A field's text in a row, in lower case."""

Number = Callable[[Row], float | None]
"""A field's number in a row; None if unknown: then no comparison matches."""

_TERM = re.compile(r'(-?)(?:([A-Za-z][\w-]*)(:|<=|>=|<|>|=))?("[^"]*"?|\S+)')
_COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
_UNITS = {"": 1.0, "%": 1.0, "$": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True)
class Fields(Generic[Row]):
    """The fields that a list can be filtered by.

    Attributes:
        words: text that plain words are searched in, in lower case; None: the caller searches.
        texts, numbers: fields by name. ``age`` is in seconds, and accepts ``2h`` and ``3d`` too.
        kinds: those of the texts that take one of a few words, which match from their beginning:
            ``outcome:parsed`` is not ``unparsed``.
    """

    words: Callable[[Row], str] | None
    texts: Mapping[str, Text[Row]]
    numbers: Mapping[str, Number[Row]]
    kinds: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Query(Generic[Row]):
    """A filter as typed.

    Attributes:
        words: plain words to search, if the fields leave that to the caller.
        names: names of the fields that it asks about.
        problem: what is wrong with it, in words; it matches everything then.
    """

    terms: tuple[Callable[[Row], bool], ...] = ()
    problem: str = ""
    words: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()

    def among(self, rows: Iterable[Row]) -> list[Row]:
        """The ``rows`` that match, apart from :attr:`words`."""
        return [row for row in rows if all(term(row) for term in self.terms)]


def parse_query(text: str, fields: Fields[Row]) -> Query[Row]:
    """Parse a filter. While a term is incomplete (``state:``), it matches everything."""
    terms: list[Callable[[Row], bool]] = []
    words: list[str] = []
    names: set[str] = set()
    for sign, name, how, raw in _TERM.findall(text):
        wanted = raw.strip('"').lower()
        if not how:
            if re.fullmatch(r"[a-z][\w-]*(:|[<>=]+)", wanted) or not wanted:
                continue
            if fields.words is None:
                if sign:
                    return Query(problem=f"-{raw}: only name:text can be negated here")
                words.append(raw.strip('"'))
                continue
            term = _with_words(fields.words, wanted)
        elif how == ":" and name.lower() in fields.texts:
            field = fields.texts[name.lower()]
            kind = name.lower() in fields.kinds
            term = _with_kind(field, wanted) if kind else _with_text(field, wanted)
        elif how != ":" and name.lower() in fields.numbers:
            number = _number(wanted)
            if number is None:
                return Query(problem=f"{name}{how} takes a number, not {raw}")
            term = _with_number(fields.numbers[name.lower()], _COMPARED[how], number)
        else:
            known = fields.texts if how == ":" else fields.numbers
            return Query(problem=f"no {name}{how} here; {nearest(name.lower(), list(known))}")
        names.add(name.lower())
        terms.append(_turned(term) if sign else term)
    return Query(tuple(terms), words=tuple(words), names=frozenset(names))


def _with_words(words: Callable[[Row], str], wanted: str) -> Callable[[Row], bool]:
    return lambda row: wanted in words(row)


def _with_text(field: Text[Row], wanted: str) -> Callable[[Row], bool]:
    return lambda row: any(wanted in text for text in field(row))


def _with_kind(field: Text[Row], wanted: str) -> Callable[[Row], bool]:
    return lambda row: any(text.startswith(wanted) for text in field(row))


def _with_number(
    field: Number[Row], compare: Callable[[float, float], bool], wanted: float
) -> Callable[[Row], bool]:
    def holds(row: Row) -> bool:
        number = field(row)
        return number is not None and compare(number, wanted)

    return holds


def _turned(term: Callable[[Row], bool]) -> Callable[[Row], bool]:
    return lambda row: not term(row)


def _number(text: str) -> float | None:
    found = re.fullmatch(r"\$?(-?[\d,]*\.?\d+)\s*([%$smhd]?)", text)
    if not found:
        return None
    return float(found[1].replace(",", "")) * _UNITS[found[2]]
