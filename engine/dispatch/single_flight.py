"""Single flight: one call fills a provider's prompt cache, then the others read it.

A cached prefix can be read once the answer that wrote it has started. Calls sent side by side
all pay for writing it, which costs more than plain input; so the first call with a long
shared prefix goes alone, and the others with that prefix wait for its reply. No call waits
long, or for one that has failed: the next one takes its place.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from evalbench.engine.calls import Call, Capabilities
from evalbench.engine.calls.prefixes import prefix_name, shared_prefix, unshared

LONGEST_S = 20.0
"""Seconds after which an answer has almost certainly started."""
_MARGIN = 0.8
"""Fraction of a cache's stated lifetime after which it counts as expired."""
_MOST_NAMES = 4096


@dataclass(slots=True)
class _Prefix:
    """State of one prefix.

    Attributes:
        seen: number of calls that came with it.
        warm_until: when it counts as expired.
        left: when the first call that writes it was sent; None before that.
        leading: set while a call that writes it is in flight.
        ended: set when that call has ended, successfully or not.
    """

    seen: int = 0
    warm_until: float = float("-inf")
    left: float | None = None
    leading: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0


class SingleFlight:
    """Decides which calls go alone. For one provider, in one event loop."""

    def __init__(
        self, capabilities: Callable[[str], Capabilities], report: Callable[..., None]
    ) -> None:
        self.waiting = 0
        self._capabilities = capabilities
        self._report = report
        self._caching: dict[str, tuple[int, float]] = {}
        self._states: dict[str, _Prefix] = {}
        self._halted = False

    def name_of(self, call: Call) -> str:
        """The name of the call's prefix if it is worth caching, else empty."""
        least, _ = self._of(call.model.name)
        if not least:
            return ""
        messages = call.prompt.messages
        prefix = shared_prefix(messages)
        if prefix is None or prefix.tokens < least:
            return ""
        return prefix_name(call.model, messages, prefix)

    def _of(self, model: str) -> tuple[int, float]:
        caching = self._caching.get(model)
        if caching is None:
            able = self._capabilities(model)
            caching = self._caching[model] = able.cached_from, able.cached_for_s
        return caching

    @contextlib.asynccontextmanager
    async def turn(self, call: Call, name: str) -> AsyncIterator[Flight]:
        """Hold a call back until its prefix is cached or it is chosen to write it."""
        state = self._state(name)
        leads = await self._wait(state)
        turn = Flight(call, state, self._of(call.model.name)[1] * _MARGIN, leads=leads)
        try:
            if leads:
                # Calls made at the same moment must be counted before it is sent.
                await asyncio.sleep(0)
            yield turn
        finally:
            turn.end()

    def _state(self, name: str) -> _Prefix:
        state = self._states.get(name)
        if state is None:
            if len(self._states) >= _MOST_NAMES:
                # This benchmark's samples do not share a prefix after all.
                self._states = {n: s for n, s in self._states.items() if s.leading or s.waiting}
            state = self._states[name] = _Prefix()
        return state

    async def _wait(self, state: _Prefix) -> bool:
        """Wait; returns whether this call should write the cache."""
        clock = asyncio.get_running_loop().time
        state.seen += 1
        while not self._halted and clock() >= state.warm_until:
            if state.left is not None and clock() >= state.left + LONGEST_S:
                return False
            if not state.leading:
                state.leading = True
                state.ended.clear()
                return True
            await self._wait_a_while(state)
        return False

    async def _wait_a_while(self, state: _Prefix) -> None:
        if not state.waiting:
            self._report("wait", reason="Warming", what="the first call fills the prompt cache")
        state.waiting += 1
        self.waiting += 1
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(state.ended.wait(), LONGEST_S)
        finally:
            state.waiting -= 1
            self.waiting -= 1

    def halt(self) -> None:
        """Stop holding calls back."""
        self._halted = True
        for state in self._states.values():
            state.ended.set()


class Flight:
    """A call that may be sent."""

    def __init__(self, call: Call, state: _Prefix, life_s: float, *, leads: bool) -> None:
        self._call = call
        self._state = state
        self._life_s = life_s
        self._leads = leads
        self._alone = False

    def leaves(self) -> Call:
        """Mark the call as about to be sent; returns the call in the form to send.

        The only call of its prefix so far is sent as if nothing were shared: a cache that
        nothing reads should not be written.
        """
        state = self._state
        if self._leads and state.seen == 1:
            # Later calls need not wait for it.
            self.end()
            self._alone = True
            return unshared(self._call)
        if self._leads and state.left is None:
            state.left = asyncio.get_running_loop().time()
        return self._call

    def answered(self) -> None:
        """The call was answered: its prefix is in the cache from now on."""
        if not self._alone:
            self._state.warm_until = asyncio.get_running_loop().time() + self._life_s
            self._state.left = None

    def end(self) -> None:
        """The call has ended: if others waited for it, one of them goes next."""
        if self._leads:
            self._leads = False
            self._state.leading = False
            self._state.ended.set()
