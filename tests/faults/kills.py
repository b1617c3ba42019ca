"""Runs that are killed at random moments, and what must hold of them whoever answers."""

from __future__ import annotations

import random
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from evalbench.engine.config.spec import RunSpec
from evalbench.engine.runs.folder import RunFolder
from tests.faults.engines import LONG_S, Engines, answered, replied, scores, wait_until

KILLS = 2
AT_ONCE = 8
"""Calls in flight, unless a run has its own bound."""


def riddles(run: RunFolder) -> Counter[str]:
    """The numbers of the riddles that have an answer in the journal, with how many."""
    numbers = (
        re.findall("Riddle ([0-9]+)", item.sample.inputs["question"])[0]
        for item, _ in answered(run)
    )
    return Counter(numbers)


@dataclass
class Trial:
    """One run that is killed, and its twin that is not.

    Attributes:
        dice: decide the moments.
        known: what the journal holds of a run, by the names that the ledger uses.
        in_flight: the most calls that one kill may cut off.
        patience_s: how long a start may take until something is asked.
    """

    engines: Engines
    spec: RunSpec
    dice: random.Random
    known: Callable[[RunFolder], Counter[str]] = replied
    in_flight: int = AT_ONCE
    kills: int = KILLS
    patience_s: float = LONG_S

    def hold(self, kill: Callable[[], None] | None = None) -> RunFolder:
        """Kill the run at random moments; by default its engine, which is then started again."""
        ledger = self.engines.ledger
        twin = self.engines.start(self.spec)
        assert self.engines.finish(twin).exit_code == 0
        undisturbed, once = scores(twin), ledger.asked()
        ledger.path.write_bytes(b"")

        run = self.engines.start(self.spec)
        for moment in sorted(self.dice.sample(range(3, once.total() * 3 // 5), self.kills)):
            self.reaches(moment)
            if kill:
                kill()
                continue
            self.engines.end(signal.SIGKILL)
            if run.status().at_rest:
                break  # It was quicker than the kill.
            self.goes_on(run, once)
        else:
            self.engines.wait()
        status = run.status()
        assert (status.state, status.exit_code, status.failed) == ("complete", 0, 0)
        assert self.known(run) == once
        assert scores(run) == undisturbed
        assert (ledger.asked() - once).total() <= self.kills * self.in_flight
        assert not once - ledger.answered()
        return run

    def reaches(self, asked: int) -> None:
        """Wait until so many calls were asked in all."""
        wait_until(
            lambda: self.engines.ledger.asked().total() >= asked, "a moment", self.patience_s
        )

    def goes_on(self, run: RunFolder, once: Counter[str]) -> None:
        """Resume; of each call only what the journal does not answer may still be asked."""
        ledger = self.engines.ledger
        seen, done = len(ledger.lines()), self.known(run)
        # What was answered is known, but for what was on its way at this kill and those before.
        assert (ledger.answered() - done).total() <= self.kills * self.in_flight
        self.engines.resume(run)
        wait_until(lambda: ledger.asked(seen) or run.status().at_rest, "a request", self.patience_s)
        assert not ledger.asked(seen) - (once - done)


def kill_at(
    engines: Engines, run: RunFolder, moments: Iterable[int], reached: Callable[[], int]
) -> None:
    """Kill a run's engine at each of these moments and resume the run; then let it end.

    Args:
        engines: what started the run.
        run: the run.
        moments: numbers that ``reached`` returns one day, in order.
        reached: how far the run is.
    """

    def has_come(moment: int) -> bool:
        return reached() >= moment or run.status().at_rest

    for moment in moments:
        wait_until(partial(has_come, moment), "a moment")
        engines.end(signal.SIGKILL)
        if run.status().at_rest:
            return
        engines.resume(run)
    engines.wait()
