"""The batch interface: what the engine expects of a provider that answers many calls later.

A batch is a file of requests, one per line, that a provider processes within hours at a lower
price. The engine writes the file, tracks names and decides on every step; a provider turns a
call into a line, transfers files and reads lines. Nothing here waits or retries, and every
method may be called again after a crash.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from evalbench.engine.calls.messages import Call
from evalbench.engine.calls.replies import Reply


class JobState(StrEnum):
    """State of a batch, in terms common to all providers."""

    WAITING = "waiting"
    """Accepted but not started: being validated, or queued."""
    RUNNING = "running"
    ENDED = "ended"
    """Every request has a result or an error."""
    EXPIRED = "expired"
    """Ended before every request was processed; existing results can be fetched."""
    CANCELLED = "cancelled"
    """Like EXPIRED, but because it was cancelled."""
    FAILED = "failed"
    """Refused as a whole: nothing was processed and nothing is billed."""

    @property
    def over(self) -> bool:
        """Whether the state is final."""
        return self not in (JobState.WAITING, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class BatchTerms:
    """What a provider accepts in one batch.

    Attributes:
        most_requests: maximum lines per batch.
        most_bytes: maximum size of the request file.
        least_requests: the provider refuses smaller batches.
        most_tokens: maximum input tokens pending in all batches of a model together; None
            if unlimited or unknown.
        window_s: seconds after which the provider gives up on the rest.
        creates_per_minute: how often batches may be created.
        made_once: whether creating a batch again under the same name makes no second one.
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
    """One batch as reported by its provider.

    Attributes:
        id: the provider's id for it.
        state: see :class:`JobState`.
        name: the name given by the engine; empty if the provider keeps none.
        total, succeeded, failed: requests, if the provider counts them (some only at the end).
        withheld: how many were processed although the provider returns no results for them.
        progress: fraction done, from 0 to 1, if nothing else is reported.
        why: the provider's description of the problem, in plain words.
        again: whether a FAILED batch would be accepted later (its queue was full).
        expires: when the provider gives up, in Unix seconds; None if not reported.
        created, reported: when it was created, and when this was reported, by the provider's
            clock in Unix seconds; None if unknown. Not stored with a run.
        results: what :meth:`BatchApi.fetch` needs: file names, addresses. JSON.
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
    created: float | None = field(default=None, compare=False)
    reported: float | None = field(default=None, compare=False)


class ResultLine(NamedTuple):
    """A parsed line of results.

    Attributes:
        item: the request that it answers.
        content: for the provider that parsed it.
        notes: oddities in the form of the line, and how it was read anyway.
    """

    item: str
    content: Any
    notes: tuple[str, ...] = ()


class BatchApi(ABC):
    """The batches of a provider, its :attr:`batch_api`.

    Raises only :class:`ProviderError` subclasses.

    ``name`` is the engine's name for one creation of a batch: 10 to 12 characters
    ``[a-z0-9]``, unique. ``item`` names one request in it, in up to 20 such characters.
    """

    @abstractmethod
    def terms(self, model: str) -> BatchTerms | None:
        """The limits of one batch; None if batches are not supported. Does not use the network."""

    @abstractmethod
    def line(self, call: Call, item: str) -> bytes:
        """One line of the request file, without its newline; does not use the network.

        Raises:
            CallRejected: the call cannot be expressed for this provider.
        """

    @abstractmethod
    async def upload(self, file: Path, name: str, model: str) -> dict[str, Any]:
        """Transfer a request file to where the provider reads it.

        Returns:
            What :meth:`create` needs to know about it, as JSON; empty if files are sent
            with the creation. Uploading twice costs nothing.
        """

    @abstractmethod
    async def create(
        self, file: Path, name: str, model: str, uploaded: Mapping[str, Any]
    ) -> BatchJob:
        """Create the batch. Called once per name, unless :meth:`find` found nothing."""

    @abstractmethod
    async def find(
        self, name: str, model: str, uploaded: Mapping[str, Any], *, requests: int, since: float
    ) -> Sequence[BatchJob]:
        """Find batches from a creation whose response was lost.

        Args:
            name, model, uploaded: as passed to :meth:`create`.
            requests: number of requests in the batch.
            since: Unix seconds shortly before the creation.

        Returns:
            The batch with this name. If the provider keeps no names: those created since then
            with the same number of requests (or an unknown number), from all pages of its list;
            the engine checks their results before it accepts one.
        """

    @abstractmethod
    async def poll(self, job: str, model: str) -> BatchJob:
        """The current state of a batch.

        Raises:
            CallRejected: the batch no longer exists.
        """

    @abstractmethod
    def fetch(self, job: BatchJob, into: Path, /) -> Awaitable[None]:
        """Write all result lines, successes and errors, as sent by the provider.

        Streams: a result file may be larger than memory. ``into`` may contain the remains of
        an earlier attempt.

        Raises:
            CallRejected: the provider reports that they do not exist. It may be wrong: the
                engine keeps asking, for minutes.
        """

    @abstractmethod
    def parse(self, line: bytes) -> ResultLine:
        """A line of results, parsed.

        Raises:
            ValueError: the line cannot be read.
        """

    @abstractmethod
    def reply(self, result: ResultLine, call: Call) -> Reply:
        """A result as a reply to its call.

        Raises:
            DeadlineExceeded: the batch ended (expired, cancelled) before its turn; not billed.
            TransientError: the provider failed; the same call may succeed. Also raised if it
                refused a parameter: that is remembered, so that the next line omits it.
            CallRejected: asking again would change nothing.
            RunFatal: no call can succeed.
        """

    @abstractmethod
    async def cancel(self, job: str, model: str) -> None:
        """Ask the provider to stop. Work already done is kept and billed."""
