"""What a person sees and is asked before a run that costs money starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evalbench.engine.desk import Checked
from evalbench.engine.settings import RunSpec
from evalbench.tui.cli.confirm import Declined, confirmed
from evalbench.tui.cli.follow import View
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.quote import print_estimates
from evalbench.tui.state import figures
from evalbench.tui.state.money_words import Pair, total

ASK_FROM_USD = 1.0
"""A run that may cost more is started only after a yes."""


def approval(
    view: View, specs: Sequence[RunSpec], *, pilot: int | None, yes: bool
) -> Callable[[Sequence[Checked]], None]:
    """What to call with the checked specs before they start: prints the estimates, may ask.

    Runs that cost nothing are not mentioned. A pilot is asked about only if it
    is dear itself, since a question follows it.
    """

    def approve(checked: Sequence[Checked]) -> None:
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
        costs = [_at_most(spec, done, pilot) for spec, done in told]
        question = _question(total(costs), pilot)
        if question and not yes and not confirmed(question):
            raise Declined("not started: nothing was asked of any model")

    return approve


def _at_most(spec: RunSpec, done: Checked, pilot: int | None) -> Pair:
    """The range of what is about to be spent: a budget and a pilot limit it."""
    assert done.estimate is not None
    pair: Pair = done.estimate["realtime"]
    if pair is None:
        return None
    samples = done.estimate["samples"]
    share = min(1.0, pilot / samples) if pilot and samples else 1.0
    budget = spec.get("budget")
    limit = float("inf") if budget is None else budget
    return [min(end * share, limit) for end in pair]


def _question(cost: Pair, pilot: int | None) -> str:
    """What to ask; empty when it is too little to ask about."""
    if cost is None:
        return "" if pilot else "What this costs is unknown. Start?"
    if cost[1] <= ASK_FROM_USD:
        return ""
    what = "The pilot" if pilot else "This"
    return f"{what} may cost up to {figures.dollars(cost[1])}. Start?"
