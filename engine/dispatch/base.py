"""What the driver expects of a dispatcher, in every mode."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from decimal import Decimal
from typing import Protocol

from evalbench.engine.calls import Call, Outcome, Reply
from evalbench.engine.dispatch.unfetched import Unfetched
from evalbench.engine.errors import EvalbenchError, ProviderError
from evalbench.engine.journal.paging import SampleCalls
from evalbench.engine.journal.records import CallRow
from evalbench.engine.record_schemas import Gauges

ZERO = Decimal(0)

Report = Callable[..., None]
"""``report(kind, **body)`` puts an event into the run's journal."""


class SendLog:
    """Receives the attempts at one call, for a later resume; this base class records nothing.

    Without it, a call waiting to be retried looks like one in flight.
    """

    async def __call__(self) -> None:
        """The call is about to be sent for the first time."""

    async def again(self) -> None:
        """It is about to be sent again."""

    def ended(self, *, possibly_billed: bool) -> None:
        """An attempt failed: the call is not in flight."""


class Dispatcher(Protocol):
    """Gets calls answered. Retries, waiting and limits live here, not in providers."""

    @property
    def window(self) -> int:
        """How many samples should be in progress to keep this dispatcher busy."""
        ...

    @property
    def ready_at(self) -> float | None:
        """Since when calls can be answered, on the monotonic clock; None while a model loads."""

    async def answer(self, call: Call, key: str, before_send: SendLog) -> Reply:
        """The final reply to one call, after any retries.

        Args:
            call: the call to answer.
            key: unique within the engine; equal keys are the same call.
            before_send: awaited once, just before the call is first sent, and notified of
                the other attempts.

        Returns:
            A reply; its outcome is ``error`` if this call cannot be answered.

        Raises:
            RunFatal: no call of the run can be answered.
        """
        ...

    def halt(self) -> None:
        """Send nothing more: calls that are not in flight raise :class:`Halted`."""

    def set_concurrency(self, calls: int | None) -> None:
        """Change the number of calls in flight, live; None for adaptive."""

    def gauges(self) -> Gauges:
        """Numbers for display: in flight, waiting, memory and so on."""
        ...

    async def close(self) -> None:
        """Release all resources. Calls still in flight are cut off."""


class ReplySink(Protocol):
    """The driver as seen by a dispatcher that delivers replies later, unprompted."""

    def preload(self, samples: Iterable[SampleCalls]) -> None:
        """Receive journal data of samples, just before replies to their calls arrive."""

    def arrived(self, call: CallRow, role: str, reply: Reply) -> None:
        """A reply is in the journal; its sample can continue."""

    def page_arrived(self) -> None:
        """A page of replies arrived: their samples can be worked on before the next one is read."""

    def resume_sample(self, row: int, epoch: int) -> None:
        """A call of this sample left its batch without a reply: let the sample ask again."""

    def give_up(self, error: EvalbenchError) -> None:
        """Nothing more can be answered."""


class ParkingDispatcher(ABC):
    """Adds to a dispatcher that answers calls later, independently of the asking task."""

    @abstractmethod
    def begin(self, sink: ReplySink) -> None:
        """Take over what earlier engines left."""

    @abstractmethod
    async def park(
        self, call: Call, ident: int, intend: Callable[[], Awaitable[None]]
    ) -> Reply | None:
        """Accept a call to be answered later.

        Args:
            call: the call to answer.
            ident: its number in the journal.
            intend: awaited once, when the call has been accepted; it writes it to the journal.

        Returns:
            None if it should be answered now, by ``answer``; a reply of outcome ``error`` if
            it cannot be asked at all.

        Raises:
            Parked: its reply will come; always raised for a call that is already pending.
            Halted: the run is stopping.
        """

    @abstractmethod
    def close_collection(self) -> None:
        """No more calls will come until the accepted ones are answered."""

    @property
    @abstractmethod
    def outstanding(self) -> int:
        """Number of accepted calls that have no reply yet."""

    @abstractmethod
    def unfetched(self) -> Unfetched | None:
        """Accepted calls whose replies have been given up on for now; None if there are none."""

    @property
    @abstractmethod
    def at_rest(self) -> bool:
        """Whether an engine that does not wait has nothing more to do here."""


class Parked(BaseException):
    """The call is pending in a batch: its sample leaves memory until the reply arrives.

    A BaseException, so that no ``except Exception`` in a benchmark swallows it.
    """


class Halted(BaseException):
    """The run is stopping: this call was not sent.

    A BaseException, so that no ``except Exception`` in a benchmark swallows it.
    """


class BudgetSpent(Halted):
    """The budget is reached: this call was not sent, and nothing else is in flight."""


def failed_reply(error: ProviderError, attempts: int, possible_cost: Decimal = ZERO) -> Reply:
    """The reply recorded for a call that could not be answered."""
    return Reply(
        outcome=Outcome.ERROR,
        error=f"{type(error).__name__}: {error}",
        possibly_billed=error.possibly_billed,
        possible_cost=possible_cost,
        attempts=attempts,
        raw={"status": error.status, "body": error.body} if error.status or error.body else None,
    )
