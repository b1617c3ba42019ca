"""What of a call through OpenAI's SDK is whose: CPU a call, layer by layer.

    python -m bench.sdk_layers [--calls 600] [--rounds 5]

The same request to the same minimal server, 64 at once: by bare aiohttp, by httpx2 over it, by
the SDK's ``post`` over both, and by the provider on top of that; and by the SDK with a transport
that answers by itself, which leaves what the SDK does for a request before and after it is sent.
No client that keeps the SDK in use can cost less than that and bare aiohttp together.
Times are the best of the rounds, because other work on a machine only ever adds.
"""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

import orjson

from bench.figures import Figure, declare, tell
from bench.provider_overhead import KEY, QUESTION, One, call, quick_server, timed
from evalbench.providers.compatible import Compatible
from evalbench.providers.openai import OpenAI
from evalbench.providers.wire.address import Address
from evalbench.providers.wire.sdk import openai_client

_AT_ONCE = 64
_BODY = orjson.dumps(
    {
        "model": "gpt-4.1",
        "messages": [{"role": "user", "content": QUESTION}],
        "max_completion_tokens": 64,
    }
)
_HEADERS = {"Content-Type": "application/json"}


async def measure(base_url: str, calls: int, rounds: int) -> dict[str, float]:
    """Microseconds of CPU a call, of each layer."""
    import aiohttp
    import httpx2
    import openai

    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    client: Any = await asyncio.to_thread(openai_client, KEY, Address(base_url, official=False))
    http: Any = client._client
    url = f"{base_url}/chat/completions"

    class Answering(httpx2.AsyncClient):
        async def send(self, request: httpx2.Request, **_: Any) -> httpx2.Response:
            return httpx2.Response(200, headers=_HEADERS, content=b"{}", request=request)

    alone: Any = openai.AsyncOpenAI(
        api_key=KEY, base_url=base_url, max_retries=0, http_client=Answering()
    )
    provider, compatible = OpenAI({"base_url": base_url}, KEY), Compatible({"base_url": base_url})

    async def by_aiohttp(_: int) -> object:
        async with session.post(url, data=_BODY, headers=_HEADERS) as response:
            return await response.read()

    async def by_httpx2(_: int) -> object:
        return await http.post(url, content=_BODY, headers=_HEADERS)

    def by_sdk(sdk: Any) -> One:
        return lambda _: sdk.post(
            "/chat/completions",
            cast_to=httpx2.Response,
            content=_BODY,
            options={"headers": _HEADERS},
        )

    layers: dict[str, One] = {
        "bare aiohttp": by_aiohttp,
        "httpx2 over aiohttp": by_httpx2,
        "SDK without a transport": by_sdk(alone),
        "SDK over httpx2 over aiohttp": by_sdk(client),
        "provider openai": lambda number: provider.answer(call("openai", "gpt-4.1", number)),
        "provider compatible": lambda number: compatible.answer(call("compatible", "m", number)),
    }
    best = dict.fromkeys(layers, float("inf"))
    for _ in range(rounds):
        for name, one in layers.items():
            best[name] = min(best[name], (await timed(one, calls, _AT_ONCE)).cpu)
    for one_of_them in (session, client, alone, provider, compatible):
        await one_of_them.close()
    return best


def main() -> None:
    """Print a row for each layer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=5)
    declare(parser)
    args = parser.parse_args()
    with quick_server(0.0) as base_url:
        costs = asyncio.run(measure(base_url, args.calls, args.rounds))
    bare = costs["bare aiohttp"]
    for name, cost in costs.items():
        print(f"{name:30} {cost:6.0f} µs of CPU a call {1e6 / cost:7.0f} calls a CPU-second")
        beside = "" if cost == bare else "bare aiohttp"
        figure = Figure(
            f"one call, {name}, CPU",
            cost / 1000,
            "ms",
            beside=beside,
            beside_value=bare / 1000 if beside else None,
        )
        tell(args.figures, [figure])


if __name__ == "__main__":
    main()
