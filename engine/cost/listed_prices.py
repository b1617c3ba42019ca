"""Prices from providers' own model lists, cached on disk: for models in no price table.

A list is fetched when a run is about to start, or by ``evalbench models``; prices older than a
week are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

from evalbench.engine.calls import ModelInfo
from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.engine.files import parse_json, read_plain
from evalbench.engine.paths import cache_dir, make_private, write_file

FRESH = timedelta(days=7)
_FILE = "listed-prices.json"


def store_listed(provider: str, models: Sequence[ModelInfo], at: datetime | None = None) -> None:
    """Store the prices in a model list, if the cache can be written."""
    rates = {model.name: dict(model.rates) for model in models if model.rates}
    if not rates:
        return
    stored = _held()
    stored[provider] = {"when": (at or datetime.now(UTC)).isoformat(), "models": rates}
    try:
        make_private(cache_dir())
        write_file(cache_dir() / _FILE, orjson.dumps(stored))
    except OSError:
        return


def find_listed(provider: str, model: str, at: datetime) -> UnitPrices | None:
    """A model's price in its provider's list; None if there is no recent one."""
    try:
        listed = _held()[provider]
        when = datetime.fromisoformat(listed["when"])
        rates = {name: Decimal(rate) for name, rate in listed["models"][model].items()}
        sound = all(rate.is_finite() and rate >= 0 for rate in rates.values())
        if not sound or not timedelta(0) <= at - when + timedelta(minutes=1) <= FRESH:
            return None
        source = f"{provider}'s model list of {when:%Y-%m-%d}"
        return UnitPrices(Rates(**rates), source=source, model=model)
    except (KeyError, TypeError, ValueError, AttributeError, InvalidOperation):
        return None


def _held() -> dict[str, Any]:
    """The content of the cache; a damaged or newer file counts as empty."""
    try:
        stored = parse_json(read_plain(cache_dir() / _FILE))
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}
