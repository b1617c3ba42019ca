"""Odd bodies of every protocol, at once and in batches: what is there is used, and kept."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from evalbench.engine import errors as e
from evalbench.engine.calls import Call, ModelRef, Outcome, Reply, Usage
from evalbench.engine.config import registry
from evalbench.engine.journal import JournalReader
from evalbench.engine.journal.schema import SLOT_BITS
from evalbench.providers.wire.body import keyless
from evalbench.providers.wire.exchange import Answered
from evalbench.providers.wire.reply_scrubbing import SecretScrubber
from evalbench.tui.state.sample_view import reply_facts
from tests.contract.bodies.bench import PROMPT, Bench, bench
from tests.contract.bodies.cases import KEY as LONG_KEY
from tests.contract.bodies.cases import Token, put, written
from tests.contract.bodies.lanes import LANES, Lane
from tests.contract.bodies.server import Response
from tests.contract.providers.conftest import KEY, pair_of_aws
from tests.spellings import remains, spellings

pytestmark = pytest.mark.share(3)

BATCHED = [name for name, lane in LANES.items() if lane.line]
CHATS = [name for name in LANES if LANES[name].text[0] == "choices"]
BATCHED_CHATS = [name for name in CHATS if LANES[name].line]
HEADERS = {"content-type": "application/json"}

Way = Callable[[str, bytes], Reply]


@cache
def made(name: str) -> Any:
    """The provider of a protocol, which will not be asked over the network."""
    lane = LANES[name]
    settings = {"base_url": lane.base_url("http://127.0.0.1:1"), **lane.settings}
    provider_class: Any = registry.provider_class(lane.provider)
    return provider_class(settings, pair_of_aws(KEY) if lane.provider == "bedrock" else KEY)


def at_once(name: str, raw: bytes, status: int = 200) -> Reply:
    """What a response says."""
    provider, call = made(name), Call(ModelRef.parse(f"x/{LANES[name].model}"), PROMPT)
    reply: Reply = provider.read(Answered(status, HEADERS, raw), provider.prepare(call))
    return reply


def in_a_batch(name: str, raw: bytes) -> Reply:
    """What a line of results says that holds the same body."""
    lane = LANES[name]
    bench: Any = Bench(lane, None, made(name), None, None)  # type: ignore[arg-type]
    reply: Reply = bench.read_line(raw)
    return reply


WAYS = [
    *((at_once, name) for name in LANES),
    *((in_a_batch, name) for name in BATCHED),
]
CHAT_WAYS = [
    *((at_once, name) for name in CHATS),
    *((in_a_batch, name) for name in BATCHED_CHATS),
]


def body(name: str, text: Any = "Answer: B", **usage: Any) -> dict[str, Any]:
    """A good answer with another text, and other counts."""
    lane = LANES[name]
    made_of = put(deepcopy(dict(lane.body)), lane.text, text)
    for count, value in usage.items():
        put(made_of, COUNTS[name][count], value)
    return dict(made_of)


def counts(of: str, into: str, out: str, whole: str) -> dict[str, tuple[str, ...]]:
    return {"read": (of, into), "written": (of, out), "total": (of, whole)}


CHAT_COUNTS = counts("usage", "prompt_tokens", "completion_tokens", "total_tokens")
COUNTS: dict[str, Any] = dict.fromkeys(CHATS, CHAT_COUNTS) | {
    "openai-responses": counts("usage", "input_tokens", "output_tokens", "total_tokens"),
    "anthropic": counts("usage", "input_tokens", "output_tokens", "total_tokens"),
    "google": counts("usageMetadata", "promptTokenCount", "candidatesTokenCount", "total"),
    "bedrock": counts("usage", "inputTokens", "outputTokens", "totalTokens"),
    "ollama": {"read": ("prompt_eval_count",), "written": ("eval_count",)},
}


@pytest.mark.parametrize(("way", "name"), WAYS)
@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda raw: raw.replace(b"Answer", b"\\ud83d Answer"), "\ufffd Answer: B"),
        (lambda raw: raw.replace(b"Hm.", b"\\udc00"), "Answer: B"),
        (lambda raw: raw.replace(b"Answer", b"caf\xe9 Answer"), "caf\ufffd Answer: B"),
        (lambda raw: raw.replace(b"Answer", b"\x01 Answer"), "\x01 Answer: B"),
        *((lambda raw, n=n: raw[:-1] + b', "odd": %s}' % n, "Answer: B")
          for n in (b"NaN", b"-Infinity", b"-1e400", b"[" * 2000 + b"]" * 2000)),
    ],
)  # fmt: skip
def test_a_body_that_any_reader_reads_is_an_answer(
    way: Way, name: str, spoil: Callable[[bytes], bytes], text: str
) -> None:
    reply = way(name, spoil(orjson.dumps(body(name))))
    assert (reply.text, reply.outcome) == (text, Outcome.OK)
    assert len(reply.notes) == 1
    assert ("oddity", reply.notes[0]) in reply_facts(reply)
    assert reply.usage.output_tokens == 3


@pytest.mark.parametrize("name", LANES)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: raw * 2,
        lambda raw: raw.decode().encode("utf-16"),
    ],
)
def test_what_stands_around_a_body_does_not_hide_it(
    name: str, spoil: Callable[[bytes], bytes]
) -> None:
    reply = at_once(name, spoil(orjson.dumps(body(name))))
    assert (reply.text, len(reply.notes)) == ("Answer: B", 1)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(
    "how", ["as it is", "base64 of quoted-printable", "hex of quoted-printable"]
)
def test_a_key_in_another_encoding_costs_no_answer(encoding: str, how: str) -> None:
    told = f"Answer: B\n{spellings(LONG_KEY)[how]}\n"
    raw = written(body("compatible", told)).encode(encoding)
    read, notes = keyless(raw, SecretScrubber(LONG_KEY))
    assert read["choices"][0]["message"]["content"].startswith("Answer: B\n")
    assert not remains(LONG_KEY, orjson.dumps(read).decode())
    assert notes


@pytest.mark.parametrize(("way", "name"), WAYS)
@pytest.mark.parametrize(
    "odd", [10**18, 10**9 + 1, "ten", "9", 1.5, -5, -(10**6), True, {"a": [1]}, Token("1e400")]
)
@pytest.mark.parametrize("count", ["read", "written"])
def test_a_count_that_can_be_none_is_not_reported(
    way: Way, name: str, odd: Any, count: str
) -> None:
    usage = way(name, written(body(name, **{count: odd})).encode()).usage
    known = {"read": usage.input_tokens, "written": usage.output_tokens}
    assert known.pop(count) is None
    assert known.popitem()[1] in (3, 9)


@pytest.mark.parametrize(("way", "name"), WAYS)
def test_counts_from_0_to_a_milliard_count_also_as_12_0(way: Way, name: str) -> None:
    raw = written(body(name, read=Token("12.0"), written=10**9)).encode()
    usage = way(name, raw).usage
    assert (usage.input_tokens, usage.output_tokens) == (12, 10**9)
    assert type(usage.input_tokens) is int


@pytest.mark.parametrize(("way", "name"), WAYS)
def test_no_output_beside_a_text_is_not_believed(way: Way, name: str) -> None:
    odd = body(name, written=0)
    if name in CHATS:
        odd["usage"]["total_tokens"] = 9
    reply = way(name, orjson.dumps(odd))
    assert (reply.text, reply.usage.output_tokens) == ("Answer: B", None)
    assert reply.notes


@pytest.mark.parametrize(("way", "name"), CHAT_WAYS)
@pytest.mark.parametrize("total", [10**18, "12", -3, None, 1.5])
def test_a_total_that_can_be_none_adds_nothing(way: Way, name: str, total: Any) -> None:
    usage = way(name, orjson.dumps(body(name, total=total))).usage
    assert (usage.input_tokens, usage.output_tokens) == (9, 3)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("openai-chat", ("usage", "prompt_tokens_details", "cached_tokens")),
        ("openai-responses", ("usage", "input_tokens_details", "cached_tokens")),
    ],
)
def test_more_from_the_cache_than_there_was_leaves_the_input_untold(
    name: str, place: tuple[str, ...]
) -> None:
    usage = at_once(name, orjson.dumps(put(body(name), place, 10**6))).usage
    assert usage == Usage(None, 3, None, None, 0)


@pytest.mark.parametrize(("way", "name"), WAYS)
@pytest.mark.parametrize("usage", [None, [], "none", 5, {}])
def test_usage_of_any_kind_is_no_reason_to_lose_an_answer(way: Way, name: str, usage: Any) -> None:
    odd = body(name)
    for field in ("usage", "usageMetadata"):
        if field in odd:
            odd[field] = usage
    assert way(name, orjson.dumps(odd)).text == "Answer: B"


@pytest.mark.parametrize(("way", "name"), CHAT_WAYS)
@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "Answer:"}, {"type": "text", "text": " B"}], "Answer: B"),
        (["Answer: ", {"text": "B"}, {"type": "image", "text": "no"}, 5, None], "Answer: B"),
        ({"type": "text", "text": "Answer: B"}, "Answer: B"),
        ({"answer": "B"}, '{"answer":"B"}'),
        (5, "5"),
        (None, ""),
    ],
)
def test_content_of_any_form(way: Way, name: str, content: Any, text: str) -> None:
    reply = way(name, orjson.dumps(body(name, content)))
    assert (reply.text, reply.reasoning, reply.outcome) == (text, "Hm.", Outcome.OK)


@pytest.mark.parametrize(("way", "name"), CHAT_WAYS)
@pytest.mark.parametrize(
    ("code", "error"),
    [
        (402, e.NoCredit), ("402", e.NoCredit), ("insufficient_quota", e.NoCredit),
        (400, e.CallRejected), (429, e.RateLimited), ("rate_limit_exceeded", e.RateLimited),
        (502, e.ServerFault), (503, e.Overloaded), (401, e.BadKey), (None, e.ServerFault),
    ],
)  # fmt: skip
def test_an_error_inside_a_good_response(way: Way, name: str, code: Any, error: type) -> None:
    inside = {"message": "Provider returned error", "code": code}
    for wrapped in (
        {"error": inside, "choices": None},
        {"error": inside},
        {"id": "c1", "choices": [], "error": inside},
        {"choices": [{"message": {"content": ""}, "finish_reason": "error", "error": inside}]},
    ):
        with pytest.raises(e.ProviderError) as caught:
            way(name, orjson.dumps(wrapped))
        assert type(caught.value) is error, wrapped


def test_an_error_inside_a_good_response_of_the_responses_api() -> None:
    with pytest.raises(e.NoCredit):
        at_once("openai-responses", b'{"error": {"code": 402, "message": "pay"}, "output": null}')
    with pytest.raises(e.RateLimited):
        at_once("openai-responses", b'{"error": {"code": 429, "message": "slow"}}')


@pytest.mark.parametrize(
    ("name", "inside", "error"),
    [
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error"}}, e.Overloaded),
        ("anthropic", {"error": {"type": "billing_error", "message": "pay"}}, e.NoCredit),
        ("google", {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}, e.RateLimited),
        ("google", {"error": {"code": 503, "message": "overloaded"}}, e.Overloaded),
        ("bedrock", {"__type": "x#ThrottlingException", "message": "slow"}, e.RateLimited),
        ("ollama", {"error": "out of memory"}, e.ServerFault),
        # Of gateways, which name a status in their own way.
        ("anthropic", {"error": {"code": 429, "message": "slow"}}, e.RateLimited),
        ("anthropic", {"error": {"status": "402", "message": "pay"}}, e.NoCredit),
        ("google", {"error": {"code": "429", "message": "slow"}}, e.RateLimited),
        ("ollama", {"error": {"code": 429, "message": "slow"}}, e.RateLimited),
        ("ollama", {"error": {"code": 503, "message": "overloaded"}}, e.Overloaded),
    ],
)
def test_errors_inside_good_responses_elsewhere(name: str, inside: Any, error: type) -> None:
    with pytest.raises(e.ProviderError) as caught:
        at_once(name, orjson.dumps(inside))
    assert type(caught.value) is error


@pytest.mark.parametrize(("way", "name"), CHAT_WAYS)
@pytest.mark.parametrize("error", [{"code": 500, "message": "late"}, {}, [], "x", 5, True])
def test_an_error_beside_a_whole_answer_is_none(way: Way, name: str, error: Any) -> None:
    reply = way(name, orjson.dumps(body(name) | {"error": error}))
    assert (reply.text, reply.outcome) == ("Answer: B", Outcome.OK)


STOPS: dict[str, Any] = dict.fromkeys(CHATS, ("choices", 0, "finish_reason")) | {
    "openai-responses": ("status",),
    "anthropic": ("stop_reason",),
    "google": ("candidates", 0, "finishReason"),
    "bedrock": ("stopReason",),
    "ollama": ("done_reason",),
}


@pytest.mark.parametrize(("way", "name"), WAYS)
@pytest.mark.parametrize(
    "stop",
    [
        *("error", "abort", "insufficient_system_resource", "network_error"),
        *("MALFORMED_RESPONSE", "what_is_this"),
    ],
)
def test_an_answer_that_broke_off_is_none(way: Way, name: str, stop: str) -> None:
    odd = put(body(name), STOPS[name], stop)
    with pytest.raises(e.ServerFault, match=f"broke the answer off: {stop}") as caught:
        way(name, orjson.dumps(odd))
    assert caught.value.possibly_billed


@pytest.mark.parametrize(
    ("way", "name"), [(way, name) for way, name in WAYS if name != "openai-responses"]
)
@pytest.mark.parametrize(
    ("stop", "outcome"),
    [
        ("max_tokens", Outcome.TRUNCATED), ("MAX_TOKENS", Outcome.TRUNCATED),
        ("length", Outcome.TRUNCATED), ("STOP", Outcome.OK), ("end_turn", Outcome.OK),
        ("tool_calls", Outcome.OK), ("content_filter", Outcome.FILTERED),
        ("SAFETY", Outcome.FILTERED), ("refusal", Outcome.REFUSED),
        ("malformed_model_output", Outcome.OK), ("CONTINUATION", Outcome.TRUNCATED),
        (None, Outcome.OK), (5, Outcome.OK), ({}, Outcome.OK),
    ],
)  # fmt: skip
def test_why_it_ended_in_many_words(way: Way, name: str, stop: Any, outcome: Outcome) -> None:
    if name == "google" and not isinstance(stop, str):
        outcome = Outcome.TRUNCATED  # Google's word for an answer that goes on
    odd = put(body(name), STOPS[name], stop)
    assert way(name, orjson.dumps(odd)).outcome is outcome


def test_reasons_that_only_google_gives() -> None:
    for stop, outcome in (
        ("OTHER", Outcome.FILTERED),
        ("LANGUAGE", Outcome.FILTERED),
        ("FINISH_REASON_UNSPECIFIED", Outcome.TRUNCATED),
    ):
        odd = put(body("google"), STOPS["google"], stop)
        assert at_once("google", orjson.dumps(odd)).outcome is outcome
    with pytest.raises(e.ServerFault, match="broke the answer off: OTHER"):
        at_once("anthropic", orjson.dumps(put(body("anthropic"), STOPS["anthropic"], "OTHER")))


AZURE = {
    "message": "The response was filtered due to the prompt",
    "code": "content_filter",
    "innererror": {"code": "ResponsibleAIPolicyViolation"},
}
FILTERS: list[dict[str, Any]] = [
    AZURE,
    {"message": "bad", "code": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}},
    {"message": "bad", "code": "400", "innererror": {"innererror": {"code": "content_filter"}}},
    {"message": "Provider returned error", "code": 400,
     "metadata": {"raw": orjson.dumps({"error": AZURE}).decode(), "provider_name": "Azure"}},
    {"message": orjson.dumps({"error": AZURE}).decode(), "code": 400},
    {"message": "litellm.ContentPolicyViolationError: see our docs", "code": "400"},
    {"message": "... triggering Azure OpenAI's content management policy.", "type": None},
    {"message": "no", "type": "content_policy_violation", "code": 403},
    {"message": "flagged", "code": 403, "metadata": {"reasons": ["violence"]}},
]  # fmt: skip


@pytest.mark.parametrize("name", [*CHATS, "openai-responses"])
@pytest.mark.parametrize("error", FILTERS)
def test_a_filter_is_an_outcome_however_it_is_wrapped(name: str, error: dict[str, Any]) -> None:
    for status, raw in ((400, {"error": error}), (200, {"error": {"code": 400, **error}})):
        reply = at_once(name, orjson.dumps(raw), status)
        assert reply.outcome is Outcome.FILTERED
        assert reply.stop_reason
        assert reply.raw == raw


@pytest.mark.parametrize("name", BATCHED_CHATS)
@pytest.mark.parametrize("error", FILTERS)
def test_a_filter_in_a_batch(name: str, error: dict[str, Any]) -> None:
    assert in_a_batch(name, orjson.dumps({"error": {"code": 400, **error}})).outcome is (
        Outcome.FILTERED
    )


def test_anthropics_filter_is_an_outcome() -> None:
    error = {
        "type": "invalid_request_error",
        "message": "Output blocked by content filtering policy",
    }
    reply = at_once("anthropic", orjson.dumps({"type": "error", "error": error}), 400)
    assert reply.outcome is Outcome.FILTERED


@pytest.mark.parametrize("name", ["openai-chat", "anthropic"])
def test_a_filter_that_quotes_the_key_does_not_keep_it(name: str) -> None:
    error = {"code": "content_filter", "message": f"{KEY}: blocked by content filtering policy"}
    reply = at_once(name, orjson.dumps({"error": error}), 400)
    assert reply.outcome is Outcome.FILTERED
    assert KEY not in str(reply)


@pytest.mark.parametrize("status", ["200", 200.0, None, True])
def test_a_line_with_an_odd_status_is_read_by_its_body(status: Any) -> None:
    result = {"response": {"status_code": status, "body": body("compatible")}, "error": {}}
    line = orjson.dumps({"custom_id": "x", **result})
    call = Call(ModelRef.parse("compatible/m"), PROMPT)
    batches = made("compatible").batch_api
    assert batches.reply(batches.parse(line), call).text == "Answer: B"


@pytest.mark.parametrize("name", LANES)
async def test_real_clients_keep_what_came_and_the_run_its_money(name: str, tmp_path: Path) -> None:
    lane: Lane = LANES[name]
    good = orjson.dumps(body(name))
    framing = "gzip" if lane.packed else "chunks"
    odd = [
        Response(b"\xef\xbb\xbf" + good, framing=framing),
        Response(
            good.replace(b"Answer", b"\\ud83d Answer"), headers=[("Content-Type", "text/html")]
        ),
        Response(good.replace(b"Answer", b"caf\xe9 Answer"), 201),
        Response(good.decode().encode("utf-16"), headers=[]),
        Response(orjson.dumps(body(name, written=10**18))),
        Response(orjson.dumps(body(name, read=-(10**6)))),
    ]
    async with bench(lane, tmp_path, KEY) as on:
        for response in odd:
            reply = await on.ask(response)
            assert isinstance(reply, Reply)
            assert reply.text.endswith("Answer: B")
            assert (reply.outcome, on.server.asked) == (Outcome.OK, 1)
            assert Decimal(0) < (reply.cost or 0) < 1
        assert on.budget.possible == on.budget.reserved == 0
        # What is not told counts at its worst case.
        worst = on.budget.spent
        await on.ask(Response(good))
        assert 0 < on.budget.spent - worst < worst / 3
        answered = await on.ask(Response(b"<!doctype html>"))
        assert isinstance(answered, Reply)
        assert "ServerFault" in answered.error
        assert answered.possibly_billed
    with JournalReader(tmp_path / "journal.db") as journal:
        kept = [call for row in (1, 2) for call in journal.calls(row)]
    assert [call.id >> SLOT_BITS for call in kept] == [1, 2]
    assert all(call.reply and call.reply.notes for call in kept)
