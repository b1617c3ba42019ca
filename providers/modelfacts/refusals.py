"""Parameters that a provider refused, each learned once from a 400 response.

A refusal is kept in memory, and for a month in the cache folder for later engines, since models
change. It concerns one field of one model at one address, and only one value if the provider
objected to that value.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from evalbench.engine.paths import cache_dir, make_private, write_file

ANY = ""
"""Stands for any value of a field."""

_LIFE_S = 30 * 86_400.0
_LONGEST_REASON = 300

_ABOUT_THE_VALUE = re.compile(
    r"only the default|supported (?:values|levels)|\brange\b|\bvalues?\b.{0,20}\bsupported\b"
    r"|does not support .{1,40} with|must be|should be|has to be|only be|between|at least|at most"
    r"|greater than|less than|or equal|maximum|minimum|out of range|invalid value"
    r"|too (?:large|small|high|low|many|long|complex)|invalid schema|expected one of"
    r"|not one of|non-empty|whitespace",
    re.IGNORECASE,
)
_ABOUT_THE_FIELD = re.compile(
    r"unsupported parameter|unknown parameter|unrecognized|extra (?:inputs|fields)"
    r"|not permitted|deprecated|removed|no longer",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Negotiable:
    """A request field that can be left out if the provider refuses it.

    Attributes:
        field: dotted path in the wire body, as the provider would name it.
        value: the value sent, as JSON text.
        aliases: other names that an error may use for it.
    """

    field: str
    value: str
    aliases: tuple[str, ...] = ()


Refused = Mapping[str, Mapping[str, str]]
"""What one model at one address refuses: reasons by field and value (JSON text, or ANY)."""

NOTHING: Refused = {}


def refusal(refused: Refused, field: str, value: str = ANY) -> str | None:
    """Why a field is refused, whatever its value or with this one (JSON text); None: it is not."""
    by_value = refused.get(field, {})
    return by_value.get(ANY, by_value.get(value))


def blamed(sent: Iterable[Negotiable], param: str, message: str) -> tuple[Negotiable, bool] | None:
    """Find the sent field that an error blames, if any.

    Args:
        sent: fields that the request can do without.
        param: the field named in the error's own attribute; may be empty.
        message: the error message.

    Returns:
        The field and whether only its value is at fault; None if the error is about something else.
    """
    value_only = _about_the_value(message)
    if param:
        for one in sent:
            names = (one.field, *one.aliases)
            if any(param == n or param.startswith((f"{n}.", f"{n}[")) for n in names):
                return one, value_only
        # A name that we did not send means another problem, unless it is the outer part of a nested
        # field.
        return next(((one, value_only) for one in sent if one.field.startswith(f"{param}.")), None)
    found = [
        (position, one)
        for one in sent
        if (position := min(_places(message, (one.field, *one.aliases)), default=-1)) >= 0
    ]
    if not found:
        return None
    return min(found, key=lambda pair: pair[0])[1], value_only


def _about_the_value(message: str) -> bool:
    return not _ABOUT_THE_FIELD.search(message) and bool(_ABOUT_THE_VALUE.search(message))


def _places(message: str, names: Iterable[str]) -> list[int]:
    """Where a message mentions a parameter as a parameter, not as an ordinary word."""
    places: list[int] = []
    for name in names:
        for form in {name, name.rpartition(".")[2]}:
            word = re.escape(form)
            deeper = r"(?:[.\[][\w.\]]*)?"
            pattern = "|".join(
                (
                    rf"[`'\"“‘](?:[\w.]+\.)?{word}{deeper}[`'\"”’]",
                    rf"(?:^|[\n,;:(]\s*)(?:\w+\.)*{word}{deeper}\s*:",
                    r"\b(?:parameter|argument|field|option)s?\b(?: supplied)?\W{0,4}"
                    + rf"{word}\b",
                    rf"\b{word}\s+(?:is|are|was|must|does|do|cannot|can't|may|should|has|not)\b",
                    rf"(?:^|(?<=[a-z] )){word} (?:parameter|argument|field|option|level|value)s?\b",
                    rf"\bdoes(?: not|n't) support (?:the )?{word}\b",
                )
            )
            if match := re.search(pattern, message):
                places.append(match.start())
    return places


class Refusals:
    """The refusals of one provider at one address."""

    def __init__(self, provider: str, host: str) -> None:
        self._provider = provider
        self._host = host
        self._known: dict[str, dict[str, dict[str, str]]] | None = None
        self._views: dict[str, Refused] = {}

    def of(self, model: str) -> Refused:
        """What ``model`` refuses. A new object is returned once something new is learned."""
        view = self._views.get(model)
        if view is None:
            if self._known is None:
                self._known = self._stored()
            reasons = self._known.get(model)
            view = self._views[model] = dict(reasons) if reasons else NOTHING
        return view

    def learn(self, model: str, one: Negotiable, reason: str, *, value_only: bool) -> None:
        """Remember a refusal, in memory and on disk. Idempotent."""
        value = one.value if value_only else ANY
        if self._known is None:
            self._known = self._stored()
        by_value = self._known.setdefault(model, {}).setdefault(one.field, {})
        if value in by_value:
            return
        by_value[value] = reason[:_LONGEST_REASON]
        self._views.clear()
        self._store(model, one.field, value, by_value[value])

    def _stored(self) -> dict[str, dict[str, dict[str, str]]]:
        known: dict[str, dict[str, dict[str, str]]] = {}
        oldest = time.time() - _LIFE_S
        for entry in _read():
            ours = entry.provider == self._provider and entry.host == self._host
            if ours and entry.when >= oldest:
                by_field = known.setdefault(entry.model, {})
                by_field.setdefault(entry.field, {})[entry.value] = entry.reason
        return known

    def _store(self, model: str, field: str, value: str, reason: str) -> None:
        entry = _Entry(self._provider, self._host, model, field, value, reason, time.time())
        oldest = entry.when - _LIFE_S
        kept = [old for old in _read() if old.when >= oldest and old.about != entry.about]
        # The file only saves a later run one refused request; a full disk must not fail this run.
        with contextlib.suppress(OSError):
            file = _file()
            make_private(file.parent)
            write_file(file, orjson.dumps([*kept, entry], option=orjson.OPT_INDENT_2))


@dataclass(frozen=True, slots=True)
class _Entry:
    """A refusal as stored in the file."""

    provider: str
    host: str
    model: str
    field: str
    value: str
    reason: str
    when: float

    @property
    def about(self) -> tuple[str, str, str, str, str]:
        return self.provider, self.host, self.model, self.field, self.value


def _file() -> Path:
    return cache_dir() / "refused-parameters.json"


def _read() -> list[_Entry]:
    """The file's entries; a missing, damaged or newer file counts as empty."""
    try:
        entries = [_Entry(**entry) for entry in orjson.loads(_file().read_bytes())]
        return [entry for entry in entries if isinstance(entry.when, int | float)]
    except (OSError, TypeError, ValueError):
        return []
