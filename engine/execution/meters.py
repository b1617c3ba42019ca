"""The money of one run by role: unit prices over one budget, and what the run's journal keeps."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import partial

from evalbench.engine.calls import Call
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.cost.modes import realtime_key
from evalbench.engine.cost.overruns import Overruns
from evalbench.engine.cost.unit_prices import ZERO, UnitPrices
from evalbench.engine.journal import Journal
from evalbench.engine.journal.reader import RowDecoder


class CostMeters:
    """A cost meter for each role, and for each role in batches another for calls asked at once."""

    def __init__(
        self,
        models: Mapping[str, tuple[str, float]],
        prices: Mapping[str, UnitPrices | None],
        budget: Budget,
        journal: Journal,
    ) -> None:
        """Go on from what earlier engines of the run learned.

        Args:
            models: by role, the model and the frames that it looks at in a second of a video.
            prices: of the models, by role, see :func:`evalbench.engine.cost.modes.realtime_key`.
            budget: of the whole run.
            journal: of the run.
        """
        self._models = models
        self._journal = journal
        kept = journal.query(RowDecoder.meta).get("overruns") or {}
        self._overruns = {key: Overruns.from_json(one) for key, one in kept.items()}
        make = partial(self._make, prices, budget)
        self.by_role = {role: make(role, role) for role in models}
        self.at_once = {
            role: make(role, realtime_key(role)) if realtime_key(role) in prices else meter
            for role, meter in self.by_role.items()
        }

    def _make(
        self, prices: Mapping[str, UnitPrices | None], budget: Budget, role: str, key: str
    ) -> CostMeter:
        known = self._overruns.setdefault(key, Overruns())
        fps = self._models[role][1]
        return CostMeter(budget, prices.get(key), fps, overruns=known, changed=self._keep)

    def _keep(self) -> None:
        self._journal.set(overruns={key: one.to_json() for key, one in self._overruns.items()})

    def uncertain(self, call: Call) -> Decimal:
        """The most that one attempt at a call of an earlier engine can have cost, in US dollars.

        It is noted as one of those whose cost nobody knows. Only calls that were asked at
        once can have been cut.
        """
        for role, (model, _) in self._models.items():
            if model == str(call.model):
                return self.at_once[role].uncertain(call)
        return ZERO

    @property
    def added(self) -> Decimal:
        """US dollars by which what may have been billed is more than the replies of the run say."""
        return sum((one.added for one in self._overruns.values()), ZERO)
