"""A pilot: run a few samples, project the total cost from them, then run the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evalbench.engine.compat import override
from evalbench.engine.cost.estimated import Range
from evalbench.engine.journal import Event, JournalReader
from evalbench.engine.preflight.estimate import project
from evalbench.engine.runs.status import State
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.follow import View
from evalbench.tui.cli.output import Out
from evalbench.tui.state import figures
from evalbench.tui.state.money_words import Pair, money_range, rough_range, total
from evalbench.tui.state.run_follower import RunFollower


@dataclass(frozen=True, slots=True)
class Measured:
    """The usage of one run's pilot, and the projection for all of its samples.

    Attributes:
        samples: number of samples measured.
        spent_usd: their cost in US dollars; None: unknown.
        cost: projected cost of the whole run in US dollars, including the pilot; None: unknown.
        input_tokens, output_tokens: projected for the whole run.
    """

    samples: int
    spent_usd: float | None
    cost: Pair
    input_tokens: Sequence[float]
    output_tokens: Sequence[float]

    def to_json(self) -> dict[str, Any]:
        """The fields of the ``pilot`` line."""
        return {
            "samples": self.samples,
            "spent_usd": self.spent_usd,
            "cost_usd": self.cost,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
        }


def measure(watch: RunFollower) -> Measured:
    """Read the usage of a run's scored samples from its journal."""
    with JournalReader(watch.folder.journal) as journal:
        taken = journal.taken()
    size = watch.status.total // watch.folder.spec().get("epochs")
    cost, given, made = (
        project([Decimal(sample[column]) for sample in taken], size) for column in range(3)
    )
    spent = watch.status.spend_usd
    return Measured(
        len(taken), spent, None if spent is None else _pair(cost), _pair(given), _pair(made)
    )


def _pair(bounds: Range) -> list[float]:
    return [float(bounds.low), float(bounds.high)]


class PilotView(View):
    """A :class:`View` of runs in their pilot: a run that pauses after it has not ended.

    Attributes:
        paused: runs waiting for the rest.
    """

    def __init__(self, view: View, samples: int) -> None:
        self._view = view
        self._samples = samples
        self.paused: list[RunFollower] = []

    @override
    def note(self, text: str) -> None:
        self._view.note(text)

    @override
    def preparing(self, what: str, done: int, total: int | None) -> None:
        self._view.preparing(what, done, total)

    @override
    def begin(self, watches: Sequence[RunFollower]) -> None:
        self._view.begin(watches)

    @override
    def show(self, watch: RunFollower, events: Sequence[Event]) -> None:
        self._view.show(watch, events)

    @override
    def ended(self, watch: RunFollower) -> None:
        """Record a run whose pilot is complete."""
        wanted = self._samples * watch.folder.spec().get("epochs")
        if watch.state == State.PAUSED and watch.status.done >= wanted:
            self.paused.append(watch)
        else:
            self._view.ended(watch)

    @override
    def detached(self, watches: Sequence[RunFollower]) -> None:
        self._view.detached(watches)
        self._view.note("they pause after their pilot; go on then with: evalbench resume RUN")

    @override
    def close(self) -> None:
        self._view.close()


def tell(out: Out, watches: Sequence[RunFollower], *, json: bool) -> Pair:
    """Print the pilots' measurements; returns the cost of all runs, None if unknown."""
    costs: list[Pair] = []
    for watch in watches:
        measured = measure(watch)
        costs.append(measured.cost)
        if json:
            from evalbench.tui.cli import jsonlines

            jsonlines.write(out, "pilot", run=watch.id, **measured.to_json())
        else:
            _print(out, watch, measured)
    if len(watches) > 1 and not json:
        out.line(f"all {len(watches)} runs: {money_range(total(costs))}")
    return total(costs)


def _print(out: Out, watch: RunFollower, measured: Measured) -> None:
    status = watch.status
    spent = measured.spent_usd
    out.line()
    out.line(
        f"pilot of {one_line(status.name)} × {one_line(status.model)}:"
        f" {figures.counted(measured.samples, 'sample')} cost"
        f" {'an unknown sum' if spent is None else figures.dollars(spent)}"
    )
    out.line(
        f"by that, all {figures.count(status.total)} cost {money_range(measured.cost)}"
        f" and take {rough_range(measured.input_tokens)} input"
        f" and {rough_range(measured.output_tokens)} output tokens"
    )
