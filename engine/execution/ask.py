"""The ``ask`` that a benchmark's ``solve`` is given: the journal first, then a dispatcher.

This is what makes runs durable. With a dispatcher behind it, it runs a benchmark; after a
crash the same code resumes one; with nothing behind it (:class:`ReplayOnly`) it re-scores at
no cost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from evalbench.engine.benchmark import Asked, CallFailed, Sample, repeat_of
from evalbench.engine.calls import Call, MediaPart, ModelRef, Outcome, Prompt, Reply
from evalbench.engine.compat import override
from evalbench.engine.config.roles import CANDIDATE
from evalbench.engine.dispatch.base import (
    BudgetSpent,
    Dispatcher,
    Halted,
    Parked,
    ParkingDispatcher,
    SendLog,
)
from evalbench.engine.errors import EvalbenchError
from evalbench.engine.journal import CallKey, CallRow, Journal
from evalbench.engine.journal.codec import quotable

if TYPE_CHECKING:
    from evalbench.engine.execution.reuse import EarlierReplies

_EPOCHS_MOST = 1000
_EPOCHS_APART = 1_000_000
"""Large, because the seeds that a benchmark gives its own calls are close together."""

Known = Mapping[CallKey, CallRow]
"""The newest re-ask of every call that the journal has for a sample."""


class MediaGone(Exception):
    """A prompt's media bytes are gone: it can be matched against the journal but not sent."""


class AskedTwice(EvalbenchError):
    """A benchmark used a call name twice in one sample, or named an unknown role."""


class MissingReply(BaseException):
    """A replay reached a call that the journal does not answer."""


@dataclass(frozen=True, slots=True)
class BoundModel:
    """A role bound to a model, with its dispatcher and parameter overrides."""

    model: ModelRef
    dispatcher: Dispatcher
    overrides: Mapping[str, object]


def call_key(epoch: int, role: str, model: ModelRef, step: str, repeat: int) -> CallKey:
    """The key of a call. For ``judge/MODEL`` the role is ``judge``: the key has the model."""
    return CallKey(epoch, role.partition("/")[0], str(model), step, repeat)


def newest(rows: Sequence[CallRow]) -> dict[CallKey, CallRow]:
    """The newest re-ask of every call."""
    latest: dict[CallKey, CallRow] = {}
    for row in rows:
        known = latest.get(row.key)
        if known is None or row.reask > known.reask:
            latest[row.key] = row
    return latest


def bind(
    prompt: Prompt,
    model: ModelRef,
    overrides: Mapping[str, object],
    *,
    epoch: int = 0,
    repeat: int = 0,
) -> Call:
    """Bind a prompt to a model, with the run's parameters taking precedence.

    Args:
        prompt: the benchmark's prompt.
        model: the model to ask.
        overrides: fields of :class:`Params`, and ``thinking_room``: tokens added
            to the benchmark's own cap, which covers the answer alone.
        epoch, repeat: of the call. If there is a seed, each gets its own, because the same
            seed would give the same answer again. Where the benchmark derives its calls'
            seeds from the run's seed, only the epoch is added.
    """
    own = prompt.params.seed
    if overrides and prompt.kind == "generate":
        changes = dict(overrides)
        room = changes.pop("thinking_room", 0)
        params = prompt.params
        if params.max_tokens and isinstance(room, int):
            params = replace(params, max_tokens=params.max_tokens + room)
        prompt = replace(prompt, params=params.override(**changes))
    seed = prompt.params.seed
    if own is not None:
        seed = own + epoch * _EPOCHS_APART
    elif seed is not None:
        seed += epoch + repeat * _EPOCHS_MOST
    if seed is not None and seed != prompt.params.seed:
        seed %= 2**31
        prompt = replace(prompt, params=replace(prompt.params, seed=seed))
    return Call(model, prompt)


@dataclass(frozen=True, slots=True)
class RunAsks:
    """State shared by all asks of a run.

    Attributes:
        journal: where calls and replies are stored.
        models: the model of each role.
        halted: whether the run is stopping.
        ask_again: outcomes of stored replies that are asked again.
        earlier: replies of earlier runs that may be reused; None for none.
        final: calls whose stored failure stands because it happened in this engine.
    """

    journal: Journal
    models: Mapping[str, BoundModel]
    halted: Callable[[], bool]
    ask_again: frozenset[Outcome]
    earlier: EarlierReplies | None = None
    final: set[int] = field(default_factory=set)


class SampleAsk:
    """``ask`` for one sample in one epoch. See :class:`evalbench.engine.benchmark.Ask`."""

    def __init__(
        self,
        run: RunAsks,
        row: int,
        epoch: int,
        *,
        sample: Sample,
        known: Known,
        count: Callable[[str, Reply], None],
        count_stored: Callable[[str, Reply], None] | None = None,
    ) -> None:
        """Set up asking for one sample.

        Args:
            run: the shared state.
            row: the sample's row number.
            epoch: zero-based.
            sample: the sample itself.
            known: what the journal has for this sample.
            count: called with the role and the reply of every call that was answered now.
            count_stored: the same for every reply that the journal had.
        """
        self._run = run
        self._row = row
        self._epoch = epoch
        self._sample = sample
        self._quotes: Sequence[str] | None = None
        self._known = known
        self._count = count
        self._count_stored = count_stored
        self._asked: set[CallKey] = set()

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        """Take the answer from the journal, or ask."""
        part = self._run.models.get(role)
        if part is None:
            raise AskedTwice(f"the benchmark asks a role {role!r} that this run does not have")
        key = call_key(self._epoch, role, part.model, step, repeat)
        if key in self._asked:
            raise AskedTwice(
                f"the benchmark asks {role!r} twice in step {step!r} of one sample",
                hint="give every call of solve() its own step or repeat",
            )
        self._asked.add(key)
        call = bind(prompt, part.model, part.overrides, epoch=self._epoch, repeat=repeat)
        digest = call.content_hash
        reask = 0
        if known := self._known.get(key):
            same = known.content_hash == digest
            if known.reply is not None:
                run = self._run
                stands = known.reply.outcome not in run.ask_again or known.id in run.final
                if same and stands:
                    if self._count_stored is not None:
                        self._count_stored(role, known.reply)
                    return _answered(known.reply)
                reask = known.reask + 1
            else:
                reask = known.reask if same else known.reask + 1
        if self._run.halted():
            raise Halted
        for message in prompt.messages:
            for part_of_it in message.parts:
                if isinstance(part_of_it, MediaPart) and not part_of_it.data:
                    raise MediaGone(
                        "this sample's images are no longer in the media cache; run `evalbench "
                        "data fetch BENCHMARK --again`, then resume"
                    )
        return await self._send(role, part, key, reask, call, digest)

    async def _send(
        self, role: str, part: BoundModel, key: CallKey, reask: int, call: Call, digest: bytes
    ) -> Reply:
        journal, earlier = self._run.journal, self._run.earlier
        ident = journal.call_id(self._row, key, reask)
        if self._quotes is None:
            # Not needed while the journal has all answers.
            self._quotes = quotable(self._sample)
        intend = partial(journal.intend, self._row, key, reask, call, digest, self._quotes)
        # A call that failed in this engine, or is to be asked again, is sent.
        if earlier and key not in self._known:
            reply = await earlier.take(role, key, digest)
            if reply is not None:
                # Both in one turn of the loop, so that the call is never recorded as being sent.
                intend()
                await journal.store_reply(self._row, key, reask, reply)
                self._count(role, reply)
                return _answered(reply)
        try:
            reply = await self._reply(part, key, reask, call, ident, intend)
        finally:
            if earlier:
                earlier.asked(role)
        reply = journal.store_any_reply(self._row, key, reask, reply)
        await journal.committed()
        if reply.outcome is Outcome.ERROR:
            self._run.final.add(ident)
        self._count(role, reply)
        return _answered(reply)

    async def _reply(
        self,
        part: BoundModel,
        key: CallKey,
        reask: int,
        call: Call,
        ident: int,
        intend: Callable[[], Awaitable[None]],
    ) -> Reply:
        """The reply to a call that has to be sent."""
        if isinstance(part.dispatcher, ParkingDispatcher):
            reply = await part.dispatcher.park(call, ident, intend)
            if reply is not None:
                return reply
        name = f"{self._row}/{key.epoch}/{key.role}/{key.step}/{key.repeat}/{reask}"
        if key.role != CANDIDATE:
            name += f"/{key.model}"
        log = _JournalSendLog(self._run.journal, ident, intend, self._run.halted)
        return await part.dispatcher.answer(call, name, log)

    async def many(self, asks: Sequence[Asked]) -> list[Reply]:
        """Ask independent questions concurrently; replies in order.

        All are completed even if one fails, so that nothing paid for is thrown away. Of several
        failures the one with the widest effect is raised: the run, then the halt, then the wait
        for a batch, then this sample.
        """
        results = await asyncio.gather(
            *(self(*named[:2], step=named[2], repeat=repeat_of(named)) for named in asks),
            return_exceptions=True,
        )
        return _all_replies(results)


def _all_replies(results: Sequence[Reply | BaseException]) -> list[Reply]:
    """The replies to calls that were sent together.

    Raises:
        BaseException: the failure with the widest effect; a failed call carries all replies.
    """
    if failures := [result for result in results if isinstance(result, BaseException)]:
        worst = min(failures, key=_reach)
        if isinstance(worst, CallFailed):
            replies = [one.reply if isinstance(one, CallFailed) else one for one in results]
            raise CallFailed(worst.reply, [one for one in replies if isinstance(one, Reply)])
        raise worst
    return [result for result in results if isinstance(result, Reply)]


class _JournalSendLog(SendLog):
    """Records in the journal whether a call is in flight, and the cost of earlier attempts."""

    __slots__ = ("_billed", "_halted", "_ident", "_intend", "_intended", "_journal")

    def __init__(
        self,
        journal: Journal,
        ident: int,
        intend: Callable[[], Awaitable[None]],
        halted: Callable[[], bool],
    ) -> None:
        self._journal = journal
        self._ident = ident
        self._intend = intend
        self._halted = halted
        self._intended = False
        self._billed = 0

    @override
    async def __call__(self) -> None:
        if self._halted():
            raise Halted
        self._intended = True
        await self._intend()

    @override
    async def again(self) -> None:
        await self._journal.put_attempts(self._ident, self._billed, in_flight=True)

    @override
    def ended(self, *, possibly_billed: bool) -> None:
        if self._intended:
            self._billed += possibly_billed
            self._journal.put_attempts(self._ident, self._billed, in_flight=False)


def _reach(failure: BaseException) -> int:
    if isinstance(failure, CallFailed):
        return _OF_ONE_CALL
    kinds = (EvalbenchError, MissingReply, BudgetSpent, Halted, Parked, BaseException)
    return next(n for n, kind in enumerate(kinds) if isinstance(failure, kind))


_OF_ONE_CALL = 100


def _answered(reply: Reply) -> Reply:
    if reply.outcome is Outcome.ERROR:
        raise CallFailed(reply)
    return reply


class ReplayOnly:
    """An ``ask`` that only reads the journal: for re-scoring and for counting changes.

    With ``trusting``, a reply counts for the call of its name whatever was asked: imported
    runs were asked with other prompts.

    Attributes:
        used: keys whose stored reply still matches.
        changed: whether a stored reply belongs to a different question than the one asked now.
    """

    def __init__(
        self,
        known: Known,
        epoch: int,
        models: Mapping[str, tuple[ModelRef, Mapping[str, object]]],
        *,
        trusting: bool = False,
    ) -> None:
        self._known = known
        self._epoch = epoch
        self._models = models
        self._trusting = trusting
        self.used: set[CallKey] = set()
        self.changed = False

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        """The stored reply; raises :class:`MissingReply` if there is none."""
        model, overrides = self._models[role]
        key = call_key(self._epoch, role, model, step, repeat)
        known = self._known.get(key)
        call = bind(prompt, model, overrides, epoch=self._epoch, repeat=repeat)
        same = known is None or self._trusting or known.content_hash == call.content_hash
        if not same:
            self.changed = True
            raise MissingReply
        if known is None or known.reply is None:
            raise MissingReply
        self.used.add(key)
        return _answered(known.reply)

    async def many(self, asks: Sequence[Asked]) -> list[Reply]:
        """Stored replies, in order."""
        results = await asyncio.gather(
            *(self(*named[:2], step=named[2], repeat=repeat_of(named)) for named in asks),
            return_exceptions=True,
        )
        return _all_replies(results)
