"""What a provider costs on top of the client it stands on.

    python -m bench.provider_overhead [--calls N] [--rounds N] [--lanes openai,together]
        [--latencies 0.05] [--concurrencies 16,64]

Each lane alternates, in one process and against one server in another, between
a bare loop over the client and the provider's ``answer``. ``compatible``,
``openai`` and ``anthropic`` are measured against a minimal server, the others
against the simulator. A call is one short question; results are the best of the
rounds, because other work on a machine only ever adds.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from bench.figures import Figure, declare, tell
from bench.own_home import own_home
from evalbench.engine.calls import Call, ModelRef, generate
from evalbench.providers.anthropic import Anthropic
from evalbench.providers.bedrock import Bedrock
from evalbench.providers.compatible import Compatible
from evalbench.providers.google import Google
from evalbench.providers.openai import OpenAI
from evalbench.providers.together import Together
from evalbench.providers.wire.address import Address
from evalbench.providers.wire.sdk import anthropic_client, openai_client, together_client
from tests.simulator.handle import InProcess

QUESTION = "Which of these letters comes first in the alphabet?\nA. A\nB. B\nC. C\nD. D\n" * 4
LATENCIES = (0.0, 0.05)
CONCURRENCIES = (16, 64, 256)
KEY = "sk-bench-0123456789"

One = Callable[[int], Awaitable[object]]


class Timed(NamedTuple):
    """What one loop came to.

    Attributes:
        rate: calls per second.
        cpu: microseconds of CPU per call.
        lag: milliseconds by which the event loop was late at worst.
    """

    rate: float
    cpu: float
    lag: float


async def latest(lags: list[float]) -> None:
    """Note how late the event loop is, every hundredth of a second, until cancelled."""
    while True:
        due = time.perf_counter() + 0.01
        await asyncio.sleep(0.01)
        lags.append((time.perf_counter() - due) * 1e3)


async def timed(one: One, calls: int, concurrency: int) -> Timed:
    """How ``concurrency`` workers get through so many calls."""
    numbers: Iterator[int] = iter(range(calls))

    async def worker() -> None:
        for number in numbers:
            await one(number)

    await asyncio.gather(*(one(-1) for _ in range(min(concurrency, 32))))
    lags = [0.0]
    watch = asyncio.create_task(latest(lags))
    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    watch.cancel()
    return Timed(calls / wall, cpu / calls * 1e6, max(lags))


def call(provider: str, model: str, number: int) -> Call:
    """One question; the number makes it different from the others."""
    prompt = generate(f"{QUESTION}{number}", max_tokens=64)
    return Call(ModelRef(provider, model), prompt)


@contextmanager
def quick_server(pause: float) -> Iterator[str]:
    """The minimal server in a process of its own."""
    script = Path(__file__).with_name("quick_server.py")
    with subprocess.Popen(
        [sys.executable, str(script), str(pause)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


@contextmanager
def simulator(api: str, pause: float) -> Iterator[str]:
    """The simulator in a process of its own."""
    with InProcess() as sim:
        sim.keep_entries(False)
        sim.latency(base=pause)
        yield sim.base_url(api)


@asynccontextmanager
async def compatible(base_url: str) -> AsyncIterator[tuple[One, One]]:
    """Bare aiohttp and the provider ``compatible``."""
    import aiohttp

    provider = Compatible({"base_url": base_url}, KEY)
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), headers={"Content-Type": "application/json"}
    )

    async def bare(number: int) -> object:
        messages = [{"role": "user", "content": f"{QUESTION}{number}"}]
        body = orjson.dumps({"model": "m", "messages": messages, "max_tokens": 64})
        async with session.post(f"{base_url}/chat/completions", data=body) as response:
            return orjson.loads(await response.read())

    yield bare, lambda number: provider.answer(call("compatible", "m", number))
    await session.close()
    await provider.close()


@asynccontextmanager
async def openai(base_url: str) -> AsyncIterator[tuple[One, One]]:
    """The SDK's own loop and the provider ``openai``."""
    provider = OpenAI({"base_url": base_url}, KEY)
    client: Any = await asyncio.to_thread(openai_client, KEY, Address(base_url, official=False))

    async def bare(number: int) -> object:
        return await client.chat.completions.create(
            model="gpt-4.1",
            messages=[{"role": "user", "content": f"{QUESTION}{number}"}],
            max_completion_tokens=64,
        )

    yield bare, lambda number: provider.answer(call("openai", "gpt-4.1", number))
    await client.close()
    await provider.close()


@asynccontextmanager
async def anthropic(base_url: str) -> AsyncIterator[tuple[One, One]]:
    """The SDK's own loop and the provider ``anthropic``."""
    provider = Anthropic({"base_url": base_url}, KEY)
    address = Address(base_url.removesuffix("/v1"), official=False)
    client: Any = await asyncio.to_thread(anthropic_client, KEY, address)
    model = "claude-haiku-4-5"

    async def bare(number: int) -> object:
        return await client.messages.create(
            model=model,
            messages=[{"role": "user", "content": f"{QUESTION}{number}"}],
            max_tokens=64,
        )

    yield bare, lambda number: provider.answer(call("anthropic", model, number))
    await client.close()
    await provider.close()


@asynccontextmanager
async def together(base_url: str) -> AsyncIterator[tuple[One, One]]:
    """The SDK's own loop and the provider ``together``."""
    provider = Together({"base_url": base_url}, KEY)
    client: Any = await asyncio.to_thread(together_client, KEY, Address(base_url, official=False))
    model = "meta-llama/Llama-3.3-70B-Instruct-Turbo"

    async def bare(number: int) -> object:
        return await client.chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": f"{QUESTION}{number}"}],
            max_tokens=64,
        )

    yield bare, lambda number: provider.answer(call("together", model, number))
    await client.close()
    await provider.close()


@asynccontextmanager
async def bedrock(base_url: str) -> AsyncIterator[tuple[One, One]]:
    """boto3 in a pool of threads and the provider ``bedrock``."""
    import boto3
    from botocore.config import Config

    most = 256
    names = {"aws_access_key_id": "AKIABENCH012345678", "aws_secret_access_key": "x" * 40}
    key = ":".join(names.values())
    provider = Bedrock({"base_url": base_url, "region": "us-east-1"}, key)
    settings = Config(max_pool_connections=most, retries={"total_max_attempts": 1})
    client: Any = boto3.client(
        "bedrock-runtime", "us-east-1", endpoint_url=base_url, config=settings, **names
    )
    threads = ThreadPoolExecutor(most)
    model = "us.anthropic.claude-haiku-4-5-20251001-v1:0"

    async def bare(number: int) -> object:
        ask = partial(
            client.converse,
            modelId=model,
            messages=[{"role": "user", "content": [{"text": f"{QUESTION}{number}"}]}],
            inferenceConfig={"maxTokens": 64},
        )
        return await asyncio.get_running_loop().run_in_executor(threads, ask)

    yield bare, lambda number: provider.answer(call("bedrock", model, number))
    threads.shutdown()
    client.close()
    await provider.close()


@asynccontextmanager
async def google(base_url: str) -> AsyncIterator[tuple[One, One]]:
    """The SDK's own loop and the provider ``google``."""
    from google import genai
    from google.genai import types

    provider = Google({"base_url": base_url}, KEY)
    options = types.HttpOptions(
        base_url=base_url, api_version="v1", retry_options=types.HttpRetryOptions(attempts=1)
    )
    client = genai.Client(vertexai=False, api_key=KEY, http_options=options)
    model = "gemini-2.0-flash"

    async def bare(number: int) -> object:
        return await client.aio.models.generate_content(
            model=model, contents=f"{QUESTION}{number}", config={"max_output_tokens": 64}
        )

    yield bare, lambda number: provider.answer(call("google", model, number))
    await client.aio.aclose()
    await provider.close()


LANES = {
    "compatible": compatible,
    "openai": openai,
    "anthropic": anthropic,
    "together": together,
    "bedrock": bedrock,
    "google": google,
}


async def measure(
    lane: str, calls: int, rounds: int, latencies: Sequence[float], concurrencies: Sequence[int]
) -> None:
    """Print the table of one lane."""
    for pause in latencies:
        server = quick_server(pause) if lane in _QUICK else simulator(lane, pause)
        with server as base_url:
            async with LANES[lane](base_url) as (bare, ours):
                for concurrency in concurrencies:
                    bares, mine = [], []
                    for _ in range(rounds):
                        bares.append(await timed(bare, calls, concurrency))
                        mine.append(await timed(ours, calls, concurrency))
                    show(lane, pause, concurrency, bares, mine)


_QUICK = frozenset({"compatible", "openai", "anthropic"})
_TOLD: list[Figure] = []


def show(
    lane: str,
    pause: float,
    concurrency: int,
    bares: list[Timed],
    mine: list[Timed],
) -> None:
    """One line: best rate and least CPU of each, and the ratios."""
    rate_bare, rate = max(one.rate for one in bares), max(one.rate for one in mine)
    cpu_bare, cpu = min(one.cpu for one in bares), min(one.cpu for one in mine)
    at = f"{lane}, {pause * 1000:.0f} ms, {concurrency} at once"
    short = f"{rate / rate_bare:.2f} of its calls a second"
    _TOLD.append(
        Figure(f"provider {at}, CPU a call", cpu / 1000, "ms",
               beside="bare loop over the same client", beside_value=cpu_bare / 1000, note=short)
    )  # fmt: skip
    lag_bare, lag = min(one.lag for one in bares), min(one.lag for one in mine)
    print(
        f"| {lane} | {pause * 1000:.0f} | {concurrency} | {rate_bare:,.0f} | {rate:,.0f} "
        f"| {rate / rate_bare:.2f} | {cpu_bare:,.0f} | {cpu:,.0f} | {cpu - cpu_bare:+,.0f} "
        f"| {lag_bare:.0f} | {lag:.0f} |",
        flush=True,
    )


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split(",")))


def main() -> None:
    """Measure the lanes asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lanes", default=",".join(LANES))
    parser.add_argument("--latencies", type=_numbers, default=LATENCIES, help="in seconds")
    parser.add_argument("--concurrencies", type=_numbers, default=CONCURRENCIES)
    declare(parser)
    given = parser.parse_args()
    print(
        "| lane | latency ms | concurrency | bare /s | ours /s | ratio | bare µs | ours µs | + µs "
        "| bare: loop late by ms | ours |"
    )
    print("| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |")
    with own_home():
        for lane in given.lanes.split(","):
            concurrencies = [int(one) for one in given.concurrencies]
            asyncio.run(measure(lane, given.calls, given.rounds, given.latencies, concurrencies))
    tell(given.figures, _TOLD)


if __name__ == "__main__":
    main()
