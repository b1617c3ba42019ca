"""Shared code of batch providers: lines, learning from refusals, bounded requests.

See :class:`evalbench.engine.calls.BatchApi` for the interface. A line holds exactly the body
of the corresponding realtime request, and a result is read like a realtime answer.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar

from evalbench.engine.calls import BatchApi, BatchJob, Call, Reply, ResultLine
from evalbench.engine.compat import override
from evalbench.engine.errors import (
    CallRejected,
    ContextTooLong,
    DeadlineExceeded,
    NoSuchModel,
    ProviderError,
    RunFatal,
    ServerFault,
    TransientError,
)
from evalbench.providers.modelfacts import NOTHING
from evalbench.providers.modelfacts.refusals import blamed
from evalbench.providers.wire.body import ReadBody, keyless, parsed, reply_of
from evalbench.providers.wire.exchange import Answered, Arrival, Prepared
from evalbench.providers.wire.failures import ErrorResponse, build, error_response, not_an_api
from evalbench.providers.wire.headers import server_date
from evalbench.providers.wire.lenient import decode, encode
from evalbench.providers.wire.provider import NetworkProvider
from evalbench.providers.wire.reply_scrubbing import LONGEST_ID
from evalbench.providers.wire.streams import cannot_write

CLOCKS_S = 60.0
"""Assumed maximum difference between the provider's and this machine's clock, if unknown."""
_SHOWN = 2_000


class WireBatches(BatchApi):
    """Base class of the batches of network providers.

    Attributes:
        provider: makes and sends requests, and reads answers.
        item_field: the field of a result line with its item's id.
    """

    item_field: ClassVar[str] = "custom_id"

    def __init__(self, provider: NetworkProvider) -> None:
        self.provider = provider
        self.title, self.scrub = provider.title, provider.scrub

    @abstractmethod
    def write_line(self, prepared: Prepared, item: str) -> bytes:
        """A request as a line of the request file."""

    @abstractmethod
    def read_result(self, result: dict[str, Any], call: Call) -> Reply:
        """A parsed result line as a reply; raises as :meth:`reply`."""

    @abstractmethod
    def _trouble(self, answered: Answered, model: str, what: str) -> ProviderError:
        """The error for an unsuccessful answer; ``what`` was requested and may no longer exist."""

    @override
    def line(self, call: Call, item: str) -> bytes:
        return self.write_line(self.provider.prepare(call), item)

    @override
    def parse(self, line: bytes) -> ResultLine:
        # What is fetched is searched for the key as a file, see `without_key`. Lines of an odd form
        # are searched again: in another encoding the key consists of other bytes.
        content, notes = decode(line)
        if notes:
            content, notes = keyless(line, self.scrub)
        if not isinstance(content, dict):
            raise ValueError("the line is not a JSON object")
        item = content.get(self.item_field)
        if not isinstance(item, str):
            raise ValueError(f"the line has no {self.item_field}")
        return ResultLine(item, content, notes)

    @override
    def reply(self, result: ResultLine, call: Call) -> Reply:
        try:
            reply = self.scrub.reply(self.read_result(result.content, call))
        except ProviderError as error:
            self.scrub.error(error)
            if isinstance(error, CallRejected | NoSuchModel):
                raise self._unless_learned(error, call) from None
            if isinstance(error, RunFatal):
                # The line came through the API, so the address is correct.
                self.provider.spoke = True
                raise self.provider.if_it_spoke(error) from None
            raise
        return replace(reply, notes=reply.notes + result.notes) if result.notes else reply

    def broken_line(self, result: Mapping[str, Any]) -> ProviderError:
        """A line that cannot be interpreted."""
        return ServerFault(
            f"{self.title} sent a result that cannot be read",
            why="it holds neither answer nor error",
            possibly_billed=True,
            body=self.scrub.text(encode(result).decode(), _SHOWN),
        )

    def read_body(
        self, body: Mapping[str, Any], request_id: object, call: Call, read: ReadBody
    ) -> Reply:
        """A successful answer in a line as a reply.

        Raises:
            ProviderError: it contains no answer.
        """
        return reply_of(
            body,
            Arrival(
                str(request_id)[:LONGEST_ID],
                params=self.provider.notes(call),
            ),
            self.provider.who,
            read,
            lambda: error_response(Answered(200, {}, encode(body)), self.scrub, None, ""),
        )

    def read_error_line(
        self, status: int, body: object, call: Call, headers: Mapping[str, str]
    ) -> Reply:
        """Interpret an error in a line, like an error of a realtime request.

        Returns:
            The outcome that the error stands for, if it is one.

        Raises:
            ProviderError: otherwise. Requests that fail within a batch are not billed.
        """
        prepared = self.provider.prepare(call)
        try:
            return self.provider.read(Answered(status, headers, encode(body)), prepared)
        except ProviderError as error:
            error.possibly_billed = False
            raise

    def _unless_learned(self, error: ProviderError, call: Call) -> ProviderError:
        """The error, or a retry of the call without the parameter that the error blames.

        All lines of a batch get the same refusal; it is learned from the first.
        """
        if error.status not in (400, 422) or isinstance(error, ContextTooLong):
            return error
        fresh, now = self.provider.prepared(call, NOTHING), self.provider.prepare(call)
        model = now.model
        sent = dict.fromkeys((*fresh.negotiable, *now.negotiable))
        found = blamed(sent, error.param, error.why)
        if found is None:
            return error
        one, value_only = found
        if one in now.negotiable:
            self.provider.refusals.learn(model, one, error.why, value_only=value_only)
            if one in self.provider.prepare(call).negotiable:
                return error
        return TransientError(
            f"{self.title} refuses {one.field} of {model!r}; the next request goes without it",
            why=error.why,
            status=error.status,
            body=error.body,
            request_id=error.request_id,
        )

    async def within(self, request: Awaitable[Answered]) -> Answered:
        """Await a request about a batch, with the timeout of a single answer.

        Raises:
            DeadlineExceeded: the timeout expired.
        """
        limit_s = self.provider.timeout
        return await self.provider.within(request, "about a batch", limit_s, possibly_billed=True)

    def understood(
        self, answered: Answered, trouble: Callable[[], ProviderError]
    ) -> dict[str, Any]:
        """The body of a successful answer to a request about batches.

        Args:
            answered: the response.
            trouble: gives the error for any other answer.

        Raises:
            ProviderError: that error, or the body cannot be read.
        """
        if answered.status not in (200, 201):
            raise self.provider.if_it_spoke(trouble())
        body = parsed(answered, self.provider.who, self.scrub)
        self.provider.spoke = True
        return body

    def _object(self, answered: Answered, model: str = "", what: str = "") -> dict[str, Any]:
        """The body of a successful answer; raises the error of any other answer."""
        return self.understood(answered, lambda: self._trouble(answered, model, what))

    @staticmethod
    def as_of(job: BatchJob, answered: Answered) -> BatchJob:
        """A job with the time of the report that it was read from."""
        return replace(job, reported=server_date(answered.headers))

    def _unclear(self) -> ProviderError:
        return ServerFault(f"what {self.title} says of a batch cannot be read")

    def gone(self, response: ErrorResponse, what: str) -> ProviderError:
        """A 404 about a batch: it does not exist, unless the 404 did not come from the API."""
        if not response.known:
            return self.provider.if_it_spoke(not_an_api(response, self.provider.who))
        return build(CallRejected, f"{self.title} has {what} no longer", response)


Fetch = Callable[[Any, BatchJob, Path], Awaitable[None]]


def without_key(fetch: Fetch) -> Fetch:
    """A ``fetch`` that removes the key from what it has written, even on failure.

    Raises:
        RunFatal: in addition, if the file cannot be rewritten.
    """

    @wraps(fetch)
    async def fetched(self: WireBatches, job: BatchJob, into: Path) -> None:
        try:
            await fetch(self, job, into)
        finally:
            try:
                await asyncio.to_thread(self.scrub.file, into)
            except OSError as error:
                raise cannot_write(into, error) from None

    return fetched


def expired(title: str, *, cancelled: bool) -> ProviderError:
    """The batch ended before the call was processed."""
    why = "the batch was cancelled" if cancelled else "the batch ran out of time"
    return DeadlineExceeded(f"{title} ended the batch before this call had its turn", why=why)


def entries(
    page: Mapping[str, Any], unclear: Callable[[], ProviderError]
) -> Sequence[Mapping[str, Any]]:
    """The objects on one page of a list.

    Raises:
        ProviderError: ``unclear``, if it is not such a page.
    """
    listed = page.get("data")
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise unclear()
    return listed
