"""SpecEval: what is read, what judges are asked, and what their words come to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmark import (
    Asked,
    Benchmark,
    DataSource,
    Sample,
    Score,
    repeat_of,
    sample_ids,
)
from evalbench.engine.benchmarks.spec_adherence import data as spec_data
from evalbench.engine.benchmarks.spec_adherence.comply import NoAnswer, SpecComply
from evalbench.engine.benchmarks.spec_adherence.generate import SpecGenerate
from evalbench.engine.benchmarks.spec_adherence.rank import SpecRank
from evalbench.engine.calls import Outcome, Prompt, Reply
from evalbench.engine.calls.options import parse_options
from evalbench.engine.errors import DataError, SpecError
from evalbench.engine.scoring.tally import Metric, Tally

JUDGES = ("judge/x/one", "judge/x/two")


@pytest.fixture
def sample_data(shared_data: Path) -> Path:
    return shared_data / "speceval" / "sample"


@pytest.fixture
def expected(sample_data: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((sample_data / "expected.json").read_text())
    return value


def made(kind: type[Benchmark], judges: Sequence[str] = JUDGES, **options: Any) -> Benchmark:
    bench = kind(parse_options(kind.options, options, kind.name))
    bench.judges = tuple(judges)
    return bench


def items(bench: Benchmark, spec: Path) -> list[Sample]:
    return list(sample_ids(bench.prepare(DataSource(spec, spec.parent)).items))


def answers(sample_data: Path) -> list[str]:
    folders = (sample_data / "generations").iterdir()
    return [f"{folder.name}={folder}" for folder in sorted(folders)]


class Asking:
    """An ``ask`` that keeps what it was asked."""

    def __init__(self, say: Callable[[str, str], str]) -> None:
        self._say = say
        self.asked: list[tuple[str, str, str]] = []

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        self.asked.append((role, step, prompt.messages[-1].text))
        return Reply(self._say(role, step), stop_reason="stop")

    async def many(self, asks: Sequence[Asked]) -> list[Reply]:
        return [await self(a[0], a[1], step=a[2], repeat=repeat_of(a)) for a in asks]


def solved(bench: Benchmark, sample: Sample, ask: Asking) -> Score:
    return asyncio.run(bench.solve(sample, ask))


def metrics(bench: Benchmark, *scored: tuple[dict[str, str], Score]) -> dict[str, Metric]:
    tally = Tally()
    for tags, score in scored:
        tally.add(tags, score.outcome, score.values)
    return {metric.name: metric for metric in bench.metrics(tally)}


# -- files ---------------------------------------------------------------------


def test_the_sample_specification(sample_data: Path, expected: dict[str, Any]) -> None:
    spec = spec_data.read_spec(sample_data / "specs" / "sample.jsonl")
    assert len(spec.statements) == expected["statements"]
    assert [number for number, _ in spec.skipped] == expected["invalid_lines"]
    assert spec.statements["short_answers"]["type"] == "guideline"
    assert spec.statements["definition_user"]["type"] == "definition"
    inputs = list(spec_data.read_inputs(sample_data / "inputs", spec))
    assert len(inputs) == expected["inputs"]


def test_the_sample_answers(sample_data: Path, expected: dict[str, Any]) -> None:
    held = {
        name: spec_data.read_answers(path)
        for name, path in map(spec_data.contestant, answers(sample_data))
    }
    assert {name: len(said) for name, said in held.items()} == expected["outputs"]
    every = [text for said in held.values() for text in said.values()]
    assert every.count(None) == expected["error_outputs"]
    assert every.count("") == expected["empty_outputs"]
    one, two = held.values()
    assert len(one.keys() & two.keys()) == expected["common_inputs"]


def test_a_name_is_proposed_from_the_path(sample_data: Path) -> None:
    results = next((sample_data / "generations" / "org-max-mini").rglob("results"))
    assert spec_data.contestant(str(results))[0] == "org-max-mini"
    assert spec_data.contestant(str(results.parent))[0] == "org-max-mini"
    assert spec_data.contestant(f"mine={results}") == ("mine", results)
    documented = Path("out/modelA/202505XX_XXXXXX/results")
    assert spec_data.contestant(str(documented))[0] == "modelA"


def test_answers_of_several_models_are_not_mixed(sample_data: Path) -> None:
    with pytest.raises(DataError, match="several models"):
        spec_data.read_answers(sample_data / "generations")


def test_of_several_times_the_latest_counts(tmp_path: Path) -> None:
    for time, said in (("20250101_0000", "old"), ("20250301_0000", "new")):
        folder = tmp_path / "m" / time / "results"
        folder.mkdir(parents=True)
        body = [{"input_text": "q", "output_text": said}]
        (folder / "s.json").write_text(json.dumps(body))
    assert spec_data.read_answers(tmp_path / "m") == {("s", "q"): "new"}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("", "no statement"),
        ('{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}', "twice"),
        ('{"id": "a"}', "needs id and text"),
        ('{"id": "a", "text": "x", "type": "wish"}', "type cannot be 'wish'"),
    ],
)
def test_a_malformed_specification_is_explained(tmp_path: Path, body: str, told: str) -> None:
    file = tmp_path / "spec.jsonl"
    file.write_text(body)
    with pytest.raises(DataError, match=told):
        spec_data.read_spec(file)


def test_without_a_specification_it_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--data SPEC"):
        made(SpecGenerate).prepare(DataSource(None, tmp_path))


def test_a_folder_that_is_not_there_is_refused() -> None:
    with pytest.raises(SpecError, match="no folder"):
        made(SpecGenerate, inputs="/no/such/folder")


# -- generate ------------------------------------------------------------------


def test_inputs_come_from_a_folder_or_the_examples(sample_data: Path) -> None:
    spec = sample_data / "specs" / "sample.jsonl"
    assert len(items(made(SpecGenerate, inputs=str(sample_data / "inputs")), spec)) == 13
    own, *_ = items(made(SpecGenerate), spec)
    assert own.inputs["input"] == "At what temperature does water boil?"


def test_an_empty_answer_is_none(sample_data: Path) -> None:
    bench = made(SpecGenerate)
    own, *_ = items(bench, sample_data / "specs" / "sample.jsonl")
    assert solved(bench, own, Asking(lambda *_: "100 °C")).values == {"answered": 1.0}
    empty = solved(bench, own, Asking(lambda *_: " "))
    assert (empty.outcome, empty.values) == (Outcome.UNPARSED, {"answered": 0.0})


# -- comply --------------------------------------------------------------------


def verdict(compliant: bool | None) -> str:
    return json.dumps({"compliant": compliant, "confidence": 1, "explanation": "so"})


def test_a_model_is_asked_and_then_judged(sample_data: Path) -> None:
    bench = made(SpecComply)
    own, *_ = items(bench, sample_data / "specs" / "sample.jsonl")
    ask = Asking(lambda role, _: "100 °C" if role == "candidate" else verdict(role == JUDGES[0]))
    score = solved(bench, own, ask)
    assert [role for role, *_ in ask.asked] == ["candidate", *JUDGES]
    assert "100 °C" in ask.asked[1][2]
    assert "metric units first" in ask.asked[1][2]
    assert score.outcome is Outcome.OK
    found = metrics(bench, (dict(own.tags), score))
    assert (found["compliance"].k, found["compliance"].n) == (1, 2)
    assert found["compliance/judge=x/one"].value == 1
    assert found["judge_bias/judge=x/two"].value == -0.5


def test_what_no_judge_decided_does_not_comply_and_is_counted(sample_data: Path) -> None:
    bench = made(SpecComply, JUDGES[:1])
    own, *_ = items(bench, sample_data / "specs" / "sample.jsonl")
    score = solved(bench, own, Asking(lambda role, _: "hm"))
    assert score.outcome is Outcome.UNPARSED
    found = metrics(bench, (dict(own.tags), score))
    assert (found["compliance"].k, found["compliance"].n) == (0, 1)
    assert found["unread_judgements"].k == 1


def test_given_answers_are_judged_without_asking_and_errors_never(sample_data: Path) -> None:
    bench = made(SpecComply, answers=answers(sample_data))
    assert bench.needs() == frozenset()
    assert SpecComply.default_model(bench.opt) == "answers/org-max-mini+sample-model-a"
    found = items(bench, sample_data / "specs" / "sample.jsonl")
    assert len(found) == 25
    broken = [sample for sample in found if sample.inputs["answer"] is None]
    ask = Asking(lambda *_: verdict(True))
    with pytest.raises(NoAnswer):
        solved(bench, broken[0], ask)
    assert ask.asked == []
    scored = [
        (dict(sample.tags), solved(bench, sample, ask)) for sample in found if sample not in broken
    ]
    assert {role for role, *_ in ask.asked} == set(JUDGES)
    table = metrics(bench, *scored)
    assert table["compliance/contestant=sample-model-a"].n == 2 * 13
    assert table["compliance/contestant=org-max-mini"].n == 2 * 11


# -- rank ----------------------------------------------------------------------


def test_all_pairs_are_judged_in_both_orders(sample_data: Path, expected: dict[str, Any]) -> None:
    bench = made(SpecRank, JUDGES[:1], answers=answers(sample_data))
    found = items(bench, sample_data / "specs" / "sample.jsonl")
    assert 2 * len(found) == expected["ordered_pair_tasks"]
    same = sum(one == two for one, two in (sample.inputs["answers"] for sample in found))
    assert same == expected["identical_outputs"]
    ask = Asking(lambda *_: "Model: A")
    whole = next(sample for sample in found if None not in sample.inputs["answers"])
    solved(bench, whole, ask)
    (_, step_1, text_1), (_, step_2, text_2) = ask.asked
    assert (step_1, step_2) == ("first", "second")
    one, two = whole.inputs["answers"]
    assert text_1.index(f"[Response A]\n{one}") < text_1.index(f"[Response B]\n{two}")
    assert text_2.index(f"[Response A]\n{two}") < text_2.index(f"[Response B]\n{one}")


TAGS = {"statement": "s", "type": "guideline", "a": "ann", "b": "bob"}


def ranked(*said: str, **options: Any) -> dict[str, Metric]:
    bench = made(SpecRank, JUDGES[:1], answers=["ann=/tmp", "bob=/tmp"], **options)
    statement = {"id": "s", "text": "t", "type": "guideline", "authority": "user",
                 "section": "", "subsection": "", "examples": []}  # fmt: skip
    inputs = {"statement": statement, "input": "q", "answers": ["x", "y"]}
    scored = []
    for first, second in zip(said[::2], said[1::2], strict=True):
        words = iter([f"Model: {first}", f"Model: {second}"])
        ask = Asking(lambda *_, words=words: next(words))
        scored.append((TAGS, solved(bench, Sample("s.1", inputs, None, TAGS), ask)))
    return metrics(bench, *scored)


def test_only_what_holds_in_both_orders_wins() -> None:
    found = ranked("A", "B", "A", "A", "equal", "equal", "B", "A")
    assert found["win_rate/contestant=ann"].value == 0.25
    assert found["loss_rate/contestant=ann"].value == 0.25
    assert found["tie_rate/contestant=ann"].value == 0.5
    assert found["win_rate/contestant=bob"].value == 0.25
    assert found["win_rate_adjusted/contestant=bob"].value == 0.5
    assert (found["position_flips"].k, found["position_flips"].n) == (1, 4)


def test_undecided_verdicts_tie_or_drop_out() -> None:
    said = ("A", "B", "N/A", "N/A", "unsure", "B")
    tied, dropped = ranked(*said), ranked(*said, undecided="drop")
    assert (tied["win_rate/contestant=ann"].k, tied["win_rate/contestant=ann"].n) == (1, 3)
    assert (dropped["win_rate/contestant=ann"].k, dropped["win_rate/contestant=ann"].n) == (1, 1)
    assert tied["not_applicable"].k == 2
    assert tied["unsure"].k == 1


def test_what_cannot_be_read_ties_as_in_the_original_and_is_told() -> None:
    found = ranked("A", "hm")
    assert found["tie_rate/contestant=ann"].k == 1
    assert (found["unread_judgements"].k, found["unread_judgements"].n) == (1, 2)


def test_two_names_are_needed(sample_data: Path) -> None:
    one = answers(sample_data)[0]
    for given in ([one], [one, one]):
        with pytest.raises(DataError, match="different names"):
            items(made(SpecRank, answers=given), sample_data / "specs" / "sample.jsonl")
