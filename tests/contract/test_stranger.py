"""Through the real SDKs against a server that a stranger wrote: minimal, and odd but legal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from decimal import Decimal
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from evalbench.engine.calls import Call, ModelRef, Outcome, Reply, generate
from evalbench.engine.config import registry
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.engine.dispatch.base import SendLog
from evalbench.engine.dispatch.limiter import Limiter
from evalbench.engine.dispatch.realtime import RealtimeDispatcher
from tests.stranger.server import Stranger, answer, app, error

MODELS = {
    "compatible": "compatible/any",
    "openai": "openai/gpt-4.1",
    "anthropic": "anthropic/claude-haiku-4-5",
}
KEY = "sk-ant-0123456789abcdefghijkl"
Put = Callable[[str, int], Awaitable[list[Reply]]]


@pytest_asyncio.fixture
async def stranger() -> AsyncIterator[Stranger]:
    """The server, in this loop."""
    made = Stranger(latency=0.01)
    runner = web.AppRunner(app(made), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.port = runner.addresses[0][1]
    yield made
    await runner.cleanup()


class Desk:
    """A dispatcher over one real provider at the stranger's address."""

    def __init__(self, name: str, port: int, *, concurrency: int = 32) -> None:
        url = f"http://127.0.0.1:{port}" + ("" if name == "anthropic" else "/v1")
        provider: Any = registry.provider_class(name)
        prices = UnitPrices(Rates(Decimal(1), Decimal(5)))
        self.budget = Budget()
        self.model = ModelRef.parse(MODELS[name])
        self.waits: list[dict[str, Any]] = []
        self.realtime = RealtimeDispatcher(
            provider({"base_url": url, "timeout": 20.0}, KEY),
            Limiter(concurrency=concurrency),
            CostMeter(self.budget, prices),
            attempts=8,
            report=lambda kind, **body: self.waits.append(body),
        )

    async def ask(self, number: int = 0) -> Reply:
        prompt = generate(f"Riddle {number}?", max_tokens=4)
        return await self.realtime.answer(Call(self.model, prompt), str(number), SendLog())


@pytest.fixture(params=list(MODELS))
def lane(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest_asyncio.fixture
async def desk(stranger: Stranger, lane: str, home: Path) -> AsyncIterator[Desk]:
    made = Desk(lane, stranger.port)
    yield made
    await made.realtime.close()


def api(lane: str) -> str:
    return "messages" if lane == "anthropic" else "chat"


@pytest.mark.share(3)
async def test_a_storm_ends_with_one_answer_each(stranger: Stranger, desk: Desk) -> None:
    stranger.refuse, stranger.fail = 0.2, 0.05
    replies = await asyncio.gather(*(desk.ask(n) for n in range(300)))
    assert {reply.outcome for reply in replies} == {Outcome.OK}
    seen = stranger.seen()
    assert (seen["answered"], seen["twice"], seen["early"]) == (300, 0, 0)
    assert seen["most"] <= 32
    assert seen["requests"] == sum(reply.attempts for reply in replies)
    assert seen["requests"] <= 1.5 * 300


@pytest.mark.parametrize("usage", [None, {}, "absent"])
async def test_without_usage_a_call_counts_at_its_worst_case(
    stranger: Stranger, desk: Desk, lane: str, usage: Any
) -> None:
    body = answer(api(lane))
    body["usage"] = usage
    if usage == "absent":
        del body["usage"]
    stranger.odd = lambda number, asked: web.json_response(body)
    reply = await desk.ask()
    assert (reply.text, reply.outcome) == ("A", Outcome.OK)
    assert reply.usage.output_tokens is None
    assert desk.budget.spent == reply.cost
    assert reply.cost is not None
    assert reply.cost >= 4 * Decimal(5) / 1_000_000


async def test_bodies_may_come_in_pieces(stranger: Stranger, desk: Desk, lane: str) -> None:
    class InPieces(web.StreamResponse):
        async def prepare(self, request: web.BaseRequest) -> Any:
            made = await super().prepare(request)
            text = web.json_response(answer(api(lane))).body
            assert isinstance(text, bytes)
            for at in range(0, len(text), 7):
                await self.write(text[at : at + 7])
            return made

    def pieces(number: int, body: dict[str, Any]) -> web.StreamResponse:
        response = InPieces(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        return response

    stranger.odd = pieces
    assert (await desk.ask()).text == "A"


@pytest.mark.parametrize("content_type", ["text/plain", "application/json; charset=UTF-8", ""])
async def test_any_content_type_will_do(
    stranger: Stranger, desk: Desk, lane: str, content_type: str
) -> None:
    body = web.json_response(answer(api(lane))).body
    headers = {"CONTENT-TYPE": content_type} if content_type else {}
    stranger.odd = lambda number, asked: web.Response(body=body, headers=headers)
    assert (await desk.ask()).text == "A"


def date(seconds: float) -> str:
    return formatdate(time.time() + seconds, usegmt=True)


@pytest.mark.parametrize(
    ("name", "value"), [("retry-after", "1"), ("RETRY-AFTER", "0.3"), ("Retry-After", "date")]
)
async def test_retry_after_in_every_legal_form(
    stranger: Stranger, desk: Desk, lane: str, name: str, value: str
) -> None:
    told = date(2) if value == "date" else value
    times: list[float] = []

    def first_refused(number: int, body: dict[str, Any]) -> web.Response | None:
        times.append(time.time())
        if number > 1:
            return None
        return web.json_response(error(api(lane), "slow"), status=429, headers={name: told})

    stranger.odd = first_refused
    reply = await desk.ask()
    assert (reply.text, reply.attempts) == ("A", 2)
    gap = times[1] - times[0]
    assert gap >= (1.0 if value == "date" else float(value))
    assert gap < 10


PAGE = "<html><head><title>Bad Gateway</title></head><body><h1>502</h1></body></html>"


@pytest.mark.share(3)
@pytest.mark.parametrize("status", [500, 502, 503, 520, 529])
@pytest.mark.parametrize("body", [PAGE, "", '{"error":', "[]", '"oops"'])
async def test_a_bad_moment_is_tried_again_whatever_it_says(
    stranger: Stranger, desk: Desk, lane: str, status: int, body: str
) -> None:
    kind = "text/html" if body == PAGE else "application/json"
    stranger.odd = lambda number, asked: (
        web.Response(text=body, status=status, content_type=kind, headers={"retry-after": "0"})
        if number == 1
        else None
    )
    reply = await desk.ask()
    assert (reply.text, reply.attempts, reply.outcome) == ("A", 2, Outcome.OK)


@pytest.mark.share(3)
@pytest.mark.parametrize("body", ["", "slow down", PAGE, "{}", '{"error": "slow"}'])
async def test_a_refusal_without_a_word_is_a_refusal(
    stranger: Stranger, desk: Desk, body: str
) -> None:
    stranger.odd = lambda number, asked: (
        web.Response(text=body, status=429, headers={"retry-after": "0"}) if number < 3 else None
    )
    assert (await desk.ask()).attempts == 3
    assert {wait["reason"] for wait in desk.waits} == {"RateLimited"}


async def test_only_what_is_needed_is_needed(stranger: Stranger, desk: Desk, lane: str) -> None:
    least: dict[str, Any] = {"choices": [{"message": {"content": "B"}}]}
    if lane == "anthropic":
        least = {"content": [{"type": "text", "text": "B"}]}
    stranger.odd = lambda number, asked: web.json_response(least)
    reply = await desk.ask()
    assert (reply.text, reply.outcome, reply.provider_model) == ("B", Outcome.OK, "")


async def test_fields_nobody_knows_are_kept(stranger: Stranger, desk: Desk, lane: str) -> None:
    body = answer(api(lane)) | {"weather": {"sunny": True}}
    stranger.odd = lambda number, asked: web.json_response(body, headers={"X-Weather": "sunny"})
    assert (await desk.ask()).raw["weather"] == {"sunny": True}
