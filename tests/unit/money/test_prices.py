"""What a call costs, and whose word is taken for it."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalbench.engine.calls import ModelRef, Reply, Usage
from evalbench.engine.cost.budget import Budget, Reservation
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.cost.prices import PriceBook
from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.engine.errors import DataError, SpecError
from evalbench.engine.record_schemas import PRICES

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
SONNET = ModelRef("anthropic", "claude-sonnet-4-5")
TOKENS = st.integers(0, 10**7)


@pytest.fixture
def book(home: Path) -> PriceBook:
    return PriceBook()


def usd(text: str) -> Decimal:
    return Decimal(text)


def test_one_call_at_list_price(book: PriceBook) -> None:
    prices = book.prices(SONNET, at=NOW)
    assert prices
    assert prices.cost(Usage(1_000, 100)) == usd("0.0045")
    assert prices.source.startswith("genai-prices 0.")


def test_cache_reads_and_writes_are_part_of_the_input_and_priced_apart(book: PriceBook) -> None:
    prices = book.prices(SONNET, at=NOW)
    assert prices
    # 1,000 plain at 3, 2,000 read at 0.30, 1,000 written at 3.75.
    usage = Usage(4_000, 0, cache_read_tokens=2_000, cache_write_tokens=1_000)
    assert prices.cost(usage) == usd("0.00735")


def test_what_is_kept_for_an_hour_and_sound_have_prices_of_their_own(book: PriceBook) -> None:
    prices = book.prices(SONNET, at=NOW)
    assert prices
    # 750 written for five minutes at 3.75, 250 for an hour at 6.
    usage = Usage(1_000, 0, cache_write_tokens=1_000, cache_write_1h_tokens=250)
    assert prices.cost(usage) == usd("0.0043125")
    flash = ModelRef("google", "gemini-2.5-flash")
    prices = book.prices(flash, at=NOW)
    assert prices
    # A video: 2,200 of text and pictures at 0.30, 800 of sound at 1.
    assert prices.cost(Usage(3_000, 0, audio_tokens=800)) == usd("0.00146")
    batch = book.prices(flash, "batch", at=NOW)
    assert batch
    assert batch.cost(Usage(3_000, 0, audio_tokens=800)) == usd("0.00073")
    # A model without a price for sound charges it like any input.
    assert UnitPrices(Rates(usd("3"), usd("15"))).cost(Usage(3_000, 0, audio_tokens=800)) == usd(
        "0.009"
    )


def test_more_sound_or_more_kept_for_an_hour_than_there_is_counts_as_not_reported() -> None:
    assert Usage(100, 5, audio_tokens=101).input_tokens is None
    assert Usage(100, 5, 60, audio_tokens=41) == Usage(None, 5)
    assert Usage(100, 5, 0, 10, cache_write_1h_tokens=11) == Usage(None, 5)
    assert Usage(100, 5, 0, 10, cache_write_1h_tokens=10, audio_tokens=90).input_tokens == 100


def test_reasoning_is_part_of_the_output(book: PriceBook) -> None:
    prices = book.prices(SONNET, at=NOW)
    assert prices
    assert prices.cost(Usage(0, 100, reasoning_tokens=90)) == prices.cost(Usage(0, 100))


def test_the_tier_follows_from_one_call_not_from_a_sum(book: PriceBook) -> None:
    prices = book.prices(SONNET, at=NOW)
    assert prices
    hundred = [prices.cost(Usage(10_000, 0)) for _ in range(100)]
    assert sum(hundred) == 3  # type: ignore[arg-type]
    assert prices.cost(Usage(1_000_000, 0)) == 6


def test_batch_is_half_where_the_table_says_so(book: PriceBook) -> None:
    models = ("openai/gpt-5-mini", "google/gemini-2.5-pro", "groq/openai/gpt-oss-120b")
    for model in (SONNET, *map(ModelRef.parse, models)):
        now, batch = book.prices(model, at=NOW), book.prices(model, "batch", at=NOW)
        assert now
        assert batch
        assert batch.cost(Usage(1_000, 1_000)) == now.cost(Usage(1_000, 1_000)) / 2  # type: ignore[operator]


def test_batch_at_together_is_half_for_the_models_of_its_list_and_else_unknown(
    book: PriceBook,
) -> None:
    listed = ModelRef("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo")
    now, batch = book.prices(listed, at=NOW), book.prices(listed, "batch", at=NOW)
    assert now
    assert batch
    assert batch.cost(Usage(1_000, 1_000)) == now.cost(Usage(1_000, 1_000)) / 2  # type: ignore[operator]
    assert book.prices(ModelRef("together", "openai/gpt-oss-120b"), "batch", at=NOW) is None


def test_batch_is_half_where_only_the_provider_says_so_and_marked_as_derived(
    book: PriceBook,
) -> None:
    for name, cached in (
        ("anthropic/claude-3-7-sonnet-20250219", "0.15"),
        ("google/gemini-2.0-flash-001", "0.025"),
    ):
        model = ModelRef.parse(name)
        now, batch = book.prices(model, at=NOW), book.prices(model, "batch", at=NOW)
        assert now
        assert batch
        assert (batch.rates.input, batch.rates.output) == (
            now.rates.input / 2,
            now.rates.output / 2,
        )
        assert batch.rates.cache_read == Decimal(cached)
        assert (batch.mode, now.note) == ("batch", "")
        assert batch.note.startswith("derived: half of the realtime price")
    listed = book.prices(ModelRef.parse("google/gemini-2.5-pro"), "batch", at=NOW)
    assert listed
    assert "derived" not in listed.note
    assert book.prices(ModelRef.parse("anthropic/no-such-model"), "batch", at=NOW) is None


def test_batch_on_bedrock_is_half_though_the_table_has_no_batch_price(book: PriceBook) -> None:
    model = ModelRef("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    now, batch = book.prices(model, at=NOW), book.prices(model, "batch", at=NOW)
    assert now
    assert batch
    assert now.cost(Usage(1_000_000, 0)) == usd("3.3")
    assert batch.cost(Usage(1_000_000, 0)) == usd("1.65")


@pytest.mark.parametrize(
    ("model", "mode", "tier"),
    [
        ("anthropic/claude-nobody-9", "realtime", ""),
        ("nobody/claude-sonnet-4-5", "realtime", ""),
        ("together/meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", "batch", ""),
        ("groq/llama-3.3-70b-versatile", "batch", ""),
        ("compatible/any-model", "batch", ""),
        ("anthropic/claude-sonnet-4-5", "realtime", "batch"),
        ("anthropic/claude-sonnet-4-5", "realtime", "flex"),
        ("openai/whisper-1", "realtime", ""),
    ],
)
def test_what_is_not_known_is_unknown_and_never_the_full_price_or_zero(
    book: PriceBook, model: str, mode: str, tier: str
) -> None:
    assert book.prices(ModelRef.parse(model), mode, tier, NOW) is None  # type: ignore[arg-type]


def test_service_tiers_have_their_own_prices(book: PriceBook) -> None:
    model = ModelRef("openai", "gpt-5-mini")
    flex, plain = book.prices(model, service_tier="flex", at=NOW), book.prices(model, at=NOW)
    assert flex
    assert plain
    assert flex.rates.output < plain.rates.output
    for standard in ("auto", "default", "standard"):
        assert book.prices(model, service_tier=standard, at=NOW) == plain


def test_an_answer_in_another_tier_than_asked_for_costs_what_that_costs(book: PriceBook) -> None:
    model, used = ModelRef("openai", "gpt-5.6-sol"), Usage(1_000, 100)
    usual, flex, priority = (
        book.prices(model, service_tier=tier, at=NOW) for tier in ("", "flex", "priority")
    )
    assert usual
    assert flex
    assert priority
    alone = [prices.cost(used) for prices in (usual, flex, priority)]
    assert len(set(alone)) == 3
    for prices in (usual, flex, UnitPrices.from_json(usual.to_json())):
        assert prices.cost(used, "priority") == priority.cost(used)
    for prices in (flex, priority):
        assert prices.cost(used, "default") == usual.cost(used)
    PRICES(usual.to_json())  # what a journal may hold
    # Nobody knows what it costs, so it is not taken for what was asked.
    assert usual.cost(used, "scale") is None
    meter = CostMeter(Budget(), usual)
    for tier, cost in (("priority", priority.cost(used)), ("scale", usd("1"))):
        reserved = meter.budget.take(Reservation(usd("1")))
        assert meter.answered(reserved, Reply(usage=used, service_tier=tier)) == cost
    # A price of one's own holds in every tier.
    given = PriceBook(["1/5"], model).prices(model)
    assert given
    assert given.cost(used, "priority") == usd("0.0015")
    batch = book.prices(model, "batch", at=NOW)
    assert batch
    assert batch.cost(used, "default") == batch.cost(used)


def test_prices_that_change_with_the_hour_are_taken_at_the_dearest(book: PriceBook) -> None:
    model = ModelRef("deepseek", "deepseek-v4-pro")
    found = {book.prices(model, at=NOW.replace(hour=hour)) for hour in range(24)}
    assert len(found) == 1
    (prices,) = found
    assert prices
    assert "dearest hour" in prices.note


def test_a_machine_of_ones_own_costs_nothing(book: PriceBook) -> None:
    for provider in ("local", "vllm", "ollama", "lmstudio"):
        prices = book.prices(ModelRef(provider, "anything"))
        assert prices
        assert prices.cost(Usage(10**9, 10**9)) == 0
        assert prices.cost(Usage()) == 0
        assert prices.source == "local"


def test_a_reply_without_token_counts_is_of_unknown_cost(book: PriceBook) -> None:
    prices = book.prices(SONNET, at=NOW)
    assert prices
    assert prices.cost(Usage(1_000, None)) is None
    assert prices.cost(Usage(None, 5)) is None


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "whose",
    [
        *("anthropic", "aws", "fireworks", "google", "groq", "mistral"),
        *("openai", "openrouter", "together", "x-ai"),
    ],
)
def test_every_price_agrees_with_the_table_itself(book: PriceBook, whose: str) -> None:
    """All models of a provider, against genai-prices' own calculation."""
    import genai_prices
    from genai_prices.data_snapshot import get_snapshot

    rng = random.Random(0)
    names = {"aws": "bedrock", "x-ai": "xai"}
    compared = 0
    (provider,) = (one for one in get_snapshot().providers if one.id == whose)
    for model in provider.models:
        known_as = f"accounts/fireworks/models/{model.id}" if whose == "fireworks" else model.id
        prices = book.prices(ModelRef(names.get(provider.id, provider.id), known_as), at=NOW)
        if prices is None or prices.model != f"{provider.id}/{model.id}" or prices.note:
            continue
        for size in (1_000, 190_000, 300_000, 2_000_000):
            total = rng.randrange(size)
            read = rng.randrange(total + 1)
            write = rng.randrange(total - read + 1)
            output = rng.randrange(10_000)
            hour, sound = rng.randrange(write + 1), rng.randrange(total - read - write + 1)
            theirs = genai_prices.calc_price(
                genai_prices.Usage(
                    input_tokens=total,
                    output_tokens=output,
                    cache_read_tokens=read,
                    cache_write_tokens=write,
                    cache_write_1h_tokens=hour,
                    input_audio_tokens=sound,
                    cache_audio_read_tokens=0,
                ),
                known_as,
                provider_id=provider.id,
                genai_request_timestamp=NOW,
            )
            used = Usage(total, output, read, write, cache_write_1h_tokens=hour, audio_tokens=sound)
            assert prices.cost(used) == theirs.total_price
            compared += 1
    assert compared > 30


def test_a_price_given_on_the_command_line_comes_first(home: Path) -> None:
    book = PriceBook(["3/15", "openai/gpt-4.1 = $0.5/1"], SONNET)
    assert book.prices(SONNET).rates == Rates(usd("3"), usd("15"))  # type: ignore[union-attr]
    judge = book.prices(ModelRef("openai", "gpt-4.1"))
    assert judge
    assert (judge.source, judge.rates) == ("--price", Rates(usd("0.5"), usd("1")))


@pytest.mark.parametrize("text", ["3", "3/15/1", "a/b", "-1/2", "nan/1", "inf/1", "", "x=1"])
def test_a_price_that_is_none_is_refused(home: Path, text: str) -> None:
    with pytest.raises(SpecError, match="--price"):
        PriceBook([text], SONNET)


def test_a_bare_price_needs_a_candidate(home: Path) -> None:
    with pytest.raises(SpecError):
        PriceBook(["3/15"])


OWN = """
["openai/gpt-6.2-sol"]
input = 1.25
output = 10
cache_read = 0.125
batch = 0.5
flex = 0.4

[["openai/gpt-6.2-sol".above]]
input_tokens = 272_000
input = 2.5
output = 15

["vllm/*"]
input = 0.1
output = 0.2

["*/exact"]
input = 1
output = 1

["vllm/exact"]
input = 7
output = 7
"""


@pytest.fixture
def own(home: Path) -> PriceBook:
    (home / "config").mkdir(parents=True)
    (home / "config" / "prices.toml").write_text(OWN)
    return PriceBook()


def test_ones_own_prices_come_before_every_table(own: PriceBook) -> None:
    prices = own.prices(ModelRef("openai", "gpt-6.2-sol"))
    assert prices
    assert prices.source == "prices.toml"
    assert prices.cost(Usage(100_000, 1_000, cache_read_tokens=50_000)) == usd("0.07875")
    assert prices.cost(Usage(300_000, 1_000)) == usd("0.765")
    assert own.prices(ModelRef("vllm", "llama")).rates.input == usd("0.1")  # type: ignore[union-attr]
    assert own.prices(ModelRef("vllm", "exact")).rates.input == 7  # type: ignore[union-attr]


def test_ones_own_factors_make_the_other_modes_known(own: PriceBook) -> None:
    model = ModelRef("openai", "gpt-6.2-sol")
    assert own.prices(model, "batch").rates.output == 5  # type: ignore[union-attr]
    assert own.prices(model, service_tier="flex").rates.output == 4  # type: ignore[union-attr]
    assert own.prices(model, service_tier="priority") is None
    usual, flex = own.prices(model), own.prices(model, service_tier="flex")
    assert usual
    assert flex
    assert usual.cost(Usage(100, 10), "flex") == flex.cost(Usage(100, 10))
    assert flex.cost(Usage(100, 10), "default") == usual.cost(Usage(100, 10))
    assert usual.cost(Usage(100, 10), "priority") is None
    assert own.prices(ModelRef("vllm", "llama"), "batch") is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[a]\ninput = 1", "lacks output"),
        ("[a]\ninput = 1\noutput = -1", "output must be"),
        ("[a]\ninput = true\noutput = 1", "input must be"),
        ("[a]\ninput = 'x'\noutput = 1", "input must be"),
        ("[a]\ninput = nan\noutput = 1", "input must be"),
        ("[a]\ninput = 1\noutput = 1\noutptu = 1", "unknown field 'outptu'"),
        ("[a]\ninput = 1\noutput = 1\nabove = [{input = 1, output = 1}]", "input_tokens"),
        ("a = 1", "must be a table"),
        ("[a", "TOML"),
    ],
)
def test_a_malformed_price_file_is_named_with_its_fault(
    home: Path, tmp_path: Path, text: str, says: str
) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(DataError, match=r"prices\.toml") as caught:
        PriceBook(file=file)
    assert says in str(caught.value)


@settings(deadline=None)
@given(st.builds(Usage, TOKENS, TOKENS), *[st.integers(0, 100)] * 3)
def test_no_call_costs_more_than_its_worst_case(
    usage: Usage, read: int, write: int, sound: int
) -> None:
    assert usage.input_tokens is not None
    assert usage.output_tokens is not None
    prices = UnitPrices(
        Rates(usd("3"), usd("15"), usd("0.3"), usd("3.75"), audio=usd("5")),
        ((200_000, Rates(usd("6"), usd("22.5"), usd("0.6"), usd("7.5"), audio=usd("9"))),),
    )
    held = usage.input_tokens * read // 100
    heard = (usage.input_tokens - held) * (100 - write) // 100 * sound // 100
    used = Usage(
        usage.input_tokens,
        usage.output_tokens,
        held,
        (usage.input_tokens - held) * write // 100,
        audio_tokens=heard,
    )
    cost = prices.cost(used)
    assert cost is not None
    assert cost <= prices.worst_case(usage.input_tokens, usage.output_tokens, heard)
    assert cost <= prices.worst_case(usage.input_tokens + 1_000, usage.output_tokens + 1_000, heard)


def test_stored_prices_give_the_same_costs(own: PriceBook) -> None:
    prices = own.prices(ModelRef("openai", "gpt-6.2-sol"), "batch")
    assert prices
    assert UnitPrices.from_json(prices.to_json()) == prices


def test_the_table_is_loaded_only_when_it_is_needed() -> None:
    code = (
        "import sys\n"
        "from evalbench.engine.calls import ModelRef\n"
        "from evalbench.engine.cost import prices, budget, tokens\n"
        "from evalbench.engine.preflight import estimate\n"
        "prices.PriceBook(['1/2'], ModelRef('a', 'b')).prices(ModelRef('a', 'b'))\n"
        "print({'genai_prices', 'pydantic', 'httpx2'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
