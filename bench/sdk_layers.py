"""What of a call through an SDK is whose: CPU a call, layer by layer.

    python -m bench.sdk_layers [--calls 600] [--rounds 5] [--at-once 64]

The same request to the same minimal server, many at once: by bare aiohttp; by OpenAI's and
Anthropic's SDK over their own client (httpx2 over aiohttp), over ours, and with one that answers by
itself, which leaves what the SDK does for a request before and after it is sent; by the provider on
top of that; and by the provider ``compatible``, which uses no SDK.
Times are the best of the rounds, because other work on a machine only ever adds.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from typing import Any

import orjson

from bench.figures import Figure, declare, tell
from bench.provider_overhead import KEY, QUESTION, One, call, quick_server, timed
from evalbench.providers.anthropic import Anthropic
from evalbench.providers.compatible import Compatible
from evalbench.providers.openai import OpenAI
from evalbench.providers.wire.address import Address
from evalbench.providers.wire.sdk import anthropic_client, openai_client
from evalbench.providers.wire.transport import MOST_CONNECTIONS

_BODIES = {
    "openai": {"model": "gpt-4.1", "max_completion_tokens": 64},
    "anthropic": {"model": "claude-haiku-4-5", "max_tokens": 64},
}
_PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
_HEADERS = {"Content-Type": "application/json"}


async def measure(base_url: str, calls: int, rounds: int, at_once: int) -> dict[str, float]:
    """Microseconds of CPU a call, of each layer."""
    import aiohttp
    import anthropic
    import httpx2
    import openai

    root = base_url.removesuffix("/v1")
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    bodies = {
        name: orjson.dumps({**body, "messages": [{"role": "user", "content": QUESTION}]})
        for name, body in _BODIES.items()
    }

    class Answering(httpx2.AsyncClient):
        async def send(self, request: httpx2.Request, **_: Any) -> httpx2.Response:
            return httpx2.Response(200, headers=_HEADERS, content=b"{}", request=request)

    def by_sdk(name: str, sdk: Any) -> One:
        path = root + _PATHS[name]
        return lambda _: sdk.post(
            path, cast_to=httpx2.Response, content=bodies[name], options={"headers": _HEADERS}
        )

    async def by_aiohttp(_: int) -> object:
        url = root + _PATHS["openai"]
        async with session.post(url, data=bodies["openai"], headers=_HEADERS) as response:
            return await response.read()

    layers: dict[str, One] = {"bare aiohttp": by_aiohttp}
    opened: list[Any] = [session]
    limits = httpx2.Limits(max_connections=MOST_CONNECTIONS)
    own_clients: dict[str, tuple[Any, Callable[..., Any], Callable[..., Any]]] = {
        "openai": (openai.AsyncOpenAI, openai.DefaultAioHttpClient, openai_client),
        "anthropic": (anthropic.AsyncAnthropic, anthropic.DefaultAioHttpClient, anthropic_client),
    }
    makers: dict[str, Any] = {"openai": OpenAI, "anthropic": Anthropic}
    for name, (sdk, own_http, ours) in own_clients.items():
        alone, own = (
            sdk(api_key=KEY, base_url=root, max_retries=0, http_client=http)
            for http in (Answering(), own_http(limits=limits))
        )
        ready = await asyncio.to_thread(ours, KEY, Address(root, official=False))
        provider = makers[name]({"base_url": base_url}, KEY)
        model = str(_BODIES[name]["model"])
        layers[f"{name}: SDK without a transport"] = by_sdk(name, alone)
        layers[f"{name}: SDK over its own client"] = by_sdk(name, own)
        layers[f"{name}: SDK over ours"] = by_sdk(name, ready)
        layers[f"{name}: provider"] = lambda number, name=name, model=model, of=provider: of.answer(  # type: ignore[misc]
            call(name, model, number)
        )
        opened += alone, own, ready, provider
    compatible = Compatible({"base_url": base_url}, KEY)
    layers["compatible: provider"] = lambda number: compatible.answer(
        call("compatible", "m", number)
    )
    best = dict.fromkeys(layers, float("inf"))
    for _ in range(rounds):
        for layer, one in layers.items():
            best[layer] = min(best[layer], (await timed(one, calls, at_once)).cpu)
    for one_of_them in (*opened, compatible):
        await one_of_them.close()
    return best


def main() -> None:
    """Print a row for each layer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=64)
    declare(parser)
    args = parser.parse_args()
    with quick_server(0.0) as base_url:
        costs = asyncio.run(measure(base_url, args.calls, args.rounds, args.at_once))
    bare = costs["bare aiohttp"]
    for name, cost in costs.items():
        print(f"{name:35} {cost:6.0f} µs of CPU a call {1e6 / cost:7.0f} calls a CPU-second")
        beside = "" if cost == bare else "bare aiohttp"
        figure = Figure(
            f"one call, {name}, CPU",
            cost / 1000,
            "ms",
            beside=beside,
            beside_value=bare / 1000 if beside else None,
            note=f"{1e6 / cost:,.0f} calls a CPU-second",
        )
        tell(args.figures, [figure])


if __name__ == "__main__":
    main()
