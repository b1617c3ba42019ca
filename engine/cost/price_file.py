"""The user's own prices: ``prices.toml`` next to the settings.

::

    ["openai/gpt-6.2-sol"]
    input = 1.25             # US dollars per million tokens
    output = 10
    cache_read = 0.125       # without it: as input
    cache_write = 1.5625
    cache_write_1h = 2.5     # what is kept for an hour; without it: as cache_write
    audio = 4                # sound in the input; without it: as input
    batch = 0.5              # factor of the batch mode; without it: unknown
    flex = 0.5               # the same for service tiers: flex, priority, fast

    [["openai/gpt-6.2-sol".above]]
    input_tokens = 272_000   # calls with more input tokens cost
    input = 2.5
    output = 15

    ["vllm/*"]               # * stands for any text
    input = 0
    output = 0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from evalbench.engine.cost.unit_prices import Mode, Rates, UnitPrices
from evalbench.engine.errors import DataError, nearest
from evalbench.engine.field_checks import COUNT, short
from evalbench.engine.files import own_toml, why_unread

FILE = "prices.toml"
_RATES = tuple(f.name for f in fields(Rates))
_DEAREST = 10**9
_FACTORS = ("batch", "flex", "priority", "fast")


@dataclass(frozen=True, slots=True)
class OwnPrice:
    """One table of the file."""

    pattern: str
    rates: Rates
    above: tuple[tuple[int, Rates], ...]
    factors: Mapping[str, Decimal]

    def prices(self, mode: Mode, service_tier: str) -> UnitPrices | None:
        """The prices in a mode and tier; None if a factor for one of them is missing."""
        factor = Decimal(1)
        for name in filter(None, (service_tier, "batch" if mode == "batch" else "")):
            if name not in self.factors:
                return None
            factor *= self.factors[name]
        return replace(
            self._times(factor),
            source=FILE,
            model=self.pattern,
            mode=mode,
            service_tier=service_tier,
            tiers=None if mode == "batch" else self._other_tiers(service_tier),
        )

    def _other_tiers(self, tier: str) -> tuple[tuple[str, UnitPrices], ...]:
        factors = {"": Decimal(1), **self.factors}
        return tuple(
            (name, self._times(factor))
            for name, factor in factors.items()
            if name not in ("batch", tier)
        )

    def _times(self, factor: Decimal) -> UnitPrices:
        above = tuple((start, rates.times(factor)) for start, rates in self.above)
        return UnitPrices(self.rates.times(factor), above)


def read_prices(path: Path) -> list[OwnPrice]:
    """The tables of a price file, in order; empty if there is no file.

    Raises:
        DataError: names the invalid table and field.
    """
    try:
        body = own_toml(path, parse_float=Decimal)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError) as error:
        why = why_unread(error)
        raise DataError("cannot be read as TOML", path=str(path), why=why) from None
    return [_table(path, pattern, table) for pattern, table in body.items()]


def find(tables: list[OwnPrice], model: str) -> OwnPrice | None:
    """The table for ``provider/model``: an exact match, else the first pattern that matches."""
    exact = [table for table in tables if table.pattern == model]
    fitting = [table for table in tables if fnmatchcase(model, table.pattern)]
    return next(iter(exact + fitting), None)


def _table(path: Path, pattern: str, table: Any) -> OwnPrice:
    where = f"[{pattern}]"
    if not isinstance(table, dict):
        raise DataError(f"{where} must be a table", path=str(path))
    _known(path, where, table, (*_RATES, *_FACTORS, "above"))
    above = []
    steps = table.get("above", [])
    if not isinstance(steps, list):
        raise DataError(f"{where} above must be a list of tables", path=str(path))
    for step in steps:
        if not isinstance(step, dict) or not _is_count(step.get("input_tokens")):
            raise DataError(f"{where} above needs input_tokens, a whole number", path=str(path))
        _known(path, f"{where} above", step, (*_RATES, "input_tokens"))
        above.append((step["input_tokens"], _rates(path, f"{where} above", step)))
    factors = {name: _number(path, where, table, name) for name in _FACTORS if name in table}
    return OwnPrice(pattern, _rates(path, where, table), tuple(sorted(above, key=_start)), factors)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= COUNT


def _start(step: tuple[int, Rates]) -> int:
    return step[0]


def _known(path: Path, where: str, table: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in table:
        if name not in names:
            raise DataError(
                f"{where} has an unknown field {name!r}", path=str(path), hint=nearest(name, names)
            )


def _rates(path: Path, where: str, table: dict[str, Any]) -> Rates:
    for name in ("input", "output"):
        if name not in table:
            raise DataError(f"{where} lacks {name}", path=str(path))
    return Rates(**{name: _number(path, where, table, name) for name in _RATES if name in table})


def _number(path: Path, where: str, table: dict[str, Any], name: str) -> Decimal:
    value = table[name]
    number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    if not number or not Decimal(value).is_finite() or not 0 <= value <= _DEAREST:
        raise DataError(
            f"{where} {name} must be a number from 0 to {_DEAREST:,}, not {short(value)}",
            path=str(path),
        )
    return Decimal(value)
