"""Requests of the SDKs that go to aiohttp directly: what arrives, and what comes of the answers."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest
import together
from aiohttp import web

from evalbench.providers.wire.address import Address
from evalbench.providers.wire.plain_http import PlainResponse
from evalbench.providers.wire.sdk import anthropic_client, openai_client, together_client

KEY = "sk-plain-0123456789abcdef"
JSON = {"Content-Type": "application/json"}
MAKERS = [anthropic_client, openai_client, together_client]
ERRORS = (anthropic.APIStatusError, openai.APIStatusError, together.APIStatusError)
Answer = Callable[[web.Request], web.Response]


class Desk:
    """A server that notes what it is asked and answers as told."""

    def __init__(self) -> None:
        self.seen: list[tuple[web.Request, bytes]] = []
        self.answer: Answer = lambda request: web.json_response({"id": "one"})
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        self.seen.append((request, await request.read()))
        return self.answer(request)


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    made = Desk()
    app = web.Application(client_max_size=1 << 24)
    app.router.add_route("*", "/{path:.*}", made.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield made
    await runner.cleanup()


def library(make: Any) -> Any:
    """The HTTP library of an SDK."""
    return httpx if make is together_client else httpx2


_TRANSPORTS_OWN = frozenset({"host", "accept-encoding", "connection", "content-length"})


def headers_of(request: web.Request) -> dict[str, str]:
    """What an SDK has a request sent with, without what its transport adds."""
    named = {name.lower(): value for name, value in request.headers.items()}
    return {name: value for name, value in named.items() if name not in _TRANSPORTS_OWN}


async def post(client: Any, kind: Any, desk: Desk, body: Any, headers: Any = JSON) -> Any:
    """The response to a request with this body, as the HTTP library ``kind`` has it."""
    return await client.post(
        f"{desk.url}/talk", cast_to=kind.Response, content=body, options={"headers": headers}
    )


async def sent(make: Callable[[str, Address], Any], desk: Desk, body: bytes) -> Any:
    """The SDK's response to a request with this body; raises as the SDK."""
    client = await asyncio.to_thread(make, KEY, Address(desk.url, official=False))
    try:
        return await post(client, library(make), desk, body)
    finally:
        await client.close()


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("size", [2, 3 << 20])
async def test_a_request_arrives_as_it_was_made(make: Any, desk: Desk, size: int) -> None:
    body = b"7" * size
    response = await sent(make, desk, body)
    ((request, arrived),) = desk.seen
    assert (request.method, request.path, arrived) == ("POST", "/v1/talk", body)
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["Content-Length"] == str(size)
    assert "X-Stainless-Lang" in request.headers
    assert (response.status_code, response.content) == (200, b'{"id": "one"}')
    assert response.json() == {"id": "one"}
    assert isinstance(response, PlainResponse)


@pytest.mark.parametrize(
    ("make", "own"),
    [
        (anthropic_client, anthropic.AsyncAnthropic),
        (openai_client, openai.AsyncOpenAI),
        (together_client, together.AsyncTogether),
    ],
)
async def test_all_requests_have_the_headers_that_the_sdk_alone_sends(
    make: Any, own: Any, desk: Desk
) -> None:
    client = await asyncio.to_thread(make, KEY, Address(desk.url, official=False))
    http = library(make).AsyncClient(timeout=client.timeout)
    alone = own(api_key=KEY, base_url=desk.url, max_retries=0, http_client=http)
    beta = {**JSON, "X-Beta": "new"}
    order = [(client, JSON), (client, beta), (client, JSON), (client, beta), (alone, JSON)]
    for number, (asking, headers) in enumerate(order):
        await post(asking, library(make), desk, str(10**number).encode(), headers)
    await client.close()
    await alone.close()
    assert [body for _, body in desk.seen] == [b"1", b"10", b"100", b"1000", b"10000"]
    first, new, again, new_again, sdk = (headers_of(request) for request, _ in desk.seen)
    assert first == again == sdk
    assert new == new_again == {**sdk, "x-beta": "new"}
    assert sdk["user-agent"].startswith(own.__name__)
    lengths = [request.headers["Content-Length"] for request, _ in desk.seen]
    assert lengths == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("make", MAKERS)
async def test_a_streamed_body_after_a_plain_one_is_sent_whole(make: Any, desk: Desk) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"[1,"
        yield b"2]"

    client = await asyncio.to_thread(make, KEY, Address(desk.url, official=False))
    for body in (b"{}", pieces(), b"[]"):
        await post(client, library(make), desk, body)
    await client.close()
    assert [body for _, body in desk.seen] == [b"{}", b"[1,2]", b"[]"]


async def test_a_copy_of_a_client_has_headers_of_its_own(desk: Desk) -> None:
    first = await asyncio.to_thread(openai_client, KEY, Address(desk.url, official=False))
    second = first.with_options(api_key="sk-other", default_headers={"X-Team": "seven"})
    for client in (first, second, first):
        await post(client, httpx2, desk, b"{}")
    await first.close()
    keys = [request.headers["Authorization"] for request, _ in desk.seen]
    assert keys == [f"Bearer {KEY}", "Bearer sk-other", f"Bearer {KEY}"]
    assert [request.headers.get("X-Team") for request, _ in desk.seen] == [None, "seven", None]


@pytest.mark.parametrize("make", MAKERS)
async def test_a_packed_answer_is_unpacked_once(make: Any, desk: Desk) -> None:
    text = b'{"text": "again and again"}'
    packed = {"Content-Encoding": "gzip", **JSON}
    desk.answer = lambda request: web.Response(body=gzip.compress(text), headers=packed)
    assert (await sent(make, desk, b"{}")).content == text


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("status", [302, 400, 429, 500])
async def test_a_refusal_is_the_sdks_error_with_its_response(
    make: Any, desk: Desk, status: int
) -> None:
    headers = {"Retry-After": "7", "Location": f"{desk.url}/elsewhere"}
    desk.answer = lambda request: web.Response(status=status, text="no", headers=headers)
    with pytest.raises(ERRORS) as caught:
        await sent(make, desk, b"{}")
    error: Any = caught.value
    response = error.response
    assert (response.status_code, response.content) == (status, b"no")
    assert response.headers.get("retry-after") == "7"
    assert len(desk.seen) == 1
