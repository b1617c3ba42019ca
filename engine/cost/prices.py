"""Finds a model's prices: command line, user's files, bundled table, provider's list.

An unknown price is None and shown as unknown, never treated as 0.

The bundled table is the package ``genai-prices`` (MIT), used offline. Importing it takes half a
second, so that happens only when a price is looked up in it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.calls import BaseProvider, ModelRef
from evalbench.engine.config import registry
from evalbench.engine.cost import price_file
from evalbench.engine.cost.listed_prices import find_listed
from evalbench.engine.cost.unit_prices import GIVEN, ZERO, Mode, Rates, UnitPrices, tier_name
from evalbench.engine.errors import SpecError
from evalbench.engine.field_checks import anything, maybe, record, table_of
from evalbench.engine.files import parse_json, read_plain
from evalbench.engine.paths import cache_dir, config_dir, make_private, write_file
from evalbench.engine.record_schemas import PRICES

_RATES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
    "audio": "input_audio_mtok",
}
_BEYOND_TOKENS = ("requests_kcount", "output_reasoning_mtok")
"""Charges for ordinary calls that token rates cannot express; a model with one has no price."""

_KEPT = record({"stamp": anything, "known": table_of(maybe(PRICES))})


class PriceBook:
    """Looks up prices of models, in a fixed order of precedence."""

    def __init__(
        self,
        given: Iterable[str] = (),
        candidate: ModelRef | None = None,
        file: Path | None = None,
    ) -> None:
        """Read the user's own prices.

        Args:
            given: values of ``--price``: ``IN/OUT`` in US dollars per million tokens for the
                candidate, or ``PROVIDER/MODEL=IN/OUT``.
            candidate: the model that a bare ``IN/OUT`` applies to.
            file: the user's price file (default: ``prices.toml`` next to the settings).

        Raises:
            SpecError: an invalid value of ``--price``.
            DataError: the file is malformed.
        """
        self._given = dict(_read_given(text, candidate) for text in given)
        self._own = price_file.read_prices(file or config_dir() / price_file.FILE)

    def prices(
        self,
        model: ModelRef,
        mode: Mode = "realtime",
        service_tier: str = "",
        at: datetime | None = None,
    ) -> UnitPrices | None:
        """A model's prices, or None if they are unknown.

        A price given with ``--price`` is what is paid in the run's mode and tier, whatever they
        are.

        Args:
            model: the model as named by the user.
            mode: realtime, or the provider's batch API.
            service_tier: in the provider's terms; empty for standard.
            at: when the prices apply (default: now).
        """
        name = f"{model.provider}/{model.name}"
        tier = tier_name(service_tier)
        if name in self._given:
            return UnitPrices(
                self._given[name], source=GIVEN, model=name, mode=mode, service_tier=tier
            )
        if own := price_file.find(self._own, name):
            return own.prices(mode, tier)
        provider = _provider(model)
        if rates := _described(provider, model):
            return UnitPrices(
                rates,
                source=(provider and provider.price_source) or "providers.toml",
                model=name,
                mode=mode,
                service_tier=tier,
            )
        if provider and provider.free:
            return UnitPrices(Rates(ZERO, ZERO), source="local", model=model.name, mode=mode)
        at = at or datetime.now(UTC)
        found = None
        if provider and provider.price_table:
            found = _from_table_or_memory(provider, model.name, mode, tier, at)
        if found is None and mode == "realtime" and not tier:
            found = find_listed(model.provider, model.name, at)
        discount = provider.batch_discount(model.name) if provider else ""
        if found is None and mode == "batch" and discount:
            realtime = self.prices(model, "realtime", service_tier, at)
            found = _derived(realtime, cached=discount == "all")
        return found

    def at_hand(self, model: ModelRef, service_tier: str = "") -> bool:
        """Whether a model's realtime prices are available without loading the bundled table."""
        name = f"{model.provider}/{model.name}"
        provider = _provider(model)
        if name in self._given or price_file.find(self._own, name):
            return True
        if _described(provider, model):
            return True
        if provider is None or provider.free or not provider.price_table:
            return True
        tier = tier_name(service_tier)
        return PriceCache(datetime.now(UTC)).knows(
            _question(provider.price_table, model.name, "realtime", tier)
        )


def _provider(model: ModelRef) -> type[BaseProvider] | None:
    """The class of a model's provider; None if it is not installed: its prices are unknown."""
    try:
        return registry.provider_class(model.provider)
    except SpecError:
        return None


DERIVED = "derived: half of the realtime price, as the provider says of batches"


def _derived(realtime: UnitPrices | None, *, cached: bool) -> UnitPrices | None:
    """Batch prices of a model for which the table has only realtime prices.

    Args:
        realtime: the realtime prices.
        cached: whether tokens read from a cache are half price as well.
    """
    if realtime is None or realtime.service_tier:
        return None
    half = Decimal("0.5")

    def halved(rates: Rates) -> Rates:
        if cached:
            return rates.times(half)
        audio = None if rates.audio is None else rates.audio * half
        return replace(rates, input=rates.input * half, output=rates.output * half, audio=audio)

    return replace(
        realtime,
        rates=halved(realtime.rates),
        above=tuple((start, halved(rates)) for start, rates in realtime.above),
        mode="batch",
        note="; ".join(filter(None, (realtime.note, DERIVED))),
    )


def _described(provider: type[BaseProvider] | None, model: ModelRef) -> Rates | None:
    """A model's rates in the user's description of a server."""
    text = provider.prices.get(model.name, provider.prices.get("*")) if provider else None
    if text is None:
        return None
    if rates := _in_and_out(text):
        return rates
    raise SpecError(
        "price",
        f"the price of {model.provider}/{model.name} in providers.toml cannot be {text!r}",
        why="it is in US dollars per million tokens of input and of output",
        hint='for example prices = { "NAME" = "0.4/1.6" }',
    )


def _in_and_out(text: str) -> Rates | None:
    """Rates written as ``IN/OUT``; None if the text has another form."""
    try:
        rates = [Decimal(part.strip().removeprefix("$")) for part in text.split("/")]
    except InvalidOperation:
        return None
    right = len(rates) == 2 and all(rate.is_finite() and rate >= 0 for rate in rates)
    return Rates(*rates) if right else None


def _read_given(text: str, candidate: ModelRef | None) -> tuple[str, Rates]:
    name, _, numbers = text.rpartition("=")
    name = name.strip()
    if not name and candidate:
        name = f"{candidate.provider}/{candidate.name}"
    rates = _in_and_out(numbers)
    if not name or rates is None:
        raise SpecError(
            "price",
            f"--price cannot be {text!r}",
            why="it takes dollars per million tokens of input and of output",
            hint="for example --price 3/15, or --price openai/gpt-4.1=2/8 for one model",
        )
    return name, rates


def _question(table: str, name: str, mode: Mode, tier: str) -> str:
    return "\n".join((table, name, mode, tier))


def _from_table_or_memory(
    provider: type[BaseProvider], name: str, mode: Mode, tier: str, at: datetime
) -> UnitPrices | None:
    memory, question = PriceCache(at), _question(provider.price_table, name, mode, tier)
    if not memory.knows(question):
        memory.keep(question, _from_table(provider, name, mode, tier, at))
    return memory.answer(question)


def _from_table(
    provider: type[BaseProvider], name: str, mode: Mode, tier: str, at: datetime
) -> UnitPrices | None:
    snapshot, version = _table()
    try:
        found, model = snapshot.find_provider_model(name, None, provider.price_table, None)
    except LookupError:
        return None
    context: dict[str, str] = {}
    if tier:
        context |= {"speed": tier} if _has(model, {"speed": tier}, at) else {"service_tier": tier}
    if mode == "batch":
        context["processing"] = "batch"
    # The table ignores unknown arguments, which would give the full price.
    own = any(model is other for other in found.models)
    for key, value in context.items():
        if not own or not _has(model, {key: value}, at):
            return None
    rates, above, note = _rates(model, context, at)
    if rates is None:
        return None
    return UnitPrices(
        rates,
        tuple(above),
        source=f"genai-prices {version}",
        model=f"{found.id}/{model.id}",
        mode=mode,
        service_tier=tier,
        note=note,
        tiers=_other_tiers(model, tier, at) if mode == "realtime" else None,
    )


def _other_tiers(model: Any, tier: str, at: datetime) -> tuple[tuple[str, UnitPrices], ...]:
    """The prices of all service tiers in the table but this one."""
    listed = [str(one.when.get("service_tier", "")) for one in model.price_variants or ()]
    names = {"", *map(tier_name, listed)} - {tier}
    found = []
    for name in sorted(names):
        when = {"service_tier": name} if name else {}
        rates, above, _ = _rates(model, when, at)
        if rates and (not name or _has(model, when, at)):
            found.append((name, UnitPrices(rates, tuple(above))))
    return tuple(found)


@functools.cache
def _table() -> tuple[Any, str]:
    import genai_prices
    from genai_prices.data_snapshot import get_snapshot

    return get_snapshot(), genai_prices.__version__


def _has(model: Any, when: dict[str, str], at: datetime) -> bool:
    return any(
        variant.when == when and (variant.constraint is None or variant.constraint.active(at))
        for variant in model.price_variants or ()
    )


def _rates(
    model: Any, context: dict[str, str], at: datetime
) -> tuple[Rates | None, list[tuple[int, Rates]], str]:
    """The rates at every tier; if prices vary by hour, those of the most expensive hour."""
    hours = [at + timedelta(hours=hour) for hour in range(24)] if _hourly(model) else [at]
    dearest: Any = None
    for hour in hours:
        prices = model.get_prices(hour, context)
        if any(getattr(prices, key) for key in _BEYOND_TOKENS):
            return None, [], ""
        if prices.input_mtok is None or prices.output_mtok is None:
            return None, [], ""
        if dearest is None or _base(prices.output_mtok) > _base(dearest.output_mtok):
            dearest = prices
    starts = {
        tier.start
        for key in _RATES.values()
        for tier in getattr(getattr(dearest, key), "tiers", ())
    }
    above = [(start, _rates_beyond(dearest, start)) for start in sorted(starts)]
    note = "of the dearest hour of the day" if len(hours) > 1 else ""
    return _rates_beyond(dearest, -1), above, note


def _hourly(model: Any) -> bool:
    from genai_prices.types import TimeOfDateConstraint

    return isinstance(model.prices, list) and any(
        isinstance(price.constraint, TimeOfDateConstraint) for price in model.prices
    )


def _base(price: Any) -> Decimal:
    base: Decimal = getattr(price, "base", price)
    return base


def _rates_beyond(prices: Any, start: int) -> Rates:
    """The rates of calls with more than ``start`` input tokens; -1 for the lowest tier."""
    values = {}
    for name, key in _RATES.items():
        price = getattr(prices, key)
        for tier in getattr(price, "tiers", ()):
            if tier.start <= start:
                values[name] = tier.price
        values.setdefault(name, None if price is None else _base(price))
    return Rates(**values)


class PriceCache:
    """The table's answers of one day, by query; discarded with a new day, table or kind of rate."""

    def __init__(self, at: datetime) -> None:
        self._path = cache_dir() / "prices.json"
        self._stamp = [version("genai-prices"), at.astimezone(UTC).date().isoformat(), *_RATES]
        self._known: dict[str, dict[str, object] | None] = {}
        try:
            stored = parse_json(read_plain(self._path))
            _KEPT(stored)
            if stored["stamp"] == self._stamp:
                self._known = stored["known"]
        except (OSError, ValueError):
            return

    def knows(self, question: str) -> bool:
        """Whether the answer is known, even if there is no price."""
        return question in self._known

    def answer(self, question: str) -> UnitPrices | None:
        """The cached answer."""
        stored = self._known[question]
        return UnitPrices.from_json(stored) if stored else None

    def keep(self, question: str, prices: UnitPrices | None) -> None:
        """Cache an answer, if the cache can be written."""
        self._known[question] = prices.to_json() if prices else None
        try:
            make_private(self._path.parent)
            write_file(self._path, orjson.dumps({"stamp": self._stamp, "known": self._known}))
        except OSError:
            return
