"""Rate limits of the simulator, on a clock that only the test moves."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import anthropic
import openai
import pytest

from tests.simulator.clock import Clock, duration, rfc3339
from tests.simulator.handle import Handle, InThread

START = 1_795_780_800.0
"""2026-11-27T12:00:00Z."""


@pytest.fixture(scope="module")
def running_simulator() -> Iterator[InThread]:
    """One whose clock stands sim, at the same moment after every reset."""
    with InThread(Clock(running=False, start=START)) as simulator:
        yield simulator


def post(sim: Handle, api: str, body: dict[str, Any], path: str = "/chat/completions") -> Any:
    """Status, headers and body of one request, without any SDK."""
    request = urllib.request.Request(
        sim.base_url(api) + path,
        data=json.dumps(body).encode(),
        headers={"authorization": "Bearer key", "anthropic-version": "2026-10-21"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, reply.headers, json.loads(reply.read())
    except urllib.error.HTTPError as problem:
        return problem.code, problem.headers, json.loads(problem.read())


def chat(sim: Handle, api: str, model: str, **fields: Any) -> Any:
    turns = [{"role": "user", "content": "Hi"}]
    return post(sim, api, {"model": model, "messages": turns, **fields})


async def test_openai_requests_per_minute(sim: Handle) -> None:
    sim.limits("openai", requests=2)
    async with openai.AsyncOpenAI(
        api_key="key", base_url=sim.base_url("openai"), max_retries=0
    ) as client:

        async def ask(model: str = "gpt-4.1") -> None:
            await client.chat.completions.create(
                model=model, messages=[{"role": "user", "content": "Hi"}]
            )

        await ask()
        await ask()
        with pytest.raises(openai.RateLimitError) as caught:
            await ask()
        assert caught.value.code == "rate_limit_exceeded"
        assert caught.value.type == "requests"
        headers = caught.value.response.headers
        assert headers["x-ratelimit-limit-requests"] == "2"
        assert headers["x-ratelimit-remaining-requests"] == "0"
        assert headers["x-ratelimit-reset-requests"] == "1m0s"
        assert headers["retry-after-ms"] == "30000"
        assert headers["retry-after"] == "30"
        await ask("gpt-4o")
        sim.advance(29.9)
        with pytest.raises(openai.RateLimitError):
            await ask()
        sim.advance(0.1)
        await ask()


def test_openai_tokens_count_the_cap(sim: Handle) -> None:
    sim.limits("openai", tokens=1000)
    status, headers, _ = chat(sim, "openai", "gpt-4.1", max_tokens=900)
    assert status == 200
    assert headers["x-ratelimit-remaining-tokens"] == "96"
    # 904 of 1,000 a minute come back in 54.24 s.
    assert headers["x-ratelimit-reset-tokens"] == "54.24s"
    status, headers, body = chat(sim, "openai", "gpt-4.1", max_tokens=900)
    assert status == 429
    assert body["error"]["type"] == "tokens"
    assert "Limit 1000, Used 904, Requested 904" in body["error"]["message"]
    assert headers["retry-after"] == "49"
    status, headers, body = chat(sim, "openai", "gpt-4.1", max_tokens=1000)
    assert status == 429
    assert body["error"]["message"].startswith("Request too large")
    assert headers["retry-after"] is None


async def test_anthropic_input_tokens(sim: Handle) -> None:
    sim.limits("anthropic", input_tokens=12, output_tokens=1000)
    async with anthropic.AsyncAnthropic(
        api_key="key", base_url=sim.base_url("anthropic"), max_retries=0, timeout=10
    ) as client:

        async def ask() -> None:
            await client.messages.create(
                model="claude-opus-4-8",
                max_tokens=50,
                messages=[{"role": "user", "content": "What is asked?"}],
            )

        await ask()
        with pytest.raises(anthropic.RateLimitError) as caught:
            await ask()
        assert "12 input tokens per minute" in str(caught.value.api_message)
        headers = caught.value.response.headers
        # 4 of 12 are left, 8 are needed: 4 more come in 20 s, the bucket is full in 40.
        assert headers["retry-after"] == "20"
        assert headers["anthropic-ratelimit-input-tokens-remaining"] == "4"
        assert headers["anthropic-ratelimit-input-tokens-reset"] == "2026-11-27T12:00:40Z"
        sim.advance(20)
        await ask()


def test_anthropic_output_tokens_are_counted_afterwards(sim: Handle) -> None:
    sim.limits("anthropic", output_tokens=10)
    sim.rule("Hi", text="a" * 90)
    body = {
        "model": "claude-opus-4-8",
        "max_tokens": 500,
        "messages": [{"role": "user", "content": "Hi"}],
    }
    assert post(sim, "anthropic", body, "/v1/messages")[0] == 200
    status, headers, _ = post(sim, "anthropic", body, "/v1/messages")
    assert status == 429
    # 30 tokens of 10 are gone: 21 must come back before one is there.
    assert headers["retry-after"] == "126"


def test_cache_reads_do_not_count(sim: Handle) -> None:
    sim.limits("anthropic", input_tokens=4000)
    text = {"type": "text", "text": "r" * 6000, "cache_control": {"type": "ephemeral"}}
    body = {
        "model": "claude-opus-4-8",
        "max_tokens": 5,
        "messages": [{"role": "user", "content": [text]}],
    }
    left = [
        int(
            post(sim, "anthropic", body, "/v1/messages")[1][
                "anthropic-ratelimit-input-tokens-remaining"
            ]
        )
        for _ in range(2)
    ]
    assert left == [4000 - 2003, 4000 - 2003]


def test_groq_counts_requests_by_the_day(sim: Handle) -> None:
    sim.limits("groq", requests=1)
    model = "llama-3.1-8b-instant"
    assert chat(sim, "groq", model)[0] == 200
    status, headers, body = chat(sim, "groq", model)
    assert status == 429
    assert "requests per day (RPD)" in body["error"]["message"]
    assert headers["retry-after"] == "86400"
    assert headers["x-ratelimit-reset-requests"] == "24h0m0s"


def test_groq_request_too_large(sim: Handle) -> None:
    sim.limits("groq", tokens=100)
    status, _, body = chat(sim, "groq", "llama-3.1-8b-instant", max_tokens=200)
    assert status == 413
    assert body["error"]["code"] == "rate_limit_exceeded"


def test_openrouter_and_mistral_and_xai_headers(sim: Handle) -> None:
    for api in ("openrouter", "mistral", "xai"):
        sim.limits(api, requests=60, tokens=6000)
    _, headers, _ = chat(sim, "openrouter", "openai/gpt-4o-mini")
    assert headers["X-RateLimit-Limit"] == "60"
    assert headers["X-RateLimit-Remaining"] == "59"
    assert headers["X-RateLimit-Reset"] == str(int((START + 1) * 1000))
    _, headers, _ = chat(sim, "mistral", "mistral-small-latest")
    assert headers["x-ratelimit-remaining-req-minute"] == "59"
    assert headers["x-ratelimit-limit-tokens-minute"] == "6000"
    _, headers, _ = chat(sim, "xai", "grok-4.20")
    assert headers["x-ratelimit-remaining-requests"] == "59"
    assert headers["x-ratelimit-reset-requests"] is None


@pytest.mark.parametrize("api", ["vllm", "ollama", "lmstudio", "llamacpp", "deepseek"])
def test_silent_servers(sim: Handle, api: str) -> None:
    request = urllib.request.Request(
        sim.base_url(api) + "/models", headers={"authorization": "Bearer key"}
    )
    with urllib.request.urlopen(request, timeout=10) as reply:
        model = json.loads(reply.read())["data"][0]["id"]
    _, headers, _ = chat(sim, api, model)
    assert not [name for name in headers if "ratelimit" in name.lower()]


def test_without_limits_headers_tell_of_plenty(sim: Handle) -> None:
    before = chat(sim, "openai", "gpt-4.1")[1]["x-ratelimit-remaining-requests"]
    after = chat(sim, "openai", "gpt-4.1")[1]["x-ratelimit-remaining-requests"]
    assert before == after == "1000000"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0ms"),
        (0.028, "28ms"),
        (1, "1s"),
        (7.66, "7.66s"),
        (59.9, "59.9s"),
        (60, "1m0s"),
        (179.56, "2m59.56s"),
        (360, "6m0s"),
        (86_400, "24h0m0s"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text
    units = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
    parts = re.findall(r"([\d.]+)(ms|[hms])", text)
    assert sum(float(number) * units[unit] for number, unit in parts) == pytest.approx(seconds)


def test_rfc3339() -> None:
    assert rfc3339(START) == "2026-11-27T12:00:00Z"
    assert datetime.fromisoformat(rfc3339(START)).timestamp() == START
