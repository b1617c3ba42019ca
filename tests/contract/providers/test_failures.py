"""Every way to fail, as its class in the error tree."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from typing import Any

import pytest

from evalbench.engine import errors as e
from evalbench.engine.calls import Call, MediaPart, ModelRef, Outcome, generate, user
from evalbench.providers.wire import transport
from tests.contract.providers.conftest import KEY, Make
from tests.contract.providers.test_answers import ASKED, LANES, lane
from tests.simulator.handle import Handle
from tests.unit.providers.calls import PNG, ask

SDK = ("anthropic", "openai-chat", "openai-responses", "together", "google", "bedrock")
CARRIED = (*SDK, "compatible")
KEYED = [n for n in LANES if n not in ("vllm", "ollama", "lmstudio", "llamacpp", "compatible")]


ANY_MODEL = ("llamacpp", "compatible", "lmstudio")


async def failure(provider: Any, call: Call) -> e.ProviderError:
    with pytest.raises(e.ProviderError) as caught:
        await provider.answer(call)
    return caught.value


WORDS = {"wrong": e.BadKey, "noaccess": e.AccessDenied, "nocredit": e.NoCredit}
DEEPSEEK_HAS_NONE = ("deepseek", "noaccess")


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("name", "word"), [(n, w) for n in KEYED for w in WORDS if (n, w) != DEEPSEEK_HAS_NONE]
)
async def test_keys(sim: Handle, make: Make, name: str, word: str) -> None:
    provider_name, model, settings = LANES[name]
    key = f"sk-{word}-0123456789abcdef"
    provider = make(provider_name, key, **settings)
    error = await failure(provider, ask(f"{provider_name}/{model}"))
    assert type(error) is WORDS[word]
    assert key not in f"{error}{error.body}"
    assert provider.title in error.what
    assert error.hint


async def test_anthropic_says_no_money_in_three_ways(sim: Handle, make: Make) -> None:
    for word, kind in (
        ("nocredit", e.NoCredit), ("nobilling", e.NoCredit), ("spent", e.QuotaExhausted)
    ):  # fmt: skip
        provider = make("anthropic", f"sk-ant-{word}-0123456789")
        error = await failure(provider, ask("anthropic/claude-sonnet-5"))
        assert type(error) is kind


@pytest.mark.share(3)
@pytest.mark.parametrize("name", [*ASKED, "openai-chat", "groq"])
async def test_a_missing_key_sends_nothing(sim: Handle, make: Make, name: str) -> None:
    provider_name, model, settings = LANES[name]
    error = await failure(make(provider_name, "", **settings), ask(f"{provider_name}/{model}"))
    assert type(error) is e.BadKey
    assert "no key" in error.what
    assert sim.summary()["requests"] == 0


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "name", [n for n in LANES if n not in ("llamacpp", "compatible", "lmstudio")]
)
async def test_an_unknown_model(sim: Handle, make: Make, name: str) -> None:
    provider, model = lane(make, name)
    error = await failure(provider, ask(model + "x"))
    assert type(error) is e.NoSuchModel
    assert model.partition("/")[2] in error.hint


@pytest.mark.parametrize(
    ("provider", "model"),
    [("anthropic", "claude-3-7-sonnet-20250219"), ("openai", "o1-preview")],
)
async def test_a_retired_model(sim: Handle, make: Make, provider: str, model: str) -> None:
    error = await failure(make(provider), ask(f"{provider}/{model}"))
    assert type(error) is e.NoSuchModel
    if provider == "anthropic":
        assert "retired" in error.what
        assert "2026-02-19" in error.what
    else:
        assert "deprecated" in error.why


LONG = "word " * 900_000
SHORTER = {
    "anthropic": "claude-haiku-4-5",
    "openai-chat": "gpt-4o-mini",
    "openai-responses": "gpt-4o-mini",
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", [n for n in LANES if n != "ollama"])
async def test_a_prompt_that_is_too_long(sim: Handle, make: Make, name: str) -> None:
    provider, full = lane(make, name, SHORTER.get(name, ""))
    text = LONG if name in ("google", "mistral", "xai") else LONG[: len(LONG) // 4]
    if name == "xai":
        text += LONG
    error = await failure(provider, Call(ModelRef.parse(full), generate(text)))
    assert type(error) is e.ContextTooLong
    assert not error.possibly_billed


async def test_ollama_cuts_a_prompt_and_is_caught(sim: Handle, make: Make) -> None:
    provider, model = lane(make, "ollama")
    error = await failure(provider, Call(ModelRef.parse(model), generate("word " * 5000)))
    assert type(error) is e.ContextTooLong
    assert "OLLAMA_CONTEXT_LENGTH" in error.hint


@pytest.mark.share(5)
@pytest.mark.parametrize("name", CARRIED)
@pytest.mark.parametrize(
    ("status", "kind", "billed"),
    [
        (429, e.RateLimited, False),
        (500, e.ServerFault, True),
        (502, e.ServerFault, True),
        (503, e.Overloaded, False),
        (504, e.ServerFault, True),
        (529, e.Overloaded, False),
    ],
)
async def test_statuses(
    sim: Handle, make: Make, name: str, status: int, kind: type[Exception], billed: bool
) -> None:
    sim.fault(status=status, retry_after=3, path=ASKED.get(name, ""))
    provider, model = lane(make, name)
    error = await failure(provider, ask(model))
    assert type(error) is kind
    assert error.retry_after == 3
    assert error.possibly_billed is billed
    assert error.status == status
    sent = [entry for entry in sim.entries() if entry["method"] == "POST"]
    assert len(sent) == 1


@pytest.mark.share(5)
@pytest.mark.parametrize("name", CARRIED)
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("reset_before_headers", e.ConnectionFailed),
        ("reset_after_headers", e.ConnectionFailed),
        ("close_before_headers", e.ConnectionFailed),
        ("truncated_body", e.ConnectionFailed),
        ("malformed_json", e.ServerFault),
        ("empty_body", e.ServerFault),
        ("wrong_content_type", e.RunFatal),
    ],
)
async def test_broken_answers(
    sim: Handle, make: Make, name: str, fault: str, kind: type[Exception]
) -> None:
    sim.fault(fault, path=ASKED.get(name, ""))
    provider, model = lane(make, name)
    error = await failure(provider, ask(model))
    assert type(error) is kind
    assert error.possibly_billed is (kind is not e.RunFatal)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", CARRIED)
async def test_a_web_page_in_the_middle_of_a_run_is_a_bad_moment(
    sim: Handle, make: Make, name: str
) -> None:
    provider, model = lane(make, name)
    await provider.answer(ask(model))
    sim.fault("wrong_content_type")
    error = await failure(provider, ask(model))
    assert type(error) is e.ServerFault
    assert error.possibly_billed


@pytest.mark.share(4)
@pytest.mark.parametrize("name", CARRIED)
@pytest.mark.parametrize("fault", ["hang", "slow_body"])
async def test_the_deadline_is_for_the_whole_answer(
    sim: Handle, make: Make, name: str, fault: str
) -> None:
    sim.fault(fault, seconds=60, path=ASKED.get(name, ""))
    provider_name, model, settings = LANES[name]
    provider = make(provider_name, timeout=1.0, **settings)
    error = await failure(provider, ask(f"{provider_name}/{model}"))
    assert type(error) is e.DeadlineExceeded
    assert error.possibly_billed
    assert "--timeout" in error.hint
    await asyncio.to_thread(sim.wait, client_gone=1)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", CARRIED)
async def test_nobody_listens(sim: Handle, make: Make, name: str, free_port: int) -> None:
    provider_name, model, settings = LANES[name]
    provider = make(provider_name, base_url=f"http://127.0.0.1:{free_port}/v1", **settings)
    error = await failure(provider, ask(f"{provider_name}/{model}"))
    assert type(error) is e.ConnectionFailed
    assert not error.possibly_billed
    assert f"127.0.0.1:{free_port}" in error.what


@pytest.mark.share(3)
@pytest.mark.parametrize("name", CARRIED)
async def test_a_name_that_nobody_knows(
    sim: Handle, make: Make, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    found = socket.getaddrinfo

    def look_up(host: Any, *args: Any, **named: Any) -> Any:
        if "nowhere" in str(host):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return found(host, *args, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    provider_name, model, settings = LANES[name]
    provider = make(provider_name, base_url="http://nowhere.example/v1", **settings)
    error = await failure(provider, ask(f"{provider_name}/{model}"))
    assert type(error) is e.ConnectionFailed
    assert not error.possibly_billed
    assert "nowhere.example" in error.what


_LONG = "x" * 10_000_000
_HUGE = {
    "anthropic": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": _LONG}], "stop_reason": "end_turn",
        "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 9},
    },
    "chat": {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop",
             "message": {"role": "assistant", "content": _LONG}},
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 9, "total_tokens": 10},
    },
}  # fmt: skip


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ["anthropic", "openai-chat", "together", "compatible"])
async def test_an_answer_of_ten_megabytes(sim: Handle, make: Make, name: str) -> None:
    sim.fault(status=200, body=_HUGE.get(name, _HUGE["chat"]), path=ASKED.get(name, ""))
    provider, model = lane(make, name)
    reply = await provider.answer(ask(model))
    assert reply.outcome is Outcome.OK
    assert reply.text == _LONG


@pytest.mark.share(3)
@pytest.mark.parametrize("name", CARRIED)
async def test_an_address_that_is_no_api(sim: Handle, make: Make, name: str) -> None:
    provider_name, model, settings = LANES[name]
    provider = make(provider_name, base_url=f"{sim.url}/nowhere", **settings)
    error = await failure(provider, ask(f"{provider_name}/{model}"))
    assert type(error) is e.RunFatal
    assert "/nowhere" in error.what
    assert "--base-url" in error.hint


@pytest.mark.parametrize("name", ["openai-responses"])
async def test_a_failed_response_inside_a_200(sim: Handle, make: Make, name: str) -> None:
    provider, model = lane(make, name)
    sim.fault("error_in_200", code="server_error", times=1)
    assert type(await failure(provider, ask(model))) is e.ServerFault
    sim.fault("error_in_200", code="rate_limit_exceeded", times=1)
    assert type(await failure(provider, ask(model))) is e.RateLimited
    sim.fault("error_in_200", code="bio_policy", times=1)
    assert (await provider.answer(ask(model))).outcome is Outcome.FILTERED


@pytest.mark.parametrize("code", ["", "choice"])
async def test_a_routers_error_inside_a_200(sim: Handle, make: Make, code: str) -> None:
    provider, model = lane(make, "openrouter")
    sim.fault("error_in_200", code=code)
    assert type(await failure(provider, ask(model))) is e.ServerFault


async def test_limits_come_with_errors(sim: Handle, make: Make) -> None:
    for name in ("anthropic", "openai-chat", "together", "groq"):
        provider, model = lane(make, name)
        api = LANES[name][0]
        sim.limits(api, requests=1)
        await provider.answer(ask(model))
        error = await failure(provider, ask(model))
        assert isinstance(error, e.RateLimited | e.QuotaExhausted)
        assert error.limits.requests_remaining == 0  # type: ignore[attr-defined]
        assert error.retry_after


async def test_groqs_requests_are_counted_by_the_day(sim: Handle, make: Make) -> None:
    provider, model = lane(make, "groq")
    sim.limits("groq", requests=1)
    await provider.answer(ask(model))
    assert type(await failure(provider, ask(model))) is e.QuotaExhausted


@pytest.mark.share(5)
@pytest.mark.parametrize("name", CARRIED)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
async def test_a_key_that_is_echoed_appears_nowhere(
    sim: Handle, make: Make, name: str, status: int
) -> None:
    sim.fault(
        status=status, message=f"you sent Bearer {KEY}", headers={"request-id": KEY,
        "x-request-id": KEY}, path=ASKED.get(name, ""),
    )  # fmt: skip
    provider, model = lane(make, name)
    error = await failure(provider, ask(model))
    assert KEY not in f"{error}{error!r}{error.body}{error.request_id}{provider!r}"


def image_call(provider: str, model: str, width: int, height: int) -> Call:
    """A question about an image of a given size; only its head is real."""
    head = PNG[:16] + width.to_bytes(4) + height.to_bytes(4) + PNG[24:]
    image = MediaPart("image/png", head)
    return Call(ModelRef(provider, model), generate([user([image, "What is it?"])]))


async def test_an_image_is_never_shrunk_in_silence(sim: Handle, make: Make) -> None:
    call = image_call("anthropic", "claude-opus-4-6", 3000, 3000)
    error = await failure(make("anthropic"), call)
    assert type(error) is e.CallRejected
    assert "image" in error.what
    assert "--oversized-image downsize" in error.hint
    reply = await make("anthropic", oversized_image="downsize").answer(call)
    assert reply.outcome is Outcome.OK


async def test_a_request_that_is_too_large(sim: Handle, make: Make) -> None:
    image = MediaPart("image/png", PNG + bytes(26_000_000))
    call = Call(ModelRef("anthropic", "claude-sonnet-5"), generate([user([image, "Hm?"])]))
    error = await failure(make("anthropic"), call)
    assert type(error) is e.CallRejected
    assert "larger" in error.what


@pytest.mark.share(3)
@pytest.mark.parametrize("name", CARRIED)
async def test_debug_logs_of_the_sdks_do_not_show_the_key(
    sim: Handle, make: Make, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    sdks = ("anthropic", "openai", "together", "google_genai", "google.auth")
    for logger in (*sdks, "botocore", "urllib3", "httpx", "httpx2", "aiohttp"):
        caplog.set_level(logging.DEBUG, logger)
    caplog.set_level(logging.DEBUG)
    provider, model = lane(make, name)
    await provider.answer(ask(model))
    sim.fault(status=401)
    await failure(provider, ask(model))
    assert KEY not in caplog.text


@pytest.mark.parametrize("name", ["anthropic", "openai-chat", "groq"])
async def test_an_endless_answer_is_given_up_before_it_fills_the_memory(
    make: Make, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MOST_BYTES", 1 << 20)

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"10000\r\n" + bytes(0x10000) + b"\r\n")
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(pour, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        api, model, settings = LANES[name]
        provider = make(api, base_url=f"http://127.0.0.1:{port}/v1", timeout=60.0, **settings)
        error = await failure(provider, ask(f"{api}/{model}"))
    assert type(error) is e.ConnectionFailed
    assert error.why == "it is larger than 1 MiB"
    assert error.possibly_billed
