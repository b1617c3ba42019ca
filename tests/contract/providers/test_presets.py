"""Groq, OpenRouter and Ollama: what each does in its own way."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from evalbench.engine import errors as e
from evalbench.engine.calls import Call, ModelRef, generate, user
from evalbench.engine.money.budget import Budget
from evalbench.engine.money.prices import PriceBook
from evalbench.engine.money.purse import Purse
from evalbench.engine.money.told_prices import keep_told
from evalbench.engine.money.unit_prices import Rates, UnitPrices
from tests.contract.providers.conftest import Make
from tests.simulator.handle import Handle
from tests.unit.providers.calls import IMAGE, ask

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
        purse = Purse(budget, prices)
        ticket = await purse.admit(ask(ROUTED, max_tokens=200))
        assert purse.answered(ticket, reply) == charged
        assert budget.spent == charged


async def test_openrouters_list_tells_prices(sim: Handle, make: Make) -> None:
    sim.model("openrouter", "new/model", like="qwen/qwen3-32b", price=(0.5, 2.5, 0.25, 0.5))
    ref = ModelRef("openrouter", "new/model")
    assert PriceBook().prices(ref) is None
    keep_told("openrouter", await make("openrouter").models())
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
