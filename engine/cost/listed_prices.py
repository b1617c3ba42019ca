"""Prices that providers' own model lists tell, kept on disk: for models that no table has.

A list is asked for when a run is about to start, or by ``evalbench models``;
what it told a week ago is not believed any more.
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
_FILE = "told-prices.json"


def store_listed(provider: str, models: Sequence[ModelInfo], at: datetime | None = None) -> None:
    """Remember what a list says that its models cost, as far as the cache can be written."""
    rates = {model.name: dict(model.rates) for model in models if model.rates}
    if not rates:
        return
    held = _held()
    held[provider] = {"when": (at or datetime.now(UTC)).isoformat(), "models": rates}
    try:
        make_private(cache_dir())
        write_file(cache_dir() / _FILE, orjson.dumps(held))
    except OSError:
        return


def find_listed(provider: str, model: str, at: datetime) -> UnitPrices | None:
    """A model's prices by the provider's own list; None when it told none lately."""
    try:
        told = _held()[provider]
        when = datetime.fromisoformat(told["when"])
        rates = {name: Decimal(rate) for name, rate in told["models"][model].items()}
        sound = all(rate.is_finite() and rate >= 0 for rate in rates.values())
        if not sound or not timedelta(0) <= at - when + timedelta(minutes=1) <= FRESH:
            return None
        source = f"{provider}'s model list of {when:%Y-%m-%d}"
        return UnitPrices(Rates(**rates), source=source, model=model)
    except (KeyError, TypeError, ValueError, AttributeError, InvalidOperation):
        return None


def _held() -> dict[str, Any]:
    """What is on disk; a damaged or newer file is an empty one."""
    try:
        held = parse_json(read_plain(cache_dir() / _FILE))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}
