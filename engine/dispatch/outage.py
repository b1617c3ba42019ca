"""A provider that answers nobody: one call knocks for all, and none is blamed for it.

While nothing but refusals and failed connections come back, to try every call
again and again would use up their tries in a minute, and then the run's samples,
one after the other. So after five seconds of that, all calls wait and one at a
time tries again, ever less often; the first sign of life lets all go on. Tries
in that time count for nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import time

from evalbench.engine.dispatch.base import Report
from evalbench.engine.dispatch.retry import LONGEST_OUTAGE_S, too_long_a_wait
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

PATIENCE_S = 5.0
"""Nothing but such failures for so long is an outage."""
FIRST_KNOCK_S = 1.0
LONGEST_KNOCK_S = 60.0
LONGEST_S = LONGEST_OUTAGE_S
"""An outage that lasts longer ends the run; it can be resumed."""
_MOMENT_S = 0.001
UNREACHED_S = 6.0
"""A server that was not reached once for so long ends the run: its address is probably wrong."""
_LONGEST_FIRST_KNOCK_S = 5.0

_NOBODY_BEHIND = frozenset({502, 521, 522, 523})
"""What a gateway says that does not reach the server behind it."""


def says_nobody_is_there(error: ProviderError) -> bool:
    """Whether an error is about the provider's state and not about the call.

    A connection that was cut in the middle may be the call's own fault, and so
    may be a failure of the server or a deadline.
    """
    if isinstance(error, ConnectionFailed):
        return not error.possibly_billed
    if isinstance(error, ServerFault):
        return error.status in _NOBODY_BEHIND
    return isinstance(error, Overloaded | RateLimited)


def never_connected(error: BaseException | None) -> bool:
    """Whether an error says that no connection to the server could be made."""
    return isinstance(error, ConnectionFailed) and not error.possibly_billed


class FirstContact:
    """Whether a server was reached since this engine began, and how long to try for it.

    Attributes:
        made: it was.
        told: the user knows that it was not so far.
    """

    def __init__(self, wait_s: float | None = None) -> None:
        """``wait_s``: for so long (:data:`UNREACHED_S` if None) failures are no reason to end."""
        self._wait_s = UNREACHED_S if wait_s is None else wait_s
        self._since: float | None = None
        self.made = False
        self.told = False

    def begin(self) -> None:
        """The first try is about to leave."""
        if self._since is None:
            self._since = _now()

    def left(self, error: ProviderError) -> float:
        """Seconds for which to go on trying after a try that failed.

        Raises:
            RunFatal: it was tried for long enough.
        """
        self.begin()
        assert self._since is not None
        left = self._since + self._wait_s - _now()
        if left > 0:
            return left
        wait = "it may still be starting: --wait-for-server 10m waits for it"
        raise RunFatal(
            error.what, why=error.why, cure=f"{error.cure}; {wait}" if error.cure else wait
        )


class Outage:
    """What the calls to one model know of its provider's state.

    One that was never reached is not taken for one that is down: its address may be
    wrong, which ends the run soon. One that refuses for load is there.
    """

    def __init__(self, report: Report, wait_s: float | None = None) -> None:
        """``report`` takes the events that an outage begins and ends.

        ``wait_s`` is how long a server is waited for that was never reached.
        """
        self._report = report
        self._contact = FirstContact(wait_s)
        self._answered = False
        self._since: float | None = None
        self._next: float | None = None
        self._pause = FIRST_KNOCK_S
        self._knocking = False
        self._news = asyncio.Event()
        self.why = ""

    @property
    def on(self) -> bool:
        """Whether the provider is down, as far as anybody knows."""
        return self._next is not None

    def paused_for(self) -> float:
        """Seconds until the next try; 0 when the provider is not down."""
        return 0.0 if self._next is None else max(0.0, self._next - _now())

    def turn(self, *, unless: asyncio.Event) -> Turn:
        """One attempt; entered when it may leave.

        Once ``unless`` is set and :meth:`wake` was called, nobody waits any more:
        entering then does not mean that the call may leave.
        """
        return Turn(self, unless)

    def begin(self) -> None:
        """An attempt is about to leave."""
        self._contact.begin()

    def wake(self) -> None:
        """Let all that wait look again."""
        self._news.set()
        self._news = asyncio.Event()

    async def let_through(self, unless: asyncio.Event) -> bool:
        """Wait until a call may leave; whether it tries for all others."""
        while self._next is not None and not unless.is_set():
            wait = self._next - _now()
            if wait <= 0 and not self._knocking:
                self._knocking = True
                return True
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if self._knocking else max(wait, _MOMENT_S)):
                    await self._news.wait()
        return False

    def came_back(self, error: BaseException | None, *, knocked: bool) -> None:
        """An attempt has ended, well or with an error.

        Raises:
            RunFatal: it has been so for so long that there is no use in waiting.
        """
        if knocked:
            self._knocking = False
        if error is None or (isinstance(error, ProviderError) and not _says_nothing(error)):
            self._alive()
        elif not self._contact.made and never_connected(error):
            assert isinstance(error, ProviderError)
            if knocked or not self.on:
                self._unreached(error)
        elif isinstance(error, ProviderError) and says_nobody_is_there(error):
            self._contact.made = True
            there = self._answered or isinstance(error, RateLimited | Overloaded)
            if there and (knocked or not self.on):
                self._lost(error)
        elif knocked:
            self.wake()

    def _unreached(self, error: ProviderError) -> None:
        left = self._contact.left(error)
        now = _now()
        if not self.on:
            self._since = now
            self.why = error.what
        if not self._contact.told:
            self._contact.told = True
            self._report(
                "server-unreached",
                what=error.what,
                why=error.why,
                until=round(time.time() + left),
            )
        self._next = now + min(self._pause, left)
        self._pause = min(_LONGEST_FIRST_KNOCK_S, 2 * self._pause)
        self.wake()

    def _alive(self) -> None:
        self._answered = self._contact.made = True
        if self._since is None:
            return
        if self.on:
            self._report("provider-back", after_s=round(_now() - self._since, 1))
        self._since = self._next = None
        self._pause = FIRST_KNOCK_S
        self.wake()

    def _lost(self, error: ProviderError) -> None:
        now = _now()
        self._since = now if self._since is None else self._since
        if now - self._since < PATIENCE_S:
            return
        pause = max(self._pause, error.retry_after or 0.0)
        left = self._since + LONGEST_S - now
        if pause > left:
            if pause == error.retry_after:
                raise too_long_a_wait(error)
            raise RunFatal(
                f"no call was answered for {LONGEST_S / 3600:g} hours",
                why=f"{error.what}: {error.why}" if error.why else error.what,
                cure="resume the run when the provider is back; what was answered is kept",
            )
        if not self.on:
            self.why = f"no call is answered: {error.what}; tries go on until {local_time(left)}"
            until = round(time.time() + left)
            self._report("provider-down", reason=type(error).__name__, what=error.what, until=until)
        self._next = now + pause
        self._pause = min(LONGEST_KNOCK_S, 2 * self._pause)
        self.wake()


class Turn:
    """One attempt, as a context."""

    __slots__ = ("_knocks", "_outage", "_unless")

    def __init__(self, outage: Outage, unless: asyncio.Event) -> None:
        self._outage = outage
        self._unless = unless
        self._knocks = False

    async def __aenter__(self) -> None:
        self._outage.begin()
        if self._outage.on:
            self._knocks = await self._outage.let_through(self._unless)

    async def __aexit__(self, _kind: object, error: BaseException | None, _where: object) -> None:
        self._outage.came_back(error, knocked=self._knocks)


def _says_nothing(error: ProviderError) -> bool:
    """Whether an error leaves open if the provider is there."""
    cut = isinstance(error, ConnectionFailed | DeadlineExceeded)
    return cut or says_nobody_is_there(error)


def _now() -> float:
    return asyncio.get_running_loop().time()
