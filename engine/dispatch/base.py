"""What the driver expects of a dispatcher, in whatever mode."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Protocol

from evalbench.engine.calls import Call, Outcome, Reply
from evalbench.engine.dispatch.unfetched import Unfetched
from evalbench.engine.errors import EvalbenchError, ProviderError
from evalbench.engine.journal.paging import SampleCalls
from evalbench.engine.journal.records import CallRow
from evalbench.engine.stored import Gauges

ZERO = Decimal(0)

Report = Callable[..., None]
"""``report(kind, **body)`` puts an event into the run's journal."""


class SendLog:
    """Told of the attempts at one call, for whoever resumes the run; this one keeps nothing.

    Without it, a call that waits for another try looks like one in flight.
    """

    async def __call__(self) -> None:
        """The call is about to leave for the first time."""

    async def again(self) -> None:
        """It is about to leave once more."""

    def ended(self, *, possibly_billed: bool) -> None:
        """An attempt came to nothing: the call is not on the wire."""


class Dispatcher(Protocol):
    """Gets calls answered. Retries, waiting and limits live here, not in providers."""

    @property
    def window(self) -> int:
        """How many samples should be in work at once to keep this dispatcher busy."""

    @property
    def ready_at(self) -> float | None:
        """Since when calls can be answered, on the monotonic clock; None while a model loads."""

    async def answer(self, call: Call, key: str, before_send: SendLog) -> Reply:
        """The final reply to one call, after any retries.

        Args:
            call: what to ask.
            key: unique within the engine; equal keys are the same call.
            before_send: awaited once, just before the call first leaves, and told of the
                other attempts.

        Returns:
            A reply; of outcome ``error`` when this call cannot be answered.

        Raises:
            RunFatal: when no call of the run can be answered.
        """

    def halt(self) -> None:
        """Send nothing more: calls that are not on the wire raise :class:`Halted`."""

    def set_concurrency(self, calls: int | None) -> None:
        """Change the number of calls in flight, live; None: the dispatcher finds its own."""

    def gauges(self) -> Gauges:
        """Numbers for the screen: in flight, waiting, memory and the like."""

    async def close(self) -> None:
        """Give everything back. Calls still in flight are cut off."""


class ReplySink(Protocol):
    """Who drives the samples, as seen by a dispatcher whose replies come by themselves."""

    def preload(self, sample: SampleCalls) -> None:
        """What the journal has of a sample now, just before replies to its calls arrive."""

    def arrived(self, call: CallRow, role: str, reply: Reply) -> None:
        """A reply is in the journal; its sample can go on."""

    def resume_sample(self, row: int, epoch: int) -> None:
        """A call of this sample has left its batch without a reply: let it ask again."""

    def give_up(self, error: EvalbenchError) -> None:
        """Nothing can be answered any more."""


class ParkingDispatcher(ABC):
    """What a dispatcher has besides that answers calls later, whatever becomes of who asked."""

    @abstractmethod
    def begin(self, sink: ReplySink) -> None:
        """Take up what earlier engines left."""

    @abstractmethod
    async def park(
        self, call: Call, ident: int, intend: Callable[[], Awaitable[None]]
    ) -> Reply | None:
        """Take a call in, to be answered later.

        Args:
            call: what to ask.
            ident: its number in the journal.
            intend: awaited once, when the call was taken in: it puts it into the journal.

        Returns:
            None when it is to be answered at once, by ``answer``; a reply of
            outcome ``error`` when it cannot be asked at all.

        Raises:
            Parked: its reply will come; always so for one that is out already.
            Halted: the run is stopping.
        """

    @abstractmethod
    def close_collection(self) -> None:
        """No further call will come before those taken in are answered."""

    @property
    @abstractmethod
    def outstanding(self) -> int:
        """Calls taken in whose reply is still to come."""

    @abstractmethod
    def unfetched(self) -> Unfetched | None:
        """Calls taken in whose replies were given up for now; None where there are none."""

    @property
    @abstractmethod
    def at_rest(self) -> bool:
        """Whether an engine that does not want to wait has nothing more to do here."""


class Parked(BaseException):
    """The call is out in a batch: its sample leaves memory until the reply is in.

    A BaseException, so that no ``except Exception`` in a benchmark swallows it.
    """


class Halted(BaseException):
    """The run is stopping: this call was not sent.

    A BaseException, so that no ``except Exception`` in a benchmark swallows it.
    """


class BudgetSpent(Halted):
    """The budget is reached: this call was not sent, and nothing else is in flight."""


def failed_reply(error: ProviderError, attempts: int, possible_cost: Decimal = ZERO) -> Reply:
    """The reply that stands for a call that could not be answered."""
    return Reply(
        outcome=Outcome.ERROR,
        error=f"{type(error).__name__}: {error}",
        possibly_billed=error.possibly_billed,
        possible_cost=possible_cost,
        attempts=attempts,
        raw={"status": error.status, "body": error.body} if error.status or error.body else None,
    )
