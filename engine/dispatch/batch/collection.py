"""Collects calls into a batch that grows until it is full or no more calls come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from evalbench.engine.calls import Call
from evalbench.engine.cost.budget import Reservation
from evalbench.engine.cost.tokens import input_tokens, rules_of
from evalbench.engine.dispatch.batch.context import SHARE, BatchContext
from evalbench.engine.dispatch.batch.requests import RequestFile
from evalbench.engine.dispatch.batch.state import Batch, new_name

QUIET_S = 5.0
"""A batch closes after this many seconds without a call."""
_TICK_S = 0.001
"""How early a timer may fire because of clock rounding."""


class Collection:
    """Collects the calls of one role into successive batches.

    Attributes:
        next_id: the number of the next batch in the journal.
        accepted: number of calls taken in so far.
    """

    def __init__(
        self,
        context: BatchContext,
        size: int | None,
        *,
        role: str,
        model: str,
        closed: Callable[[Batch, RequestFile], None],
    ) -> None:
        """Set up collecting.

        Args:
            context: state shared by all batches of the role.
            size: maximum calls per batch; None for the provider's maximum.
            role: whose calls these are.
            model: the model's name at the provider.
            closed: takes over a closed batch, which may be empty.
        """
        terms = context.terms
        self._context = context
        self._role = role
        self._model = model
        self._closed = closed
        self._most = min(size or terms.most_requests, terms.most_requests)
        self._most_bytes = int(terms.most_bytes * SHARE)
        self.next_id = 1
        self.accepted = 0
        self._open: tuple[Batch, RequestFile] | None = None
        self._quiet: asyncio.TimerHandle | None = None
        self._last = 0.0

    @property
    def batch(self) -> Batch | None:
        """The open batch, if there is one."""
        return self._open[0] if self._open else None

    def take_in(self, call: Call, ident: int, reservation: Reservation) -> bool:
        """Write a call into the open batch, or the next; False if it is too large for any.

        Args:
            call: the call to add.
            ident: its number in the journal.
            reservation: the money reserved for it.

        Raises:
            CallRejected: the provider cannot take this call at all.
        """
        batch, file, line = self._line(call)
        if len(line) >= self._most_bytes:
            return False
        tokens = input_tokens(call.prompt, rules_of(call.model)).likely
        if self._full(batch, len(line), tokens):
            self.close()
            batch, file, line = self._line(call)
        assert batch.reservation
        batch.bytes += file.add(line)
        batch.calls.append(ident)
        batch.tokens += tokens
        self._context.journal.put_in_batch(ident, batch.id, batch.requests)
        batch.requests += 1
        self.accepted += 1
        self._context.meter.budget.merge(reservation, batch.reservation)
        self._context.pending.add(ident)
        self._last = asyncio.get_running_loop().time()
        if batch.requests == self._most:
            self.close()
        return True

    def close(self) -> None:
        """Close the open batch, if there is one, and hand it over."""
        if self._open:
            (batch, file), self._open = self._open, None
            self._closed(batch, file)

    def discard(self) -> Batch | None:
        """Stop collecting. Returns the batch that was open, without its file."""
        if self._quiet:
            self._quiet.cancel()
        if self._open is None:
            return None
        (batch, file), self._open = self._open, None
        file.discard()
        return batch

    def _line(self, call: Call) -> tuple[Batch, RequestFile, bytes]:
        """The open batch with its file, and a call as its next line."""
        batch, file = self._open or self._new()
        return batch, file, self._context.api.line(call, batch.item(batch.requests))

    def _full(self, batch: Batch, more: int, tokens: int) -> bool:
        if not batch.requests:
            return False
        if batch.bytes + more >= self._most_bytes:
            return True
        most = self._context.most_tokens
        return most is not None and batch.tokens + tokens > most

    def _new(self) -> tuple[Batch, RequestFile]:
        context = self._context
        batch = Batch(self.next_id, new_name(), self._role, self._model)
        self.next_id += 1
        batch.reservation = context.meter.of_batch()
        self._open = batch, RequestFile(context.folder / batch.requests_file)
        context.batches.append(batch)
        context.journal.put_batch(batch.row())
        self._wait_for_quiet()
        return self._open

    def _wait_for_quiet(self) -> None:
        """Close the open batch once no call has come for a while."""
        loop = asyncio.get_running_loop()

        def look() -> None:
            self._quiet = None
            if self._open is None:
                return
            if loop.time() >= self._last + QUIET_S - _TICK_S:
                self.close()
            else:
                self._quiet = loop.call_at(self._last + QUIET_S, look)

        self._last = loop.time()
        if self._quiet is None:
            self._quiet = loop.call_at(self._last + QUIET_S, look)
