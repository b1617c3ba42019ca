"""Tasks of lm-evaluation-harness, with what the library says written by hand."""

from __future__ import annotations

import asyncio
import json
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmark import Asked, FirstScore, Item, Sample, Score, SequentialAsk
from evalbench.engine.benchmarks.lm_eval import benchmark, index
from evalbench.engine.benchmarks.lm_eval.aggregation import (
    AGGREGATIONS,
    aggregate,
    over_tasks,
    rows_of,
)
from evalbench.engine.benchmarks.lm_eval.benchmark import LmEval, LmEvalOptions
from evalbench.engine.benchmarks.lm_eval.bootstrap import bootstrap_stderr
from evalbench.engine.benchmarks.lm_eval.harness import Harness
from evalbench.engine.calls import Capabilities, Outcome, Prompt, Reply
from evalbench.engine.calls.options import parse_options
from evalbench.engine.config import registry
from evalbench.engine.config.spec import make_spec
from evalbench.engine.errors import SpecError
from evalbench.engine.formats import export_runs
from evalbench.engine.scoring.statistics import scaled_interval
from evalbench.engine.scoring.tally import Tally
from tests.finished import finished
from tests.lm_eval_tasks import INDEX

OPTIONS = parse_options(LmEval.options, {}, "lm-eval")


class Scripted(SequentialAsk):
    """Answers texts with ``text``, and scores continuations by their length."""

    def __init__(self, text: str = "", *, greedy: bool = True) -> None:
        self.asked: list[Asked] = []
        self._text, self._greedy = text, greedy

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        self.asked.append((role, prompt, step, repeat))
        if prompt.kind == "generate":
            return Reply(text=self._text)
        numbers = tuple(-float(len(text)) for text in prompt.continuations)
        flags = {"greedy": [number > -3 for number in numbers]}
        return Reply(logprobs=numbers, raw=flags if self._greedy else None)


def facts(output_type: str, **aggregations: str) -> dict[str, Any]:
    return {
        "output_type": output_type,
        "aggregation": aggregations,
        "filters": ["none"],
        "config": {},
    }


def solved(
    ask: Scripted,
    requests: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    of: Mapping[str, Any],
    parsed: Any = "said",
    repeats: int = 1,
) -> tuple[Score, Any]:
    """The score of one document, and what the library was asked to score."""
    handed: list[Any] = []

    async def score(self: Harness, settings: Any, request: Any) -> Any:
        handed.append(request)
        return {"values": {"acc,none": 1.0}, "parsed": {"none": parsed}}

    monkeypatch.setattr(Harness, "score", score)
    shared = {"tasks": {"t": of}, "groups": [], "folder": "."}
    bench = LmEval.named("t")(OPTIONS, shared=shared)
    inputs = {"task": "t", "doc_id": 3, "doc_hash": "h", "repeats": repeats, "requests": requests}
    found = asyncio.run(bench.solve(Sample("s", inputs, None, {"task": "t"}), ask))
    return found, handed[0] if handed else None


def loglikelihood(context: Any, continuation: str) -> dict[str, Any]:
    return {"kind": "loglikelihood", "context": context, "continuation": continuation}


def generate(context: Any, **settings: Any) -> dict[str, Any]:
    given = {"until": ["\n", ""], "max_gen_toks": 9, "temperature": 0.0, **settings}
    return {"kind": "generate_until", "context": context, "gen_kwargs": given}


def test_each_kind_of_request(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = facts("multiple_choice", acc="mean")
    ask = Scripted()
    requests = [loglikelihood("Q", " a"), loglikelihood("Q", " bcd"), loglikelihood("", " a")]
    score, request = solved(ask, requests, monkeypatch, choice)
    # Neighbours with one context are one call.
    assert [one[1].continuations for one in ask.asked] == [(" a", " bcd"), (" a",)]
    assert [one[2] for one in ask.asked] == ["request-1", "request-2"]
    assert request["results"] == [
        ["loglikelihood", [[-2.0, True]]],
        ["loglikelihood", [[-4.0, False]]],
        ["loglikelihood", [[-2.0, True]]],
    ]
    assert (request["task"], request["doc_id"], request["doc_hash"]) == ("t", 3, "h")
    assert (score.outcome, score.values) == (Outcome.OK, {"acc,none": 1.0})

    ask = Scripted("42\nQ: more")
    turns = [["system", "Be brief."], ["user", "6*7"]]
    text = facts("generate_until", acc="mean")
    score, request = solved(ask, [generate(turns)], monkeypatch, text, repeats=2)
    (_, prompt, step, *_), (*_, repeat) = ask.asked
    assert [(turn.role, turn.text) for turn in prompt.messages] == [tuple(one) for one in turns]
    assert (prompt.params.max_tokens, prompt.params.stop, step, repeat) == (9, ("\n",), "answer", 1)
    assert request["results"] == [["generate_until", ["42", "42"]]]

    ask = Scripted()
    rolling = [{"kind": "loglikelihood_rolling", "text": "A text."}]
    _, request = solved(ask, rolling, monkeypatch, facts("loglikelihood_rolling"))
    assert ask.asked[0][1].messages[0].text == ""
    assert request["results"] == [["loglikelihood_rolling", [-7.0]]]


def test_replies_that_are_no_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    text = facts("generate_until", exact_match="mean")
    score, _ = solved(Scripted("?"), [generate("Q")], monkeypatch, text, parsed="[invalid]")
    assert score.outcome is Outcome.UNPARSED
    score, _ = solved(Scripted("?"), [generate("Q", num_beams=4)], monkeypatch, text)
    assert score.note == "not sent: num_beams=4"
    # Whether a continuation is the likeliest decides the score, and this model does not say.
    exact = facts("loglikelihood", acc="mean")
    ask = Scripted(greedy=False)
    score, request = solved(ask, [loglikelihood("Q", " a")], monkeypatch, exact)
    assert (score.outcome, score.values, request) == (Outcome.UNPARSED, {}, None)
    choice = facts("multiple_choice", acc="mean")
    score, _ = solved(ask, [loglikelihood("Q", " a")], monkeypatch, choice)
    assert score.outcome is Outcome.OK


def test_looking_ahead_asks_everything_and_loads_no_library() -> None:
    shared = {"tasks": {"t": facts("multiple_choice", acc="mean")}, "groups": [], "folder": "."}
    bench = LmEval.named("t")(OPTIONS, shared=shared)
    bench.rehearsal = True
    requests = [loglikelihood("Q", " a"), loglikelihood("R", " b")]
    inputs = {"task": "t", "doc_id": 3, "doc_hash": "h", "repeats": 1, "requests": requests}
    ask = Scripted()
    # Scoring would look for the task among the installed library's.
    score = asyncio.run(bench.solve(Sample("s", inputs, None, {"task": "t"}), ask))
    assert len(ask.asked) == 2
    assert score.values == {}


def test_the_library_s_aggregations() -> None:
    def rows(*documents: tuple[float, ...]) -> list[tuple[tuple[float, ...], int]]:
        return [(document, 1) for document in documents]

    def value(how: str, *documents: tuple[float, ...]) -> float:
        found = aggregate(rows(*documents), how).value
        assert found is not None
        return found

    mean = aggregate([((1.0,), 3), ((0.0,), 1)], "mean")
    assert (mean.value, mean.n) == (0.75, 4)
    assert mean.stderr == pytest.approx(math.sqrt(0.75 / 3) / 2)
    assert value("median", (3.0,), (1.0,), (2.0,)) == 2.0
    assert value("perplexity", (-1.0,), (-3.0,)) == pytest.approx(math.exp(2))
    assert value("weighted_perplexity", (-6.0, 2), (-4.0, 3)) == pytest.approx(math.exp(2))
    assert value("bits_per_byte", (-6.0, 2), (-4.0, 3)) == pytest.approx(2 / math.log(2))
    # As sklearn gives them for gold 1, 0, 1, 1 and predictions 1, 0, 0, 1.
    pairs = [(1.0, 1.0), (0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]
    assert value("f1", *pairs) == pytest.approx(0.8)
    assert value("matthews_corrcoef", *pairs) == pytest.approx(0.5773502691896258)
    assert value("brier_score", (0.0, 0.5, 0.5), (1.0, 0.0, 1.0)) == pytest.approx(0.25)
    assert aggregate(rows((1.0,)), "!own").value is None
    assert aggregate([], "mean").value is None

    one, other = aggregate([((1.0,), 1), ((0.0,), 1)], "mean"), aggregate([((1.0,), 6)], "mean")
    assert over_tasks([one, other], by_size=True).value == pytest.approx(7 / 8)
    plain = over_tasks([one, other], by_size=False)
    assert plain.value == 0.75
    assert plain.stderr == pytest.approx(0.25)


def test_metrics_of_a_group_and_of_its_tasks() -> None:
    group = {
        "name": "g",
        "tasks": ["a", "b"],
        "metrics": [{"metric": "acc", "filters": [], "weight_by_size": False}],
    }
    tasks = {name: facts("multiple_choice", acc="mean") for name in ("a", "b")}
    bench = LmEval.named("g")(OPTIONS, shared={"tasks": tasks, "groups": [group]})
    tally = Tally()
    tally.add({"task": "a"}, Outcome.OK, {"acc,none": 1.0}, 3)
    tally.add({"task": "a"}, Outcome.OK, {"acc,none": 0.0}, 1)
    tally.add({"task": "b"}, Outcome.OK, {"acc,none": 0.0}, 2)
    found = {one.name: one for one in bench.metrics(tally)}
    assert next(iter(found)) == "acc,none"
    assert found["acc,none"].value == 0.375
    assert (found["acc,none/task=a"].k, found["acc,none/task=a"].n) == (3, 4)
    assert found["acc_stderr,none/task=b"].value == 0
    assert rows_of(tally, "acc,none") == [((1.0,), 3), ((0.0,), 3)]
    assert bench.metrics(Tally())[0].value is None

    # 0.875 with a standard error of 0.125, whose normal interval would end at 1.12.
    tally = Tally()
    tally.add({"task": "a"}, Outcome.OK, {"acc,none": 1.0}, 3)
    tally.add({"task": "a"}, Outcome.OK, {"acc,none": 0.0}, 1)
    tally.add({"task": "b"}, Outcome.OK, {"acc,none": 1.0}, 2)
    whole = bench.metrics(tally)[0]
    assert whole.value == 0.875
    assert (whole.low, whole.high) == pytest.approx(scaled_interval(0.875, 0.125**2, (0.0, 1.0)))
    assert whole.high is not None
    assert whole.high < 1


def test_complete_runs_are_summed_in_the_order_of_documents() -> None:
    """As the library sums, so that nothing is rounded otherwise."""
    tasks = {"t": facts("generate_until", f1="mean", acc="mean")}
    bench = LmEval.named("t")(OPTIONS, shared={"tasks": tasks, "groups": []})
    source = random.Random(1)
    values = [
        {"f1,none": source.random(), "acc,none": float(source.random() < 0.7)} for _ in range(99)
    ]
    tally = Tally()
    scored: list[FirstScore] = []
    for number in source.sample(range(99), 99):
        inputs = {"task": "t", "doc_id": number, "requests": [{}]}
        tally.add({"task": "t"}, Outcome.OK, values[number])
        scored.append((Sample(str(number), inputs, None, {"task": "t"}), values[number], {}))
    found = {one.name: one for one in bench.final_metrics(tally, scored)}
    for name in ("f1", "acc"):
        row = [one[f"{name},none"] for one in values]
        mean = sum(row) / len(row)
        stderr = math.sqrt(sum([(one - mean) ** 2 for one in row]) / 98) / math.sqrt(99)
        assert (found[f"{name},none"].value, found[f"{name}_stderr,none"].value) == (mean, stderr)
    assert found["f1,none"].bound_low == found["f1,none"].bound_high == found["f1,none"].value


def test_names_and_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    assert index.needs_of(INDEX, "ai2_arc") == {"choose"}
    assert index.needs_of(INDEX, "all") == {"choose", "generate"}

    monkeypatch.setattr(benchmark, "all_tasks", lambda: INDEX)
    named = registry.benchmark_class("lm-eval/gsm8k")
    assert named is registry.benchmark_class("lm-eval/gsm8k")
    assert (named.name, registry.is_benchmark("lm-eval/gsm8k")) == ("lm-eval/gsm8k", True)

    def adapted(name: str, *, choose: bool, **given: Any) -> LmEvalOptions:
        values = LmEvalOptions(**given)
        able = Capabilities(choose=choose)
        found: LmEvalOptions = registry.benchmark_class(name).adapted(values, given, lambda: able)
        return found

    assert adapted("lm-eval/gsm8k", choose=False).apply_chat_template
    assert not adapted("lm-eval/gsm8k", choose=True).apply_chat_template
    given = adapted("lm-eval/gsm8k", choose=False, apply_chat_template=False)
    assert not given.apply_chat_template
    only_text = Capabilities(choose=False)
    assert "--search 'generate_until'" in LmEval.named("arc_easy").answerable(only_text)
    assert "--search 'gsm8k generate_until'" in LmEval.named("gsm8k_x").answerable(only_text)
    with pytest.raises(SpecError, match="no task 'gsm8'") as wrong:
        adapted("lm-eval/gsm8", choose=True)
    assert "gsm8k" in wrong.value.hint
    with pytest.raises(SpecError, match="needs the name of a task"):
        adapted("lm-eval", choose=True)
    with pytest.raises(SpecError, match="--gen-kwargs cannot be"):
        adapted("lm-eval/gsm8k", choose=True, gen_kwargs="max_gen_toks")
    with pytest.raises(SpecError, match="has no tasks"):
        registry.benchmark_class("mmlu/anatomy")


def test_bootstrapped_errors_are_those_of_the_library() -> None:
    """Its loop, as in ``lm_eval.api.metrics.bootstrap_stderr``: 1,000 resamples for each seed."""
    source = random.Random(5)
    pairs = [(float(source.randrange(3)), float(source.randrange(3))) for _ in range(30)]
    singles = [(source.gauss(-20, 5),) for _ in range(30)]
    flags = [(float(a > 0), float(b > 0)) for a, b in pairs]
    cases: dict[str, Sequence[tuple[float, ...]]] = {"matthews_corrcoef": pairs, "f1": flags}
    cases |= dict.fromkeys(("median", "perplexity", "nanmean"), singles)
    for how, rows in cases.items():
        found = []
        for seed in range(2):
            drawing = random.Random(seed)
            for _ in range(1000):
                drawn = drawing.choices(rows, k=len(rows))
                found.append(AGGREGATIONS[how]([(row, 1) for row in drawn]))
        wanted = statistics.stdev(found)
        assert bootstrap_stderr(rows, how, 2000) == pytest.approx(wanted, rel=1e-9), how
    assert bootstrap_stderr(singles[:1], "median", 1000) is None


def test_a_group_is_exported_as_the_library_writes_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file of samples for each task, and results by task and group."""
    monkeypatch.setenv("EVALBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(benchmark, "all_tasks", lambda: {"g": INDEX["all"]})

    async def score(self: Harness, settings: Any, request: Any) -> Any:
        right = request["doc_id"] % 2
        values = {"acc,none": right} if request["task"] == "one" else {"em,first": right}
        filtered = next(iter(values)).split(",")[1]
        pair = {f"pair,{filtered}#0": -1.5, f"pair,{filtered}#1": 2.0}
        pair |= {f"bleu,{filtered}#{number}": 3.0 for number in range(10)}
        read = "A" if request["task"] == "two" else [-0.5, True]
        return {"values": values | pair, "parsed": {filtered: read}}

    monkeypatch.setattr(Harness, "score", score)
    own = {
        name: facts("generate_until", **{metric: "mean", "bleu": "bleu"})
        | {"alias": name.title(), "version": 1.0, "num_fewshot": 2, "filters": [filtered]}
        | {"higher_is_better": {metric: True}}
        | {"config": {"task": name, "generation_kwargs": {"until": ["Q:"]}}}
        for name, metric, filtered in (("one", "acc", "none"), ("two", "em", "first"))
    }
    metrics = [{"metric": "acc", "filters": ["none"], "weight_by_size": True}]
    group = {"name": "g", "alias": "G", "version": 1, "children": ["one", "two"]}
    group |= {"tasks": ["one", "two"], "metrics": metrics}
    shared = {"tasks": own, "groups": [group], "folder": ".", "task": "g"}
    shared["lm_eval_version"] = "0.4.13"
    items = [
        Item(
            {"task": task, "doc_id": number, "doc_hash": "h", "doc": {"q": number}, "repeats": 1}
            | {"requests": [generate(f"{task} {number}?")]},
            "A",
            {"task": task},
        )
        for task, size in (("one", 4), ("two", 3))
        for number in range(size)
    ]
    failed = "two 2?"

    def say(sample: Sample, *_: object) -> Reply | None:
        context = sample.inputs["requests"][0]["context"]
        return None if context == failed else Reply(text="A")

    run = finished(make_spec("lm-eval/g", "openai/gpt-4.1"), items, say, shared)
    out = export_runs([run], "lm-eval", tmp_path / "out")
    assert "1 sample without a score" in out.notes[0]
    lines = {
        path.name.split("_")[1]: [json.loads(line) for line in path.read_text().splitlines()]
        for path in out.files
        if path.name.startswith("samples")
    }
    assert {name: len(held) for name, held in lines.items()} == {"one": 4, "two": 2}
    last = lines["two"][1]
    assert (last["doc_id"], last["filter"], last["em"]) == (1, "first", 1)
    assert (last["metrics"], last["pair"]) == (["em", "pair"], [-1.5, 2])
    assert last["arguments"]["gen_args_0"] == {"arg_0": "two 1?", "arg_1": {"until": ["Q:"]}}
    assert (last["filtered_resps"], last["resps"]) == (["A"], [["A"]])
    assert lines["one"][0]["filtered_resps"] == [["-0.5", "True"]]
    [path] = [path for path in out.files if path.name.startswith("results")]
    told = json.loads(path.read_text())
    one = told["results"]["one"]
    assert (one["acc,none"], one["alias"], one["sample_len"]) == (0.5, "One", 4)
    assert one["acc_stderr,none"] == pytest.approx(math.sqrt(1 / 3) / 2)
    assert told["results"]["two"]["em,first"] == 0.5
    assert told["groups"]["g"] == told["results"]["g"]
    assert told["results"]["g"]["acc,none"] == 0.5
    assert told["results"]["g"]["sample_count"] == {"acc,none": 4}
    assert told["group_subtasks"] == {"g": ["one", "two"]}
    assert told["n-samples"]["two"] == {"original": 3, "effective": 2}
    assert told["n-shot"] == {"one": 2, "two": 2}
    assert told["lm_eval_version"] == "0.4.13"


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"a": ["TASK"]}', '{"a": 1}'])
def test_an_index_that_is_not_whole_counts_as_not_made(home: Path, kept: str) -> None:
    path = index.index_path()
    path.parent.mkdir(parents=True)
    path.write_text(kept)
    assert index.known_tasks() is None
    path.write_text('{"a": ["TASK", "a.yaml", "generate_until", "", "data", []]}')
    found = index.known_tasks()
    assert found
    assert found["a"].what == "generate_until  data"
