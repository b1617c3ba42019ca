"""One judge of several cannot be reached: what the others say counts, and the sample is failed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from evalbench.engine.benchmark import (
    Asked,
    Benchmark,
    CallFailed,
    Sample,
    Score,
    error_kind,
    repeat_of,
)
from evalbench.engine.benchmarks.custom.benchmark import Custom
from evalbench.engine.benchmarks.mt_bench.benchmark import MtBench
from evalbench.engine.benchmarks.spec_adherence.comply import SpecComply
from evalbench.engine.benchmarks.spec_adherence.rank import SpecRank
from evalbench.engine.calls import Outcome, Prompt, Reply
from evalbench.engine.calls.options import parse_options
from evalbench.engine.scoring.tally import Metric, Tally
from tests.unit.benchmarks.test_custom import prepared

JUDGES = ("judge/x/one", "judge/x/two")
DOWN = Reply("", outcome=Outcome.ERROR, error="overloaded")


class Asking:
    """The judges of ``down`` cannot be reached, the first says ``first``, the others ``says``."""

    def __init__(self, says: str, *down: str, first: Reply | None = None) -> None:
        self._says = says
        self._down = down
        self._first = first

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        if role in self._down:
            raise CallFailed(DOWN)
        if self._first and role == JUDGES[0]:
            return self._first
        return Reply("42" if role == "candidate" else self._says, stop_reason="stop")

    async def many(self, asks: Sequence[Asked]) -> list[Reply]:
        replies = []
        for asked in asks:
            try:
                replies.append(
                    await self(asked[0], asked[1], step=asked[2], repeat=repeat_of(asked))
                )
            except CallFailed as failed:
                replies.append(failed.reply)
        if DOWN in replies:
            raise CallFailed(DOWN, replies)
        return replies


def metrics(bench: Benchmark, sample: Sample, *scores: Score) -> dict[str, Metric]:
    tally = Tally()
    for score in scores:
        tally.add(sample.tags, score.outcome, score.values)
    return {metric.name: metric for metric in bench.metrics(tally)}


def custom(scorers: str) -> Callable[[Path], tuple[Benchmark, Sample]]:
    def make(folder: Path) -> tuple[Benchmark, Sample]:
        (folder / "q.csv").write_text("question,answer\nWhat is 6 × 7?,42\n")
        (folder / "b.toml").write_text(
            '[benchmark]\ndata = "q.csv"\n[prompt]\ntemplate = "{{ question }}"\n'
            f'[answer]\ntarget = "answer"\n{scorers}'
        )
        bench, samples = prepared(folder / "b.toml")
        return bench, samples[0]

    return make


def built(bench: type[Benchmark], sample: Sample, **options: object) -> tuple[Benchmark, Sample]:
    made = bench(parse_options(bench.options, options, bench.name))
    made.judges = JUDGES
    return made, sample


TALK = {"question_id": 81, "turns": ["Write.", "Shorten."]}
STATEMENT = {
    **dict.fromkeys(("section", "subsection", "authority"), ""),
    "id": "s",
    "text": "Be short.",
    "type": "guideline",
    "examples": [],
}
CASES = {
    "ratings": (
        custom('scorer = "judge"\n[judge]\nrubric = "Good? {{ reply }}"\n'),
        "Rating: [[7]]",
        "rating",
        7.0,
        1,
    ),
    "verdicts": (custom('scorer = "graded"\n'), "Verdict: [[right]]", "accuracy", 1.0, 1),
    "weighted scorers": (
        custom(
            '[[score]]\nscorer = "exact"\nweight = 3\n'
            '[[score]]\nscorer = "judge"\n[judge]\nrubric = "Good? {{ reply }}"\n'
        ),
        "Rating: [[1]]",
        "score",
        0.75,
        1,
    ),
    "mt-bench": (
        lambda _: built(MtBench, Sample("s.1", TALK, None, {"category": "writing"})),
        "Rating: [[7]]",
        "score",
        7.0,
        2,
    ),
    "mt-bench in pairs": (
        lambda _: built(
            MtBench,
            Sample("s.1", {**TALK, "baseline": ["x", "y"]}, None, {"category": "writing"}),
            against=__file__,
        ),
        "[[C]]",
        "tie_rate",
        1.0,
        2,
    ),
    "spec-comply": (
        lambda _: built(
            SpecComply,
            Sample(
                "s.1",
                {"statement": STATEMENT, "input": "hi", "answer": "yo"},
                None,
                {"statement": "s", "type": "guideline", "contestant": "m"},
            ),
        ),
        '{"compliant": true, "confidence": 0.9, "explanation": "x"}',
        "compliance",
        1.0,
        1,
    ),
    "spec-rank": (
        lambda _: built(
            SpecRank,
            Sample(
                "s.1",
                {"statement": STATEMENT, "input": "hi", "answers": ["yo", "ho"]},
                None,
                {"statement": "s", "type": "guideline", "a": "m", "b": "n"},
            ),
        ),
        "Model: equal",
        "tie_rate/contestant=m",
        1.0,
        1,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_one_judge_says_counts_although_the_other_failed(case: str, tmp_path: Path) -> None:
    make, says, name, value, n = CASES[case]
    bench, sample = make(tmp_path)
    score = asyncio.run(bench.solve(sample, Asking(says, JUDGES[0])))
    assert score.outcome is Outcome.ERROR
    assert score.note == "x/one: its call failed: overloaded"
    assert error_kind(score.note) == "overloaded"
    assert not any("x/one" in name and value for name, value in score.values.items())
    found = metrics(bench, sample, score)[name]
    assert (found.value, found.n) == (value, n)
    whole = asyncio.run(bench.solve(sample, Asking(says)))
    assert whole.outcome is Outcome.OK
    # Beside a whole one it weighs what it has.
    both = metrics(bench, sample, whole, score)[name]
    assert both.value == value
    assert both.n > n


def test_without_any_judgement_a_sample_has_no_score(tmp_path: Path) -> None:
    bench, sample = CASES["ratings"][0](tmp_path)
    with pytest.raises(CallFailed):
        asyncio.run(bench.solve(sample, Asking("", *JUDGES)))
    # What other scorers say needs no judge.
    bench, sample = CASES["weighted scorers"][0](tmp_path)
    score = asyncio.run(bench.solve(sample, Asking("", *JUDGES)))
    assert (score.outcome, score.values) == (Outcome.ERROR, {"exact": 1.0})
    assert isinstance(bench, Custom)


@pytest.mark.parametrize("case", CASES)
def test_a_judgement_without_a_decision_is_named_and_the_other_counts(
    case: str, tmp_path: Path
) -> None:
    make, says, _, _, _ = CASES[case]
    bench, sample = make(tmp_path)
    for first, outcome, note in (
        (Reply("Good, bu", outcome=Outcome.TRUNCATED), Outcome.TRUNCATED, "cut off before its end"),
        (Reply("Good.", outcome=Outcome.OK), Outcome.UNPARSED, "in the form that was asked for"),
        (Reply("", outcome=Outcome.OK, reasoning=says), Outcome.UNPARSED, "that was asked for"),
    ):
        score = asyncio.run(bench.solve(sample, Asking(says, first=first)))
        assert score.outcome is outcome
        assert score.note.startswith("x/one: ")
        assert note in score.note
        assert any("x/two" in name for name in score.values)
