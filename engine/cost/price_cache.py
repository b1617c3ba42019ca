"""Today's lookups in the bundled price table, cached on disk: importing it takes a second."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version

import orjson

from evalbench.engine.cost.unit_prices import UnitPrices
from evalbench.engine.files import parse_json, read_plain
from evalbench.engine.paths import cache_dir, make_private, write_file
from evalbench.engine.shapes import anything, maybe, record, table_of
from evalbench.engine.stored import PRICES

_KEPT = record({"stamp": anything, "known": table_of(maybe(PRICES))})


class PriceCache:
    """The table's answers of one day, by query; discarded with a new day or table."""

    def __init__(self, at: datetime) -> None:
        self._path = cache_dir() / "prices.json"
        self._stamp = [version("genai-prices"), at.astimezone(UTC).date().isoformat()]
        self._known: dict[str, dict[str, object] | None] = {}
        try:
            held = parse_json(read_plain(self._path))
            _KEPT(held)
            if held["stamp"] == self._stamp:
                self._known = held["known"]
        except (OSError, ValueError):
            return

    def knows(self, question: str) -> bool:
        """Whether the answer is known, even if there is no price."""
        return question in self._known

    def answer(self, question: str) -> UnitPrices | None:
        """The cached answer."""
        held = self._known[question]
        return UnitPrices.from_json(held) if held else None

    def keep(self, question: str, prices: UnitPrices | None) -> None:
        """Cache an answer, if the cache can be written."""
        self._known[question] = prices.to_json() if prices else None
        try:
            make_private(self._path.parent)
            write_file(self._path, orjson.dumps({"stamp": self._stamp, "known": self._known}))
        except OSError:
            return
