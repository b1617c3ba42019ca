"""Estimates and confirmation before a run that costs money starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from evalbench.engine.config.spec import RunSpec
from evalbench.engine.preflight import CheckedSpec
from evalbench.tui.cli.confirm import Declined, confirmed
from evalbench.tui.cli.follow import View
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.quote import print_estimates
from evalbench.tui.state import figures
from evalbench.tui.state.asking import at_most, question
from evalbench.tui.state.money_words import total


def approval(
    view: View,
    specs: Sequence[RunSpec],
    *,
    pilot: int | None,
    yes: bool,
    budget: Decimal | None = None,
) -> Callable[[Sequence[CheckedSpec]], None]:
    """A callback for the validated specs before they start: prints the estimates, may ask.

    Runs that cost nothing are not mentioned. A pilot is asked about only if it is expensive itself,
    since a question follows it. ``budget`` covers all runs together.
    """

    def approve(checked: Sequence[CheckedSpec]) -> None:
        told = [
            (spec, done)
            for spec, done in zip(specs, checked, strict=True)
            if done.estimate is not None
        ]
        if not told:
            return
        view.close()
        estimates = [done.estimate for _, done in told if done.estimate is not None]
        print_estimates(stdout(), [spec for spec, _ in told], estimates)
        costs = [
            at_most(done.estimate, spec.settings.budget, pilot)
            for spec, done in told
            if done.estimate is not None
        ]
        cost = total(costs)
        if cost is not None and budget is not None:
            limit = float(budget)
            cost = [min(end, limit) for end in cost]
            stdout().line(f"{'budget':<10}{figures.dollars(limit)} for all {len(specs)} runs")
        asked = question(cost, pilot)
        if asked and not yes and not confirmed(asked):
            raise Declined("not started: nothing was asked of any model")

    return approve
