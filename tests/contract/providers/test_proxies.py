"""A proxy that refuses, is gone or cannot be one: its password is in no error."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from evalbench.engine.errors import ConnectionFailed, EvalbenchError
from tests.contract.providers.conftest import Make
from tests.contract.providers.test_answers import LANES
from tests.spellings import spellings
from tests.unit.providers.calls import ask

PASSWORD = "hun/ter@2"
LOGIN = "me:hun%2Fter%402"
WHO = ("anthropic", "openai-chat", "together", "google", "bedrock", "groq", "compatible")


@pytest_asyncio.fixture
async def refusing() -> AsyncIterator[int]:
    """The port of a proxy that wants another password, and repeats the one that it got."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            login = next(line for line in head.split(b"\r\n") if line.startswith(b"Proxy-Auth"))
            writer.write(
                b"HTTP/1.1 407 %b\r\nX-Request-Id: %b\r\nContent-Length: %d\r\n\r\n%b"
                % (login, login, len(login), login)
            )
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


@pytest.mark.share(3)
@pytest.mark.parametrize("lane", WHO)
@pytest.mark.parametrize("kind", ["refuses", "is gone", "is none"])
@pytest.mark.parametrize("scheme", ["https", "http"])
async def test_its_password_is_in_no_error(
    lane: str,
    kind: str,
    scheme: str,
    make: Make,
    refusing: int,
    free_port: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port = {"refuses": refusing, "is gone": free_port, "is none": "port"}[kind]
    for name in ("http_proxy", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, f"http://{LOGIN}@127.0.0.1:{port}")
    name, model, settings = LANES[lane]
    provider = make(name, base_url=f"{scheme}://api.example/v1", timeout=20.0, **settings)
    with pytest.raises(EvalbenchError) as caught:
        await provider.answer(ask(f"{name}/{model}"))
    if kind != "is none":
        assert type(caught.value) is ConnectionFailed
        assert not caught.value.possibly_billed
        assert f"the proxy 127.0.0.1:{port} cannot be used" in caught.value.what
        assert f"unset {scheme}_proxy" in caught.value.hint
    told = f"{caught.value} {caught.value!r} {vars(caught.value)}"
    for spelled in (LOGIN, *spellings(PASSWORD).values()):
        assert spelled.lower() not in told.lower()
