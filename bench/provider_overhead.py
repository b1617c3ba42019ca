"""What a provider costs on top of the client it stands on.

    python -m bench.provider_overhead [--calls N] [--rounds N] [--lanes openai,together]

Each lane alternates, in one process and against one server in another, between
a bare loop over the client and the provider's ``answer``. ``compatible`` stands
on aiohttp and is measured against a minimal server; the SDKs' lanes run against
the simulator. A call is one short question; results are the best of the rounds,
because other work on a machine only ever adds.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.calls import Call, ModelRef, generate
from evalbench.providers.anthropic import Anthropic
from evalbench.providers.compatible import Compatible
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


async def timed(one: One, calls: int, concurrency: int) -> tuple[float, float]:
    """Calls per second and CPU microseconds per call, with ``concurrency`` workers."""
    numbers: Iterator[int] = iter(range(calls))

    async def worker() -> None:
        for number in numbers:
            await one(number)

    await asyncio.gather(*(one(-1) for _ in range(min(concurrency, 32))))
    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return calls / wall, cpu / calls * 1e6


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
    client: Any = await asyncio.to_thread(anthropic_client, KEY, Address(base_url, official=False))
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


LANES = {
    "compatible": compatible,
    "openai": openai,
    "anthropic": anthropic,
    "together": together,
}


async def measure(lane: str, calls: int, rounds: int) -> None:
    """Print the table of one lane."""
    for pause in LATENCIES:
        server = quick_server(pause) if lane == "compatible" else simulator(lane, pause)
        with server as base_url:
            async with LANES[lane](base_url) as (bare, ours):
                for concurrency in CONCURRENCIES:
                    bares, mine = [], []
                    for _ in range(rounds):
                        bares.append(await timed(bare, calls, concurrency))
                        mine.append(await timed(ours, calls, concurrency))
                    show(lane, pause, concurrency, bares, mine)


def show(
    lane: str,
    pause: float,
    concurrency: int,
    bares: list[tuple[float, float]],
    mine: list[tuple[float, float]],
) -> None:
    """One line: best rate and least CPU of each, and the ratios."""
    rate_bare, rate = max(r for r, _ in bares), max(r for r, _ in mine)
    cpu_bare, cpu = min(c for _, c in bares), min(c for _, c in mine)
    print(
        f"| {lane} | {pause * 1000:.0f} | {concurrency} | {rate_bare:,.0f} | {rate:,.0f} "
        f"| {rate / rate_bare:.2f} | {cpu_bare:,.0f} | {cpu:,.0f} | {cpu - cpu_bare:+,.0f} |",
        flush=True,
    )


def main() -> None:
    """Measure the lanes asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lanes", default=",".join(LANES))
    given = parser.parse_args()
    print(
        "| lane | latency ms | concurrency | bare /s | ours /s | ratio | bare µs | ours µs | + µs |"
    )
    print("| --- | --: | --: | --: | --: | --: | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as home:
        os.environ["EVALBENCH_HOME"] = home
        for lane in given.lanes.split(","):
            asyncio.run(measure(lane, given.calls, given.rounds))


if __name__ == "__main__":
    main()
