"""Good answers of every protocol, as replies."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from evalbench.engine.calls import Call, ModelRef, Outcome, Usage, generate
from evalbench.engine.errors import ContextTooLong, Overloaded, RateLimited, RunFatal, ServerFault
from evalbench.providers.anthropic import Anthropic
from evalbench.providers.anthropic.read import read_message, read_usage
from evalbench.providers.chat.reply import read_chat
from evalbench.providers.chat.reply import read_usage as chat_usage
from evalbench.providers.compatible import Compatible
from evalbench.providers.compatible.loglikelihoods import after_context, read_scores
from evalbench.providers.compatible.ollama import Ollama, check_whole_prompt
from evalbench.providers.compatible.read import read_completion
from evalbench.providers.openai import OpenAI
from evalbench.providers.openai.responses import read_response
from evalbench.providers.wire.exchange import Answered, Arrival, Prepared

HERE = Arrival()
MESSAGE = Prepared("m", "/v1/messages", {})
CHAT = Prepared("m", "/chat/completions", {})
RESPONSES = Prepared("m", "/responses", {})


def message(stop: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"content": list(blocks), "stop_reason": stop, "model": "m-1", **more}


def chat(stop: str, content: Any = "B", **fields: Any) -> dict[str, Any]:
    turn = {"role": "assistant", "content": content, **fields}
    return {"choices": [{"index": 0, "message": turn, "finish_reason": stop}], "model": "m-1"}


@pytest.mark.parametrize(
    ("stop", "outcome"),
    [
        ("end_turn", Outcome.OK),
        ("stop_sequence", Outcome.OK),
        ("max_tokens", Outcome.TRUNCATED),
        ("model_context_window_exceeded", Outcome.TRUNCATED),
        ("refusal", Outcome.REFUSED),
    ],
)
def test_anthropic_stop_reasons(stop: str, outcome: Outcome) -> None:
    reply = read_message(message(stop, {"type": "text", "text": "B"}), HERE)
    assert (reply.outcome, reply.stop_reason, reply.text) == (outcome, stop, "B")


def test_anthropic_blocks_are_told_apart_by_type() -> None:
    blocks = (
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "A"},
        {"type": "novelty", "text": "not this"},
        {"type": "text", "text": "B"},
    )
    reply = read_message(message("end_turn", *blocks), HERE)
    assert (reply.text, reply.reasoning, reply.provider_model) == ("AB", "Hm.", "m-1")


def test_anthropic_refusal_without_text_shows_its_explanation() -> None:
    details = {"type": "refusal", "category": "bio", "explanation": "Not this."}
    reply = read_message(message("refusal", stop_details=details), HERE)
    assert (reply.outcome, reply.text) == (Outcome.REFUSED, "Not this.")
    assert reply.raw["stop_details"]["category"] == "bio"


def test_anthropic_usage_adds_the_cache_to_the_input() -> None:
    usage: dict[str, Any] = {
        "input_tokens": 10,
        "cache_read_input_tokens": 900,
        "cache_creation_input_tokens": 50,
        "output_tokens": 70,
        "output_tokens_details": {"thinking_tokens": 60},
    }
    assert read_usage(usage) == Usage(960, 70, 900, 50, 60)
    usage["cache_creation"] = {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30}
    assert read_usage(usage) == Usage(960, 70, 900, 50, 60, cache_write_1h_tokens=30)
    assert read_usage({"input_tokens": 10, "output_tokens": 7}) == Usage(10, 7)
    assert read_usage(None) == Usage()


@pytest.mark.parametrize(
    ("stop", "outcome"),
    [
        ("stop", Outcome.OK),
        ("eos", Outcome.OK),
        ("length", Outcome.TRUNCATED),
        ("content_filter", Outcome.FILTERED),
    ],
)
def test_chat_finish_reasons(stop: str, outcome: Outcome) -> None:
    assert read_chat(chat(stop), HERE).outcome is outcome


def test_chat_tokens_spent_without_an_answer_are_no_answer() -> None:
    reply = read_chat(chat("length", None), HERE)
    assert (reply.outcome, reply.text) == (Outcome.TRUNCATED, "")


def test_chat_refusal() -> None:
    reply = read_chat(chat("stop", None, refusal="I will not."), HERE)
    assert (reply.outcome, reply.text) == (Outcome.REFUSED, "I will not.")


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ({"reasoning_content": "Hm."}, "Hm."),
        ({"reasoning": "Hm."}, "Hm."),
        ({"reasoning": None}, ""),
        ({"reasoning": {"odd": 1}}, ""),
    ],
)
def test_chat_reasoning_fields(turn: dict[str, Any], expected: str) -> None:
    assert read_chat(chat("stop", **turn), HERE).reasoning == expected


def test_chat_content_in_pieces() -> None:
    pieces = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "B"},
    ]
    reply = read_chat(chat("stop", pieces), HERE)
    assert (reply.text, reply.reasoning) == ("B", "Hm.")


def test_chat_usage() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 30},
        "completion_tokens_details": {"reasoning_tokens": 12},
    }
    assert chat_usage(usage) == Usage(100, 20, 64, 30, 12)
    assert chat_usage({"prompt_tokens": 5, "prompt_cache_hit_tokens": 4}).cache_read_tokens == 4
    assert chat_usage("nonsense") == Usage()


def test_chat_usage_of_servers_that_count_reasoning_apart() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 132,
        "completion_tokens_details": {"reasoning_tokens": 12},
    }
    assert chat_usage(usage).output_tokens == 32


def response(status: str, *items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"status": status, "output": list(items), "model": "m-1", **more}


def said(*pieces: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "content": list(pieces)}


def test_responses_text_and_summary() -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
    body = response("completed", thought, said({"type": "output_text", "text": "B"}))
    reply = read_response(body, HERE)
    assert (reply.text, reply.reasoning, reply.outcome) == ("B", "Hm.", Outcome.OK)


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [("max_output_tokens", Outcome.TRUNCATED), ("content_filter", Outcome.FILTERED)],
)
def test_responses_incomplete(reason: str, outcome: Outcome) -> None:
    reply = read_response(response("incomplete", incomplete_details={"reason": reason}), HERE)
    assert (reply.outcome, reply.stop_reason, reply.text) == (outcome, reason, "")


def test_responses_refusal() -> None:
    reply = read_response(response("completed", said({"type": "refusal", "refusal": "No."})), HERE)
    assert (reply.outcome, reply.text) == (Outcome.REFUSED, "No.")


def test_responses_usage() -> None:
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 12},
    }
    assert read_response(response("completed", usage=usage), HERE).usage == Usage(
        100, 20, 64, 0, 12
    )


def answered(body: Any, status: int = 200, **headers: str) -> Answered:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return Answered(status, {name.replace("_", "-"): text for name, text in headers.items()}, raw)


@pytest.mark.parametrize(
    ("code", "error"),
    [("server_error", ServerFault), ("rate_limit_exceeded", RateLimited), (None, ServerFault)],
)
def test_a_failed_response_inside_a_200_is_an_error(code: Any, error: type[Exception]) -> None:
    body = response("failed", error={"code": code, "message": "Oh."} if code else None)
    with pytest.raises(error):
        OpenAI({}, "k").read(answered(body), RESPONSES)


def test_a_failed_response_for_policy_is_an_outcome() -> None:
    body = response("failed", error={"code": "bio_policy", "message": "Not this."})
    reply = OpenAI({}, "k").read(answered(body), RESPONSES)
    assert (reply.outcome, reply.stop_reason) == (Outcome.FILTERED, "bio_policy")


@pytest.mark.parametrize(
    ("asked", "served", "told"),
    [
        (None, "default", ""),
        (None, None, ""),
        (None, "priority", "priority"),
        ("auto", "flex", "flex"),
        ("flex", "flex", ""),
        ("priority", "default", "default"),
        ("priority", 7, ""),
    ],
)
def test_openai_tells_the_service_tier_if_it_is_not_the_one_asked_for(
    asked: str | None, served: object, told: str
) -> None:
    provider = OpenAI({"service_tier": asked}, "k")
    completed = chat("stop") | {"service_tier": served}
    assert provider.read(answered(completed), CHAT).service_tier == told
    text = said({"type": "output_text", "text": "B"})
    responded = response("completed", text, service_tier=served)
    assert provider.read(answered(responded), RESPONSES).service_tier == told


def test_request_id_and_limits_come_along() -> None:
    body = message("end_turn", {"type": "text", "text": "B"})
    reply = Anthropic({}, "k").read(
        answered(body, request_id="req_1", anthropic_ratelimit_requests_remaining="7"), MESSAGE
    )
    assert reply.request_id == "req_1"
    assert reply.limits
    assert reply.limits.requests_remaining == 7


def test_an_echoed_key_is_not_kept() -> None:
    body = message("end_turn", {"type": "text", "text": "your key is sk-ant-api03-planted"})
    reply = Anthropic({}, "sk-ant-api03-planted").read(answered(body), MESSAGE)
    assert "planted" not in orjson.dumps(reply.raw).decode() + reply.text


@pytest.mark.parametrize("body", [b"{ not json", b"", b"[1]", b'{"choices": []}', b'{"x": 1}'])
def test_a_spoiled_body_is_the_servers_fault_and_may_be_charged(body: bytes) -> None:
    for provider, request in ((OpenAI({}, "k"), CHAT), (Anthropic({}, "k"), MESSAGE)):
        with pytest.raises(ServerFault) as caught:
            provider.read(answered(body), request)
        assert caught.value.possibly_billed


def test_a_web_page_instead_of_an_answer_ends_the_run() -> None:
    server = Compatible({"base_url": "http://127.0.0.1:1/v1"})
    with pytest.raises(RunFatal, match="web page") as caught:
        server.read(answered(b"<!doctype html><title>Hi</title>"), CHAT)
    assert "--base-url" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "answer", "reasoning"),
    [
        ("<think>Hm.</think>\n\nB", "B", "Hm."),
        ("\n<think>\nHm.\n</think>B", "B", "Hm."),
        ("Hm.</think>B", "B", "Hm."),
        ("Use a <think> tag", "Use a <think> tag", ""),
        ("B: <think>no</think>", "B: <think>no</think>", ""),
        ("B", "B", ""),
    ],
)
def test_thoughts_in_the_text_are_moved(text: str, answer: str, reasoning: str) -> None:
    reply = read_completion(chat("stop", text), HERE)
    assert (reply.text, reply.reasoning) == (answer, reasoning)


def test_thoughts_that_never_ended_are_no_answer() -> None:
    reply = read_completion(chat("length", "<think>Hm, let me"), HERE)
    assert (reply.text, reply.reasoning) == ("", "Hm, let me")


def test_raw_text() -> None:
    body = {"choices": [{"text": " a time", "finish_reason": "length"}], "model": "m"}
    reply = read_chat(body, HERE)
    assert (reply.text, reply.outcome) == (" a time", Outcome.TRUNCATED)


def test_an_error_inside_a_good_response() -> None:
    server = Compatible({"base_url": "http://127.0.0.1:1/v1"})
    with pytest.raises(RateLimited):
        server.read(answered({"error": {"code": 429, "message": "Slow down"}}), CHAT)
    with pytest.raises(ServerFault):
        server.read(answered({"error": {"message": "upstream"}}), CHAT)
    with pytest.raises(ContextTooLong):
        server.read(answered({"error": "loaded with context length of only 10 tokens"}), CHAT)
    broken = chat("error")
    broken["choices"][0]["error"] = {"code": 503, "message": "gone"}
    with pytest.raises(Overloaded):
        server.read(answered(broken), CHAT)


def test_the_word_error_in_an_answer_is_only_a_word() -> None:
    server = Compatible({"base_url": "http://127.0.0.1:1/v1"})
    reply = server.read(answered(chat("stop", 'say "error"')), CHAT)
    assert reply.text == 'say "error"'


def test_a_cut_prompt_is_noticed() -> None:
    call = Call(ModelRef("ollama", "m"), generate("word " * 4000))
    usage = {"prompt_tokens": 2048, "completion_tokens": 1}
    reply = Ollama({}).read(answered({**chat("stop"), "usage": usage}), CHAT)
    with pytest.raises(ContextTooLong, match="cut the prompt"):
        check_whole_prompt(call, reply)
    check_whole_prompt(Call(ModelRef("ollama", "m"), generate("word " * 2000)), reply)
    unknown = Ollama({}).read(answered(chat("stop")), CHAT)
    check_whole_prompt(call, unknown)


def test_scores_are_summed_over_the_continuations_tokens_only() -> None:
    def choice(index: int, *values: float | None) -> dict[str, Any]:
        tokens = [str(n) for n in range(len(values))]
        return {"index": index, "logprobs": {"tokens": tokens, "token_logprobs": list(values)}}

    body = {
        "id": "c1",
        "choices": [choice(1, None, -9, -0.5, -0.25, -7), choice(0, None, -9, -1, -7)],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
        "model": "m",
    }
    reply = read_scores(body, HERE, after_context([5, 6], [[5, 6, 7], [5, 6, 8, 9]]))
    assert reply.logprobs == (-1, -0.75)
    assert reply.raw["continuations"] == [
        {"tokens": ["2"], "logprobs": [-1]},
        {"tokens": ["2", "3"], "logprobs": [-0.5, -0.25]},
    ]
    with pytest.raises((IndexError, ValueError)):
        read_scores(body, HERE, after_context([5, 6], [[5, 6, 7]]))


ENDINGS = {
    Outcome.OK: "stop stopped end eos eos_token stop_sequence stop_token end_turn end_of_turn"
    " complete completed finish finished done success tool_call tool_calls tool_use function_call",
    Outcome.TRUNCATED: "length max_tokens max_output_tokens max_completion_tokens max_new_tokens"
    " max_length model_length token_limit context_length model_context_window_exceeded repetition",
    Outcome.FILTERED: "content_filter content_filtered sensitive safety recitation blocklist"
    " prohibited_content spii guardrail_intervened",
    Outcome.REFUSED: "refusal refused",
}


@pytest.mark.parametrize("outcome", ENDINGS)
def test_servers_have_many_words_for_why_an_answer_ended(outcome: Outcome) -> None:
    for word in ENDINGS[outcome].split():
        assert read_chat(chat(word), HERE).outcome is outcome, word
