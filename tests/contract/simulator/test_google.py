"""The simulated Gemini API, asked by Google's own SDK and held to Google's own description."""

from __future__ import annotations

import io
import json
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from tests.contract.simulator.images import png
from tests.simulator.handle import Handle

KEY = "AIza-planted-0123456789"
FLASH = "gemini-2.5-flash"


@pytest.fixture
def client(sim: Handle) -> Iterator[genai.Client]:
    made = genai.Client(
        vertexai=False,
        api_key=KEY,
        http_options=types.HttpOptions(base_url=sim.base_url("google"), api_version="v1"),
    )
    with warnings.catch_warnings():
        # An unknown value of an enumeration is only warned about.
        warnings.simplefilter("error")
        yield made
    made.close()


def call(sim: Handle, path: str, body: Any = None, key: str = KEY) -> tuple[int, Any]:
    request = urllib.request.Request(
        f"{sim.url}/google/{path}",
        data=json.dumps(body).encode() if body is not None else None,
        headers={"x-goog-api-key": key},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as problem:
        return problem.code, json.loads(problem.read())


def asked(text: str = "Which letter?", **more: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": text}]}], **more}


ASK = f"v1/models/{FLASH}:generateContent"


def test_a_typed_question(sim: Handle, client: genai.Client) -> None:
    sim.rule("letter", text="The letter B.", reasoning="By the alphabet.", reasoning_tokens=20)
    response = client.models.generate_content(
        model=FLASH,
        contents="Which letter?",
        config=types.GenerateContentConfig(
            system_instruction="Be brief.",
            temperature=0.0,
            max_output_tokens=500,
            seed=3,
            response_logprobs=True,
            logprobs=2,
            safety_settings=[
                types.SafetySetting(
                    category=types.HarmCategory.HARM_CATEGORY_HARASSMENT,
                    threshold=types.HarmBlockThreshold.BLOCK_NONE,
                )
            ],
            thinking_config=types.ThinkingConfig(thinking_budget=128, include_thoughts=True),
        ),
    )
    assert response.text == "The letter B."
    (candidate,) = response.candidates or []
    assert candidate.finish_reason is types.FinishReason.STOP
    assert [part.thought for part in candidate.content.parts] == [True, None]  # type: ignore[union-attr]
    assert len(candidate.logprobs_result.top_candidates[0].candidates) == 2  # type: ignore[union-attr,index,arg-type]
    usage = response.usage_metadata
    assert usage
    assert (usage.thoughts_token_count, usage.candidates_token_count) == (20, 4)
    assert usage.total_token_count == usage.prompt_token_count + 24  # type: ignore[operator]
    assert response.model_version == FLASH


@pytest.mark.parametrize(
    ("rule", "finish", "block"),
    [
        ({"kind": "filtered"}, types.FinishReason.SAFETY, None),
        ({"kind": "filtered", "category": "RECITATION"}, types.FinishReason.RECITATION, None),
        ({"kind": "filtered", "category": "blocked OTHER"}, None, types.BlockedReason.OTHER),
        ({"text": "a " * 400}, types.FinishReason.MAX_TOKENS, None),
    ],
)
def test_typed_endings(
    sim: Handle, client: genai.Client, rule: dict[str, Any], finish: Any, block: Any
) -> None:
    sim.rule("letter", reasoning_tokens=0, **rule)
    config = types.GenerateContentConfig(max_output_tokens=40)
    response = client.models.generate_content(model=FLASH, contents="Which letter?", config=config)
    if block:
        assert not response.candidates
        assert response.prompt_feedback
        assert response.prompt_feedback.block_reason is block
    else:
        assert response.candidates
        assert response.candidates[0].finish_reason is finish


def test_a_typed_level_and_schema(sim: Handle, client: genai.Client) -> None:
    response = client.models.generate_content(
        model="gemini-3.8-flash",
        contents="Which letter?",
        config=types.GenerateContentConfig(
            thinking_config=types.ThinkingConfig(thinking_level=types.ThinkingLevel.LOW),
            response_mime_type="application/json",
            response_json_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
        ),
    )
    assert set(json.loads(response.text or "")) == {"n"}


def test_typed_counts_and_models(sim: Handle, client: genai.Client) -> None:
    picture = types.Part.from_bytes(data=png(800, 600), mime_type="image/png")
    counted = client.models.count_tokens(model=FLASH, contents=["What is it?", picture])
    assert counted.total_tokens == 3 + 4 * 258
    names = {model.name: model for model in client.models.list(config={"page_size": 4})}
    assert len(names) == 12
    flash = client.models.get(model=FLASH)
    assert flash.input_token_limit == 1_048_576
    assert "generateContent" in (flash.supported_actions or ())


def test_typed_files(sim: Handle, client: genai.Client) -> None:
    film = client.files.upload(file=io.BytesIO(b"film"), config={"mime_type": "video/mp4"})
    assert film.state is types.FileState.PROCESSING
    assert film.name
    with pytest.raises(errors.ClientError, match="not in an ACTIVE state"):
        client.models.generate_content(model=FLASH, contents=["What is it?", film])
    client.files.get(name=film.name)
    assert client.files.get(name=film.name).state is types.FileState.ACTIVE
    answer = client.models.generate_content(model=FLASH, contents=["What is it?", film])
    assert answer.text
    client.files.delete(name=film.name)
    with pytest.raises(errors.ClientError, match="permission"):
        client.files.get(name=film.name)


def test_a_file_is_one_keys_and_for_two_days(sim: Handle, client: genai.Client) -> None:
    paper = client.files.upload(file=io.BytesIO(b"%PDF"), config={"mime_type": "application/pdf"})
    assert call(sim, f"v1/{paper.name}")[0] == 200
    assert call(sim, f"v1/{paper.name}", key="AIza-another-0123456789")[0] == 403
    sim.advance(48 * 3600 + 1)
    assert call(sim, f"v1/{paper.name}")[0] == 403


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (asked(generationConfig={"max_tokens": 5}), 'Unknown name "max_tokens"'),
        (asked(foo=1), 'Unknown name "foo": Cannot find field'),
        (asked(systemInstruction="Be brief."), "Invalid value at 'system_instruction'"),
        (asked(systemInstruction=[{"text": "x"}]), "Invalid value at 'system_instruction'"),
        ({"contents": []}, "contents is not specified"),
        ({"contents": [{"role": "system", "parts": [{"text": "x"}]}]}, "valid role: user, model"),
        ({"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}, "valid role"),
        ({"contents": [{"role": "user", "parts": []}]}, "parts must not be empty"),
        ({"contents": [{"role": "user", "parts": [{"text": ""}]}]}, "one initialized field"),
        (asked(generationConfig={"temperature": 3}), "range [0.0, 2.0]"),
        (asked(generationConfig={"maxOutputTokens": 10**6}), "supported range"),
        (asked(generationConfig={"thinkingConfig": {"thinkingLevel": "LOW"}}), "level is not"),
        (asked(generationConfig={"thinkingConfig": {"thinkingBudget": 99_999}}), "between"),
        (asked(generationConfig={"logprobs": 3}), "responseLogprobs is true"),
        (asked(generationConfig={"responseJsonSchema": {}}), "application/json must be set"),
        (asked(safetySettings=[{"category": "X", "threshold": "OFF"}]), "category"),
        (asked(serviceTier="fast"), "service_tier"),
        (asked("x" * (21 * 1024 * 1024)), "payload size exceeds"),
    ],
)
def test_requests_are_checked(sim: Handle, body: dict[str, Any], words: str) -> None:
    status, told = call(sim, ASK, body)
    assert status == 400
    assert told["error"]["status"] == "INVALID_ARGUMENT"
    assert words in told["error"]["message"]


@pytest.mark.parametrize(
    ("model", "config", "words"),
    [
        ("gemini-2.5-pro", {"thinkingConfig": {"thinkingBudget": 0}}, "only works in thinking"),
        ("gemini-3.8-flash", {"thinkingConfig": {"thinkingBudget": 9}}, "budget is not supported"),
        ("gemini-3.8-flash", {"thinkingConfig": {"thinkingLevel": "MINIMAL"}}, "MINIMAL is not"),
        ("gemini-3.8-flash", {"temperature": 1}, "temperature"),
        ("gemini-3.8-flash", {"topP": 1}, "top_p"),
        ("gemini-3.8-flash", {"responseLogprobs": True}, "Logprobs is not enabled"),
        ("gemini-2.0-flash", {"thinkingConfig": {"includeThoughts": True}}, "not supported"),
    ],
)
def test_each_model_takes_its_own_settings(
    sim: Handle, model: str, config: dict[str, Any], words: str
) -> None:
    path = f"v1/models/{model}:generateContent"
    status, told = call(sim, path, asked(generationConfig=config))
    assert status == 400
    assert words in told["error"]["message"]


def test_names_in_camel_and_in_snake_case_are_the_same(sim: Handle) -> None:
    camel = {"maxOutputTokens": 900, "thinkingConfig": {"thinkingBudget": 0}}
    snake = {"max_output_tokens": 900, "thinking_config": {"thinking_budget": 0}}
    for name, config in (("generationConfig", camel), ("generation_config", snake)):
        status, told = call(sim, ASK, {**asked(), name: config})
        assert status == 200
        assert "thoughtsTokenCount" not in told["usageMetadata"]


@pytest.mark.parametrize(("window", "period"), [(None, "PerMinute"), (86_400.0, "PerDay")])
def test_limits_are_told_in_details(sim: Handle, window: float | None, period: str) -> None:
    sim.limits("google", requests=1, requests_window=window)
    call(sim, ASK, asked())
    code, told = call(sim, ASK, asked())
    assert code == 429
    details = {d["@type"].rpartition(".")[2]: d for d in told["error"]["details"]}
    (violation,) = details["QuotaFailure"]["violations"]
    assert period in violation["quotaId"]
    assert float(details["RetryInfo"]["retryDelay"].rstrip("s")) > 50
    assert sim.entries()[-1]["retry_after"] > 50


def test_the_same_question_gets_the_same_answer(sim: Handle) -> None:
    texts = {json.dumps(call(sim, ASK, asked())[1]["candidates"]) for _ in range(3)}
    assert len(texts) == 1


def test_tokens_are_charged(sim: Handle) -> None:
    sim.rule("letter", text="x" * 400, reasoning_tokens=100)
    call(sim, ASK, asked("letter" + "y" * 3994))
    summary = sim.summary()
    assert summary["tokens"]["input_tokens"] == 1000
    assert summary["tokens"]["output_tokens"] == 200
    assert summary["dollars"] == pytest.approx((1000 * 0.3 + 200 * 2.5) / 1e6)
