"""The catalogue: what every provider offers, for the Models page."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from evalbench.engine.errors import EvalbenchError
from evalbench.tui.state import figures
from evalbench.tui.state.cli_child import setting_of
from evalbench.tui.state.fuzzy import fitting
from evalbench.tui.state.model_cache import Model, ModelList, kept_models

FRESH_S = 24 * 3600.0
"""A list younger than this is refreshed only on request."""


class Ways(NamedTuple):
    """Keys of the app that open the page for keys, and the one for a new run."""

    keys: str = ""
    new: str = ""


_NO_WAYS = Ways()

SOON_DAYS = 90
"""A retirement within this many days is shown as a number of days."""


@dataclass(slots=True)
class Offer:
    """The state of one provider's models.

    Attributes:
        listed: its last list; None if there is none.
        asking: whether it is being queried now.
        trouble: why the last query failed.
    """

    provider: str
    listed: ModelList | None = None
    asking: bool = False
    trouble: EvalbenchError | None = None

    def words(self, now: float, ways: Ways = _NO_WAYS) -> str:
        """One line on the state of its list, or how to get it."""
        parts = [self.provider]
        if self.listed:
            age = figures.age(now - self.listed.when)
            parts.append(figures.counted(len(self.listed.models), "model"))
            parts.append("asked just now" if age == "now" else f"asked {age} ago")
        if self.asking:
            parts.append("asking now")
        elif self.trouble:
            parts.append(_unflagged(self.trouble.what))
            parts.append(_hint(self.trouble, ways).partition(";")[0])
        elif not self.listed:
            parts.append("not asked yet")
        return _joined(parts)


Row = Offer | Model


@dataclass(slots=True)
class Catalogue:
    """All providers' offers, by provider."""

    offers: dict[str, Offer] = field(default_factory=dict)

    @classmethod
    def of(cls, providers: Iterable[str]) -> Catalogue:
        """Load these providers' lists from disk."""
        return cls({name: Offer(name, kept_models(name)) for name in providers})

    def to_ask(self, now: float) -> list[str]:
        """Providers whose list is missing or old, those on this machine first."""
        return [
            offer.provider
            for offer in self._in_order()
            if not offer.listed or now - offer.listed.when > FRESH_S
        ]

    def models(self) -> list[Model]:
        """All models, in page order."""
        return [model for offer in self._in_order() for model in _models(offer)]

    def rows(self, query: str = "") -> list[Row]:
        """One line per provider, its models below it; with a query, the matching models."""
        if query.strip():
            models = self.models()
            texts = [f"{model.id} {model.title} {model.notes}" for model in models]
            return [models[place] for place in fitting(texts, query)]
        rows: list[Row] = []
        for offer in self._in_order():
            rows += [offer, *_models(offer)]
        return rows

    def _in_order(self) -> list[Offer]:
        def place(offer: Offer) -> tuple[bool, bool, str]:
            return not _models(offer), offer.provider != "local", offer.provider

        return sorted(self.offers.values(), key=place)


def _models(offer: Offer) -> Sequence[Model]:
    return offer.listed.models if offer.listed else ()


def context_words(model: Model) -> str:
    """Tokens of context, or ``unknown``."""
    return figures.count(model.context) if model.context else "unknown"


def price_words(model: Model) -> tuple[str, str]:
    """US dollars per million input and output tokens."""
    if model.price is None:
        return "unknown", "unknown"
    if model.price == (0.0, 0.0):
        return "free", "free"
    into, out = model.price
    return f"${into:.6g}", f"${out:.6g}"


def retires_words(model: Model, today: date | None = None) -> tuple[str, str]:
    """When the provider retires the model, and its tone.

    ``retired``, ``in 12 days``, or a date if that is far off.
    """
    try:
        day = date.fromisoformat(model.retires)
    except ValueError:
        return model.retires, ""
    left = (day - (today or date.today())).days
    if left < 0:
        return "retired", "bad"
    if left <= SOON_DAYS:
        return "today" if not left else "in 1 day" if left == 1 else f"in {left} days", "warn"
    return model.retires, ""


def detail_words(row: Row, now: float | None = None, fits: str = "", ways: Ways = _NO_WAYS) -> str:
    """Details that do not fit in the table, in two lines at most.

    ``fits`` says whether a model on this machine fits in its memory.
    """
    if isinstance(row, Offer):
        first = row.words(time.time() if now is None else now, ways)
        if not row.trouble or row.asking:
            return first
        why, hint = _unflagged(row.trouble.why), _hint(row.trouble, ways)
        second = [f"why: {why}" if why else "", f"try: {hint}" if hint else ""]
        return f"{row.provider}: {_unflagged(row.trouble.what)}\n{_joined(second)}"
    second = [row.retires and f"retires {row.retires}", fits, row.notes]
    return f"{_joined([row.id, row.title])}\n{_joined(second)}"


def _hint(trouble: EvalbenchError, ways: Ways) -> str:
    """What to do about it: in the app, a page rather than a command or a flag."""
    setting = setting_of(trouble)
    if setting == "key" and ways.keys:
        return f"{ways.keys} sets its key"
    if setting and ways.new:
        return f"a new run ({ways.new}) asks for {setting.replace('_', '-')}"
    return _unflagged(trouble.hint)


def _unflagged(text: str) -> str:
    """A text about flags of the command line, without what makes them flags."""
    return re.sub(r"(?<!\S)--(?=[a-z])", "", text)


def _joined(parts: Iterable[str]) -> str:
    return " · ".join(filter(None, parts))
