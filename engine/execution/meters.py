"""Cost meters of one run by role: unit prices, one shared budget, and what the journal keeps."""

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
    """One cost meter per role; a role that sends batches has a second one for realtime calls."""

    def __init__(
        self,
        models: Mapping[str, tuple[str, float]],
        prices: Mapping[str, UnitPrices | None],
        budget: Budget,
        journal: Journal,
    ) -> None:
        """Resume from what earlier engines of the run learned.

        Args:
            models: by role, the model and the frames it samples per second of video.
            prices: unit prices by role, see :func:`evalbench.engine.cost.modes.realtime_key`.
            budget: the budget of the whole run.
            journal: the run's journal.
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
        """The most that one attempt at an earlier engine's call can have cost, in US dollars.

        It is recorded as a call of unknown cost. Only realtime calls can have been cut off.
        """
        for role, (model, _) in self._models.items():
            if model == str(call.model):
                return self.at_once[role].uncertain(call)
        return ZERO

    @property
    def added(self) -> Decimal:
        """US dollars that may have been billed beyond what the stored replies account for."""
        return sum((one.added for one in self._overruns.values()), ZERO)
