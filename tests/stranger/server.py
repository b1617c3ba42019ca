"""A minimal fake of chat completions, Anthropic's messages and Gemini, on plain aiohttp.

    python -m tests.stranger.server [--latency S] [--refuse SHARE] [--fail SHARE] [--seed N]

Prints its port. It answers with the fewest fields that the protocols need, has
no rate-limit headers, and takes anything for a request. ``GET /stats`` tells
what it saw; ``app(...)`` gives the same server to a test, with odd answers.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from aiohttp import web

Odd = Callable[[int, dict[str, Any]], web.StreamResponse | None]
"""Given the number of a request and its body, an answer of its own, or None for the usual one."""


class Stranger:
    """The server's state: what was asked when, and how it ended."""

    def __init__(
        self, *, latency: float = 0.0, refuse: float = 0.0, fail: float = 0.0, seed: int = 0
    ) -> None:
        self.latency, self.refuse, self.fail = latency, refuse, fail
        self.dice = random.Random(seed)
        self.odd: Odd | None = None
        self.requests = self.inside = self.most = self.early = 0
        self.first = self.last = 0.0
        self.port = 0
        self.allowed: dict[str, float] = {}
        self.answers: Counter[str] = Counter()

    async def chat(self, request: web.Request) -> web.StreamResponse:
        return await self.handle(request, "chat")

    async def messages(self, request: web.Request) -> web.StreamResponse:
        return await self.handle(request, "messages")

    async def gemini(self, request: web.Request) -> web.StreamResponse:
        return await self.handle(request, "gemini")

    async def handle(self, request: web.Request, api: str) -> web.StreamResponse:
        arrived = time.time()
        body = await request.json()
        asked = str(body["contents" if api == "gemini" else "messages"])
        self.requests += 1
        self.first = self.first or arrived
        self.early += arrived < self.allowed.get(asked, 0.0)
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await asyncio.sleep(self.latency)
            odd = self.odd(self.requests, body) if self.odd else None
            dice = self.dice.random()
            if odd is not None:
                return odd
            if dice < self.refuse:
                self.allowed[asked] = time.time() + 1.0
                # Gemini says in the body when to come back.
                headers = {} if api == "gemini" else {"retry-after": "1"}
                return web.json_response(error(api, "slow down"), status=429, headers=headers)
            if dice < self.refuse + self.fail:
                return web.json_response(error(api, "oops"), status=500)
            self.answers[asked] += 1
            return web.json_response(answer(api))
        finally:
            self.inside -= 1
            self.last = time.time()

    async def stats(self, _: web.Request) -> web.Response:
        return web.json_response(self.seen())

    def seen(self) -> dict[str, Any]:
        """Counters: ``twice`` are questions that were answered more than once."""
        return {
            "requests": self.requests,
            "answered": len(self.answers),
            "twice": sum(n > 1 for n in self.answers.values()),
            "early": self.early,
            "most": self.most,
            "seconds": self.last - self.first,
        }


def answer(api: str) -> dict[str, Any]:
    """The least that is an answer."""
    if api == "chat":
        choice = {"message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}
        return {"choices": [choice], "usage": {"prompt_tokens": 30, "completion_tokens": 1}}
    if api == "gemini":
        content = {"role": "model", "parts": [{"text": "A"}]}
        usage = {"promptTokenCount": 30, "candidatesTokenCount": 1}
        return {
            "candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": usage
        }  # fmt: skip
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "A"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 30, "output_tokens": 1},
    }


def error(api: str, message: str) -> dict[str, Any]:
    """The least that is an error."""
    if api == "gemini":
        wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}
        return {"error": {"message": message, "details": [wait] if message == "slow down" else []}}
    inner = {"error": {"message": message}}
    return inner if api == "chat" else {"type": "error", **inner}


def app(stranger: Stranger) -> web.Application:
    """The server as an application."""
    made = web.Application(client_max_size=1 << 26)
    made.router.add_post("/v1/chat/completions", stranger.chat)
    made.router.add_post("/v1/messages", stranger.messages)
    made.router.add_post("/v1/models/{model}", stranger.gemini)
    made.router.add_get("/stats", stranger.stats)
    return made


async def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser()
    for name in ("latency", "refuse", "fail"):
        parser.add_argument(f"--{name}", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    runner = web.AppRunner(app(Stranger(**vars(parser.parse_args()))), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
