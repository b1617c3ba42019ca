"""A request that never had a connection was never charged, whatever broke on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
import pytest_asyncio

from evalbench.engine import errors as e
from evalbench.providers.wire import connection_made
from tests.contract.providers.conftest import Make
from tests.contract.providers.test_answers import LANES
from tests.contract.providers.test_failures import CARRIED, failure
from tests.unit.providers.calls import ask

Listen = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]
Serve = Callable[[Listen], Coroutine[Any, Any, int]]


@pytest_asyncio.fixture
async def serve() -> AsyncIterator[Serve]:
    """Starts servers on this machine; gives their port."""
    servers: list[asyncio.Server] = []
    writers: list[asyncio.StreamWriter] = []

    async def start(listen: Listen) -> int:
        async def noted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writers.append(writer)
            await listen(reader, writer)

        servers.append(await asyncio.start_server(noted, "127.0.0.1", 0))
        port: int = servers[-1].sockets[0].getsockname()[1]
        return port

    yield start
    for writer in writers:
        writer.close()
    for server in servers:
        server.close()


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.transport.abort()


async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)


async def say_nothing_at_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
    await writer.drain()


def at(make: Make, name: str, url: str, **settings: Any) -> tuple[Any, str]:
    api, model, more = LANES[name]
    return make(api, base_url=url, **more, **settings), f"{api}/{model}"


@pytest.mark.parametrize("name", CARRIED)
async def test_a_handshake_that_is_cut(make: Make, serve: Serve, name: str) -> None:
    provider, model = at(make, name, f"https://127.0.0.1:{await serve(hang_up)}/v1")
    error = await failure(provider, ask(model))
    assert not error.possibly_billed
    assert isinstance(error, e.ConnectionFailed | e.RunFatal)


@pytest.mark.parametrize("name", CARRIED)
async def test_a_handshake_that_outlasts_the_deadline(make: Make, serve: Serve, name: str) -> None:
    url = f"https://127.0.0.1:{await serve(say_nothing)}/v1"
    provider, model = at(make, name, url, timeout=1.0)
    error = await failure(provider, ask(model))
    assert type(error) is e.ConnectionFailed
    assert not error.possibly_billed


async def never_billed_behind_a_proxy(make: Make, name: str) -> e.EvalbenchError:
    provider, model = at(make, name, "https://somewhere.example/v1")
    error = await failure(provider, ask(model))
    assert type(error) is e.ConnectionFailed
    assert not error.possibly_billed
    return error


@pytest.mark.parametrize("name", CARRIED)
async def test_a_proxy_that_does_not_let_through(
    make: Make, serve: Serve, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{await serve(refuse)}")
    await never_billed_behind_a_proxy(make, name)


@pytest.mark.parametrize("name", CARRIED)
async def test_a_proxy_that_does_not_run(
    make: Make, free_port: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{free_port}")
    error = await never_billed_behind_a_proxy(make, name)
    assert error.what.startswith(f"the proxy 127.0.0.1:{free_port} cannot be used to reach ")
    assert "HTTPS_PROXY" in error.hint
    assert "NO_PROXY=somewhere.example" in error.hint


OVER_AIOHTTP = [name for name in CARRIED if name != "bedrock"]


@pytest.mark.parametrize("name", OVER_AIOHTTP)
async def test_a_proxy_that_never_opens_its_tunnel(
    make: Make, serve: Serve, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_made, "REACH_S", 0.2)
    never_says = asyncio.Event()

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.read()
        never_says.set()

    proxy = f"127.0.0.1:{await serve(swallow)}"
    monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy}")
    error = await never_billed_behind_a_proxy(make, name)
    assert error.what.endswith(f"through the proxy {proxy}")
    await asyncio.wait_for(never_says.wait(), 20)


@pytest.mark.parametrize("name", OVER_AIOHTTP)
async def test_a_name_server_that_never_answers(
    make: Make, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_made, "REACH_S", 0.2)

    async def wait_forever(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", wait_forever)
    provider, model = at(make, name, "http://somewhere.example/v1")
    error = await failure(provider, ask(model))
    assert type(error) is e.ConnectionFailed
    assert not error.possibly_billed


@pytest.mark.parametrize("name", CARRIED)
async def test_a_deadline_behind_a_proxy_names_the_proxy(
    make: Make, serve: Serve, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = f"127.0.0.1:{await serve(say_nothing_at_all)}"
    monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy}")
    provider, model = at(make, name, "https://somewhere.example/v1", timeout=0.5)
    error = await failure(provider, ask(model))
    assert type(error) is e.ConnectionFailed
    assert not error.possibly_billed
    assert error.what.endswith(f"through the proxy {proxy}")
