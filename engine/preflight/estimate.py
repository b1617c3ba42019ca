"""Estimates what a run needs and costs by running its benchmark without a model.

``solve`` runs with an ``ask`` that only counts: once with short replies for the low end of the
range, once with every reply at its maximum length for the high end. Later turns and judges are
asked about those replies, so multi-turn and judged benchmarks are counted like any other.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evalbench.engine.benchmark import Benchmark, Sample, ScoringTimeout, SequentialAsk
from evalbench.engine.calls import ModelRef, Prompt, Reply, Usage
from evalbench.engine.calls.prefixes import prefix_name, shared_prefix
from evalbench.engine.calls.token_rules import TokenRules
from evalbench.engine.config.roles import CANDIDATE, JUDGE, RoleSpec
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.cost.estimated import Estimate, Range, RoleEstimate
from evalbench.engine.cost.prices import PriceBook
from evalbench.engine.cost.tokens import input_tokens, rules_of
from evalbench.engine.cost.unit_prices import ZERO, Mode, UnitPrices
from evalbench.engine.data.dataset import read_samples, selected_count
from evalbench.engine.execution.ask import bind, call_key
from evalbench.engine.preflight.rehearsal import rehearsed

if TYPE_CHECKING:
    from evalbench.engine.execution.reuse import EarlierReplies

SAMPLES_COUNTED = 200
"""From more samples than this, this many are drawn at random for the estimate."""

TEXT_LOW, TEXT_HIGH = 0.65, 1.1
"""Actual text tokens relative to the estimate by characters: from 0.65 (short English
questions) to 1.0 (Python), measured on MMLU, MT-Bench, GSM8K and CRUXEval with the vocabularies
cl100k and o200k."""

SHORT_REPLY = 0.1
"""A short reply is assumed to use a tenth of its token limit."""

CACHED_FROM = 1024
"""Most providers do not cache fewer tokens than this."""

_UNCAPPED = 4096
_NORMAL_95 = 1.96
_MICRO = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class Part:
    """A role and how it is asked; the model is None if not known yet.

    ``batches``: whether its provider supports batches; if not, it is asked in realtime in any mode.
    """

    model: ModelRef | None
    overrides: Mapping[str, object] = field(default_factory=dict)
    service_tier: str = ""
    image_detail: str = ""
    cached_from: int = CACHED_FROM
    per_image: int = 0
    video_fps: float = 1.0
    batches: bool = True


async def estimate(
    spec: RunSpec,
    file: Path,
    book: PriceBook,
    *,
    at_most: int = SAMPLES_COUNTED,
    earlier: EarlierReplies | None = None,
) -> Estimate:
    """Estimate a run. Contacts no provider and needs no key.

    A benchmark that needs a judge but has none yet is estimated with a judge of unknown price.

    Args:
        spec: the run.
        file: its prepared samples.
        book: prices.
        at_most: maximum number of samples to count.
        earlier: replies of earlier runs that will be reused.
    """
    benchmark = rehearsed(spec, file)
    roles = {role: _part(part) for role, part in spec.roles().items()}
    draw = Draw(
        read_samples(file, spec, type(benchmark)),
        selected_count(file, spec, type(benchmark)),
        at_most,
        spec.settings.seed,
    )
    return await estimate_samples(
        benchmark, draw, roles, book, epochs=spec.settings.epochs, earlier=earlier
    )


def _part(spec: RoleSpec) -> Part:
    able = spec.provider().capabilities(spec.ref.name)
    return Part(
        spec.ref,
        spec.overrides(),
        spec.service_tier,
        str(spec.provider_options.get("image_detail") or ""),
        able.cached_from or CACHED_FROM,
        able.image_tokens,
        spec.video_fps,
        spec.batch_terms() is not None,
    )


@dataclass(frozen=True, slots=True)
class Draw:
    """The samples of a run, some of which are counted.

    Attributes:
        samples: all of them, in order.
        total: number of samples.
        at_most: how many to count; if there are more, they are drawn at random.
        seed: seed of the draw.
    """

    samples: Iterable[Sample]
    total: int
    at_most: int = SAMPLES_COUNTED
    seed: int = 0

    def __iter__(self) -> Iterator[Sample]:
        if self.total <= self.at_most:
            yield from self.samples
            return
        drawn = random.Random(self.seed).sample(range(self.total), self.at_most)  # noqa: S311
        chosen = set(drawn)
        for index, sample in enumerate(islice(self.samples, max(chosen) + 1)):
            if index in chosen:
                yield sample


async def estimate_samples(
    benchmark: Benchmark,
    draw: Draw,
    roles: Mapping[str, Part],
    book: PriceBook,
    *,
    epochs: int = 1,
    earlier: EarlierReplies | None = None,
) -> Estimate:
    """Estimate a benchmark from some of its samples; see :func:`estimate`."""
    judges = benchmark.judges or ((JUDGE,) if benchmark.needs_judge() else ())
    names = [CANDIDATE, *judges]
    names += [role for role in benchmark.roles if role not in (CANDIDATE, JUDGE)]
    roles = {role: roles.get(role, Part(None)) for role in names}
    scales = {role: _Scale(part, book) for role, part in roles.items()}
    rows: dict[str, list[_Row]] = {role: [] for role in roles}
    unfinished = counted = 0
    silent = False

    def asks() -> tuple[_CountingAsk, _CountingAsk]:
        low = _CountingAsk(scales, short=True, silent=silent, earlier=earlier)
        return low, _CountingAsk(scales, short=False, silent=silent, earlier=earlier)

    for sample in draw:
        counted += 1
        low, high = asks()
        try:
            ends = [await _ends_well(benchmark, sample, ask) for ask in (low, high)]
        except ScoringTimeout:
            # The same would happen with every other sample: these replies have no content.
            silent = True
            low, high = asks()
            ends = [await _ends_well(benchmark, sample, ask) for ask in (low, high)]
        unfinished += not all(ends)
        for role, sums in rows.items():
            sums.append((low.sums[role], high.sums[role]))
    estimates = tuple(
        _role_estimate(role, scales[role], _Counted(sums, draw.total, epochs))
        for role, sums in rows.items()
    )
    return Estimate(draw.total, counted, epochs, estimates, unfinished)


async def _ends_well(benchmark: Benchmark, sample: Sample, ask: _CountingAsk) -> bool:
    try:
        await benchmark.solve(sample, ask)
    except ScoringTimeout:
        raise
    except Exception:
        # The benchmark may be unable to handle a made-up reply.
        return False
    return True


@dataclass(slots=True)
class _Prefix:
    """A shared prefix: its tokens, and how often it was seen."""

    tokens: int
    uses: int = 0


def _price(prices: UnitPrices, tokens: int, **cache: int) -> Decimal:
    return prices.cost(Usage(tokens, 0, **cache)) or ZERO


class _Scale:
    """The scale for measuring one role's calls."""

    def __init__(self, part: Part, book: PriceBook) -> None:
        self.model = part.model
        self.rules = rules_of(part.model) if part.model else TokenRules()
        self.overrides = part.overrides
        self.image_detail = part.image_detail
        self.per_image = part.per_image
        self.video_fps = part.video_fps
        self.prices = self._prices(book, "realtime", part.service_tier)
        self.batch_prices = self._prices(book, "batch", "") if part.batches else self.prices
        self.cached_from = part.cached_from
        self.prefixes: dict[str, _Prefix] = {}

    def meet(self, prompt: Prompt, tokens: int) -> None:
        """Count a use of the prompt's shared prefix."""
        prefix = shared_prefix(prompt.messages)
        assert prefix is not None
        name = prefix_name(self.model, prompt.messages, prefix)
        self.prefixes.setdefault(name, _Prefix(tokens)).uses += 1

    def _prices(self, book: PriceBook, mode: Mode, tier: str) -> UnitPrices | None:
        return book.prices(self.model, mode, tier) if self.model else None

    def with_caches(self, prices: UnitPrices, cost: Range, counted: _Counted) -> Range:
        """A cost with that of filling caches at the low end, where all calls were assumed to hit.

        A prefix seen once represents as many as the number of samples per counted one; without a
        second call to read it, it is not cached at all.
        """
        each = Decimal(counted.total / len(counted.rows)) if counted.rows else ZERO
        more = ZERO
        for prefix in self.prefixes.values():
            read = _price(prices, prefix.tokens, cache_read_tokens=prefix.tokens)
            if prefix.uses * counted.epochs > 1:
                first = _price(prices, prefix.tokens, cache_write_tokens=prefix.tokens)
            else:
                first = _price(prices, prefix.tokens)
            more += max(ZERO, first - read) * (each if prefix.uses == 1 else 1)
        return Range(min(cost.low + more, cost.high), cost.high)

    def capped(self, prompt: Prompt) -> int:
        """The maximum tokens of the reply."""
        if prompt.kind == "choose":
            return 0
        model = self.model or ModelRef("unknown", "unknown")
        return bind(prompt, model, self.overrides).prompt.params.max_tokens or _UNCAPPED


@dataclass(slots=True)
class _Sums:
    """What is counted for a role; tokens by input and output, costs in US dollars."""

    calls: Decimal = ZERO
    input: Decimal = ZERO
    output: Decimal = ZERO
    images: Decimal = ZERO
    image_tokens: Decimal = ZERO
    reused: Decimal = ZERO
    realtime: Decimal = ZERO
    batch: Decimal = ZERO


_Row = tuple[_Sums, _Sums]
"""One sample's sums: with short replies, and with the longest."""


class _CountingAsk(SequentialAsk):
    """An ``ask`` that answers immediately with made-up text and totals the calls."""

    def __init__(
        self,
        scales: Mapping[str, _Scale],
        *,
        short: bool,
        silent: bool,
        earlier: EarlierReplies | None,
    ) -> None:
        self._scales = scales
        self._short = short
        self._silent = silent
        self._earlier = earlier
        self.sums: dict[str, _Sums] = {role: _Sums() for role in scales}

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        """Count the call; the reply has the assumed length."""
        scale = self._scales[role]
        if known := self._held(role, scale, prompt, step, repeat):
            self.sums[role].reused += 1
            return known
        most = scale.capped(prompt)
        output = max(1, round(most * SHORT_REPLY)) if self._short and most else most
        usage, images, image_tokens = self._usage(scale, prompt, output)
        self._add(role, usage, images, image_tokens)
        words = math.ceil(output * scale.rules.characters / len("word "))
        text = "" if self._silent else "word " * words
        return Reply(text.rstrip(), logprobs=(0.0,) * len(prompt.continuations), usage=usage)

    def _held(
        self, role: str, scale: _Scale, prompt: Prompt, step: str, repeat: int
    ) -> Reply | None:
        """The reply of an earlier run to this call."""
        if self._earlier is None or scale.model is None:
            return None
        call = bind(prompt, scale.model, scale.overrides, repeat=repeat)
        key = call_key(0, role, scale.model, step, repeat)
        return self._earlier.holds(role, key, call.content_hash)

    def _usage(self, scale: _Scale, prompt: Prompt, output: int) -> tuple[Usage, int, int]:
        counted = input_tokens(
            prompt, scale.rules, scale.image_detail, scale.per_image, scale.video_fps
        )
        factor = TEXT_LOW if self._short else TEXT_HIGH
        text = round((counted.likely - counted.image_tokens) * factor)
        cached = 0
        if self._short and counted.shared >= scale.cached_from:
            cached = round(counted.shared * factor)
            scale.meet(prompt, cached)
        usage = Usage(
            text + counted.image_tokens,
            output,
            cache_read_tokens=cached,
            audio_tokens=counted.audio_tokens,
        )
        return usage, counted.images, counted.image_tokens

    def _add(self, role: str, usage: Usage, images: int, image_tokens: int) -> None:
        scale, sums = self._scales[role], self.sums[role]
        sums.calls += 1
        sums.input += usage.input_tokens or 0
        sums.output += usage.output_tokens or 0
        sums.images += images
        sums.image_tokens += image_tokens
        if scale.prices:
            sums.realtime += scale.prices.cost(usage) or ZERO
        if scale.batch_prices:
            sums.batch += scale.batch_prices.cost(usage) or ZERO


class _Counted(NamedTuple):
    """What was counted for a role, and how many samples there are of it.

    Attributes:
        rows: the sums of each sample that was counted.
        total: number of samples in the run.
        epochs: how often each is asked.
    """

    rows: Sequence[_Row]
    total: int
    epochs: int

    def range(self, column: Callable[[_Sums], Decimal]) -> Range:
        """A sum over all samples: exact if all were counted, else with a 95 % margin."""
        return self._range([(column(low), column(high)) for low, high in self.rows])

    def most(self, column: Callable[[_Sums], Decimal]) -> Range:
        """The same for what does not depend on the length of replies."""
        pairs = [(column(low), column(high)) for low, high in self.rows]
        return self._range([(max(pair), max(pair)) for pair in pairs])

    def _range(self, pairs: Sequence[tuple[Decimal, Decimal]]) -> Range:
        low = max(ZERO, _total([pair[0] for pair in pairs], self.total, -1))
        return Range(
            low * self.epochs, _total([pair[1] for pair in pairs], self.total, 1) * self.epochs
        )


def _total(values: Sequence[Decimal], total: int, side: int) -> Decimal:
    count, added = len(values), sum(values, ZERO)
    if count == total or not count:
        return added
    mean = float(added) / count
    spread = math.sqrt(sum((float(v) - mean) ** 2 for v in values) / max(1, count - 1))
    margin = _NORMAL_95 * spread * math.sqrt((1 - count / total) / count)
    return Decimal(total * (mean + side * margin)).quantize(_MICRO)


def project(costs: Sequence[Decimal], total: int) -> Range:
    """The cost of ``total`` samples from the actual cost of the first few, with a 95 % margin."""
    spent = sum(costs, ZERO)
    return Range(max(spent, _total(costs, total, -1)), _total(costs, total, 1))


def _role_estimate(role: str, scale: _Scale, counted: _Counted) -> RoleEstimate:
    realtime, batch = scale.prices, scale.batch_prices
    return RoleEstimate(
        role,
        str(scale.model or ""),
        calls=counted.range(lambda sums: sums.calls),
        input_tokens=counted.range(lambda sums: sums.input),
        output_tokens=counted.range(lambda sums: sums.output),
        images=counted.most(lambda sums: sums.images),
        image_tokens=counted.most(lambda sums: sums.image_tokens),
        reused=counted.range(lambda sums: sums.reused),
        realtime=scale.with_caches(realtime, counted.range(lambda sums: sums.realtime), counted)
        if realtime
        else None,
        batch=scale.with_caches(batch, counted.range(lambda sums: sums.batch), counted)
        if batch
        else None,
        prices=realtime,
        batch_note=batch.note if batch and realtime != batch else "",
    )
