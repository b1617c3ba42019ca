"""MT-bench: what is asked of whom, and what ratings and verdicts come to."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from evalbench.engine.benchmark import Asked, DataSource, Sample, Score, repeat_of, sample_ids
from evalbench.engine.benchmarks.mt_bench import data as mt_bench_data
from evalbench.engine.benchmarks.mt_bench.benchmark import MtBench
from evalbench.engine.benchmarks.mt_bench.prompts import OWN
from evalbench.engine.calls import Outcome, Prompt, Reply
from evalbench.engine.calls.options import parse_options
from evalbench.engine.calls.templates import fill
from evalbench.engine.errors import DataError
from evalbench.engine.scoring.tally import Metric, Tally

JUDGES = ("judge/openai/one", "judge/local/two")


def made(judges: Sequence[str] = JUDGES, shared: Any = None, **options: Any) -> MtBench:
    bench = MtBench(parse_options(MtBench.options, options, "mt-bench"), shared=shared)
    bench.judges = tuple(judges)
    return bench


def sample(category: str = "writing", **inputs: Any) -> Sample:
    turns = {"question_id": 81, "turns": ["Write {a} poem.", "Make it shorter."]}
    return Sample("s.1", turns | inputs, None, {"category": category})


class Asking:
    """An ``ask`` that keeps what it was asked and says what it is told to."""

    def __init__(self, say: Callable[[str, str, int], Reply | str]) -> None:
        self._say = say
        self.asked: list[tuple[str, str, int, Prompt]] = []

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        self.asked.append((role, step, repeat, prompt))
        said = self._say(role, step, repeat)
        return said if isinstance(said, Reply) else Reply(said, stop_reason="stop")

    async def many(self, asks: Sequence[Asked]) -> list[Reply]:
        return [await self(a[0], a[1], step=a[2], repeat=repeat_of(a)) for a in asks]

    def of(self, role: str, step: str) -> Prompt:
        return next(prompt for r, s, _, prompt in self.asked if (r, s) == (role, step))


def solved(bench: MtBench, item: Sample, ask: Asking) -> Score:
    return asyncio.run(bench.solve(item, ask))


def rated(*ratings: str) -> Callable[[str, str, int], str]:
    """Candidate texts, and the judges' ratings in the order they are asked."""
    left = list(ratings)
    return lambda role, step, repeat: (
        f"answer to {step}" if role == "candidate" else f"Fine. Rating: [[{left.pop(0)}]]"
    )


# -- asking --------------------------------------------------------------------


def test_the_second_turn_follows_the_models_own_first() -> None:
    ask = Asking(rated("7", "8", "6", "9"))
    solved(made(), sample(), ask)
    talk = ask.of("candidate", "turn-2").messages
    assert [(m.role, m.text) for m in talk] == [
        ("user", "Write {a} poem."),
        ("assistant", "answer to turn-1"),
        ("user", "Make it shorter."),
    ]


def test_a_talk_that_outgrew_the_models_context_says_so() -> None:
    bench, say = made(), rated(*"7777")

    def cut(role: str, step: str, repeat: int) -> Reply | str:
        said = say(role, step, repeat)
        return Reply(said, cut_tokens=90) if step == "turn-2" else said

    score = solved(bench, sample(), Asking(cut))
    assert score.outcome is Outcome.TRUNCATED
    assert "turn 2 lost its first 90 tokens" in score.note
    tally = Tally()
    whole = solved(bench, sample(), Asking(rated(*"7777")))
    for one in (score, whole):
        tally.add({"category": "writing"}, one.outcome, one.values)
    found = {metric.name: metric for metric in bench.metrics(tally)}
    assert (found["cut_prompts"].k, found["cut_prompts"].n) == (1, 2)
    assert found["score"].n == 8
    alone = Tally()
    alone.add({"category": "writing"}, whole.outcome, whole.values)
    assert "cut_prompts" not in {metric.name for metric in bench.metrics(alone)}


@pytest.mark.parametrize(
    ("category", "inputs", "temperature"),
    [("writing", {}, 0.7), ("stem", {}, 0.1), ("math", {}, 0.0), ("else", {}, 0.7),
     ("math", {"temperature": 0.4}, 0.4)],
)  # fmt: skip
def test_each_category_has_its_temperature(
    category: str, inputs: dict[str, Any], temperature: float
) -> None:
    ask = Asking(rated(*"7777"))
    solved(made(), sample(category, **inputs), ask)
    params = ask.of("candidate", "turn-1").params
    assert (params.temperature, params.max_tokens) == (temperature, 1024)
    assert ask.of(JUDGES[0], "rate-1").params.temperature == 0.0


def test_a_judge_sees_both_turns_only_for_the_second() -> None:
    ask = Asking(rated(*"7777"))
    solved(made(), sample(), ask)
    first, second = (ask.of(JUDGES[0], f"rate-{turn}").messages[-1].text for turn in (1, 2))
    assert "Write {a} poem." in first
    assert "shorter" not in first
    assert "answer to turn-1" in second
    assert "answer to turn-2" in second


def test_references_are_shown_where_there_are_some() -> None:
    ask = Asking(rated(*"7777"))
    solved(made(), sample("math", references=["is 4", "is 5"]), ask)
    assert "is 4" in ask.of(JUDGES[0], "rate-1").messages[-1].text
    assert "is 5" not in ask.of(JUDGES[0], "rate-1").messages[-1].text
    assert "is 5" in ask.of(JUDGES[0], "rate-2").messages[-1].text


def test_every_judge_is_asked_as_often_as_told() -> None:
    ask = Asking(lambda role, step, repeat: f"[[{3 + repeat}]]")
    score = solved(made(judge_repeats=3), sample(), ask)
    judged = [(role, step, repeat) for role, step, repeat, _ in ask.asked if role != "candidate"]
    assert len(set(judged)) == len(judged) == 2 * 2 * 3
    assert score.values["rating/1/openai/one"] == 4
    assert score.values["spread/2/local/two"] == 2


def test_texts_are_never_templates() -> None:
    assert fill("{{x}} {question} {nope}", {"question": "{answer} {{y}}"}) == (
        "{x} {answer} {{y}} {nope}"
    )


# -- what it comes to ------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply("no", Outcome.REFUSED), Outcome.REFUSED),
        (Reply("", Outcome.FILTERED), Outcome.FILTERED),
        (Reply("  ", stop_reason="stop"), Outcome.UNPARSED),
        (Reply("", Outcome.TRUNCATED), Outcome.TRUNCATED),
    ],
)
def test_what_is_no_answer_is_not_judged(reply: Reply, outcome: Outcome) -> None:
    ask = Asking(lambda role, step, repeat: reply)
    score = solved(made(), sample(), ask)
    assert (score.outcome, score.values) == (outcome, {})
    assert [role for role, *_ in ask.asked] == ["candidate"]


def test_a_cut_answer_is_judged_and_told() -> None:
    def say(role: str, step: str, repeat: int) -> Reply | str:
        return Reply("long", Outcome.TRUNCATED) if role == "candidate" else "[[2]]"

    score = solved(made(), sample(), Asking(say))
    assert score.outcome is Outcome.TRUNCATED
    assert score.values["rating/2/openai/one"] == 2


def metrics(bench: MtBench, *scores: tuple[Score, str]) -> dict[str, Metric]:
    tally = Tally()
    for score, category in scores:
        tally.add({"category": category}, score.outcome, score.values)
    return {metric.name: metric for metric in bench.metrics(tally)}


def test_the_mean_pools_all_ratings_of_both_turns_and_drops_the_unread() -> None:
    bench = made(JUDGES[:1])
    one = solved(bench, sample(), Asking(rated("9", "x")))
    two = solved(bench, sample(), Asking(rated("4", "5")))
    assert one.outcome is Outcome.UNPARSED
    found = metrics(bench, (one, "writing"), (two, "math"))
    assert (found["score"].value, found["score"].k, found["score"].n) == (6.0, 18.0, 3)
    # Not the mean of the turns' means, which would be 5.75.
    assert (found["turn_1"].value, found["turn_2"].value) == (6.5, 5.0)
    assert found["score/category=writing"].value == 9
    assert found["turn_2/category=writing"].value is None
    unread = found["unread_judgements"]
    assert (unread.k, unread.n, unread.value) == (1, 4, 0.25)
    assert found["score"].share is False
    assert next(iter(found)) == "score"


def test_a_failed_sample_opens_the_bounds() -> None:
    bench = made(JUDGES[:1])
    score = solved(bench, sample(), Asking(rated("6", "8")))
    tally = Tally()
    tally.add({"category": "writing"}, score.outcome, score.values)
    tally.add({"category": "math"}, Outcome.ERROR, {})
    head = bench.metrics(tally)[0]
    assert (head.value, head.bound_low, head.bound_high) == (7, 4.0, 8.5)


def test_judges_agree_or_not() -> None:
    bench = made()
    alike = [solved(bench, sample(), Asking(rated(a, b, a, b))) for a, b in ("28", "46", "93")]
    found = metrics(bench, *((score, "writing") for score in alike))
    assert found["alpha"].value == pytest.approx(1)
    assert found["kappa/openai/one/local/two"].value == pytest.approx(1)
    assert found["score/judge=local/two"].value == pytest.approx(32 / 6)
    apart = [solved(bench, sample(), Asking(rated(a, b, b, a))) for a, b in ("28", "46", "93")]
    found = metrics(bench, *((score, "writing") for score in apart))
    assert found["alpha"].value is not None
    assert found["alpha"].value < 0


# -- comparing -------------------------------------------------------------------


@pytest.fixture
def other(tmp_path: Path) -> Path:
    file = tmp_path / "other.jsonl"
    rows = [(81, ["theirs one", "theirs two"]), (82, ["$ERROR$", "x"])]
    file.write_text(
        "".join(
            json.dumps({"question_id": n, "choices": [{"index": 0, "turns": turns}]}) + "\n"
            for n, turns in rows
        )
    )
    return file


def compared(other: Path, *verdicts: str) -> tuple[MtBench, Score, Asking]:
    bench = made(JUDGES[:1], against=str(other))
    left = list(verdicts)
    ask = Asking(
        lambda role, step, repeat: "ours" if role == "candidate" else f"Hm. [[{left.pop(0)}]]"
    )
    item = sample(baseline=["theirs one", "theirs two"])
    return bench, solved(bench, item, ask), ask


def test_each_comparison_is_made_with_both_orders(other: Path) -> None:
    _, _, ask = compared(other, *"AABB")
    first = ask.of(JUDGES[0], "compare-1-first").messages[-1].text
    second = ask.of(JUDGES[0], "compare-1-second").messages[-1].text
    assert first.index("ours") < first.index("theirs one")
    assert second.index("theirs one") < second.index("ours")


@pytest.mark.parametrize(
    ("verdicts", "win", "loss", "tie", "flips"),
    [
        ("ABAB", 2, 0, 0, 0),
        ("BABA", 0, 2, 0, 0),
        ("AAAB", 1, 0, 1, 1),
        ("ACCC", 0, 0, 2, 0),
    ],
)
def test_a_win_needs_both_orders(
    other: Path, verdicts: str, win: int, loss: int, tie: int, flips: int
) -> None:
    bench, score, _ = compared(other, *verdicts)
    found = metrics(bench, (score, "writing"))
    counts = [found[name].k for name in ("win_rate", "loss_rate", "tie_rate", "position_flips")]
    assert counts == [win, loss, tie, flips]
    assert found["win_rate"].n == 2
    assert found["win_rate_adjusted"].value == (win + tie / 2) / 2


def test_a_comparison_with_an_unread_verdict_is_in_no_rate(other: Path) -> None:
    bench, score, _ = compared(other, "A", "?", "A", "B")
    found = metrics(bench, (score, "writing"))
    assert (found["win_rate"].k, found["win_rate"].n) == (1, 1)
    assert (found["unread_judgements"].k, found["unread_judgements"].n) == (1, 4)


# -- data ------------------------------------------------------------------------


def items(bench: MtBench, path: Path, tmp_path: Path) -> list[Sample]:
    return list(sample_ids(bench.prepare(DataSource(path, tmp_path)).items))


def test_the_original_files_are_read(shared_data: Path, tmp_path: Path) -> None:
    found = items(made(), shared_data / "mt_bench", tmp_path)
    assert len(found) == 80
    assert {s.tags["category"] for s in found} == set(mt_bench_data.CATEGORIES)
    assert sum("references" in s.inputs for s in found) == 30
    undisputed = items(made(references="undisputed"), shared_data / "mt_bench", tmp_path)
    assert sum("references" in s.inputs for s in undisputed) == 17
    none = items(made(references="none"), shared_data / "mt_bench", tmp_path)
    assert not any("references" in s.inputs for s in none)


def test_the_original_prompts_can_be_used(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "mt_bench"
    for given in ("original", str(folder / "judge_prompts.jsonl")):
        bench = made(judge_prompts=given)
        data = bench.prepare(DataSource(folder, tmp_path))
        shared = orjson.loads(orjson.dumps(data.shared))
        theirs = made(judge_prompts=given, shared=shared)
        ask = Asking(rated(*"7777"))
        solved(theirs, sample("math", references=["r1", "r2"]), ask)
        second = ask.of(JUDGES[0], "rate-2")
        assert "<|The Start of Reference Answer|>" in second.messages[-1].text
        assert "{" not in second.messages[-1].text.replace("{a}", "")
        assert theirs.template_hash() != made().template_hash()
        assert (theirs.prompt_set(), made().prompt_set()) == ("original", "evalbench")
        assert "original" in theirs.metrics(Tally())[0].title
        assert folder / "judge_prompts.jsonl" in (*bench.data_files(folder), Path(given))
        assert not bench.remarks(folder)
    [told] = made().remarks(folder)
    assert "--judge-prompts original" in told


def prompt_lines(**changed: str) -> str:
    """A file of judge prompts in the original's form, with other templates for some."""
    rows = (
        {"name": name, "prompt_template": changed.get(name.replace("-", "_"), own.template)}
        for name, own in OWN.items()
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_judge_prompts_of_ones_own_are_named_and_checked(tmp_path: Path) -> None:
    (tmp_path / "question.jsonl").write_text(
        '{"question_id": 1, "category": "math", "turns": ["a", "b"]}\n'
    )
    file = tmp_path / "judge_prompts.jsonl"
    source = DataSource(tmp_path, tmp_path)
    file.write_text(prompt_lines(single_v1="{question} {{braces}} {answer}"))
    shared = orjson.loads(orjson.dumps(made(judge_prompts=str(file)).prepare(source).shared))
    assert made(shared=shared).prompt_set().startswith("judge_prompts.jsonl (sha256 ")
    with pytest.raises(DataError, match="not the judge prompts that FastChat ships"):
        made(judge_prompts="original").prepare(source)
    for bad, why in (
        ("{question} {answr}", "unknown placeholder {answr}"),
        ("{question}", "lacks {answer}"),
        ("{question} {answer} {answer_a}", "unknown placeholder {answer_a}"),
    ):
        file.write_text(prompt_lines(single_v1=bad))
        with pytest.raises(DataError, match=re.escape(why)):
            made(judge_prompts=str(file)).prepare(source)


def test_the_original_prompts_are_fetched_once_without_data(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "judge_prompts.jsonl"
    file.write_bytes((shared_data / "mt_bench" / "judge_prompts.jsonl").read_bytes())
    monkeypatch.setattr(mt_bench_data, "_FASTCHAT", file.as_uri())
    source = DataSource(None, tmp_path / "downloads")
    assert mt_bench_data.find_prompts("original", source).name == "original"
    file.unlink()
    assert mt_bench_data.find_prompts("original", source).name == "original"
    with pytest.raises(DataError, match=r"--judge-prompts judge_prompts\.jsonl"):
        mt_bench_data.find_prompts("original", DataSource(None, tmp_path / "other"))


def test_all_own_prompts_have_the_holes_of_the_original(shared_data: Path) -> None:
    theirs = mt_bench_data.read_prompts(shared_data / "mt_bench" / "judge_prompts.jsonl").prompts
    for name, prompt in OWN.items():
        holes = set(theirs[name].template.split("{")[1:])
        for hole in (text.partition("}")[0] for text in holes):
            assert "{" + hole + "}" in prompt.template, (name, hole)


def test_answers_of_errors_are_not_compared_with(
    shared_data: Path, other: Path, tmp_path: Path
) -> None:
    found = items(made(against=str(other)), shared_data / "mt_bench", tmp_path)
    assert [s.inputs["question_id"] for s in found] == [81]


@pytest.mark.parametrize(
    "line", ['{"question_id": 1}', '{"question_id": 1, "category": "x", "turns": ["one"]}']
)
def test_a_malformed_question_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "question.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(DataError, match="row 1"):
        items(made(), file, tmp_path)
