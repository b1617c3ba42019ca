"""What providers that take batches do alike: lines, what refusals teach, bounded requests.

See :class:`evalbench.engine.calls.BatchProvider` for what is expected of them.
A line holds the very body that the call would have had by itself, and a result
is read as an answer at once would be.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, Literal

from evalbench.engine.calls import BatchJob, BatchProvider, BatchTerms, Call, ParamNote, Reply
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
from evalbench.providers.modelfacts import NOTHING, ModelFacts, Refused
from evalbench.providers.modelfacts.refusals import blamed
from evalbench.providers.wire.body import ReadBody, keyless, parsed, reply_of
from evalbench.providers.wire.exchange import Answered, Arrival, Prepared
from evalbench.providers.wire.failures import ErrorResponse, build, error_response, not_an_api
from evalbench.providers.wire.lenient import encode
from evalbench.providers.wire.negotiation import Terms
from evalbench.providers.wire.provider import NetworkProvider, wire_name
from evalbench.providers.wire.streams import cannot_write

CLOCKS_S = 60.0
"""By how much the clocks of provider and machine may differ when nothing tells the difference."""
_SHOWN = 2_000


class BatchingProvider(NetworkProvider, BatchProvider):
    """Base of the providers that also take batches."""

    item_field = "custom_id"
    """The field of a result line that names its item."""
    _last: tuple[bytes, dict[str, Any], tuple[str, ...]] = (b"", {}, ())

    @classmethod
    @override
    def batches(cls) -> Literal["yes", "no", "tried"]:
        return "yes"

    @abstractmethod
    def prepared(self, call: Call, refused: Refused) -> Prepared:
        """The request for a call to a model that refuses some things; touches no network.

        Raises:
            CallRejected: when the call cannot be put in this provider's terms.
        """

    @abstractmethod
    def agreed(self, call: Call, facts: ModelFacts, refused: Refused) -> Terms:
        """What the parameters of a call become; worked out once for calls that are alike."""

    @abstractmethod
    def write_line(self, prepared: Prepared, item: str) -> bytes:
        """A request as a line of the request file."""

    @abstractmethod
    def read_result(self, result: dict[str, Any], call: Call) -> Reply:
        """A parsed result line as a reply; raises as ``batch_reply``."""

    @abstractmethod
    @override
    def batch_terms(self, model: str) -> BatchTerms | None:
        """Has to be given by the provider."""

    @abstractmethod
    def _trouble(self, answered: Answered, model: str, what: str) -> ProviderError:
        """What an answer that is no success means; ``what`` was asked for and may be gone."""

    def notes(self, call: Call) -> tuple[ParamNote, ...]:
        """What becomes of each requested parameter; quick, for it is asked for every result."""
        model = wire_name(call)
        return self.agreed(call, self.facts.of(model), self.refusals.of(model)).notes

    @override
    def prepare(self, call: Call) -> Prepared:
        return self.prepared(call, self.refusals.of(wire_name(call)))

    @override
    def batch_line(self, call: Call, item: str) -> bytes:
        return self.write_line(self.prepare(call), item)

    @override
    def batch_item(self, line: bytes) -> str:
        item = self._parsed(line).get(self.item_field)
        if not isinstance(item, str):
            raise ValueError(f"the line has no {self.item_field}")
        return item

    @override
    def batch_reply(self, line: bytes, call: Call) -> Reply:
        try:
            result = self._parsed(line)
        except ValueError as error:
            raise self.broken_line(line, str(error)) from None
        try:
            with self.scrub.errors():
                return self.scrub.reply(self.read_result(result, call))
        except (CallRejected, NoSuchModel) as error:
            raise self._unless_learned(error, call) from None
        except RunFatal as error:
            # The line came through the API, so the address is right.
            self._spoke = True
            raise self._if_it_spoke(error) from None

    def _parsed(self, line: bytes) -> dict[str, Any]:
        """A line as an object, without the key.

        The item of a line is asked first and then its reply: the line is parsed once.

        Raises:
            ValueError: when it is not one.
        """
        last, value, _ = self._last
        if last is line:
            return value
        value, notes = keyless(line, self.scrub)
        if not isinstance(value, dict):
            raise ValueError("the line is not a JSON object")
        self._last = (line, value, notes)
        return value

    def broken_line(self, line: bytes, why: str) -> ProviderError:
        """A line of which nothing can be made."""
        return ServerFault(
            f"{self.title} sent a result that cannot be read",
            why=why,
            possibly_billed=True,
            body=self.scrub.text(line.decode("utf-8", "replace"), _SHOWN),
        )

    def read_body(
        self, body: Mapping[str, Any], request_id: object, call: Call, read: ReadBody
    ) -> Reply:
        """A good answer in a line as a reply.

        Raises:
            ProviderError: when there is no answer in it.
        """
        return reply_of(
            body,
            Arrival(self.scrub.identity(request_id), params=self.notes(call), notes=self._last[2]),
            self.who,
            read,
            lambda: error_response(Answered(200, {}, encode(body)), self.scrub, None, ""),
        )

    def read_error_line(
        self, status: int, body: object, call: Call, headers: Mapping[str, str]
    ) -> Reply:
        """What an error in a line means, by the reading of errors that came at once.

        Returns:
            The outcome that it is, when it is one.

        Raises:
            ProviderError: otherwise. Requests that fail within a batch are not billed.
        """
        prepared = self.prepare(call)
        try:
            return self.read(Answered(status, headers, encode(body)), prepared)
        except ProviderError as error:
            error.possibly_billed = False
            raise

    def _unless_learned(self, error: ProviderError, call: Call) -> ProviderError:
        """The error, or that the same call goes without the parameter that the error blames.

        All lines of a batch meet the same refusal; the first one teaches it.
        """
        if error.status not in (400, 422) or isinstance(error, ContextTooLong):
            return error
        fresh, now = self.prepared(call, NOTHING), self.prepare(call)
        model = now.model
        sent = dict.fromkeys((*fresh.negotiable, *now.negotiable))
        found = blamed(sent, error.param, error.why)
        if found is None:
            return error
        one, value_only = found
        if one in now.negotiable:
            self.refusals.learn(model, one, error.why, value_only=value_only)
            if one in self.prepare(call).negotiable:
                return error
        return TransientError(
            f"{self.title} refuses {one.field} of {model!r}; the next request goes without it",
            why=error.why,
            status=error.status,
            body=error.body,
            request_id=error.request_id,
        )

    async def within(self, request: Awaitable[Answered]) -> Answered:
        """Wait for a request about a batch, as long as for one answer at most.

        Raises:
            DeadlineExceeded: when that was too short.
        """
        try:
            async with asyncio.timeout(self.timeout) as deadline:
                return await request
        except TimeoutError:
            if not deadline.expired():
                raise
            raise DeadlineExceeded(
                f"{self.title} said nothing about a batch within {self.timeout:g} s",
                hint="raise --timeout",
                possibly_billed=True,
            ) from None

    def understood(
        self, answered: Answered, trouble: Callable[[], ProviderError]
    ) -> dict[str, Any]:
        """The body of a good answer to a request about batches.

        Args:
            answered: the response.
            trouble: what any other answer means.

        Raises:
            ProviderError: that trouble, or that the body cannot be read.
        """
        if answered.status not in (200, 201):
            raise self._if_it_spoke(trouble())
        body = parsed(answered, self.who, self.scrub)
        self._spoke = True
        return body

    def _object(self, answered: Answered, model: str = "", what: str = "") -> dict[str, Any]:
        """The body of a good answer; raises what any other answer means."""
        return self.understood(answered, lambda: self._trouble(answered, model, what))

    def _unclear(self) -> ProviderError:
        return ServerFault(f"what {self.title} says of a batch cannot be read")

    def gone(self, said: ErrorResponse, what: str) -> ProviderError:
        """A 404 about a batch: it is not there, unless it was not the API that said so."""
        if not said.known:
            return self._if_it_spoke(not_an_api(said, self.who))
        return build(CallRejected, f"{self.title} has {what} no longer", said)


Fetch = Callable[[Any, BatchJob, Path], Awaitable[None]]


def without_key(fetch: Fetch) -> Fetch:
    """A ``batch_fetch`` that takes the key out of what it has written, also where it fails.

    Raises:
        RunFatal: besides, when the file cannot be written anew.
    """

    @wraps(fetch)
    async def fetched(self: BatchingProvider, job: BatchJob, into: Path) -> None:
        try:
            await fetch(self, job, into)
        finally:
            try:
                await asyncio.to_thread(self.scrub.file, into)
            except OSError as error:
                raise cannot_write(into, error) from None

    return fetched


def expired(title: str, *, cancelled: bool) -> ProviderError:
    """The batch was over before a call had its turn."""
    why = "the batch was cancelled" if cancelled else "the batch ran out of time"
    return DeadlineExceeded(f"{title} ended the batch before this call had its turn", why=why)


def moment(text: object) -> float | None:
    """Unix seconds of an RFC 3339 moment; None when it is none."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None


def within(entry: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    """An object inside an object; empty where there is none."""
    value = entry.get(field)
    return value if isinstance(value, dict) else {}


def entries(
    page: Mapping[str, Any], unclear: Callable[[], ProviderError]
) -> Sequence[Mapping[str, Any]]:
    """The objects on a page of a list.

    Raises:
        ProviderError: ``unclear``, when it is no such page.
    """
    listed = page.get("data")
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise unclear()
    return listed
