"""How near the concurrency that is found comes to the best one that could be set by hand.

Each regime is a server that limits in another way. The same calls are answered with
concurrency found by itself and with every fixed one; the figures are answers a second as a
share of the best fixed setting's, and the share of requests that were refused. Time is
virtual: a loop's clock that jumps, so that an hour of waiting takes a second, and a busy
machine changes nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import tempfile
import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import ClassVar

from bench.figures import Figure, declare, tell
from evalbench.engine.calls import Call, ModelRef, Provider, RateLimits, Reply, Usage, generate
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.engine.dispatch import shared_limits
from evalbench.engine.dispatch.base import SendLog
from evalbench.engine.dispatch.limiter import Limiter
from evalbench.engine.dispatch.realtime import RealtimeDispatcher
from evalbench.engine.dispatch.shared_limits import SharedLimits
from evalbench.engine.errors import Overloaded, ProviderError, RateLimited, ServerFault
from tests.unit.engine.virtual_time import VirtualTimeLoop

FIXED = (2, 3, 8, 16, 32, 64, 128, 256)
_BARE = 64
_LOOK_S = 0.1
"""An engine looks this often whether more calls may be sent."""
_LEAST = 0.9
"""Of the best fixed setting's answers a second: the target."""


_BEGAN: ContextVar[float] = ContextVar("began", default=0.0)


def _now() -> float:
    """Seconds since the run began."""
    return asyncio.get_running_loop().time() - _BEGAN.get()


@dataclass
class Bucket:
    """A token bucket that holds one second's worth."""

    rate: float
    burst: float = 0.0
    level: float = field(init=False)
    at: float = 0.0

    def __post_init__(self) -> None:
        self.burst = self.burst or self.rate
        self.level = self.burst

    def take(self, amount: float = 1.0) -> bool:
        """Whether there was so much in it."""
        now = _now()
        self.level = min(self.burst, self.level + (now - self.at) * self.rate)
        self.at = now
        if self.level < amount:
            return False
        self.level -= amount
        return True


class Server:
    """A simulated server; regimes say what it does with a request.

    Attributes:
        asked, refused: requests, and those that were refused for load.
        inside: requests that are being answered.
        calls: how many are to be answered, by all engines together.
        engines: how many engines share the key.
        most_refused: percent of the requests, the target; None where refusals are not about load.
    """

    latency: float = 0.05
    calls: int = 2000
    engines: int = 1
    most_refused: float | None = 5.0

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.asked = self.refused = self.inside = 0

    async def answer(self) -> RateLimits | None:
        """Answer one request, or raise."""
        self.asked += 1
        self.inside += 1
        try:
            if error := self.refuses():
                self.refused += isinstance(error, RateLimited | Overloaded)
                await asyncio.sleep(0.005)
                raise error
            await self.serve()
            return self.limits()
        finally:
            self.inside -= 1

    def refuses(self) -> ProviderError | None:
        """The error that a request gets, if any."""
        return None

    async def serve(self) -> None:
        """Take the time of an answer."""
        await asyncio.sleep(self.latency * self.dice.uniform(0.8, 1.2))

    def limits(self) -> RateLimits | None:
        """What the response headers say."""
        return None


class Random429(Server):
    latency = 0.02
    most_refused = None

    def refuses(self) -> ProviderError | None:
        chance = self.dice.random()
        if chance < 0.2:
            return RateLimited("too many requests", status=429, retry_after=1.0)
        return ServerFault("broken", status=500) if chance < 0.25 else None


class Random529(Server):
    latency = 0.5
    most_refused = None

    def refuses(self) -> ProviderError | None:
        if self.dice.random() >= 0.2:
            return None
        return Overloaded("overloaded", status=self.dice.choice([503, 529]))


class Rate(Server):
    rate = 50.0
    latency = 0.5
    waits: float | None = None

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self.bucket = Bucket(self.rate)

    def refuses(self) -> ProviderError | None:
        if self.bucket.take():
            return None
        return RateLimited("too many requests", status=429, retry_after=self.waits)


class Rate5(Rate):
    rate = 5.0
    calls = 300


class Rate50(Rate):
    calls = 3000


class Rate50Told(Rate50):
    waits = 1.0


class Rate500(Rate):
    rate = 500.0
    latency = 0.2
    calls = 5000


class Three(Rate):
    """Three engines on one key."""

    engines = 3
    calls = 4500


class ThreeSlow(Rate5):
    engines = 3


class Changing(Rate):
    calls = 5000

    def refuses(self) -> ProviderError | None:
        now = _now()
        self.bucket.rate = 25.0 if 20 <= now < 60 else 100.0 if now >= 60 else 50.0
        self.bucket.burst = self.bucket.rate
        return super().refuses()


class Queue(Server):
    latency = 0.2
    calls = 1500

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self.places = asyncio.Semaphore(8)

    async def serve(self) -> None:
        async with self.places:
            await super().serve()


class Cap(Server):
    latency = 0.5
    calls = 1500

    def refuses(self) -> ProviderError | None:
        if self.inside > 16:
            return RateLimited("too many concurrent requests", status=429)
        return None


class Tokens(Server):
    latency = 1.0
    calls = 1500

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self.bucket = Bucket(60_000 / 60, 60_000 / 6)

    def refuses(self) -> ProviderError | None:
        if self.bucket.take(100):
            return None
        return RateLimited("tokens a minute", status=429, retry_after=1.0)

    def limits(self) -> RateLimits | None:
        left = int(self.bucket.level)
        reset = (self.bucket.burst - left) / self.bucket.rate
        return RateLimits(
            tokens_remaining=left, tokens_reset_s=reset, tokens_limit=int(self.bucket.burst)
        )


class Loaded(Server):
    latency = 0.3
    calls = 3000

    async def serve(self) -> None:
        await asyncio.sleep(self.latency * (1 + self.inside / 24) * self.dice.uniform(0.8, 1.2))


class Outage(Server):
    latency = 0.3
    most_refused = None
    calls = 3000

    def refuses(self) -> ProviderError | None:
        if 5 <= _now() < 65:
            return Overloaded("down", status=503)
        return Overloaded("overloaded", status=503) if self.inside > 64 else None


class ShortOutage(Server):
    latency = 0.5
    most_refused = None
    calls = 2500

    def refuses(self) -> ProviderError | None:
        if 3 <= _now() < 12:
            return Overloaded("down", status=503)
        return Overloaded("overloaded", status=503) if self.inside > 64 else None


class SlowOutage(Rate):
    """Answers take three seconds, and the outage begins before the rate is known well."""

    rate = 20.0
    latency = 3.0
    most_refused = None
    calls = 1500
    down = 20.0

    def refuses(self) -> ProviderError | None:
        if self.down <= _now() < self.down + 9:
            return Overloaded("down", status=503)
        return super().refuses()


class QuickOutage(SlowOutage):
    latency = 0.02


class Slow(Server):
    """Answers take ten seconds on average, some one and some forty."""

    latency = 10.0

    async def serve(self) -> None:
        await asyncio.sleep(self.latency * min(4.0, self.dice.lognormvariate(-0.32, 0.8)))


class SlowRate5(Slow, Rate5):
    """A second's worth of the limit is answered long after many seconds' worth was sent."""


class SlowRate20(Slow, Rate):
    rate = 20.0
    calls = 1500


class SlowThree(SlowRate5):
    engines = 3


class SlowCap(Slow, Cap):
    calls = 600


class SlowTokens(Slow, Tokens):
    pass


class SlowRandom529(Slow, Random529):
    calls = 1500


class FarCap(Cap):
    """Reached over a network, which delays one request more than another."""

    async def answer(self) -> RateLimits | None:
        await asyncio.sleep(self.dice.uniform(0.002, 0.02))
        try:
            return await super().answer()
        finally:
            await asyncio.sleep(self.dice.uniform(0.002, 0.02))


class Unlimited(Slow):
    """No limit is met with as many calls in flight as are ever tried."""

    calls = 3000


REGIMES: dict[str, type[Server]] = {
    "a fifth 429 at random, a twentieth 500": Random429,
    "a fifth 503 and 529 at random": Random529,
    "5 a second": Rate5,
    "50 a second": Rate50,
    "50 a second, retry-after 1": Rate50Told,
    "500 a second": Rate500,
    "50, then 25, then 100 a second": Changing,
    "50 a second for three engines": Three,
    "5 a second for three engines": ThreeSlow,
    "8 at once, the rest queued": Queue,
    "16 at once, the rest refused": Cap,
    "16 at once over a network, the rest refused": FarCap,
    "tokens per minute, reported in headers": Tokens,
    "slower with load": Loaded,
    "down for a minute": Outage,
    "down for nine seconds": ShortOutage,
    "20 a second of 3 s, down for nine seconds": SlowOutage,
    "20 a second of 20 ms, down for nine seconds": QuickOutage,
    "5 a second, uneven answers of 10 s": SlowRate5,
    "20 a second, uneven answers of 10 s": SlowRate20,
    "5 a second of 10 s for three engines": SlowThree,
    "16 at once of 10 s, the rest refused": SlowCap,
    "a fifth 503 and 529, uneven answers of 10 s": SlowRandom529,
    "tokens in headers, uneven answers of 10 s": SlowTokens,
    "no limit, uneven answers of 10 s": Unlimited,
}


class Simulated(Provider):
    """A provider in front of a simulated server."""

    name: ClassVar[str] = "simulated"
    title: ClassVar[str] = "Simulated"

    def __init__(self, server: Server) -> None:
        super().__init__({})
        self._server = server

    async def answer(self, call: Call) -> Reply:
        limits = await self._server.answer()
        return Reply(text="A", limits=limits, usage=Usage(60, 40))


@dataclass(frozen=True)
class Pace:
    """What one run came to."""

    seconds: float
    answered: int
    refused: float
    seen: tuple[tuple[int, int], ...] = ()

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answered / self.seconds


async def _run(server: Server, concurrency: int | None) -> Pace:
    with tempfile.TemporaryDirectory() as folder:
        shared_limits.time = asyncio.get_running_loop()  # type: ignore[attr-defined, assignment]
        engines = [
            _engine(server, concurrency, Path(folder), server.calls // server.engines)
            for _ in range(server.engines)
        ]
        try:
            counts = await asyncio.gather(*engines)
        finally:
            shared_limits.time = time  # type: ignore[attr-defined]
    answered = sum(count for count, _ in counts)
    return Pace(_now(), answered, server.refused / max(1, server.asked), counts[0][1])


async def _engine(
    server: Server, concurrency: int | None, folder: Path, left: int
) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Ask so many calls; returns how many were answered, and how the concurrency went."""
    free = UnitPrices(Rates(Decimal(0), Decimal(0)))
    shared = SharedLimits(folder, "key", "m") if server.engines > 1 else None
    realtime = RealtimeDispatcher(
        Simulated(server),
        Limiter(concurrency=concurrency, shared_limits=shared),
        CostMeter(Budget(), free),
        attempts=8,
        report=lambda kind, **body: None,
    )
    call = Call(ModelRef("simulated", "m"), generate("?", max_tokens=1))
    answered = working = 0
    ended: asyncio.Queue[bool] = asyncio.Queue()

    async def one() -> None:
        reply = await realtime.answer(call, "", SendLog())
        ended.put_nowait(not reply.error)

    seen: list[tuple[int, int]] = []
    tasks: set[asyncio.Task[None]] = set()
    while left or working:
        while left and working < realtime.window:
            left, working = left - 1, working + 1
            task = asyncio.create_task(one())
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        with contextlib.suppress(TimeoutError):
            answered += await asyncio.wait_for(ended.get(), _LOOK_S)
            working -= 1
        if not seen or _now() - seen[-1][0] > 2:
            seen.append((round(_now()), realtime.gauges()["concurrency"]))
    await realtime.close()
    return answered, tuple(seen)


async def _bare(server: Server) -> Pace:
    """So many calls at once as a loop over an SDK sends, with the SDK's own retries.

    Two of them, after what is asked for or half a second, a second: the defaults of the clients
    of OpenAI and Anthropic.
    """
    answered = 0
    numbers = iter(range(server.calls))

    async def call() -> int:
        for tries in range(3):
            try:
                await server.answer()
                return 1
            except ProviderError as error:
                pause = error.retry_after or 0.5 * 2.0**tries * (1 - 0.25 * random.random())
                if tries < 2:
                    await asyncio.sleep(pause)
        return 0

    async def worker() -> None:
        nonlocal answered
        for _ in numbers:
            one = await call()
            answered += one

    await asyncio.gather(*(worker() for _ in range(_BARE)))
    return Pace(_now(), answered, server.refused / max(1, server.asked))


def measure(
    kind: type[Server],
    concurrency: int | None,
    seed: int,
    *,
    bare: bool = False,
    real: bool = False,
) -> Pace:
    """One run of a regime, by our engine or by a bare loop over an SDK.

    Args:
        kind: the regime.
        concurrency: None for what is found.
        seed: of its dice.
        bare: by a bare loop.
        real: in real time.
    """
    with asyncio.Runner(loop_factory=None if real else VirtualTimeLoop) as runner:
        return runner.run(_made(kind, concurrency, seed, bare))


def _compare_clocks(name: str, kind: type[Server]) -> None:
    """Print what one run came to in virtual time and by the clock."""
    for clock, real in (("virtual", False), ("real", True)):
        found = measure(kind, None, 0, real=real)
        print(f"{name:42} {clock:8} {found.rate:8.1f}/s {found.refused:8.1%}", flush=True)


async def _made(kind: type[Server], concurrency: int | None, seed: int, bare: bool) -> Pace:
    _BEGAN.set(asyncio.get_running_loop().time())
    random.seed(seed)
    server = kind(random.Random(seed))
    return await (_bare(server) if bare else _run(server, concurrency))


def main() -> None:
    """Print a table: a row for each regime."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="part of a regime's name")
    parser.add_argument("--seen", action="store_true", help="show how the concurrency went")
    parser.add_argument("--real", action="store_true", help="compare virtual with real time only")
    declare(parser)
    args = parser.parse_args()
    if args.real:
        for name, kind in REGIMES.items():
            if args.only in name:
                _compare_clocks(name, kind)
        return
    print(
        f"{'regime':42} {'best fixed':>16} {'found':>8} {'ratio':>6} {'refused':>8} {'lost':>5}"
        f" {'bare loop':>10} {'lost':>6}"
    )
    for name, kind in REGIMES.items():
        if args.only not in name:
            continue
        fixed = {n: measure(kind, n, 1) for n in FIXED}
        best = max(fixed, key=lambda n: fixed[n].rate)
        beside = median(measure(kind, best, seed).rate for seed in range(args.rounds))
        found = [measure(kind, None, seed) for seed in range(args.rounds)]
        bare = measure(kind, None, 1, bare=True)
        rate = median(one.rate for one in found)
        refused = median(one.refused for one in found)
        ratio = rate / beside
        print(
            f"{name:42} {beside:8.1f}/s @{best:<4} {rate:6.1f}/s"
            f" {ratio:6.2f} {refused:8.1%}"
            f" {sum(kind.calls - one.answered for one in found):5}"
            f" {bare.rate:8.1f}/s {kind.calls - bare.answered:6}"
            f"   ({fixed[best].refused:.1%} with the fixed one, {bare.refused:.1%} bare)",
            flush=True,
        )
        if args.seen:
            print("   ", found[0].seen)
        title = f"pace: {name}"
        figures = [
            Figure(f"{title}, of the best fixed concurrency's answers a second", ratio, "of it",
                   _LEAST, at_least=True, note=f"{best} at once"),
            Figure(f"{title}, refused", 100 * refused, "%", kind.most_refused),
        ]  # fmt: skip
        tell(args.figures, figures)


if __name__ == "__main__":
    main()
