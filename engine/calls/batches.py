"""Provider batches: what the engine expects of a provider that answers many calls later.

A batch is a file of requests, one line each, that a provider works off within
hours for less money. The engine writes the file, keeps the names and decides
on every step; a provider puts a call into a line, carries files and reads
lines. Nothing here waits or retries, and every method may be called again
after a crash.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from evalbench.engine.calls.messages import Call
from evalbench.engine.calls.provider import Provider
from evalbench.engine.calls.replies import Reply


class JobState(StrEnum):
    """What a provider says of a batch, in words that hold for all of them."""

    WAITING = "waiting"
    """Taken, but not begun: being validated, or in a queue."""
    RUNNING = "running"
    ENDED = "ended"
    """Every request has a result or an error."""
    EXPIRED = "expired"
    """Ended before all requests had their turn; the results there are can be fetched."""
    CANCELLED = "cancelled"
    """As EXPIRED, because somebody cancelled it."""
    FAILED = "failed"
    """Refused as a whole: nothing was done and nothing is billed."""

    @property
    def over(self) -> bool:
        """Whether it will not change any more."""
        return self not in (JobState.WAITING, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class BatchTerms:
    """What a provider takes in one batch.

    Attributes:
        most_requests: lines in one batch.
        most_bytes: of the request file.
        least_requests: below this the provider refuses the batch.
        most_tokens: input tokens that may wait in all batches of a model together;
            None: not limited, or not known.
        window_s: seconds after which the provider gives up on what is left.
        creates_per_minute: how often a batch may be made.
        made_once: making a batch again under its name makes no second one.
    """

    most_requests: int
    most_bytes: int
    least_requests: int = 1
    most_tokens: int | None = None
    window_s: float = 86_400.0
    creates_per_minute: float = 30.0
    made_once: bool = False


@dataclass(frozen=True, slots=True)
class BatchJob:
    """One batch as its provider tells of it.

    Attributes:
        id: the provider's name for it.
        state: see :class:`JobState`.
        name: the name that the engine gave it; empty where the provider keeps none.
        total, succeeded, failed: requests, where the provider counts them (some only at the end).
        withheld: how many were done although the provider gives no results of them.
        progress: the part of them that is done, from 0 to 1, where that is all that is told.
        why: what the provider says is wrong, in plain words.
        again: a FAILED batch would be taken later (its queue was full).
        expires: when the provider gives up, Unix seconds; None: not said.
        results: whatever :meth:`BatchProvider.batch_fetch` needs: file names, addresses. JSON.
    """

    id: str
    state: JobState
    name: str = ""
    total: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    withheld: int = 0
    progress: float | None = None
    why: str = ""
    again: bool = False
    expires: float | None = None
    results: Mapping[str, Any] = field(default_factory=dict)


class BatchProvider(Provider):
    """A provider that also takes batches. Raises only :class:`ProviderError` subclasses.

    ``name`` is the engine's name for one creation of a batch: 10 to 12
    characters ``[a-z0-9]``, unique. ``item`` names one request in it by up to 20
    such characters.
    """

    @abstractmethod
    def batch_terms(self, model: str) -> BatchTerms | None:
        """What one batch may hold; None where there are no batches. Touches no network."""

    @abstractmethod
    def batch_line(self, call: Call, item: str) -> bytes:
        """One line of the request file, without its line feed; touches no network.

        Raises:
            CallRejected: when the call cannot be put in this provider's terms.
        """

    @abstractmethod
    async def batch_upload(self, file: Path, name: str, model: str) -> dict[str, Any]:
        """Carry a request file to where the provider reads it.

        Returns:
            What :meth:`batch_create` needs to know of it, as JSON; empty where
            files travel with the creation. Doing it twice costs nothing.
        """

    @abstractmethod
    async def batch_create(
        self, file: Path, name: str, model: str, uploaded: Mapping[str, Any]
    ) -> BatchJob:
        """Make the batch. Called once for each name, unless :meth:`batch_find` found nothing."""

    @abstractmethod
    async def batch_find(
        self, name: str, model: str, uploaded: Mapping[str, Any], *, requests: int, since: float
    ) -> Sequence[BatchJob]:
        """Batches that a creation may have made whose answer was lost.

        Args:
            name, model, uploaded: as they were given to :meth:`batch_create`.
            requests: how many there are in the batch.
            since: Unix seconds shortly before the creation.

        Returns:
            The batch with this name. Where the provider keeps no names: those
            made since then with as many requests (or whose number is not told), on all
            pages of its list; the engine looks at their results before it believes one.
        """

    @abstractmethod
    async def batch_poll(self, job: str, model: str) -> BatchJob:
        """How a batch is doing.

        Raises:
            CallRejected: when there is no such batch any more.
        """

    @abstractmethod
    def batch_fetch(self, job: BatchJob, into: Path) -> Awaitable[None]:
        """Write every result line there is, good ones and errors, as the provider sent them.

        Streams: a result file may be larger than memory. ``into`` may hold what an earlier
        try left.

        Raises:
            CallRejected: when the provider says that they are not there. It may be wrong:
                the engine asks again, for minutes.
        """

    @abstractmethod
    def batch_item(self, line: bytes) -> str:
        """The item that a result line answers.

        Raises:
            ValueError: when the line cannot be read.
        """

    @abstractmethod
    def batch_reply(self, line: bytes, call: Call) -> Reply:
        """A result line as the reply to its call.

        Raises:
            DeadlineExceeded: the batch ended (expired, cancelled) before its turn; not billed.
            TransientError: the provider failed at it; the same call may succeed. Also
                when it refused a parameter: that is remembered, so that the next line
                goes without it.
            CallRejected: asking again changes nothing.
            RunFatal: no call can succeed.
        """

    @abstractmethod
    async def batch_cancel(self, job: str, model: str) -> None:
        """Ask the provider to stop. What is done already is kept, and billed."""
