"""The cost of one call, from a fixed set of unit prices.

A run looks up its prices once, stores them, and prices every call by them. So spend can be
recomputed from the journal alone, whatever a price table says later, and pricing a call takes
microseconds.

All money is :class:`~decimal.Decimal` US dollars, exact: unit prices are finite
decimal fractions and nothing here divides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Literal

from evalbench.engine.calls import Usage

Mode = Literal["realtime", "batch"]

ZERO = Decimal(0)
_STANDARD_TIERS = frozenset({"", "auto", "default", "standard", "standard_only"})
GIVEN = "--price"
"""The source of prices that the user gave."""
_MILLION = -6  # as an exponent of ten


def tier_name(service_tier: str) -> str:
    """The name of a service tier that has prices of its own; empty for the standard one."""
    return "" if service_tier in _STANDARD_TIERS else service_tier


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per million tokens.

    None: the price of ordinary input; for ``cache_write_1h`` that of other cache writes.
    """

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    cache_write_1h: Decimal | None = None
    audio: Decimal | None = None

    def times(self, factor: Decimal) -> Rates:
        """All rates multiplied by a factor."""
        return Rates(
            **{
                f.name: value * factor
                for f in fields(self)
                if (value := getattr(self, f.name)) is not None
            }
        )

    def tokens(self, input_tokens: int, output_tokens: int) -> Decimal:
        """US dollars for this many tokens, without any cache use."""
        return (input_tokens * self.input + output_tokens * self.output).scaleb(_MILLION)

    def to_json(self) -> dict[str, str]:
        """The JSON form read by :meth:`from_json`; decimals as text."""
        return {
            f.name: str(value) for f in fields(self) if (value := getattr(self, f.name)) is not None
        }

    @classmethod
    def from_json(cls, value: Mapping[str, str]) -> Rates:
        """Inverse of :meth:`to_json`."""
        return cls(**{name: Decimal(rate) for name, rate in value.items()})


_FREE = Rates(ZERO, ZERO)


@dataclass(frozen=True, slots=True)
class UnitPrices:
    """The prices of one model in one mode, and their source.

    Attributes:
        rates: for calls with few input tokens.
        above: ``(tokens, rates)`` ascending: the rates of the whole call, including output, if
            it has more than this many input tokens.
        source: the source of the prices, for example ``genai-prices 0.2.3``.
        model: the model's name in the source.
        mode, service_tier: what they apply to.
        note: a note for the reader.
        tiers: the prices of the other service tiers that the provider may answer in instead, by
            name; empty name: standard. None: these prices hold whatever the tier.
    """

    rates: Rates
    above: tuple[tuple[int, Rates], ...] = ()
    source: str = ""
    model: str = ""
    mode: Mode = "realtime"
    service_tier: str = ""
    note: str = ""
    tiers: tuple[tuple[str, UnitPrices], ...] | None = None

    @property
    def free(self) -> bool:
        """Whether calls cost nothing, whatever their length."""
        return not self.above and self.rates == _FREE

    def at(self, input_tokens: int) -> Rates:
        """The rates of a call with this many input tokens."""
        found = self.rates
        for start, rates in self.above:
            if input_tokens > start:
                found = rates
        return found

    def cost(self, usage: Usage, service_tier: str = "") -> Decimal | None:
        """US dollars for one call; None if the provider did not report its tokens.

        The rates depend on this call's own tokens, so prices are only correct per call, never for a
        sum of calls.

        Args:
            usage: its tokens.
            service_tier: the tier it was answered in, if that is another than was asked for; None
                is returned if its price is unknown.
        """
        if self.free:
            return ZERO
        if service_tier and self.tiers is not None and self.mode == "realtime":
            served = tier_name(service_tier)
            there = next((prices for name, prices in self.tiers if name == served), None)
            return there.cost(usage) if there else None
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        rates = self.at(usage.input_tokens)
        read = usage.cache_read_tokens or 0
        write = usage.cache_write_tokens or 0
        read_rate = rates.input if rates.cache_read is None else rates.cache_read
        write_rate = rates.input if rates.cache_write is None else rates.cache_write
        plain = max(0, usage.input_tokens - read - write)
        total = (
            plain * rates.input
            + read * read_rate
            + write * write_rate
            + usage.output_tokens * rates.output
        )
        if usage.audio_tokens and rates.audio is not None:
            total += usage.audio_tokens * (rates.audio - rates.input)
        if usage.cache_write_1h_tokens and rates.cache_write_1h is not None:
            total += usage.cache_write_1h_tokens * (rates.cache_write_1h - write_rate)
        return total.scaleb(_MILLION)

    def worst_case(self, input_tokens: int, output_tokens: int, audio_tokens: int = 0) -> Decimal:
        """The maximum cost of a call with at most these tokens, ``audio_tokens`` of them sound.

        Every input token counts at the highest input rate (usually that of a cache write), in the
        most expensive tier that the call can reach.
        """
        reachable = [self.rates, *(rates for start, rates in self.above if input_tokens > start)]
        most = _dearest(reachable)
        heard = max(rates.audio or ZERO for rates in reachable) - most.input
        return most.tokens(input_tokens, output_tokens) + (
            (audio_tokens * max(ZERO, heard)).scaleb(_MILLION)
        )

    @property
    def dearest(self) -> Rates:
        """The maximum cost of an input token but sound, and of an output token, for any call."""
        return _dearest([self.rates, *(rates for _, rates in self.above)])

    def to_json(self) -> dict[str, Any]:
        """A JSON form that :meth:`from_json` reads back."""
        out = self._rates_to_json()
        for name in ("source", "model", "mode", "service_tier", "note"):
            if value := getattr(self, name):
                out[name] = value
        if self.tiers is not None:
            out["tiers"] = {name: prices._rates_to_json() for name, prices in self.tiers}
        return out

    def _rates_to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"rates": self.rates.to_json()}
        if self.above:
            out["above"] = [[start, rates.to_json()] for start, rates in self.above]
        return out

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> UnitPrices:
        """Inverse of :meth:`to_json`."""
        above = tuple((start, Rates.from_json(rates)) for start, rates in value.get("above", ()))
        rest = {name: part for name, part in value.items() if name not in ("rates", "above")}
        if "tiers" in rest:
            rest["tiers"] = tuple((name, cls.from_json(one)) for name, one in rest["tiers"].items())
        return cls(Rates.from_json(value["rates"]), above, **rest)


Prices = Mapping[str, UnitPrices | None]
"""Unit prices by role; None if unknown."""


def prices_to_json(prices: Prices) -> dict[str, Any]:
    """The JSON form read by :func:`prices_from_json`."""
    return {role: one.to_json() if one else None for role, one in prices.items()}


def prices_from_json(stored: Mapping[str, Any]) -> dict[str, UnitPrices | None]:
    """Inverse of :func:`prices_to_json`."""
    return {role: UnitPrices.from_json(one) if one else None for role, one in stored.items()}


def _dearest(tiers: Sequence[Rates]) -> Rates:
    """The highest rates of several tiers; for input, usually that of a cache write.

    Of what evalbench asks for: nothing is kept in a cache for an hour.
    """
    return Rates(
        max(
            max(rates.input, rates.cache_read or ZERO, rates.cache_write or ZERO) for rates in tiers
        ),
        max(rates.output for rates in tiers),
    )
