"""A model that is asked about programs: it answers by what it is asked, and remembers it all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evalbench.engine.benchmark import Asked, Item, Sample, Score, repeat_of, sample_ids
from evalbench.engine.benchmarks.code_reasoning.common import CodeBenchmark
from evalbench.engine.calls import Prompt, Reply
from evalbench.engine.calls.options import parse_options
from evalbench.engine.scoring.tally import Tally

Answer = Callable[[str, int], "Reply | str"]
"""From the step and the repeat of a call to a reply."""

ORIGINAL = "def f(x):\n    return x + 1"
MUTANT = "def f(x):\n    return x - 1"


class Model:
    """``asked`` holds the prompts by step and repeat."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: dict[tuple[str, int], Prompt] = {}

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        assert role == "candidate"
        assert (step, repeat) not in self.asked
        self.asked[step, repeat] = prompt
        reply = self.answer(step, repeat)
        return Reply(reply) if isinstance(reply, str) else reply

    async def many(self, asks: Sequence[Asked]) -> list[Reply]:
        return [await self(a[0], a[1], step=a[2], repeat=repeat_of(a)) for a in asks]


def benchmark(cls: type[CodeBenchmark], *, seed: int = 0, **given: Any) -> Any:
    """A benchmark with options, over data whose problems are at the places 0 and 7."""
    shared = {"index": {"p": 0, "q": 7}, "rows": 9, "left_out": 1}
    return cls(parse_options(cls.options, given, cls.name), seed=seed, shared=shared)


def problem(
    original: Sequence[str] | str = "4",
    mutated: Sequence[str] | str | None = "2",
    calls: Sequence[str] = ("f(3)",),
    name: str = "p",
    **tags: str,
) -> Sample:
    """A problem with its outputs; without ``mutated`` it has no mutant."""
    gold = {"original": [original] if isinstance(original, str) else list(original)}
    if mutated is not None:
        gold["mutated"] = [mutated] if isinstance(mutated, str) else list(mutated)
    mutant = None if mutated is None else MUTANT
    inputs = {"id": name, "calls": list(calls), "code": ORIGINAL, "mutant": mutant}
    return next(sample_ids(iter([Item(inputs, gold, tags)])))


def tally_of(*scored: tuple[Sample, Score]) -> Tally:
    """What the scores of some samples add up to."""
    tally = Tally()
    for sample, score in scored:
        tally.add(sample.tags, score.outcome, score.values)
    return tally


def fractions(bench: CodeBenchmark, tally: Tally) -> dict[str, str]:
    """Every metric as ``k/n``."""
    return {m.name: f"{m.k:g}/{m.n}" for m in bench.metrics(tally)}
