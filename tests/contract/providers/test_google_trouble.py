"""What can go wrong with Gemini: quotas, keys, its SDK's traps, and what the environment says."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine import errors as e
from evalbench.engine.calls import Outcome
from tests.contract.providers.conftest import Make
from tests.contract.providers.test_failures import failure
from tests.contract.providers.test_google import FLASH, statuses
from tests.simulator.handle import Handle
from tests.unit.providers.calls import ask


async def test_quotas_per_minute_are_waited_for(sim: Handle, make: Make) -> None:
    sim.limits("google", requests=1)
    provider = make("google")
    await provider.answer(ask(FLASH, max_tokens=2000))
    error = await failure(provider, ask(FLASH, max_tokens=2000))
    assert type(error) is e.RateLimited
    assert 50 < error.retry_after <= 60  # type: ignore[operator]
    assert "plan and billing" in error.why


async def test_quotas_per_day_end_the_run(sim: Handle, make: Make) -> None:
    sim.limits("google", requests=1, requests_window=86_400.0)
    provider = make("google")
    await provider.answer(ask(FLASH, max_tokens=2000))
    assert type(await failure(provider, ask(FLASH, max_tokens=2000))) is e.QuotaExhausted
    spent = make("google", "AIza-spent-0123456789")
    assert type(await failure(spent, ask(FLASH))) is e.QuotaExhausted


def told(code: int, message: str, *details: dict[str, Any]) -> dict[str, Any]:
    typed = [{"@type": f"type.googleapis.com/google.rpc.{one.pop('@')}", **one} for one in details]
    return {"error": {"code": code, "message": message, "status": "X", "details": typed}}


@pytest.mark.parametrize(
    ("status", "message", "detail", "kind", "words"),
    [
        (429, "No quota", {"@": "QuotaFailure", "violations": [{"quotaValue": "0"}]},
         e.QuotaExhausted, "enable billing"),
        (429, "No capacity available", {"@": "ErrorInfo", "reason": "MODEL_CAPACITY_EXHAUSTED"},
         e.Overloaded, ""),
        (429, "Resource has been exhausted (e.g. check quota).", None, e.RateLimited, ""),
        (403, "Requests are blocked", {"@": "ErrorInfo", "reason": "API_KEY_SERVICE_BLOCKED"},
         e.AccessDenied, "restrictions"),
        (403, "Your API key was reported as leaked. Please use another API key.", None, e.BadKey,
         "make a new one"),
        (400, "API key expired. Please renew the API key.",
         {"@": "ErrorInfo", "reason": "API_KEY_INVALID"}, e.BadKey, "make a new one"),
        (400, "User location is not supported for the API use.", None, e.AccessDenied, ""),
        (400, "Request payload size exceeds the limit: 20971520 bytes.", None, e.CallRejected, ""),
        (404, "models/x is not found for API version v1", None, e.NoSuchModel, "models google"),
    ],
)  # fmt: skip
async def test_what_google_says_by_its_reasons(
    sim: Handle,
    make: Make,
    status: int,
    message: str,
    detail: dict[str, Any] | None,
    kind: type[Exception],
    words: str,
) -> None:
    content = told(status, message, *([dict(detail)] if detail else []))
    sim.fault(status=status, body=content, path="generateContent")
    error = await failure(make("google"), ask(FLASH))
    assert type(error) is kind
    assert words in error.hint
    assert error.status == status


async def test_a_key_of_the_wrong_project_takes_one_call_and_names_the_cure(
    sim: Handle, make: Make
) -> None:
    provider = make("google", "AIza-noaccess-0123456789")
    calls = [failure(provider, ask(FLASH, seed=number)) for number in range(20)]
    for error in await asyncio.gather(*calls):
        assert type(error) is e.AccessDenied
        assert "has not turned the API on" in error.what
        assert "overview?project=" in error.hint
    assert sim.summary()["requests"] == 1


async def test_the_next_names_of_an_unknown_model(sim: Handle, make: Make) -> None:
    error = await failure(make("google"), ask("google/gemini-1.5-pro"))
    assert type(error) is e.NoSuchModel
    assert "gemini" in error.hint
    with pytest.raises(e.NoSuchModel):
        make("google").check_model("../files")
    assert (await make("google").answer(ask("google/models/gemini-2.5-flash"))).text


async def test_versions_of_the_api(sim: Handle, make: Make) -> None:
    await make("google", api_version="v1beta").answer(ask(FLASH, max_tokens=2000))
    assert sim.entries()[-1]["path"].startswith("/google/v1beta/models/")
    await make("google", base_url=sim.base_url("google") + "/v1").answer(ask(FLASH))
    assert sim.entries()[-1]["path"].startswith("/google/v1/models/")


async def test_nothing_in_the_environment_leads_the_client_elsewhere(
    sim: Handle, make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free_port: int
) -> None:
    nowhere = f"http://127.0.0.1:{free_port}"
    for name, value in {
        "GOOGLE_GENAI_USE_VERTEXAI": "true",
        "GOOGLE_GENAI_USE_ENTERPRISE": "true",
        "GOOGLE_GENAI_API_VERSION": "v9",
        "GOOGLE_GENAI_CLIENT_MODE": "replay",
        "GOOGLE_GENAI_REPLAYS_DIRECTORY": str(tmp_path),
        "GOOGLE_GEMINI_BASE_URL": nowhere,
        "GOOGLE_VERTEX_BASE_URL": nowhere,
        "GOOGLE_API_KEY": "AIza-wrong-from-the-environment",
        "GOOGLE_CLOUD_PROJECT": "another",
        "HTTP_PROXY": nowhere,
    }.items():
        monkeypatch.setenv(name, value)
    reply = await make("google").answer(ask(FLASH, max_tokens=2000))
    assert reply.outcome is Outcome.OK
    assert sim.entries()[-1]["path"].startswith("/google/v1/models/")


async def test_the_client_lives_while_the_provider_does(sim: Handle, make: Make) -> None:
    provider = make("google")
    for number in range(3):
        gc.collect()
        assert (await provider.answer(ask(FLASH, max_tokens=2000, seed=number))).text


async def test_a_refused_connection_is_told_at_once(
    sim: Handle, make: Make, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float, *more: Any) -> None:
        slept.append(seconds)
        await sleep(0, *more)

    monkeypatch.setattr(asyncio, "sleep", noted)
    provider = make("google", base_url=f"http://127.0.0.1:{free_port}")
    assert type(await failure(provider, ask(FLASH))) is e.ConnectionFailed
    assert max(slept, default=0) < 0.9  # the SDK's own silent retry sleeps 1 to 10 seconds


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_the_sdk_tries_nothing_again(sim: Handle, make: Make, status: int) -> None:
    sim.fault(status=status)
    await failure(make("google"), ask(FLASH))
    assert statuses(sim) == [status]


async def test_an_error_that_is_no_json_is_a_fault_of_the_server(sim: Handle, make: Make) -> None:
    sim.fault(status=500, body='{"error": {"message": "cut')
    error = await failure(make("google"), ask(FLASH))
    assert type(error) is e.ServerFault


async def test_redirects_are_not_followed_with_the_key(sim: Handle, make: Make) -> None:
    where = sim.url + "/google/v1/models/gemini-2.5-pro:generateContent"
    sim.fault(status=307, headers={"Location": where}, body={}, path="2.5-flash")
    error = await failure(make("google"), ask(FLASH))
    assert type(error) is e.RunFatal
    assert "gemini-2.5-pro" not in str(sim.summary()["paths"])
    assert statuses(sim) == [307]


async def test_an_answer_in_no_encoding_is_a_fault_of_the_server(sim: Handle, make: Make) -> None:
    headers = {"content-type": "application/json; charset=ascii"}
    sim.fault(status=200, body={"text": "é"}, headers=headers)
    error = await failure(make("google"), ask(FLASH))
    assert type(error) is e.ServerFault
    assert error.possibly_billed
