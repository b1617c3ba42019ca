"""Groq, OpenRouter and Ollama: what each does in its own way."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from evalbench.engine import errors as e
from evalbench.engine.calls import (
    Call,
    Message,
    ModelRef,
    Outcome,
    Reply,
    TextPart,
    Usage,
    generate,
    user,
)
from evalbench.engine.cost.budget import Budget, Reservation
from evalbench.engine.cost.listed_prices import store_listed
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.cost.prices import PriceBook
from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.providers.compatible.ollama import check_whole_prompt
from tests.contract.providers.conftest import Make
from tests.simulator.handle import Handle
from tests.unit.providers.calls import IMAGE, ask, look

LLAMA = "groq/llama-3.3-70b-versatile"
ROUTED = "openrouter/meta-llama/llama-3.3-70b-instruct"


def posts(sim: Handle) -> list[dict[str, Any]]:
    return [entry["body"] for entry in sim.entries() if entry["method"] == "POST"]


# -- Groq ------------------------------------------------------------------------------


async def test_the_last_request_of_groqs_day_lets_nobody_wait_for_tomorrow(
    sim: Handle, make: Make
) -> None:
    sim.limits("groq", requests=1)
    reply = await make("groq").answer(ask(LLAMA))
    assert reply.limits.requests_remaining == 0
    assert reply.limits.requests_reset_s is None
    assert reply.limits.tokens_reset_s is not None


async def test_groqs_tokens_are_counted_by_the_minute(sim: Handle, make: Make) -> None:
    sim.limits("groq", tokens=2000)
    provider = make("groq")
    await provider.answer(ask(LLAMA, max_tokens=1500))
    with pytest.raises(e.RateLimited) as caught:
        await provider.answer(ask(LLAMA, max_tokens=1501))
    assert "TPM" in caught.value.why
    assert 0 < (caught.value.retry_after or 0) <= 60


async def test_groq_takes_five_images(sim: Handle, make: Make) -> None:
    model = ModelRef("groq", "meta-llama/llama-4-scout-17b-16e-instruct")
    five = Call(model, generate([user([*[IMAGE] * 5, "What?"])], max_tokens=50))
    provider = make("groq")
    assert (await provider.answer(five)).text
    six = Call(model, generate([user([*[IMAGE] * 6, "What?"])], max_tokens=50))
    with pytest.raises(e.CallRejected, match="5 images"):
        await provider.answer(six)
    assert len(posts(sim)) == 1


async def test_where_groqs_thoughts_go(sim: Handle, make: Make) -> None:
    await make("groq").answer(ask("groq/openai/gpt-oss-120b", max_tokens=900))
    assert "reasoning_format" not in posts(sim)[-1]
    provider = make("groq", reasoning_format="parsed")
    reply = await provider.answer(ask("groq/openai/gpt-oss-120b", max_tokens=900, logprobs=2))
    assert posts(sim)[-1]["reasoning_format"] == "parsed"
    assert reply.reasoning
    assert {note.name: note.fate for note in reply.params}["logprobs"] == "dropped"


# -- OpenRouter ------------------------------------------------------------------------


async def test_what_openrouter_charged_is_what_the_call_cost(sim: Handle, make: Make) -> None:
    reply = await make("openrouter").answer(ask(ROUTED, max_tokens=200))
    charged = Decimal(sim.entries()[-1]["bill"]["nanodollars"]).scaleb(-9)
    assert charged
    assert reply.billed == charged
    dear = UnitPrices(Rates(Decimal(1000), Decimal(1000)))
    for prices in (dear, None):
        budget = Budget()
        meter = CostMeter(budget, prices)
        reservation = await budget.admit(Reservation(meter.worst_case(ask(ROUTED, max_tokens=200))))
        assert meter.answered(reservation, reply) == charged
        assert budget.spent == charged


async def test_openrouters_list_tells_prices(sim: Handle, make: Make) -> None:
    sim.model("openrouter", "new/model", like="qwen/qwen3-32b", price=(0.5, 2.5, 0.25, 0.5))
    ref = ModelRef("openrouter", "new/model")
    assert PriceBook().prices(ref) is None
    store_listed("openrouter", await make("openrouter").models())
    prices = PriceBook().prices(ref)
    assert prices
    assert (prices.rates.input, prices.rates.output) == (Decimal("0.5"), Decimal("2.5"))
    assert prices.rates.cache_read == Decimal("0.25")


async def test_what_no_route_honours_is_left_out(sim: Handle, make: Make) -> None:
    sim.model("openrouter", "shy/model", like="meta-llama/llama-3.3-70b-instruct", logprobs=False)
    provider = make("openrouter")
    reply = await provider.answer(ask("openrouter/shy/model", logprobs=2, effort="low", seed=1))
    fates = {note.name: note.fate for note in reply.params}
    assert fates == {"max_tokens": "sent", "logprobs": "dropped", "effort": "dropped",
                     "seed": "sent"}  # fmt: skip
    assert len(posts(sim)) == 1
    await make("openrouter").answer(ask("openrouter/shy/model", logprobs=2))
    lists = [entry for entry in sim.entries() if entry["path"].endswith("/models")]
    assert len(lists) == 1


@pytest.mark.parametrize(
    ("code", "kind"),
    [(429, e.RateLimited), (402, e.NoCredit), (503, e.Overloaded), ("oops", e.ServerFault)],
)
@pytest.mark.parametrize("place", ["top", "choice"])
async def test_an_error_inside_a_good_answer_is_that_error(
    sim: Handle, make: Make, code: Any, kind: type[Exception], place: str
) -> None:
    trouble = {"message": "upstream said so", "code": code}
    choice = {"index": 0, "finish_reason": "error", "error": trouble, "message": {"content": ""}}
    body: Any = {"error": trouble} if place == "top" else {"choices": [choice]}
    sim.fault(status=200, body=body, path="completions")
    with pytest.raises(kind):
        await make("openrouter").answer(ask(ROUTED))


# -- Ollama ----------------------------------------------------------------------------


def told(words: int) -> Call:
    return Call(ModelRef("ollama", "llama3.2:3b"), generate("word " * words, max_tokens=20))


async def test_a_prompt_that_ollama_cut_a_little_is_caught_too(sim: Handle, make: Make) -> None:
    provider = make("ollama")
    whole = await provider.answer(told(3200))
    assert whole.usage.input_tokens > 3900
    # 4,103 tokens for a context of 4,096: 2,050 are read, which the text alone would allow.
    with pytest.raises(e.ContextTooLong) as caught:
        await provider.answer(told(3280))
    assert "it read 2050 tokens of about 4100, and has room for 4096" in caught.value.what
    assert "OLLAMA_CONTEXT_LENGTH" in caught.value.hint
    assert "--num-ctx" in caught.value.hint
    asked = [entry["path"] for entry in sim.entries() if entry["method"] == "GET"]
    assert asked == ["/ollama/api/ps"]


async def test_a_prompt_that_may_have_been_cut_is_answered_with_a_note(
    sim: Handle, make: Make
) -> None:
    provider = make("ollama")
    fits = await provider.answer(told(1000))
    assert [note.name for note in fits.params] == ["max_tokens"]
    near = await provider.answer(told(3000))
    [note] = [note for note in near.params if note.name == "prompt"]
    assert "4096 tokens of context" in note.reason


async def test_short_questions_ask_ollama_for_nothing_more(sim: Handle, make: Make) -> None:
    await make("ollama").answer(told(700))
    assert len(sim.entries()) == 1


async def test_an_ollama_that_does_not_tell_its_context(sim: Handle, make: Make) -> None:
    sim.fault(status=404, path="/api/ps")
    provider = make("ollama")
    assert (await provider.answer(told(3000))).text
    with pytest.raises(e.ContextTooLong):
        await provider.answer(told(5000))


async def test_a_context_of_ones_own_goes_by_ollamas_own_api(sim: Handle, make: Make) -> None:
    provider = make("ollama", num_ctx=8192)
    reply = await provider.answer(told(4000))
    assert reply.usage.input_tokens > 5000
    assert reply.outcome is Outcome.OK
    [entry] = sim.entries()
    assert entry["path"] == "/ollama/api/chat"
    body = entry["body"]
    assert body["options"] == {"num_ctx": 8192, "num_predict": 20}
    assert (body["truncate"], body["shift"], body["stream"]) == (False, False, False)
    with pytest.raises(e.ContextTooLong):
        await provider.answer(told(7000))


async def test_everything_that_can_be_asked_of_ollamas_own_api(sim: Handle, make: Make) -> None:
    provider = make("ollama", num_ctx=4096)
    call = ask("ollama/qwen3:8b", max_tokens=900, effort="low", temperature=0.5, top_p=0.9, seed=7,
               stop=("zzz",), logprobs=2)  # fmt: skip
    reply = await provider.answer(call)
    body = sim.entries()[-1]["body"]
    assert body["think"] == "low"
    assert (body["logprobs"], body["top_logprobs"]) == (True, 2)
    assert body["options"] == {"num_ctx": 4096, "num_predict": 900, "temperature": 0.5,
                               "top_p": 0.9, "seed": 7, "stop": ["zzz"]}  # fmt: skip
    assert reply.text
    assert reply.reasoning
    assert {note.fate for note in reply.params} == {"sent"}
    assert (await provider.answer(look("ollama/llava:7b", max_tokens=90))).text
    [turn] = sim.entries()[-1]["body"]["messages"]
    assert turn["content"] == "What is in  this picture?"
    assert len(turn["images"]) == 1
    story = Message("context", (TextPart("Once upon a time"),))
    raw = Call(ModelRef("ollama", "llama3.2:3b"), generate([story], max_tokens=9))
    assert (await provider.answer(raw)).outcome is Outcome.TRUNCATED
    entry = sim.entries()[-1]
    assert entry["path"] == "/ollama/api/generate"
    assert (entry["body"]["prompt"], entry["body"]["raw"]) == ("Once upon a time", True)
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    shaped = Call(ModelRef("ollama", "llama3.2:3b"), generate("Hm?", schema=schema))
    assert json.loads((await provider.answer(shaped)).text)
    assert sim.entries()[-1]["body"]["format"] == schema
    with pytest.raises(e.NoSuchModel):
        await provider.answer(ask("ollama/nobody"))


@pytest.mark.parametrize(
    ("characters", "read", "cut"),
    [
        (20_000, 2050, True),  # half of 4,096 and what is kept of the start
        (20_000, 4096, True),  # all of it, as older servers do
        (20_000, 4095, True),
        (30_000, 3900, True),  # older turns are gone
        (15_000, 3500, False),
        (9_000, 2050, False),
        (12_000, 3000, False),
    ],
)
def test_what_gives_a_cut_prompt_away(characters: int, read: int, cut: bool) -> None:
    call = Call(ModelRef("ollama", "m"), generate("x" * characters))
    reply = Reply("A", usage=Usage(read, 1))
    if not cut:
        check_whole_prompt(call, reply, 4096)
        return
    with pytest.raises(e.ContextTooLong):
        check_whole_prompt(call, reply, 4096)


# -- models without a system role ------------------------------------------------------


@pytest.mark.parametrize(
    "why",
    [
        "System role not supported",
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "Only user, assistant and tool roles are supported!",
    ],
)
async def test_a_refused_system_role_is_put_into_the_first_user_turn(
    sim: Handle, make: Make, why: str
) -> None:
    sim.fault(status=400, match=r'"role":\s*"system"', message=why)
    turns = [Message("system", (TextPart("Be brief."),)), user("What is 2 + 2?")]
    call = Call(ModelRef("vllm", "Qwen/Qwen2.5-7B-Instruct"), generate(turns, max_tokens=50))
    provider = make("vllm")
    for _ in range(2):
        reply = await provider.answer(call)
        assert reply.outcome is Outcome.OK
        assert posts(sim)[-1]["messages"] == [
            {"role": "user", "content": "Be brief.\n\nWhat is 2 + 2?"}
        ]
        (note,) = (note for note in reply.params if note.name == "system")
        assert note.fate == "refused"
        assert "first user turn" in note.reason
        assert why[:20] in note.reason
    # Learned once, and by the next engine too.
    assert len(posts(sim)) == 3
    await make("vllm").answer(call)
    assert len(posts(sim)) == 4
