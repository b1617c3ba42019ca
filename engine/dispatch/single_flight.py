"""One call writes a provider's prompt cache, then the others read it.

A cached prefix can be read once the answer that wrote it has begun. Calls that
leave side by side all pay for writing it, which is dearer than plain input; so
the first call with a long shared prefix goes alone, and those with the same
prefix wait for its reply. Nobody waits long, and nobody waits for a call that
has failed: the next one takes its place.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from evalbench.engine.calls import Call, Capabilities
from evalbench.engine.calls.prefixes import prefix_name, shared_prefix, unshared

LONGEST_S = 20.0
"""An answer that has not come after so long has begun at least, in all likelihood."""
_MARGIN = 0.8
"""Part of a cache's stated life after which it is taken as gone."""
_MOST_NAMES = 4096


@dataclass(slots=True)
class _Prefix:
    """One prefix.

    Attributes:
        seen: calls that came with it.
        warm_until: when it is taken as gone from the cache.
        left: when the first of the calls that were to write it left; None before that.
        leading: set while a call that writes it is under way.
        ended: set when that call has ended, one way or the other.
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
        """The call's prefix, if it is worth caching; empty if not."""
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
        """Hold back a call until its prefix is cached, or it is the one to write it."""
        state = self._state(name)
        leads = await self._wait(state)
        turn = Flight(call, state, self._of(call.model.name)[1] * _MARGIN, leads=leads)
        try:
            if leads:
                # Calls that come in the same moment are to be seen before it leaves.
                await asyncio.sleep(0)
            yield turn
        finally:
            turn.end()

    def _state(self, name: str) -> _Prefix:
        state = self._states.get(name)
        if state is None:
            if len(self._states) >= _MOST_NAMES:
                # A benchmark whose samples share nothing after all.
                self._states = {n: s for n, s in self._states.items() if s.leading or s.waiting}
            state = self._states[name] = _Prefix()
        return state

    async def _wait(self, state: _Prefix) -> bool:
        """Returns whether this call is to write the cache."""
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
        """Hold nobody back any more."""
        self._halted = True
        for state in self._states.values():
            state.ended.set()


class Flight:
    """A call that is allowed to leave."""

    def __init__(self, call: Call, state: _Prefix, life_s: float, *, leads: bool) -> None:
        self._call = call
        self._state = state
        self._life_s = life_s
        self._leads = leads
        self._alone = False

    def leaves(self) -> Call:
        """The call is about to leave; how it is to be sent.

        A call that is the only one of its prefix so far is sent as if nothing
        were shared: what nobody reads must not be written.
        """
        state = self._state
        if self._leads and state.seen == 1:
            # Whoever comes next need not wait for it.
            self.end()
            self._alone = True
            return unshared(self._call)
        if self._leads and state.left is None:
            state.left = asyncio.get_running_loop().time()
        return self._call

    def answered(self) -> None:
        """The call was answered: what it wrote or read is in the cache from now on."""
        if not self._alone:
            self._state.warm_until = asyncio.get_running_loop().time() + self._life_s
            self._state.left = None

    def end(self) -> None:
        """The call has ended: if others waited for it, one of them goes next."""
        if self._leads:
            self._leads = False
            self._state.leading = False
            self._state.ended.set()
