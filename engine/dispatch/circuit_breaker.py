"""Circuit breaker: while a provider is down, one probe tests it and no call is charged.

When only refusals and failed connections come back, retrying every call would use up its
attempts within a minute, and then the run's samples one after another. So after five seconds
of that, all calls wait and one at a time is sent as a probe, less and less often: the end of an
outage is noticed within a fifth of its time. The first sign of life releases all. Attempts during
that time do not count.

A connection that is cut after its request had left may be the call's own fault, and is possibly
billed. So where several calls in a row are cut and nothing else comes back, calls wait in the same
way, and sooner; but their attempts count, so that no call is tried without end.
"""

from __future__ import annotations

import asyncio
import contextlib
import time

from evalbench.engine.calls import Call
from evalbench.engine.dispatch.base import Report
from evalbench.engine.dispatch.retry import LONGEST_OUTAGE_S, wait_too_long
from evalbench.engine.errors import (
    ConnectionFailed,
    DeadlineExceeded,
    Overloaded,
    ProviderError,
    RateLimited,
    RunFatal,
    ServerFault,
    local_time,
)

OPENS_AFTER_S = 5.0
"""Seconds of nothing but such failures that make an outage."""
CUT_CALLS, CUT_OPENS_AFTER, CUT_OPENS_AFTER_S = 3, 16, 1.0
"""Nothing but cut connections, of so many calls and so many times or seconds, is an outage too."""
FIRST_PROBE_S = 1.0
LONGEST_PROBE_WAIT_S = 60.0
_PROBE_SHARE = 0.2
"""Of the outage so far, until the next probe."""
LONGEST_S = LONGEST_OUTAGE_S
"""A longer outage ends the run; it can be resumed."""
_MOMENT_S = 0.001
UNREACHED_S = 6.0
"""A server never reached in this time ends the run: its address is probably wrong."""
_LONGEST_FIRST_KNOCK_S = 5.0

_GATEWAY_STATUSES = frozenset({502, 521, 522, 523})
"""Replies of a gateway that cannot reach the server behind it."""


def is_provider_down(error: ProviderError) -> bool:
    """Whether an error is about the provider's state rather than the call.

    A connection cut midway may be the call's own fault, and so may a server error or an
    exceeded deadline.
    """
    if isinstance(error, ConnectionFailed):
        return not error.possibly_billed
    if isinstance(error, ServerFault):
        return error.status in _GATEWAY_STATUSES
    return isinstance(error, Overloaded | RateLimited)


def never_connected(error: BaseException | None) -> bool:
    """Whether an error means that no connection to the server could be made."""
    return isinstance(error, ConnectionFailed) and not error.possibly_billed


class FirstContact:
    """Whether a server was reached since this engine started, and how long to keep trying.

    Attributes:
        made: whether it was reached.
        since: when the first attempt was about to be sent; None before.
    """

    def __init__(self, report: Report, wait_s: float | None = None) -> None:
        """``report`` receives the event that tells the user that a server was not reached.

        ``wait_s``: seconds during which failures do not end the run (None: :data:`UNREACHED_S`).
        """
        self._report = report
        self._wait_s = UNREACHED_S if wait_s is None else wait_s
        self.since: float | None = None
        self._reported = False
        self.made = False

    def begin(self) -> None:
        """The first attempt is about to be sent."""
        if self.since is None:
            self.since = _now()

    def missed(self, error: BaseException | None) -> bool:
        """Whether an attempt ended with the server still never reached."""
        return not self.made and never_connected(error)

    def left(self, error: ProviderError) -> float:
        """Seconds left to keep trying after an attempt that :meth:`missed`; the first is reported.

        Raises:
            RunFatal: it has been tried for long enough.
        """
        self.begin()
        assert self.since is not None
        left = self.since + self._wait_s - _now()
        if left > 0:
            if not self._reported:
                self._reported = True
                until = round(time.time() + left)
                self._report("server-unreached", what=error.what, why=error.why, until=until)
            return left
        wait = "it may still be starting: --wait-for-server 10m waits for it"
        raise RunFatal(
            error.what, why=error.why, hint=f"{error.hint}; {wait}" if error.hint else wait
        )


class CircuitBreaker:
    """What the calls to one model know about its provider's state.

    A server that was never reached does not count as down: its address may be wrong, which ends
    the run soon. One that refuses for load is up.
    """

    def __init__(self, report: Report, wait_s: float | None = None) -> None:
        """``report`` receives the events at the start and end of an outage.

        ``wait_s``: seconds to wait for a server that was never reached.
        """
        self._report = report
        self._contact = FirstContact(report, wait_s)
        self._answered = False
        self._since: float | None = None
        self._next: float | None = None
        self._first_wait = FIRST_PROBE_S
        self._probing = False
        self._cut: set[bytes] = set()
        self._cuts = 0
        self._changed = asyncio.Event()
        self.why = ""

    @property
    def on(self) -> bool:
        """Whether the provider is down, as far as known."""
        return self._next is not None

    def paused_for(self) -> float:
        """Seconds until the next attempt; 0 if the provider is not down."""
        return 0.0 if self._next is None else max(0.0, self._next - _now())

    def turn(self, call: Call, *, unless: asyncio.Event) -> Attempt:
        """One attempt at a call; entered when it may be sent.

        Once ``unless`` is set and :meth:`wake` was called, nothing waits any longer: entering then
        does not mean that the call may be sent.
        """
        return Attempt(self, call, unless)

    def wake(self) -> None:
        """Let all waiting calls check again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_for_permission(self, unless: asyncio.Event) -> bool:
        """Wait until a call may be sent; returns whether it is the probe."""
        while self._next is not None and not unless.is_set():
            wait = self._next - _now()
            if wait <= 0 and not self._probing:
                self._probing = True
                return True
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if self._probing else max(wait, _MOMENT_S)):
                    await self._changed.wait()
        return False

    def record_result(self, call: Call, error: BaseException | None, *, probe: bool) -> None:
        """Record that an attempt at a call has ended, with or without an error.

        Raises:
            RunFatal: the outage has lasted too long to keep waiting.
        """
        if probe:
            self._probing = False
        if error is None or (isinstance(error, ProviderError) and not _is_inconclusive(error)):
            self._close()
        elif self._contact.missed(error):
            assert isinstance(error, ProviderError)
            if probe or not self.on:
                self._unreached(error)
        elif isinstance(error, ProviderError) and is_provider_down(error):
            self._contact.made = True
            there = self._answered or isinstance(error, RateLimited | Overloaded)
            if there and (probe or not self.on):
                self._failed(error, OPENS_AFTER_S)
        elif isinstance(error, ConnectionFailed) and self._answered and (probe or not self.on):
            self._was_cut(call, error)
        elif probe:
            self.wake()

    def _unreached(self, error: ProviderError) -> None:
        left = self._contact.left(error)
        now = _now()
        if not self.on:
            self._since = now
            self.why = error.what
        self._next = now + min(self._first_wait, left)
        self._first_wait = min(_LONGEST_FIRST_KNOCK_S, 2 * self._first_wait)
        self.wake()

    def _close(self) -> None:
        self._answered = self._contact.made = True
        if self._since is None:
            return
        if self.on:
            self._report("provider-back", after_s=round(_now() - self._since, 1))
        self._since = self._next = None
        self._cut.clear()
        self._cuts = 0
        self.wake()

    def _was_cut(self, call: Call, error: ConnectionFailed) -> None:
        self._cut.add(call.content_hash)
        self._cuts += 1
        if self._since is None:
            self._since = _now()
        if self.on or len(self._cut) >= CUT_CALLS:
            self._failed(error, 0.0 if self._cuts >= CUT_OPENS_AFTER else CUT_OPENS_AFTER_S)

    def _failed(self, error: ProviderError, opens_after_s: float) -> None:
        now = _now()
        self._since = now if self._since is None else self._since
        if not self.on and now - self._since < opens_after_s:
            return
        usual = min(max(FIRST_PROBE_S, _PROBE_SHARE * (now - self._since)), LONGEST_PROBE_WAIT_S)
        pause = max(usual, error.retry_after or 0.0)
        left = self._since + LONGEST_S - now
        if pause > left:
            if pause == error.retry_after:
                raise wait_too_long(error)
            raise RunFatal(
                f"the provider did not respond for {LONGEST_S / 3600:g} hours",
                why=error.summary,
                hint="resume the run when the provider is back; what was answered is kept",
            )
        if not self.on:
            self.why = f"provider down: {error.what}; retrying until {local_time(left)}"
            until = round(time.time() + left)
            self._report("provider-down", reason=type(error).__name__, what=error.what, until=until)
        self._next = now + pause
        self.wake()


class Attempt:
    """One attempt, as a context manager."""

    __slots__ = ("_breaker", "_call", "_is_probe", "_unless")

    def __init__(self, breaker: CircuitBreaker, call: Call, unless: asyncio.Event) -> None:
        self._breaker = breaker
        self._call = call
        self._unless = unless
        self._is_probe = False

    async def __aenter__(self) -> bool:
        """Returns whether it waited until an outage was over."""
        breaker = self._breaker
        if breaker._contact.since is None:
            breaker._contact.begin()
        if breaker._next is None:
            return False
        self._is_probe = await breaker.wait_for_permission(self._unless)
        return not self._is_probe

    async def __aexit__(self, _kind: object, error: BaseException | None, _where: object) -> None:
        breaker = self._breaker
        if error is not None or breaker._since is not None or not breaker._answered:
            breaker.record_result(self._call, error, probe=self._is_probe)


def _is_inconclusive(error: ProviderError) -> bool:
    """Whether an error does not show if the provider is up."""
    cut = isinstance(error, ConnectionFailed | DeadlineExceeded)
    return cut or is_provider_down(error)


def _now() -> float:
    return asyncio.get_running_loop().time()
