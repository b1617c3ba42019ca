"""The example figures of five guides to such benchmarks, recomputed.

The guides were written in 2024 and 2025 and say what a run costs, or only that
it costs something. Each test takes a guide's own assumptions, gives the price
of then and of now, and says where the difference comes from.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from evalbench.engine.calls import ModelRef, Usage
from evalbench.engine.cost.prices import PriceBook
from evalbench.engine.cost.tokens import text_tokens
from evalbench.engine.cost.unit_prices import Mode, Rates, UnitPrices
from evalbench.providers.modelfacts.token_rules import token_rules

THEN = datetime(2025, 10, 15, tzinfo=UTC)
NOW = datetime(2026, 11, 27, tzinfo=UTC)


@pytest.fixture
def book(home: object) -> PriceBook:
    return PriceBook()


def usd(text: str) -> Decimal:
    return Decimal(text)


def cost(
    book: PriceBook,
    model: str,
    calls: int,
    usage: Usage,
    at: datetime = NOW,
    mode: Mode = "realtime",
) -> Decimal:
    prices = book.prices(ModelRef.parse(model), mode, at=at)
    assert prices
    one = prices.cost(usage)
    assert one is not None
    return calls * one


class TestVisionBenchmarkWithClaude:
    """Guide 1: OpenSeeSimE on claude-sonnet-4-5, "Estimated total: ~$23".

    Its assumptions: 1,000 samples, half images and half videos of 8 frames,
    1,600 tokens an image, 200 a prompt, 50 a reply; 3 and 15 dollars a million.
    """

    IMAGE = Usage(1 * 1600 + 200, 50)
    VIDEO = Usage(8 * 1600 + 200, 50)

    def test_its_own_sum_is_right(self, book: PriceBook) -> None:
        total = sum(
            cost(book, "anthropic/claude-sonnet-4-5-20250929", 500, usage, THEN)
            for usage in (self.IMAGE, self.VIDEO)
        )
        assert total == usd("22.95")  # 7.4 million tokens in: 22.20; 50,000 out: 0.75

    def test_summing_tokens_first_would_nearly_double_it(self, book: PriceBook) -> None:
        # A request of more than 200,000 tokens costs twice as much, but no request
        # here is one: prices hold call by call, never for a run's sum.
        summed = cost(
            book, "anthropic/claude-sonnet-4-5-20250929", 1, Usage(7_400_000, 50_000), THEN
        )
        assert summed == usd("45.525")

    def test_its_1600_tokens_are_a_ceiling_on_that_model(self) -> None:
        # The published limit is 1,568 tokens, which full frames come close to; small ones do not.
        model = "claude-sonnet-4-5-20250929"
        assert token_rules(model).image((1920, 1080)).tokens == 1560
        assert token_rules(model).image((640, 480)).tokens == 23 * 18
        full = 500 * 1560 + 500 * 8 * 1560
        assert usd("20") < (full + 200_000) * 3 / usd("1000000") + usd("0.75") < usd("22.95")

    def test_a_high_resolution_model_reads_up_to_three_times_the_tokens(
        self, book: PriceBook
    ) -> None:
        # Today's successor costs a third less a token, counts about 30 % more text tokens
        # and sees full HD frames whole: the bill rises although the price fell.
        model = "claude-sonnet-5-5"
        frame = token_rules(model).image((1920, 1080)).tokens
        assert frame == 2691
        assert token_rules(model).image((3840, 2160)).tokens == 4784
        total = sum(
            cost(book, f"anthropic/{model}", 500, Usage(frames * frame + 260, 65))
            for frames in (1, 8)
        )
        assert usd("25") < total < usd("26")

    def test_the_batch_api_halves_it(self, book: PriceBook) -> None:
        total = sum(
            cost(book, "anthropic/claude-sonnet-4-5", 500, usage, NOW, "batch")
            for usage in (self.IMAGE, self.VIDEO)
        )
        assert total == usd("11.475")


class TestMmluExperimenter:
    """Guide 2: MMLU with Claude, example of 100 questions; it names no figure.

    One user message a question, about 440 characters with its options, and a
    reply of at most 5 tokens: such a run was too cheap to mention.
    """

    QUESTION = "x" * 440

    def test_its_example_cost_four_cents_and_the_whole_test_six_dollars(self) -> None:
        # The model of its time cost 3 and 15 dollars a million.
        prices = UnitPrices(Rates(usd("3"), usd("15")))
        tokens = round(text_tokens(self.QUESTION, token_rules("claude-3-5-sonnet-20241022")))
        assert tokens == 126
        one = prices.cost(Usage(tokens, 5))
        assert one
        assert usd("0.04") < 100 * one < usd("0.05")
        assert usd("6") < 14_042 * one < usd("7")

    def test_five_shots_multiply_the_input_unless_it_is_cached(self, book: PriceBook) -> None:
        plain = Usage(126 + 5 * 126, 5)
        cached = Usage(126 + 5 * 126, 5, cache_read_tokens=5 * 126)
        model = "anthropic/claude-sonnet-5-5"
        saved = cost(book, model, 14_042, plain) - cost(book, model, 14_042, cached)
        # The 5.5 generation reads its cache at a twentieth of the price.
        assert saved == 14_042 * 5 * 126 * usd("2") * usd("0.95") / 1_000_000


class TestExecutionPredictionOnBedrock:
    """Guide 3: Claude Sonnet 4.5 on Bedrock, "meaningful API spend" for a full sweep of ~350 tasks.

    Its example: 40 problems for prediction, 5 generations each of original and
    mutant; 20 for choice, in both orders; replies of at most 1,000 tokens;
    prompts of about 600.
    """

    MODEL = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"

    def test_the_regional_profile_costs_a_tenth_more(self, book: PriceBook) -> None:
        regional = cost(book, self.MODEL, 1, Usage(1_000_000, 0))
        worldwide = cost(book, self.MODEL.replace("us.", "global."), 1, Usage(1_000_000, 0))
        assert (regional, worldwide) == (usd("3.3"), usd("3"))

    def test_its_example_costs_a_few_dollars(self, book: PriceBook) -> None:
        calls = 40 * 5 * 2 + 20 * 2
        low = cost(book, self.MODEL, calls, Usage(600, 300))
        high = cost(book, self.MODEL, calls, Usage(600, 1_000))
        assert (round(low, 2), round(high, 2)) == (usd("3.05"), usd("8.13"))

    def test_a_full_sweep_is_meaningful_and_thinking_nearly_triples_it(
        self, book: PriceBook
    ) -> None:
        calls = 350 * 5 * 2 + 350 * 2
        plain = cost(book, self.MODEL, calls, Usage(600, 1_000))
        thinking = cost(book, self.MODEL, calls, Usage(600, 3_000))
        assert (round(plain), round(thinking)) == (78, 216)
        # Bedrock's batch inference, which the guide does not use, is half of it.
        assert cost(book, self.MODEL, calls, Usage(600, 1_000), mode="batch") == plain / 2


class TestMtBenchJudges:
    """Guide 4: MT-Bench judged by gpt-5-mini, with gpt-4o-mini called "cost-effective".

    80 questions, 2 turns, one judgment a turn: about 1,000 tokens in for the
    prompt with both turns, 200 out; it names no figure.
    """

    JUDGMENT = Usage(1_000, 200)

    def test_one_model_costs_cents_with_every_judge(self, book: PriceBook) -> None:
        judges = ("gpt-5-mini", "gpt-4o-mini", "gpt-4.1-nano")
        found = {judge: cost(book, f"openai/{judge}", 160, self.JUDGMENT) for judge in judges}
        assert found == {
            "gpt-5-mini": usd("0.104"),
            "gpt-4o-mini": usd("0.0432"),
            "gpt-4.1-nano": usd("0.0288"),
        }
        # "Cost-effective" is right against the default, but its third judge costs less still.

    def test_a_reasoning_judge_also_bills_what_it_does_not_show(self, book: PriceBook) -> None:
        # A few hundred reasoning tokens a judgment, counted as output.
        hidden = Usage(1_000, 200 + 600, reasoning_tokens=600)
        assert cost(book, "openai/gpt-5-mini", 160, hidden) == usd("0.296")

    def test_the_original_judge_was_sixty_times_dearer(self, book: PriceBook) -> None:
        # GPT-4 at 30 and 60 dollars a million: why a judge's cost used to be worth a warning.
        gpt_4 = UnitPrices(Rates(usd("30"), usd("60")))
        one = gpt_4.cost(self.JUDGMENT)
        assert one
        assert 160 * one == usd("6.72")
        assert 160 * one > 60 * cost(book, "openai/gpt-5-mini", 160, self.JUDGMENT)


class TestBatchedSpecificationTests:
    """Guide 5: generation and ranking through batch APIs, "may offer cost advantages".

    It names no figure. Its examples: gpt-4.1 as candidate and gpt-4o-mini as
    judge by OpenAI's batch API, Qwen3-235B on Together call by call.
    """

    ANSWER = Usage(600, 500)
    RANKING = Usage(2_000, 10)

    def test_the_advantage_is_one_half(self, book: PriceBook) -> None:
        for model, usage in (
            ("openai/gpt-4.1-2025-04-14", self.ANSWER),
            ("openai/gpt-4o-mini-2024-07-18", self.RANKING),
            ("anthropic/claude-sonnet-5-5", self.ANSWER),
            ("google/gemini-2.5-pro", self.ANSWER),
        ):
            assert cost(book, model, 1, usage, NOW, "batch") == cost(book, model, 1, usage) / 2

    def test_its_two_thousand_answers_cost_ten_dollars_or_five(self, book: PriceBook) -> None:
        # 46 statements with about 40 inputs each.
        plain = cost(book, "openai/gpt-4.1-2025-04-14", 46 * 40, self.ANSWER)
        assert plain == usd("9.568")
        assert cost(book, "openai/gpt-4.1-2025-04-14", 46 * 40, self.ANSWER, NOW, "batch") == (
            usd("4.784")
        )

    def test_its_together_model_has_no_known_price_now(self, book: PriceBook) -> None:
        # Not in the table any more: shown as unknown until it is given, never as 0.
        model = ModelRef.parse("together/Qwen/Qwen3-235B-A22B-fp8-tput")
        assert book.prices(model, at=NOW) is None
        given = PriceBook(["0.2/0.6"], model).prices(model)
        assert given
        assert given.cost(self.ANSWER) == usd("0.00042")
