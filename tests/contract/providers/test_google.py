"""What is particular to Gemini: thinking, safety, native media, files, quotas, its SDK's traps."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine import errors as e
from evalbench.engine.calls import Call, MediaPart, ModelRef, Outcome, generate, user
from evalbench.providers.google import files as google_files
from tests.contract.providers.conftest import KEY, Make
from tests.contract.providers.test_failures import failure
from tests.simulator.handle import Handle
from tests.unit.providers.calls import IMAGE, PNG, ask, look, pick

FLASH, PRO = "google/gemini-2.5-flash", "google/gemini-2.5-pro"
NEW = "google/gemini-3.8-flash"


def film(seconds: int, padding: int = 0, word: bytes = b"") -> MediaPart:
    """An MP4 whose header says how long it lasts."""
    header = bytes(12) + (1000).to_bytes(4) + (seconds * 1000).to_bytes(4)
    box = (8 + len(header)).to_bytes(4) + b"mvhd" + header
    return MediaPart(
        "video/mp4", b"\0\0\0\x10ftypisom" + word.ljust(4, b"\0") + box + bytes(padding)
    )


def show(model: str, *media: MediaPart, **params: Any) -> Call:
    params.setdefault("max_tokens", 2000)
    turn = user([*media, "What happens here?"])
    return Call(ModelRef.parse(model), generate([turn], **params))


def body(sim: Handle) -> dict[str, Any]:
    sent: dict[str, Any] = sim.entries()[-1]["body"]
    return sent


def statuses(sim: Handle) -> list[int]:
    """Of the questions; once before them the model's entry is asked for."""
    return [entry["status"] for entry in sim.entries() if entry["method"] == "POST"]


def fates(reply: Any) -> dict[str, tuple[str, str]]:
    return {note.name: (note.fate, note.reason) for note in reply.params}


@pytest.mark.parametrize(
    ("model", "params", "config", "note"),
    [
        (FLASH, {"effort": "high"}, {"thinkingBudget": 24_576}, "as a thinking budget of 24,576"),
        (FLASH, {"effort": "none"}, {"thinkingBudget": 0}, "as a thinking budget of 0"),
        (FLASH, {"thinking_budget": 512}, {"thinkingBudget": 512}, ""),
        (FLASH, {"thinking_budget": 0}, {"thinkingBudget": 0}, ""),
        (PRO, {"thinking_budget": 128}, {"thinkingBudget": 128}, ""),
        (NEW, {"effort": "low"}, {"thinkingLevel": "LOW"}, ""),
        ("google/gemini-3.1-flash-lite", {"effort": "minimal"}, {"thinkingLevel": "MINIMAL"}, ""),
    ],
)
async def test_thinking_by_budget_or_by_level(
    sim: Handle, make: Make, model: str, params: Any, config: dict[str, Any], note: str
) -> None:
    reply = await make("google").answer(ask(model, max_tokens=30_000, **params))
    (name,) = params
    fate, reason = fates(reply)[name]
    assert fate == "sent"
    assert reason.startswith(note)
    sent = body(sim)["generationConfig"]["thinkingConfig"]
    assert sent.pop("includeThoughts", False) is (config.get("thinkingBudget") != 0)
    assert sent == config
    assert statuses(sim) == [200]


@pytest.mark.parametrize(
    ("model", "params", "reason"),
    [
        (PRO, {"thinking_budget": 0}, "the model always thinks"),
        (PRO, {"effort": "none"}, "the model always thinks"),
        (NEW, {"effort": "none"}, "the model always thinks"),
        (NEW, {"effort": "minimal"}, "the model takes low, medium, high"),
        (NEW, {"thinking_budget": 512}, "the model takes a level, not a budget; see --effort"),
        (NEW, {"temperature": 0.0}, "the model takes no sampling parameters"),
        (NEW, {"top_p": 0.5}, "the model takes no sampling parameters"),
        ("google/gemini-2.0-flash", {"effort": "low"}, "the model does not think"),
    ],
)
async def test_what_a_model_does_not_take_is_left_out_and_said(
    sim: Handle, make: Make, model: str, params: Any, reason: str
) -> None:
    reply = await make("google").answer(ask(model, max_tokens=8000, **params))
    (name,) = params
    assert fates(reply)[name] == ("dropped", reason)
    assert statuses(sim) == [200]


async def test_a_budget_out_of_range_is_refused_once(sim: Handle, make: Make) -> None:
    provider = make("google")
    for _ in range(2):
        reply = await provider.answer(ask(PRO, max_tokens=2000, thinking_budget=64))
        fate, reason = fates(reply)["thinking_budget"]
        assert fate == "refused"
        assert "between 128 and 32768" in reason
    assert statuses(sim) == [400, 200, 200]
    other = await provider.answer(ask(PRO, max_tokens=2000, thinking_budget=256))
    assert fates(other)["thinking_budget"][0] == "sent"


async def test_sampling_of_models_that_have_it(sim: Handle, make: Make) -> None:
    call = ask(FLASH, max_tokens=2000, temperature=0.0, top_p=0.9, seed=7, stop=("zz",))
    reply = await make("google").answer(call)
    assert {fate for fate, _ in fates(reply).values()} == {"sent"}
    sent = body(sim)["generationConfig"]
    assert (sent["temperature"], sent["topP"], sent["seed"]) == (0.0, 0.9, 7)
    assert sent["stopSequences"] == ["zz"]


async def test_thoughts_are_kept_beside_the_answer(sim: Handle, make: Make) -> None:
    sim.rule("letter", text="A.", reasoning="First the alphabet.", reasoning_tokens=30)
    reply = await make("google").answer(ask(FLASH, max_tokens=2000))
    assert (reply.text, reply.reasoning) == ("A.", "First the alphabet.")
    assert (reply.usage.reasoning_tokens, reply.usage.output_tokens) == (30, 31)


async def test_an_api_without_thoughts_is_asked_without(sim: Handle, make: Make) -> None:
    message = 'Unknown name "include_thoughts": Cannot find field.'
    sim.fault(status=400, match="includeThoughts", message=message)
    provider = make("google")
    for _ in range(2):
        assert (await provider.answer(ask(FLASH, max_tokens=2000))).text
    assert statuses(sim) == [400, 200, 200]


@pytest.mark.parametrize(
    ("rule", "stop", "text"),
    [
        ({"kind": "filtered"}, "SAFETY", ""),
        ({"kind": "filtered", "category": "RECITATION"}, "RECITATION", ""),
        ({"kind": "filtered", "category": "blocked PROHIBITED_CONTENT"}, "PROHIBITED_CONTENT", ""),
        ({"kind": "failed", "category": "SPII", "text": "It is"}, "SPII", "It is"),
        ({"text": ""}, "STOP", ""),
        ({"text": "", "category": "nothing"}, "", ""),
    ],
)
async def test_what_is_blocked_or_empty_is_an_outcome(
    sim: Handle, make: Make, rule: dict[str, Any], stop: str, text: str
) -> None:
    sim.rule("letter", **rule)
    reply = await make("google").answer(ask(FLASH, max_tokens=2000))
    assert (reply.outcome, reply.stop_reason, reply.text) == (Outcome.FILTERED, stop, text)
    assert reply.usage.input_tokens
    assert reply.usage.output_tokens is not None


async def test_an_answer_that_would_go_on_is_not_bought_further(sim: Handle, make: Make) -> None:
    sim.rule("letter", kind="failed", category="CONTINUATION", text="To begin with")
    reply = await make("google").answer(ask(FLASH, max_tokens=2000))
    assert (reply.outcome, reply.stop_reason) == (Outcome.TRUNCATED, "CONTINUATION")
    assert reply.text == "To begin with"
    assert statuses(sim) == [200]


async def test_a_malformed_answer_is_worth_another_try(sim: Handle, make: Make) -> None:
    sim.rule("letter", kind="failed", category="MALFORMED_RESPONSE", text="")
    error = await failure(make("google"), ask(FLASH, max_tokens=2000))
    assert type(error) is e.ServerFault
    assert error.possibly_billed


async def test_safety_settings(sim: Handle, make: Make) -> None:
    await make("google", safety_settings="none").answer(ask(FLASH, max_tokens=2000))
    settings = body(sim)["safetySettings"]
    assert {one["threshold"] for one in settings} == {"BLOCK_NONE"}
    assert len(settings) == 4
    await make("google").answer(ask(FLASH, max_tokens=2001))
    assert "safetySettings" not in body(sim)


async def test_logprobs(sim: Handle, make: Make) -> None:
    provider = make("google")
    reply = await provider.answer(ask(FLASH, max_tokens=2000, logprobs=3))
    result = reply.raw["candidates"][0]["logprobsResult"]
    assert len(result["topCandidates"][0]["candidates"]) == 3
    assert result["chosenCandidates"][0]["logProbability"] < 0
    assert provider.capabilities("gemini-2.5-flash").logprobs
    without = await provider.answer(ask(NEW, max_tokens=2000, logprobs=3))
    assert fates(without)["logprobs"][0] == "refused"


@pytest.mark.parametrize(("model", "a_frame"), [(FLASH, 258), (NEW, 70)])
async def test_native_video(sim: Handle, make: Make, model: str, a_frame: int) -> None:
    provider = make("google")
    assert provider.capabilities(model.partition("/")[2]).video
    blind = (await provider.answer(show(model, seed=1))).usage.input_tokens
    reply = await provider.answer(show(model, film(4)))
    assert reply.outcome is Outcome.OK
    assert reply.usage.input_tokens - blind == 4 * (a_frame + 32)
    part = body(sim)["contents"][0]["parts"][0]
    assert part.keys() == {"inlineData"}
    assert part["inlineData"]["mimeType"] == "video/mp4"


async def test_frames_a_second(sim: Handle, make: Make) -> None:
    few = await make("google").answer(show(FLASH, film(4)))
    many = await make("google", video_fps=5.0).answer(show(FLASH, film(4)))
    assert body(sim)["contents"][0]["parts"][0]["videoMetadata"] == {"fps": 5.0}
    assert many.usage.input_tokens - few.usage.input_tokens == 16 * 258
    await make("google", video_fps=5.0).answer(show(FLASH, IMAGE))
    assert "videoMetadata" not in body(sim)["contents"][0]["parts"][0]


async def test_a_document_is_a_part(sim: Handle, make: Make) -> None:
    paper = MediaPart("application/pdf", b"%PDF-1.7\n/Type /Page\n/Type /Page\n")
    blind = (await make("google").answer(show(FLASH, seed=1))).usage.input_tokens
    reply = await make("google").answer(show(FLASH, paper))
    assert reply.usage.input_tokens - blind == 2 * 258


async def test_media_that_gemini_does_not_take(sim: Handle, make: Make) -> None:
    error = await failure(make("google"), show(FLASH, MediaPart("image/gif", b"GIF89a")))
    assert type(error) is e.CallRejected
    assert "image/gif" in error.what
    assert statuses(sim) == []


@pytest.fixture
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(google_files, "_FIRST_LOOK_S", 0.01)


def paths(sim: Handle, method: str) -> list[str]:
    return [entry["path"] for entry in sim.entries() if entry["method"] == method]


@pytest.mark.usefixtures("_quick_looks")
async def test_a_large_video_is_uploaded_once_and_deleted(sim: Handle, make: Make) -> None:
    provider = make("google")
    large = film(4, padding=15_000_000)
    calls = [show(FLASH, large, IMAGE, seed=n) for n in range(4)]
    replies = await asyncio.gather(*map(provider.answer, calls))
    assert {reply.outcome for reply in replies} == {Outcome.OK}
    parts = body(sim)["contents"][0]["parts"]
    assert parts[0].keys() == {"fileData"}
    assert parts[1].keys() == {"inlineData"}
    uploads = [path for path in paths(sim, "POST") if "/upload/" in path]
    assert len(uploads) == 2
    assert await provider.count_tokens(calls[0]) == replies[0].usage.input_tokens
    await provider.close()
    (name,) = {path for path in paths(sim, "GET") if "/files/" in path}
    assert paths(sim, "DELETE") == [name]


@pytest.mark.usefixtures("_quick_looks")
async def test_a_file_that_google_no_longer_has_is_uploaded_again(sim: Handle, make: Make) -> None:
    provider = make("google")
    call = show(FLASH, film(4, padding=15_000_000))
    await provider.answer(call)
    sim.advance(49 * 3600)
    error = await failure(provider, call)
    assert type(error) is e.ServerFault
    assert "no longer has" in error.what
    assert not error.possibly_billed
    assert (await provider.answer(call)).outcome is Outcome.OK


@pytest.mark.usefixtures("_quick_looks")
async def test_a_video_that_cannot_be_read_fails_its_own_call(sim: Handle, make: Make) -> None:
    provider = make("google")
    error = await failure(provider, show(FLASH, film(4, padding=15_000_000, word=b"broken")))
    assert type(error) is e.CallRejected
    assert "cannot read" in error.what


@pytest.mark.parametrize(
    ("status", "kind"), [(429, e.RateLimited), (500, e.ServerFault), (403, e.AccessDenied)]
)
async def test_an_upload_that_fails_is_tried_by_nobody_in_silence(
    sim: Handle, make: Make, status: int, kind: type[Exception]
) -> None:
    sim.fault(status=status, path="/upload/")
    provider = make("google")
    call = show(FLASH, film(4, padding=15_000_000))
    assert type(await failure(provider, call)) is kind
    assert statuses(sim) == [status]
    sim.no_faults()
    assert (await provider.answer(call)).outcome is Outcome.OK


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
    assert words in error.cure
    assert error.status == status


async def test_a_key_of_the_wrong_project_takes_one_call_and_names_the_cure(
    sim: Handle, make: Make
) -> None:
    provider = make("google", "AIza-noaccess-0123456789")
    calls = [failure(provider, ask(FLASH, seed=number)) for number in range(20)]
    for error in await asyncio.gather(*calls):
        assert type(error) is e.AccessDenied
        assert "has not turned the API on" in error.what
        assert "overview?project=" in error.cure
    assert sim.summary()["requests"] == 1


async def test_the_next_names_of_an_unknown_model(sim: Handle, make: Make) -> None:
    error = await failure(make("google"), ask("google/gemini-1.5-pro"))
    assert type(error) is e.NoSuchModel
    assert "gemini" in error.cure
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
    sim: Handle, make: Make, free_port: int
) -> None:
    provider = make("google", base_url=f"http://127.0.0.1:{free_port}")
    await failure(provider, ask(FLASH))
    began = time.monotonic()
    assert type(await failure(provider, ask(FLASH))) is e.ConnectionFailed
    assert time.monotonic() - began < 0.9  # the SDK's own silent retry sleeps 1 to 10 seconds


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


def test_likelihoods_of_given_texts_are_refused(make: Make) -> None:
    with pytest.raises(e.CallRejected, match="likelihoods"):
        make("google").prepare(pick(FLASH))


async def test_a_schemas_own_names_go_out_untouched(sim: Handle, make: Make) -> None:
    schema = {
        "type": "object",
        "properties": {"a_word": {"type": "string"}, "aWord": {"type": "string"}},
    }
    call = Call(ModelRef.parse(FLASH), generate("Which?", max_tokens=2000, schema=schema))
    reply = await make("google").answer(call)
    assert body(sim)["generationConfig"]["responseJsonSchema"] == schema
    assert list(json.loads(reply.text)) == ["a_word", "aWord"]


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory, running_simulator: Handle) -> Path:
    """A key file of a service account whose tokens come from the simulator."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    private = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file = tmp_path_factory.mktemp("account") / "account.json"
    file.write_text(
        json.dumps(
            {
                "type": "service_account",
                "project_id": "own-project",
                "client_email": "someone@own-project.example",
                "private_key": pem.decode(),
                "token_uri": running_simulator.url + "/google/token",
            }
        )
    )
    return file


async def test_vertex_asks_as_the_account_of_the_machine(
    sim: Handle, make: Make, account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(account))
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    place = "/google/v1/projects/own-project/locations/europe-west4/publishers/google/models/"
    provider = make("vertex", "", base_url=sim.base_url("google"), location="europe-west4")
    reply = await provider.answer(look("vertex/gemini-2.5-flash", max_tokens=2000))
    assert reply.outcome is Outcome.OK
    entry = sim.entries()[-1]
    assert entry["path"] == place + "gemini-2.5-flash:generateContent"
    assert "x-goog-api-key" not in entry["headers"]
    counted = await provider.count_tokens(look("vertex/gemini-2.5-flash", max_tokens=2000))
    assert counted == reply.usage.input_tokens
    asked = ask("vertex/gemini-3.8-flash", max_tokens=2000, effort="low", temperature=0.0)
    known = fates(await provider.answer(asked))
    assert [known[name][0] for name in ("effort", "temperature")] == ["sent", "dropped"]
    assert "gemini-3.8-flash" in [line.name for line in await provider.models()]
    elsewhere = make("vertex", "", base_url=sim.base_url("google"), project="elsewhere")
    error = await failure(elsewhere, ask("vertex/gemini-2.5-flash"))
    assert type(error) is e.AccessDenied
    large = MediaPart("image/png", PNG + bytes(15_000_000))
    error = await failure(provider, show("vertex/gemini-2.5-flash", large))
    assert type(error) is e.CallRejected
    assert "larger than Vertex AI takes" in error.what


async def test_vertex_in_express_mode_asks_by_key(sim: Handle, make: Make) -> None:
    provider = make("vertex", "AQ.express-0123456789")
    assert (await provider.answer(ask("vertex/gemini-2.5-flash", max_tokens=2000))).text
    path = "/google/v1/publishers/google/models/gemini-2.5-flash:generateContent"
    assert sim.entries()[-1]["path"] == path
    wrong = make("vertex", "AQ.wrong-0123456789")
    assert type(await failure(wrong, ask("vertex/gemini-2.5-flash"))) is e.BadKey


async def test_vertex_without_credentials_says_where_to_get_them(
    sim: Handle, make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    provider = make("vertex", "", base_url=sim.base_url("google"))
    error = await failure(provider, ask("vertex/gemini-2.5-flash"))
    assert type(error) is e.BadKey
    assert "gcloud auth application-default login" in error.cure
    assert sim.summary()["requests"] == 0


async def test_an_answer_in_no_encoding_is_a_fault_of_the_server(sim: Handle, make: Make) -> None:
    headers = {"content-type": "application/json; charset=ascii"}
    sim.fault(status=200, body={"text": "é"}, headers=headers)
    error = await failure(make("google"), ask(FLASH))
    assert type(error) is e.ServerFault
    assert error.possibly_billed
