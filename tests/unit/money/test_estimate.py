"""Estimates: a benchmark is run without a model, and everything it asks is counted."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmark import Ask, Benchmark, DataSet, DataSource, Sample, Score
from evalbench.engine.calls import (
    MediaPart,
    ModelRef,
    Outcome,
    TextPart,
    assistant,
    choose,
    generate,
    user,
)
from evalbench.engine.config.spec import make_spec
from evalbench.engine.cost.estimated import Estimate, Range, estimate_to_json
from evalbench.engine.cost.modes import chosen
from evalbench.engine.cost.prices import PriceBook
from evalbench.engine.data.dataset import prepare
from evalbench.engine.preflight.estimate import Draw, Part, estimate, estimate_samples, project
from evalbench.engine.scoring.tally import Metric, Tally

SONNET_45 = ModelRef("anthropic", "claude-sonnet-4-5")
OPUS_48 = ModelRef("anthropic", "claude-opus-4-8")
FREE = ModelRef("vllm", "tiny")


class Asked(Benchmark):
    """A benchmark that is only its ``solve``."""

    name = "asked"
    version = "1"
    title = summary = "made up"

    def __init__(self, asking: Callable[[Sample, Ask], Any], roles: tuple[str, ...]) -> None:
        super().__init__({})
        self._asking = asking
        self.roles = roles  # type: ignore[misc]

    def prepare(self, source: DataSource) -> DataSet:
        raise NotImplementedError

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        await self._asking(sample, ask)
        return Score(Outcome.OK, {})

    def metrics(self, tally: Tally) -> list[Metric]:
        return []


def samples(
    count: int, inputs: Callable[[int], Mapping[str, Any]] = lambda _: {}
) -> Iterator[Sample]:
    return (Sample(f"{n:016x}.1", inputs(n), None) for n in range(count))


async def estimated(
    asking: Callable[[Sample, Ask], Any],
    parts: Mapping[str, Part],
    count: int = 1,
    *,
    inputs: Callable[[int], Mapping[str, Any]] = lambda _: {},
    price: tuple[str, ...] = (),
    **more: Any,
) -> Estimate:
    benchmark = Asked(asking, tuple(parts))
    book = PriceBook(price, next(iter(parts.values())).model)
    of_draw = {name: more.pop(name) for name in {"at_most", "seed"} & more.keys()}
    draw = Draw(samples(count, inputs), count, **of_draw)
    return await estimate_samples(benchmark, draw, parts, book, **more)


def exactly(number: int | str) -> Range:
    return Range(Decimal(number), Decimal(number))


# Anthropic's published table: what an image of this size costs in tokens, for models
# up to 4.6 and for high-resolution models.
PUBLISHED = {
    (200, 200): (64, 64),
    (1000, 1000): (1296, 1296),
    (1092, 1092): (1521, 1521),
    (1920, 1080): (1560, 2691),
    (2000, 1500): (1564, 3888),
    (3840, 2160): (1560, 4784),
}


@pytest.mark.parametrize(("model", "column"), [(SONNET_45, 0), (OPUS_48, 1)])
async def test_a_thousand_vision_samples_agree_with_the_published_formula(
    home: Path, png: Callable[[int, int], bytes], model: ModelRef, column: int
) -> None:
    rng = random.Random(7)
    sizes = [rng.choice(list(PUBLISHED)) for _ in range(1_000)]

    async def look(sample: Sample, ask: Ask) -> None:
        width, height = sample.inputs["size"]
        picture = MediaPart("image/png", png(width, height))
        frames = [picture] * sample.inputs["frames"]
        await ask("candidate", generate([user([*frames, "x" * 700])], max_tokens=500))

    found = await estimated(
        look,
        {"candidate": Part(model)},
        1_000,
        inputs=lambda n: {"size": sizes[n], "frames": 8 if n % 2 else 1},
        at_most=1_000,
    )
    expected = sum(PUBLISHED[size][column] * (8 if n % 2 else 1) for n, size in enumerate(sizes))
    (role,) = found.roles
    assert found.counted == 1_000
    assert role.images == exactly(500 + 500 * 8)
    assert role.image_tokens == exactly(expected)
    # Text: about 700 characters a sample, and one message.
    text_low, text_high = role.input_tokens.low - expected, role.input_tokens.high - expected
    assert 100 <= text_low / 1_000 <= text_high / 1_000 <= 320
    assert role.output_tokens == Range(Decimal(50_000), Decimal(500_000))
    price_in, price_out = {0: (3, 15), 1: (5, 25)}[column]
    low = (role.input_tokens.low * price_in + 50_000 * price_out) / 1_000_000
    assert role.realtime
    assert role.batch
    assert role.realtime.low == low
    assert role.batch.low == low / 2


async def test_drawing_some_samples_comes_near_the_whole_and_says_how_near(
    home: Path, png: Callable[[int, int], bytes]
) -> None:
    sizes = [random.Random(n).choice(list(PUBLISHED)) for n in range(1_000)]

    async def look(sample: Sample, ask: Ask) -> None:
        picture = MediaPart("image/png", png(*sample.inputs["size"]))
        await ask("candidate", generate([user([picture])], max_tokens=10))

    def drawn(at_most: int, seed: int = 0) -> Any:
        return estimated(
            look,
            {"candidate": Part(SONNET_45)},
            1_000,
            inputs=lambda n: {"size": sizes[n]},
            at_most=at_most,
            seed=seed,
        )

    truth = sum(PUBLISHED[size][0] for size in sizes)
    inside = 0
    for seed in range(40):
        found = await drawn(100, seed)
        assert (found.samples, found.counted) == (1_000, 100)
        held = found.roles[0].image_tokens
        assert held.high - held.low < Decimal(truth) / 4
        inside += held.low <= truth <= held.high
    assert inside >= 34
    assert await drawn(100, 3) == await drawn(100, 3)
    assert (await drawn(1_000)).roles[0].image_tokens == exactly(truth)


async def test_later_turns_carry_the_earlier_replies() -> None:
    async def talk(sample: Sample, ask: Ask) -> None:
        first = [user("q" * 350)]
        reply = await ask("candidate", generate(first, max_tokens=1_000), step="one")
        second = [*first, assistant(reply.text), user("and?")]
        await ask("candidate", generate(second, max_tokens=1_000), step="two")

    found = await estimated(talk, {"candidate": Part(FREE)})
    (role,) = found.roles
    assert role.calls == exactly(2)
    assert role.output_tokens == Range(Decimal(200), Decimal(2_000))
    # The second call reads the first reply: 100 tokens at least, 1,000 at most.
    assert 190 < role.input_tokens.low < 330
    assert 1_250 < role.input_tokens.high < 1_450


async def test_judges_are_counted_and_priced_apart() -> None:
    async def judged(sample: Sample, ask: Ask) -> None:
        replies = await ask.many(
            [("candidate", generate("q", max_tokens=100), f"{n}") for n in "ab"]
        )
        await ask("judge", generate("Grade: " + replies[0].text, max_tokens=2_000))

    parts = {"candidate": Part(FREE), "judge": Part(ModelRef("openai", "gpt-4.1"))}
    found = await estimated(judged, parts, 10, epochs=3)
    candidate, judge = found.roles
    assert (candidate.calls, judge.calls) == (exactly(60), exactly(30))
    assert candidate.realtime == exactly(0)
    assert judge.realtime
    assert judge.realtime.low > Decimal("0.04")
    assert found.realtime == judge.realtime


async def test_a_role_without_a_model_or_price_leaves_the_total_unknown() -> None:
    async def ask_both(sample: Sample, ask: Ask) -> None:
        await ask("candidate", generate("q"))
        await ask("judge", generate("q"))

    for judge in (Part(None), Part(ModelRef("nobody", "nothing"))):
        found = await estimated(ask_both, {"candidate": Part(FREE), "judge": judge})
        assert found.roles[0].realtime == exactly(0)
        assert found.roles[1].realtime is None
        assert found.roles[1].calls == exactly(1)
        assert found.realtime is None
        assert estimate_to_json(found)["realtime"] is None


async def test_batches_are_priced_for_the_models_that_take_them() -> None:
    """Only the judge has batches here: it decides what --mode auto is worth."""

    async def ask_both(sample: Sample, ask: Ask) -> None:
        await ask("candidate", generate("q", max_tokens=10))
        await ask("judge/anthropic/claude-sonnet-4-5", generate("q" * 9000, max_tokens=100))

    for count, mode in ((3, "realtime"), (5_000, "batch")):
        found = await estimated(
            ask_both,
            {
                "candidate": Part(ModelRef("compatible", "x"), batches=False),
                "judge/anthropic/claude-sonnet-4-5": Part(SONNET_45),
            },
            count,
            price=("1/2",),
        )
        candidate, judge = found.roles
        assert candidate.batch == candidate.realtime
        assert judge.batch
        assert judge.realtime
        assert judge.batch.low < judge.realtime.low
        judges = ["anthropic/claude-sonnet-4-5"]
        url = {"base_url": "http://127.0.0.1:9/v1"}
        spec = make_spec(
            "mt-bench", "compatible/x", judge=judges, mode="auto", provider_options=url
        )
        assert chosen(spec, found) == mode


async def test_a_batch_price_that_the_table_does_not_have_is_marked() -> None:
    """The judges of SpecEval's documents, of which the table knows realtime prices."""

    async def ask_one(sample: Sample, ask: Ask) -> None:
        await ask("candidate", generate("q", max_tokens=10))

    for name, derived in (
        ("anthropic/claude-3-7-sonnet-20250219", True), ("google/gemini-2.0-flash-001", True),
        ("openai/gpt-4.1-2025-04-14", None),
    ):  # fmt: skip
        found = await estimated(ask_one, {"candidate": Part(ModelRef.parse(name))}, 2)
        [role] = found.roles
        assert role.realtime
        assert role.batch
        assert role.batch.high == role.realtime.high / 2, name
        told = estimate_to_json(found)["roles"][0]["batch_note"]
        assert derived is None or told.startswith("derived: half"), name


async def test_the_runs_own_cap_replaces_the_benchmarks() -> None:
    async def one(sample: Sample, ask: Ask) -> None:
        await ask("candidate", generate("q", max_tokens=10))

    found = await estimated(one, {"candidate": Part(FREE, {"max_tokens": 700})})
    assert found.roles[0].output_tokens.high == 700


async def test_shared_prefixes_make_the_low_end_cheaper_where_caching_is_priced() -> None:
    async def few_shot(sample: Sample, ask: Ask) -> None:
        prefix = TextPart("example " * 2_000, shared=True)
        await ask("candidate", generate([user([prefix, "q" * 35])], max_tokens=10))

    cached = await estimated(few_shot, {"candidate": Part(SONNET_45)}, 50)
    plain = await estimated(few_shot, {"candidate": Part(SONNET_45)}, 50, price=("3/15",))
    assert cached.realtime
    assert plain.realtime
    assert cached.realtime.high == plain.realtime.high
    assert cached.realtime.low < plain.realtime.low / 4


async def test_log_likelihood_calls_have_no_output_and_end_well() -> None:
    async def pick(sample: Sample, ask: Ask) -> None:
        reply = await ask("candidate", choose("x" * 350, [" A", " B"]))
        assert len(reply.logprobs) == 2

    found = await estimated(pick, {"candidate": Part(FREE)})
    assert found.unfinished == 0
    assert found.roles[0].output_tokens == exactly(0)


async def test_a_solve_that_cannot_use_made_up_replies_still_counts() -> None:
    async def strict(sample: Sample, ask: Ask) -> None:
        reply = await ask("candidate", generate("q", max_tokens=10))
        int(reply.text)

    found = await estimated(strict, {"candidate": Part(FREE)}, 5)
    assert found.unfinished == 5
    assert found.roles[0].calls == exactly(5)


async def test_a_real_benchmark_is_estimated_from_its_spec(home: Path) -> None:
    spec = make_spec("quickstart", "local/smollm2-135m-instruct", epochs=2, max_tokens=50)
    file = prepare(spec, home / "cache")
    found = await estimate(spec, file, PriceBook(["1/2"], spec.candidate))
    (role,) = found.roles
    assert (found.samples, found.counted, found.epochs) == (72, 72, 2)
    assert role.calls == exactly(144)
    assert role.output_tokens.high == 144 * 50
    assert role.realtime
    assert role.realtime.high == (
        role.input_tokens.high * 1 + role.output_tokens.high * 2
    ) / Decimal(1_000_000)
    body = estimate_to_json(found)
    assert body["roles"][0]["prices"]["source"] == "--price"
    assert body["realtime"] == [float(role.realtime.low), float(role.realtime.high)]


def test_a_pilot_narrows_the_range() -> None:
    costs = [Decimal("0.01"), Decimal("0.02"), Decimal("0.03")] * 10
    ahead = project(costs, 1_000)
    assert ahead.low < 20 < ahead.high
    assert ahead.high - ahead.low < 7
    assert project(costs, 30) == exactly("0.60")
    assert project([], 10) == exactly(0)


async def test_a_cache_is_filled_once_for_each_prefix_however_many_samples_are_drawn() -> None:
    async def few_shot(sample: Sample, ask: Ask) -> None:
        prefix = TextPart("example " * 2_000, shared=True)
        await ask("candidate", generate([user([prefix, "q" * 35])], max_tokens=10))

    small = await estimated(few_shot, {"candidate": Part(SONNET_45)}, 100)
    large = await estimated(few_shot, {"candidate": Part(SONNET_45)}, 10_000)
    assert small.realtime
    assert large.realtime
    assert large.realtime.low < 100 * small.realtime.low
    # 2,971 tokens of the prefix, written at 3.75 dollars a million instead of read at 0.3.
    once = (small.realtime.low * 100 - large.realtime.low) / 99
    assert once == pytest.approx(Decimal("0.01025"), rel=Decimal("0.01"))


async def test_a_prefix_of_each_samples_own_is_taken_as_plain_input() -> None:
    async def own(sample: Sample, ask: Ask) -> None:
        prefix = TextPart(f"{sample.id} " * 4_000, shared=True)
        await ask("candidate", generate([user([prefix])], max_tokens=10))

    found = await estimated(own, {"candidate": Part(SONNET_45)}, 20)
    plain = await estimated(own, {"candidate": Part(SONNET_45, cached_from=10**9)}, 20)
    assert found.realtime == plain.realtime
