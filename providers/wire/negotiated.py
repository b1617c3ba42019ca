"""Negotiated terms, shared by the calls of a run."""

from __future__ import annotations

from collections.abc import Callable

from evalbench.engine.calls import Call, Params
from evalbench.providers.modelfacts import ModelFacts, Refused
from evalbench.providers.wire.negotiation import Terms
from evalbench.providers.wire.provider import wire_name

_MOST = 2_000
"""Parameters may differ between calls, for example in a seed; then nothing is shared."""


class Agreed:
    """A cache of negotiated terms. Negotiating costs more than the rest of a request."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Params, bool], tuple[ModelFacts, Refused, Terms]] = {}

    def of(
        self,
        call: Call,
        facts: ModelFacts,
        refused: Refused,
        work_out: Callable[[], Terms],
        *,
        raw: bool = False,
    ) -> Terms:
        """The terms of a call, negotiated again if the model's facts or refusals have changed."""
        key = (wire_name(call), call.prompt.params, raw)
        known = self._known.get(key)
        # These two are slow to compare, and stay the same object until they change.
        if known is not None and known[0] is facts and known[1] is refused:
            return known[2]
        if len(self._known) >= _MOST:
            self._known.clear()
        terms = work_out()
        self._known[key] = (facts, refused, terms)
        return terms
