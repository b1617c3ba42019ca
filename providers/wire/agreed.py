"""Terms that were worked out before: the calls of a run share them."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from evalbench.providers.wire.negotiation import Terms

_MOST = 2_000
"""Parameters may differ with every call, by a seed for example; then nothing is shared."""


class Agreed:
    """Terms by whatever they depend on. Working them out costs more than the rest of a request."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Terms] = {}

    def of(self, key: Hashable, work_out: Callable[[], Terms]) -> Terms:
        """The terms for a key, worked out on first use."""
        terms = self._known.get(key)
        if terms is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            terms = self._known[key] = work_out()
        return terms
