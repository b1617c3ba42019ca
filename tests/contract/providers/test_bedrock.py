"""What is particular to Bedrock: names, regions, credentials, threads, its own ways to fail."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse

from evalbench.engine import errors as e
from evalbench.engine.calls import (
    Call,
    MediaPart,
    ModelRef,
    Outcome,
    Reply,
    generate,
    user,
)
from evalbench.providers.bedrock import Bedrock
from evalbench.providers.bedrock.boto_calls import Sender
from evalbench.providers.bedrock.prepare import as_json
from tests.contract.providers.conftest import Make, pair_of_aws
from tests.contract.providers.test_failures import failure
from tests.simulator.handle import Handle
from tests.unit.providers.calls import FEW_SHOT, IMAGE, ask, few_shot, look, talk

HAIKU = "bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0"
SONNET = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
BARE = "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"
ARN = "bedrock/arn:aws:bedrock:us-east-1:216874796537:inference-profile/" + SONNET[8:]
NOVA = "bedrock/us.amazon.nova-lite-v1:0"
OTHERS = (
    *("bedrock/us.meta.llama3-3-70b-instruct-v1:0", "bedrock/openai.gpt-oss-120b-1:0"),
    *("bedrock/mistral.mistral-large-3-675b-instruct", "bedrock/amazon.nova-pro-v1:0"),
)


def fates(reply: Reply) -> dict[str, str]:
    return {note.name: note.fate for note in reply.params}


def reasons(reply: Reply) -> dict[str, str]:
    return {note.name: note.reason for note in reply.params}


def converses(sim: Handle) -> list[dict[str, Any]]:
    return [entry for entry in sim.entries() if entry["path"].endswith("/converse")]


# -- names and regions -----------------------------------------------------------------


@pytest.mark.parametrize("model", [SONNET, "bedrock/global." + BARE[8:], ARN, *OTHERS, NOVA])
async def test_models_by_every_kind_of_name(sim: Handle, make: Make, model: str) -> None:
    region = "us-east-2" if "llama" in model else "us-east-1"
    reply = await make("bedrock", region=region).answer(ask(model, max_tokens=2000))
    assert reply.outcome is Outcome.OK
    assert reply.text
    assert reply.provider_model == model[8:]


async def test_a_model_that_needs_a_profile_is_one_call_and_a_cure(sim: Handle, make: Make) -> None:
    error = await failure(make("bedrock", region="eu-west-1"), ask(BARE))
    assert type(error) is e.NoSuchModel
    assert "inference profile only" in error.what
    assert "bedrock/eu." + BARE[8:] in error.hint
    assert len(converses(sim)) == 1


async def test_a_region_without_the_model_is_one_call_and_a_cure(sim: Handle, make: Make) -> None:
    error = await failure(make("bedrock", region="eu-west-1"), ask(SONNET))
    assert type(error) is e.NoSuchModel
    assert "in eu-west-1" in error.what
    assert "bedrock/eu." + BARE[8:] in error.hint
    assert len(converses(sim)) == 1
    error = await failure(make("bedrock", region="eu-west-1"), ask(ARN))
    assert "--region us-east-1" in error.hint
    error = await failure(
        make("bedrock", region="sa-east-1"), ask("bedrock/openai.gpt-oss-120b-1:0")
    )
    assert type(error) is e.NoSuchModel
    assert "--region" in error.hint


async def test_a_name_without_its_date_finds_the_whole_one(sim: Handle, make: Make) -> None:
    error = await failure(make("bedrock"), ask("bedrock/us.anthropic.claude-sonnet-4-5"))
    assert SONNET in error.hint


async def test_the_region_is_found_where_aws_users_put_it(
    sim: Handle, make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def asked(**settings: Any) -> str:
        await make("bedrock", **settings).answer(ask("bedrock/global." + BARE[8:]))
        found = converses(sim)[-1]
        assert found["status"] == 200
        return str(found["notes"]["region"])

    assert await asked() == "us-east-1"
    assert await asked(region="eu-west-3") == "eu-west-3"
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    assert await asked() == "us-west-2"
    (tmp_path / "config").write_text("[profile work]\nregion = ap-southeast-2\n")
    (tmp_path / "credentials").write_text(
        "[work]\naws_access_key_id = AKIAWORKWORKWORK1\naws_secret_access_key = secret\n"
    )
    assert await asked(profile="work") == "us-west-2"
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert await asked(profile="work") == "ap-southeast-2"
    error = await failure(make("bedrock"), ask(SONNET))
    assert type(error) is e.RunFatal
    assert "--region" in error.hint


# -- parameters ------------------------------------------------------------------------


async def test_of_temperature_and_top_p_claude_gets_one(sim: Handle, make: Make) -> None:
    call = ask(SONNET, max_tokens=100, temperature=0.6, top_p=0.95, stop=("zzz", " "), seed=7)
    reply = await make("bedrock").answer(call)
    assert fates(reply) == {
        "max_tokens": "sent", "temperature": "sent", "top_p": "dropped", "stop": "sent",
        "seed": "dropped",
    }  # fmt: skip
    assert "not both" in reasons(reply)["top_p"]
    config = converses(sim)[-1]["body"]["inferenceConfig"]
    assert config == {"maxTokens": 100, "temperature": 0.6, "stopSequences": ["zzz"]}
    reply = await make("bedrock").answer(ask(SONNET, top_p=0.95))
    assert fates(reply)["top_p"] == "sent"


async def test_while_claude_thinks_it_is_not_sampled(sim: Handle, make: Make) -> None:
    call = ask(HAIKU, max_tokens=4000, thinking_budget=1024, temperature=0.6, top_p=0.95)
    reply = await make("bedrock").answer(call)
    assert reply.reasoning
    assert fates(reply) == {
        "max_tokens": "sent", "temperature": "dropped", "top_p": "dropped",
        "thinking_budget": "sent",
    }  # fmt: skip
    body = converses(sim)[-1]["body"]
    assert body["additionalModelRequestFields"] == {
        "thinking": {"type": "enabled", "budget_tokens": 1024}
    }
    assert reply.usage.reasoning_tokens is None


@pytest.mark.parametrize("model", ["claude-opus-4-7", "claude-opus-4-8", "claude-sonnet-5-5"])
async def test_newer_claudes_take_effort_and_no_sampling(
    sim: Handle, make: Make, model: str
) -> None:
    call = ask(
        f"bedrock/us.anthropic.{model}", max_tokens=4000, temperature=0.0, effort="low",
        thinking_budget=2000,
    )  # fmt: skip
    reply = await make("bedrock").answer(call)
    assert reply.reasoning
    assert fates(reply)["temperature"] == "dropped"
    assert fates(reply)["thinking_budget"] == "dropped"
    body = converses(sim)[-1]["body"]
    assert body["outputConfig"] == {"effort": "low"}
    adaptive = {"thinking": {"type": "adaptive"}}
    assert body.get("additionalModelRequestFields") == (None if "5-5" in model else adaptive)


@pytest.mark.parametrize("model", [NOVA, "bedrock/mistral.mistral-large-3-675b-instruct"])
async def test_models_of_other_makers_take_both(sim: Handle, make: Make, model: str) -> None:
    call = ask(model, temperature=0.0, top_p=0.9, stop=("zzz",), thinking_budget=1024)
    reply = await make("bedrock").answer(call)
    assert fates(reply) == {
        "max_tokens": "sent", "temperature": "sent", "top_p": "sent", "stop": "sent",
        "thinking_budget": "dropped",
    }  # fmt: skip


async def test_a_refused_parameter_is_learned_once(sim: Handle, make: Make) -> None:
    sim.model("bedrock", "amazon.nova-lite-v1:0", efforts=())
    for _ in range(2):
        reply = await make("bedrock").answer(ask(NOVA, effort="low"))
        assert fates(reply)["effort"] == "refused"
    assert [entry["status"] for entry in converses(sim)] == [400, 200, 200]


async def test_only_a_refused_value_is_left_out(sim: Handle, make: Make) -> None:
    provider = make("bedrock")
    assert fates(await provider.answer(ask(SONNET, temperature=1.5)))["temperature"] == "refused"
    assert fates(await provider.answer(ask(SONNET, temperature=0.5)))["temperature"] == "sent"


async def test_latency_where_a_model_has_it_and_where_not(sim: Handle, make: Make) -> None:
    provider = make("bedrock", latency="optimized")
    reply = await provider.answer(ask("bedrock/us.amazon.nova-pro-v1:0"))
    assert fates(reply)["latency"] == "sent"
    assert converses(sim)[-1]["body"]["performanceConfig"] == {"latency": "optimized"}
    reply = await provider.answer(ask(SONNET))
    assert fates(reply)["latency"] == "refused"
    assert "not supported" in reasons(reply)["latency"]
    assert "performanceConfig" not in converses(sim)[-1]["body"]


async def test_service_tier_and_cache_life_are_passed_on(sim: Handle, make: Make) -> None:
    provider = make("bedrock", service_tier="flex", prompt_cache="1h")
    reply = await provider.answer(few_shot(SONNET, max_tokens=50))
    assert reply.raw["serviceTier"] == {"type": "flex"}
    assert reply.raw["usage"]["cacheDetails"][0]["ttl"] == "1h"
    assert provider.capabilities(SONNET[8:]).cached_from == 1024
    assert provider.capabilities(SONNET[8:]).cached_for_s == 3600
    off = make("bedrock", prompt_cache="off")
    assert off.capabilities(SONNET[8:]).cached_from == 0
    await off.answer(few_shot(SONNET, max_tokens=50))
    assert "cachePoint" not in str(converses(sim)[-1]["body"])


async def test_a_model_that_caches_nothing_gets_no_cache_point(sim: Handle, make: Make) -> None:
    provider = make("bedrock", region="us-east-2")
    model = "bedrock/us.meta.llama3-3-70b-instruct-v1:0"
    assert provider.capabilities(model[8:]).cached_from == 0
    assert (await provider.answer(few_shot(model))).outcome is Outcome.OK


# -- forms of a conversation -------------------------------------------------------------


async def test_a_film_goes_to_who_sees_films(sim: Handle, make: Make) -> None:
    film = MediaPart("video/mp4", b"\0\0\0\x18ftypmp42" + bytes(100))
    call = Call(ModelRef.parse(NOVA), generate([user([film, "What happens?"])]))
    provider = make("bedrock")
    assert provider.capabilities(NOVA[8:]).video
    reply = await provider.answer(call)
    assert reply.usage.input_tokens > 2000
    assert not provider.capabilities(SONNET[8:]).video
    call = Call(ModelRef.parse(SONNET), generate([user([film, "What happens?"])]))
    error = await failure(provider, call)
    assert type(error) is e.CallRejected
    assert "frames" in error.hint
    assert len(converses(sim)) == 1


async def test_a_document_goes_under_a_neutral_name(sim: Handle, make: Make) -> None:
    paper = MediaPart("application/pdf", b"%PDF-1.7 " + bytes(100))
    call = Call(ModelRef.parse(SONNET), generate([user([paper, paper, "Who wrote them?"])]))
    assert (await make("bedrock").answer(call)).outcome is Outcome.OK
    content = converses(sim)[-1]["body"]["messages"][0]["content"]
    assert [block["document"]["name"] for block in content[:2]] == ["document 1", "document 2"]


async def test_what_no_model_takes_is_not_sent(sim: Handle, make: Make) -> None:
    provider = make("bedrock")
    for part in (MediaPart("image/tiff", b"x"), MediaPart("image/png", b"", "0" * 64)):
        call = Call(ModelRef.parse(SONNET), generate([user([part, "What is it?"])]))
        assert type(await failure(provider, call)) is e.CallRejected
    assert not converses(sim)


async def test_what_is_prepared_is_what_goes_over_the_wire(sim: Handle, make: Make) -> None:
    provider = make("bedrock", service_tier="flex")
    for call in (look(SONNET, temperature=0.0), few_shot(NOVA), talk(HAIKU, thinking_budget=0)):
        await provider.answer(call)
        assert json.loads(as_json(provider.prepare(call).body)) == converses(sim)[-1]["body"]


async def test_neighbours_of_one_role_and_blank_texts_are_joined(sim: Handle, make: Make) -> None:
    turns = [user("One."), user(["", "Two.", " "]), user([IMAGE, "\n"])]
    call = Call(ModelRef.parse(SONNET), generate(turns))
    assert (await make("bedrock").answer(call)).outcome is Outcome.OK
    [turn] = converses(sim)[-1]["body"]["messages"]
    assert [next(iter(block)) for block in turn["content"]] == ["text", "text", "image"]


# -- outcomes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stop", "outcome"),
    [
        ("content_filtered", Outcome.FILTERED),
        ("guardrail_intervened", Outcome.FILTERED),
        ("max_tokens", Outcome.TRUNCATED),
        ("model_context_window_exceeded", Outcome.TRUNCATED),
        ("malformed_model_output", Outcome.OK),
        ("stop_sequence", Outcome.OK),
    ],
)
async def test_stop_reasons(sim: Handle, make: Make, stop: str, outcome: Outcome) -> None:
    body = {
        "output": {"message": {"role": "assistant", "content": [{"text": "So far"}]}},
        "stopReason": stop,
        "usage": {"inputTokens": 7, "outputTokens": 2, "totalTokens": 9},
        "metrics": {"latencyMs": 1},
    }
    sim.fault(status=200, body=body)
    reply = await make("bedrock").answer(ask(SONNET))
    assert (reply.outcome, reply.stop_reason, reply.text) == (outcome, stop, "So far")
    assert reply.usage.input_tokens == 7


async def test_a_refusal_comes_as_a_filtered_answer(sim: Handle, make: Make) -> None:
    sim.rule("letter", kind="refusal", text="I would rather not.")
    reply = await make("bedrock").answer(ask(SONNET))
    assert (reply.outcome, reply.text) == (Outcome.FILTERED, "I would rather not.")


async def test_the_prompts_tokens_are_whole_whatever_was_cached(sim: Handle, make: Make) -> None:
    provider = make("bedrock")
    first = await provider.answer(few_shot(NOVA))
    again = await provider.answer(few_shot(NOVA, max_tokens=99))
    raw = again.raw["usage"]
    assert again.usage.input_tokens == first.usage.input_tokens > len(FEW_SHOT) / 5
    assert again.usage.input_tokens == raw["inputTokens"] + raw["cacheReadInputTokens"]
    assert again.usage.cache_read_tokens == first.usage.cache_write_tokens > 1000


# -- failures ----------------------------------------------------------------------------


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("name", "status", "message", "kind", "billed"),
    [
        ("ThrottlingException", 429, "Too many tokens, please wait", e.RateLimited, False),
        ("ThrottlingException", 429, "Too many tokens per day, please wait", e.QuotaExhausted,
         False),
        ("ServiceQuotaExceededException", 400, "quota exceeded", e.QuotaExhausted, False),
        ("ModelNotReadyException", 429, "Model is not ready for inference.", e.Overloaded, False),
        ("ServiceUnavailableException", 503, "Too many connections", e.Overloaded, False),
        ("ModelTimeoutException", 408, "Model has timed out", e.ServerFault, True),
        ("ModelErrorException", 424, "The model failed", e.ServerFault, True),
        ("InternalServerException", 500, "unexpected error", e.ServerFault, True),
        ("ValidationException", 400, "Operation not allowed", e.AccessDenied, False),
        ("ValidationException", 400, "Input is too long for requested model.", e.ContextTooLong,
         False),
        ("ValidationException", 400, "messages.0.content: too many images", e.CallRejected, False),
        ("AccessDeniedException", 403, "User is not authorized to perform: bedrock:InvokeModel",
         e.AccessDenied, False),
        ("AccessDeniedException", 403, "Model access is denied due to INVALID_PAYMENT_INSTRUMENT:"
         "A valid payment instrument must be provided.", e.NoCredit, False),
        ("ResourceNotFoundException", 404, "Model use case details have not been submitted for "
         "this account.", e.AccessDenied, False),
        ("ResourceNotFoundException", 404, "This model version has reached the end of its life.",
         e.NoSuchModel, False),
        ("UnrecognizedClientException", 403, "The security token included in the request is "
         "invalid.", e.BadKey, False),
        ("InvalidSignatureException", 403, "The request signature we calculated does not match "
         "the signature you provided.", e.BadKey, False),
    ],
)  # fmt: skip
async def test_every_error_is_one_call_and_its_class(
    sim: Handle, make: Make, name: str, status: int, message: str, kind: type[Exception],
    billed: bool,
) -> None:  # fmt: skip
    header = {"x-amzn-errortype": f"{name}:http://internal.amazon.com/coral/"}
    sim.fault(status=status, message=message, headers=header, path="/converse")
    error = await failure(make("bedrock"), ask(SONNET))
    assert type(error) is kind
    assert error.possibly_billed is billed
    assert message.partition(":")[0] in error.why
    assert error.request_id
    if not issubclass(kind, e.TransientError | e.CallRejected):
        assert error.hint
    assert len(converses(sim)) == 1


async def test_limits_by_the_minute_and_by_the_day(sim: Handle, make: Make) -> None:
    provider = make("bedrock")
    sim.limits("bedrock", requests=1)
    await provider.answer(ask(SONNET))
    assert type(await failure(provider, ask(SONNET))) is e.RateLimited
    sim.limits("bedrock", requests=1, requests_window=86_400)
    await provider.answer(ask(SONNET))
    assert type(await failure(provider, ask(SONNET))) is e.QuotaExhausted


async def test_a_clock_that_is_wrong_is_one_call_and_a_cure(sim: Handle, make: Make) -> None:
    sim.fault(
        status=403, message="Signature expired: 20261128T070000Z is now earlier than "
        "20261128T080000Z (5 min.)", headers={
            "x-amzn-errortype": "InvalidSignatureException",
            "date": "Sat, 28 Nov 2020 08:00:00 GMT",
        },
    )  # fmt: skip
    error = await failure(make("bedrock"), ask(SONNET))
    assert type(error) is e.BadKey
    assert "clock is wrong by" in error.what
    assert "(ahead)" in error.what
    assert "set the clock" in error.hint
    assert len(converses(sim)) == 1


async def test_boto3_never_asks_twice(sim: Handle, make: Make) -> None:
    provider = make("bedrock")
    for status in (429, 500, 503, 408):
        sim.no_faults()
        sim.fault(status=status)
        await failure(provider, ask(SONNET))
    sim.no_faults()
    sim.fault("reset_before_headers")
    await failure(provider, ask(SONNET))
    assert len(converses(sim)) == 5
    assert {entry["headers"]["amz-sdk-request"] for entry in converses(sim)} == {"attempt=1; max=1"}


# -- credentials -------------------------------------------------------------------------

EXPIRED = pair_of_aws("sk-planted-secret-0123") + ":EXPIRED-session-token-0123456789"


async def test_given_keys_that_expired_are_one_call_and_a_cure(sim: Handle, make: Make) -> None:
    error = await failure(make("bedrock", EXPIRED), ask(SONNET))
    assert type(error) is e.BadKey
    assert "expired" in error.what
    assert "resume" in error.hint
    assert "EXPIRED-session" not in f"{error}{error.body}"
    assert len(converses(sim)) == 1


def store(tmp_path: Path, token: str, name: str = "default") -> None:
    """Write what a login tool writes."""
    (tmp_path / "credentials").write_text(
        f"[{name}]\naws_access_key_id = ASIAPLANTED{len(token):06d}\n"
        f"aws_secret_access_key = secret\naws_session_token = {token}\n"
    )


async def test_a_profile_is_read_anew_once_when_it_expired(
    sim: Handle, make: Make, tmp_path: Path
) -> None:
    store(tmp_path, "fresh-session-token")
    provider = make("bedrock", "")
    await provider.answer(ask(SONNET))
    sim.fault(
        status=403, message="The security token included in the request is expired",
        headers={"x-amzn-errortype": "ExpiredTokenException"}, path="/converse", attempts=1,
    )  # fmt: skip
    store(tmp_path, "another-session-token-of-a-new-login")
    calls = [provider.answer(ask(SONNET, max_tokens=100 + n)) for n in range(8)]
    replies = await asyncio.gather(*calls)
    assert all(reply.text for reply in replies)
    assert len(converses(sim)) == 1 + 8 + 8


async def test_a_profile_that_stays_expired_stops_at_one_call(
    sim: Handle, make: Make, tmp_path: Path
) -> None:
    store(tmp_path, "expired-session-token", "work")
    error = await failure(make("bedrock", "", profile="work"), ask(SONNET))
    assert type(error) is e.BadKey
    assert "aws sso login --profile work" in error.hint
    assert len(converses(sim)) == 1


async def test_a_named_profile_comes_before_a_key(sim: Handle, make: Make, tmp_path: Path) -> None:
    store(tmp_path, "fresh-session-token", "work")
    line = await make("bedrock", profile="work").check_key()
    assert "arn:aws:iam::123456789012:user/tester" in line
    assert "us-east-1" in line
    signed = sim.entries()[-1]["headers"]
    assert "x-amz-security-token" in signed
    assert "fresh-session" not in str(sim.entries())


async def test_a_profile_that_is_not_there(sim: Handle, make: Make) -> None:
    error = await failure(make("bedrock", profile="nobody"), ask(SONNET))
    assert type(error) is e.RunFatal
    assert "nobody" in error.why
    assert "list-profiles" in error.hint


async def test_half_a_key_sends_nothing(sim: Handle, make: Make) -> None:
    error = await failure(make("bedrock", "AKIAPLANTED1234567:"), ask(SONNET))
    assert type(error) is e.BadKey
    assert "AWS_SECRET_ACCESS_KEY" in error.hint
    assert not sim.entries()


async def test_a_bedrock_key_goes_over_https_only(sim: Handle, make: Make, free_port: int) -> None:
    bearer = "bedrock-api-key-" + "x" * 40
    provider = Bedrock({"base_url": sim.base_url("bedrock")}, bearer)
    error = await failure(provider, ask(SONNET))
    assert type(error) is e.BadKey
    assert "https" in error.what
    assert not sim.entries()
    provider = Bedrock({"base_url": f"https://127.0.0.1:{free_port}"}, bearer)
    assert type(await failure(provider, ask(SONNET))) is e.ConnectionFailed
    await provider.close()


async def test_a_bedrock_key_goes_as_a_bearer(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, bytes]] = []

    def answered(self: Sender, request: Any, **_: object) -> AWSResponse:
        sent.append((request.url, request.headers["Authorization"]))
        body = {"output": {"message": {"content": [{"text": "A"}]}}, "stopReason": "end_turn"}
        raw = SimpleNamespace(stream=lambda: [json.dumps(body).encode()])
        return AWSResponse(request.url, 200, {}, raw)

    provider = Bedrock({"region": "eu-west-1"}, "bedrock-api-key-" + "x" * 40)
    monkeypatch.setattr(Sender, "send", answered)
    assert (await provider.answer(ask(NOVA))).text == "A"
    await provider.close()
    [(url, authorization)] = sent
    assert url.startswith("https://bedrock-runtime.eu-west-1.amazonaws.com/model/")
    assert authorization == b"Bearer bedrock-api-key-" + b"x" * 40


async def test_who_may_not_list_may_still_run(sim: Handle, make: Make) -> None:
    sim.fault(status=403, path="/foundation-models")
    line = await make("bedrock").check_key()
    assert "may not list models" in line


async def test_long_lists_of_profiles_come_page_by_page(sim: Handle, make: Make) -> None:
    whole = [model.name for model in await make("bedrock").models()]
    body = sim.entries()[-1]
    assert body["path"].endswith("/inference-profiles")
    sim.fault(
        status=200, body={"inferenceProfileSummaries": [], "nextToken": "0"},
        path="/inference-profiles", times=1,
    )  # fmt: skip
    assert [model.name for model in await make("bedrock").models()] == whole


async def test_models_that_leave_are_marked(sim: Handle, make: Make) -> None:
    listed = {model.name: model for model in await make("bedrock").models()}
    old = listed["anthropic.claude-3-haiku-20240307-v1:0"]
    assert (old.retires, old.notes) == ("2026-12-10", "legacy")
    assert BARE[8:] not in listed
    assert "amazon.titan-embed-text-v2:0" not in listed


# -- threads -----------------------------------------------------------------------------


async def test_a_call_that_is_given_up_leaves_no_thread_behind(sim: Handle, make: Make) -> None:
    sim.latency(base=3600)
    provider = make("bedrock")
    calls = [asyncio.create_task(provider.answer(ask(SONNET, seed=n))) for n in range(20)]
    await asyncio.to_thread(sim.wait, 60.0, in_flight=20)
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)
    assert all(call.cancelled() for call in calls)
    await asyncio.to_thread(sim.wait, 30.0, client_gone=20)
    sim.latency()
    assert (await provider.answer(ask(SONNET))).outcome is Outcome.OK


async def test_closing_ends_the_threads(sim: Handle, make: Make) -> None:
    def running() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name.startswith("bedrock")}

    others = running()  # Those of earlier tests may still be ending.
    provider = make("bedrock")
    await asyncio.gather(*(provider.answer(ask(SONNET, seed=n)) for n in range(12)))
    assert running() - others
    await provider.close()
    end = time.monotonic() + 30
    while running() - others and time.monotonic() < end:
        await asyncio.sleep(0.02)
    assert not running() - others


async def test_concurrency_may_grow_and_shrink(sim: Handle, make: Make) -> None:
    provider = make("bedrock")
    for wide in (4, 48, 2):
        sim.reset()
        sim.latency(base=3600)
        calls = [asyncio.create_task(provider.answer(ask(SONNET, seed=n))) for n in range(wide)]
        await asyncio.to_thread(sim.wait, 60.0, in_flight=wide)
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        await asyncio.to_thread(sim.wait, 30.0, client_gone=wide)
