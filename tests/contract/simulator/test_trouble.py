"""Scripted faults, the journal and its verdicts, seen from a plain HTTP client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.simulator.clock import Clock
from tests.simulator.handle import ControlError, Handle, InProcess, InThread

KEY = "sk-proj-planted-secret"
PATH = "/openai/v1/chat/completions"


@pytest.fixture(scope="module")
def running_simulator() -> Iterator[InThread]:
    """One for these tests alone: a request that others left behind would be counted here."""
    with InThread() as simulator:
        yield simulator


@pytest_asyncio.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers={"authorization": f"Bearer {KEY}"}) as session:
        yield session


def question(text: str = "Hi") -> dict[str, Any]:
    return {"model": "gpt-4.1", "messages": [{"role": "user", "content": text}]}


async def post(
    http: aiohttp.ClientSession, sim: Handle, text: str = "Hi", path: str = PATH
) -> tuple[int, bytes]:
    async with http.post(sim.url + path, json=question(text)) as reply:
        return reply.status, await reply.read()


async def statuses(http: aiohttp.ClientSession, sim: Handle, *texts: str) -> list[int]:
    return [(await post(http, sim, text))[0] for text in texts]


async def test_status_with_own_body_and_headers(sim: Handle, http: aiohttp.ClientSession) -> None:
    sim.fault(status=503, body="<h1>down</h1>", headers={"Content-Type": "text/html", "X-A": "b"})
    async with http.post(sim.url + PATH, json=question()) as reply:
        assert reply.status == 503
        assert reply.content_type == "text/html"
        assert reply.headers["x-a"] == "b"
        assert await reply.text() == "<h1>down</h1>"


async def test_a_reset_ends_what_hangs(sim: Handle, http: aiohttp.ClientSession) -> None:
    sim.fault("hang")
    asking = asyncio.create_task(post(http, sim))
    await asyncio.to_thread(sim.wait, in_flight=1)
    sim.reset()
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await asking
    assert sim.summary()["in_flight"] == 0


async def test_a_server_stops_while_requests_hang() -> None:
    async with aiohttp.ClientSession(headers={"authorization": "Bearer k"}) as http:
        with InThread() as sim:
            sim.fault("hang")
            asking = asyncio.create_task(post(http, sim))
            await asyncio.to_thread(sim.wait, in_flight=1)
        with pytest.raises(aiohttp.ClientError):
            await asking


async def test_slow_body_on_a_standing_clock() -> None:
    with InThread(Clock(running=False)) as sim:
        sim.fault("slow_body", seconds=80)
        async with aiohttp.ClientSession(headers={"authorization": "Bearer k"}) as http:
            asking = asyncio.create_task(post(http, sim))
            await asyncio.to_thread(sim.wait, in_flight=1)
            while not asking.done():
                await asyncio.to_thread(sim.advance, 10)
            status, body = await asking
        assert status == 200
        assert json.loads(body)["choices"]


async def test_unbilled_on_request(sim: Handle, http: aiohttp.ClientSession) -> None:
    sim.fault("malformed_json", billed=False)
    await post(http, sim)
    sim.no_faults()
    sim.fault(status=500, billed=True)
    assert sim.summary()["dollars"] == 0
    await post(http, sim)
    assert sim.summary()["dollars"] > 0


async def test_which_requests(sim: Handle, http: aiohttp.ClientSession) -> None:
    sim.fault(status=500, nth=[2, 4])
    assert await statuses(http, sim, *"abcde") == [200, 500, 200, 500, 200]
    sim.reset()
    sim.fault(status=500, every=3)
    assert await statuses(http, sim, *"abcdef") == [200, 200, 500, 200, 200, 500]
    sim.reset()
    sim.fault(status=500, first=2)
    assert await statuses(http, sim, *"abc") == [500, 500, 200]
    sim.reset()
    sim.fault(status=500, match="bomb", times=1)
    assert await statuses(http, sim, "a", "the bomb", "the bomb") == [200, 500, 200]
    sim.reset()
    sim.fault(status=500, attempts=1)
    assert await statuses(http, sim, "a", "b", "a", "b") == [500, 500, 200, 200]
    sim.reset()
    sim.fault(status=500, path="/responses")
    sim.fault(status=501, model="gpt-4.1")
    assert await statuses(http, sim, "a") == [501]
    assert [fault.get("applied", 0) for fault in sim.faults()] == [0, 1]


async def test_share_does_not_depend_on_order(sim: Handle, http: aiohttp.ClientSession) -> None:
    texts = [f"question {number}" for number in range(200)]

    async def failed(order: list[str]) -> set[str]:
        sim.reset()
        sim.fault(status=500, share=0.2)
        results = await asyncio.gather(*(post(http, sim, text) for text in order))
        return {text for text, (status, _) in zip(order, results, strict=True) if status == 500}

    forwards, backwards = await failed(texts), await failed(texts[::-1])
    assert forwards == backwards
    assert 20 <= len(forwards) <= 60
    # The next attempt at the same content draws anew.
    again = await statuses(http, sim, *sorted(forwards))
    assert 0 < again.count(200) < len(again) or len(again) < 10


async def test_journal(sim: Handle, http: aiohttp.ClientSession) -> None:
    before = sim.advance(0)
    await post(http, sim, "first")
    await post(http, sim, "second")
    first, second = sim.entries()
    assert first["body"] == question("first")
    assert first["path"] == PATH
    assert first["api"] == "openai"
    assert first["model"] == "gpt-4.1"
    assert before <= first["at"] <= first["finished"] <= second["at"]
    assert first["content"] != second["content"]
    assert [entry["number"] for entry in sim.entries(after=first["number"])] == [second["number"]]
    assert KEY not in json.dumps(sim.entries())
    assert first["key"] == first["headers"]["authorization"] == second["key"]


async def test_high_water(sim: Handle, http: aiohttp.ClientSession) -> None:
    sim.latency(0.2)
    await asyncio.gather(*(post(http, sim, str(number)) for number in range(7)))
    assert sim.summary()["high_water"] == 7
    assert max(entry["in_flight"] for entry in sim.entries()) == 7


async def test_what_an_earlier_test_left_in_flight_counts_no_more(
    sim: Handle, http: aiohttp.ClientSession
) -> None:
    sim.latency(0.3)
    left = asyncio.create_task(post(http, sim, "left"))
    await asyncio.to_thread(sim.wait, in_flight=1)
    sim.reset()
    await asyncio.gather(*(post(http, sim, str(number)) for number in range(3)))
    await left
    assert sim.summary()["high_water"] <= 3
    assert (sim.summary()["in_flight"], sim.summary()["finished"]) == (0, 3)


async def test_counting_only(sim: Handle, http: aiohttp.ClientSession) -> None:
    sim.keep_entries(False)
    await statuses(http, sim, "a", "b", "a")
    assert sim.entries() == []
    summary = sim.summary()
    assert (summary["requests"], summary["contents"]) == (3, 2)
    assert summary["attempts"] == {"1": 1, "2": 1}
    sim.keep_entries(True)


async def test_verdict_before_retry_after(sim: Handle, http: aiohttp.ClientSession) -> None:
    sim.fault(status=429, retry_after=30, first=2)
    await post(http, sim)
    await post(http, sim)
    sim.advance(30)
    assert (await post(http, sim))[0] == 200
    assert sim.summary()["verdicts"] == {"before_retry_after": 1}
    assert [entry["verdicts"] for entry in sim.entries()] == [[], ["before_retry_after"], []]


async def test_verdict_no_backoff_and_storm(sim: Handle, http: aiohttp.ClientSession) -> None:
    sim.fault(status=500)
    await statuses(http, sim, *["a"] * 12)
    verdicts = sim.summary()["verdicts"]
    assert verdicts["no_backoff"] >= 1
    assert verdicts["storm"] == 2


async def test_verdict_repeated_refusal_and_answer(
    sim: Handle, http: aiohttp.ClientSession
) -> None:
    await statuses(http, sim, "a", "a")
    assert sim.summary()["verdicts"] == {"asked_after_answer": 1}
    sim.reset()
    bad = {**question(), "temperature": 9}
    for _ in range(2):
        async with http.post(sim.url + PATH, json=bad) as reply:
            assert reply.status == 400
    assert sim.summary()["verdicts"] == {"repeated_refused": 1}


async def test_latency_by_tokens(sim: Handle, http: aiohttp.ClientSession) -> None:
    sim.rule("Hi", text="a" * 40)
    sim.latency(0.05, per_token=0.01)
    await post(http, sim)
    (entry,) = sim.entries()
    assert entry["finished"] - entry["at"] >= 0.15


async def test_a_standing_clock_makes_answers_wait() -> None:
    with InThread(Clock(running=False)) as sim:
        sim.latency(100)
        async with aiohttp.ClientSession(headers={"authorization": "Bearer k"}) as http:
            asking = asyncio.create_task(post(http, sim))
            await asyncio.to_thread(sim.wait, in_flight=1)
            sim.advance(99)
            assert not asking.done()
            assert sim.summary()["finished"] == 0
            sim.advance(1)
            assert (await asking)[0] == 200


async def test_paths_without_prefix(sim: Handle, http: aiohttp.ClientSession) -> None:
    assert (await post(http, sim, path="/v1/chat/completions"))[0] == 200
    body = {
        "model": "claude-opus-4-8",
        "max_tokens": 5,
        "messages": [{"role": "user", "content": "Hi"}],
    }
    headers = {"anthropic-version": "2026-10-21"}
    async with http.post(sim.url + "/v1/messages", json=body, headers=headers) as reply:
        assert (await reply.json())["type"] == "message"
    assert [entry["api"] for entry in sim.entries()] == ["openai", "anthropic"]
    assert (await post(http, sim, path="/v2/elsewhere"))[0] == 404
    assert sim.summary()["requests"] == 2


async def test_request_too_large(sim: Handle, http: aiohttp.ClientSession) -> None:
    headers = {"anthropic-version": "2026-10-21"}
    heavy = b"{" + b" " * (33 * 1024 * 1024)
    async with http.post(sim.url + "/anthropic/v1/messages", data=heavy, headers=headers) as reply:
        assert reply.status == 413
        assert (await reply.json())["error"]["type"] == "request_too_large"


@pytest.mark.parametrize(
    "nonsense",
    [
        lambda sim: sim.fault("earthquake"),
        lambda sim: sim.fault(colour="red"),
        lambda sim: sim.brain(mood="bad"),
        lambda sim: sim.limits("openai", batch_settings=3),
        lambda sim: sim.key("k", "lost"),
        lambda sim: sim.model("openai", "gpt-unheard-of", context=5),
        lambda sim: sim.wait(miracles=1),
    ],
)
def test_nonsense_orders_are_refused(sim: Handle, nonsense: Any) -> None:
    with pytest.raises(ControlError):
        nonsense(sim)


async def test_in_a_process_of_its_own(http: aiohttp.ClientSession) -> None:
    with InProcess("--latency", "0.01", "--seed", "7", "--count-only") as sim:
        assert (await post(http, sim))[0] == 200
        summary = sim.summary()
        assert summary["requests"] == 1
        assert sim.entries() == []
        url = sim.url
    with pytest.raises(aiohttp.ClientConnectorError):
        await http.get(f"{url}/_sim")
