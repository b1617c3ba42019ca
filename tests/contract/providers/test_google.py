"""What is particular to Gemini: thinking, safety, native media, files, quotas, its SDK's traps."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from evalbench.engine import errors as e
from evalbench.engine.calls import Call, MediaPart, ModelRef, Outcome, generate, user
from evalbench.providers.google import files as google_files
from tests.contract.providers.conftest import Make
from tests.contract.providers.test_failures import failure
from tests.simulator.handle import Handle
from tests.unit.providers.calls import IMAGE, ask, pick

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
    error = await failure(provider, call)
    assert type(error) is kind
    assert not error.possibly_billed
    assert statuses(sim) == [status]
    sim.no_faults()
    assert (await provider.answer(call)).outcome is Outcome.OK


async def test_an_upload_that_is_cut_was_never_billed(sim: Handle, make: Make) -> None:
    sim.fault("close_before_headers", path="/upload/")
    provider = make("google")
    error = await failure(provider, show(FLASH, film(4, padding=15_000_000)))
    assert type(error) is e.ConnectionFailed
    assert not error.possibly_billed


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


async def test_an_sdk_that_fails_to_close_leaves_no_connection_open(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = make("google")
    await provider.answer(ask(FLASH))
    opened = provider.clients.here()

    async def fail() -> None:
        raise RuntimeError("cannot close")

    with monkeypatch.context() as patch:
        patch.setattr(opened.client.aio, "aclose", fail)
        with pytest.raises(RuntimeError, match="cannot close"):
            await provider.close()
    assert opened.session.closed
