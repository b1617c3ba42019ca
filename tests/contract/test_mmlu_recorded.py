"""MMLU on real data: the data set as published, and recorded predictions with known scores."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from evalbench.engine.benchmark import Asked, DataSource, Sample, sample_ids
from evalbench.engine.benchmarks.mmlu.benchmark import Mmlu
from evalbench.engine.benchmarks.mmlu.subjects import SUBJECTS, category_tag
from evalbench.engine.calls import Prompt, Reply
from evalbench.engine.calls.options import parse_options
from evalbench.engine.scoring.letters import LETTERS
from evalbench.engine.scoring.tally import Tally

UNREADABLE = "I cannot tell."


def _mmlu(**given: Any) -> Mmlu:
    return Mmlu(parse_options(Mmlu.options, given, "mmlu"))


@pytest.fixture(scope="module")
def samples(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Sample]:
    source = DataSource(shared_data / "mmlu", tmp_path_factory.mktemp("cache"))
    return list(sample_ids(_mmlu(family="chat").prepare(source).items))


def test_every_row_is_read_and_keeps_its_own_id(samples: list[Sample]) -> None:
    assert len(samples) == 14_042
    assert len({sample.id for sample in samples}) == 14_042
    repeats = [sample for sample in samples if not sample.id.endswith(".1")]
    assert len(repeats) == 27


def test_the_word_none_and_equal_choices_survive(samples: list[Sample]) -> None:
    choices = [sample.inputs["choices"] for sample in samples]
    assert sum("None" in texts for texts in choices) == 10
    assert sum(len(set(texts)) < 4 for texts in choices) == 9


def test_categories_are_those_of_the_data_sets_authors(shared_data: Path) -> None:
    stated = orjson.loads((shared_data / "mmlu" / "categories.json").read_bytes())
    assert {name: subject._asdict() for name, subject in SUBJECTS.items()} == stated


def test_five_examples_of_every_subject_come_with_the_original_family(shared_data: Path) -> None:
    data = _mmlu().prepare(DataSource(shared_data / "mmlu", Path()))
    assert set(data.shared) == set(SUBJECTS)
    assert {len(rows) for rows in data.shared.values()} == {5}


def _columns() -> list[str]:
    models = ("claude-3-sonnet-20240229", "deepseek-chat")
    styles = ("default", "permuted", "uppercase", "randomcase", "duplicatewrong")
    return [f"{model}/{style}" for model in models for style in styles]


@pytest.fixture
def unmeasured() -> Iterator[None]:
    """No coverage: it makes hundreds of thousands of readings take five times as long."""
    tracer = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(tracer)


@pytest.mark.share(10)
@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("column", _columns())
async def test_recorded_predictions_give_the_recorded_scores(
    shared_data: Path, samples: list[Sample], column: str
) -> None:
    """Each predicted option is given by the letter it is shown under, read back and scored."""
    import pyarrow.parquet

    folder = shared_data / "mmlu"
    recorded = pyarrow.parquet.read_table(folder / "recorded_predictions.parquet").to_pydict()
    expected = orjson.loads((folder / "recorded_expected.json").read_bytes())[column]
    assert recorded["answer"] == [sample.gold for sample in samples]
    mmlu = _mmlu(family="chat", style=column.partition("/")[2])
    tally = Tally()
    for sample, predicted in zip(samples, recorded[column], strict=True):
        letter = await _letter_of(mmlu, sample, predicted)
        score = await mmlu.solve(sample, Says(letter))
        tally.add(sample.tags, score.outcome, score.values)

    metrics = {metric.name: metric for metric in mmlu.metrics(tally)}
    categories = {subject.category: category_tag(name) for name, subject in SUBJECTS.items()}
    assert {
        "n": metrics["accuracy"].n,
        "n_correct": metrics["accuracy"].k,
        "n_unparsed": metrics["unparsed"].k,
        "micro": _rounded(metrics["accuracy"].value),
        "macro_subject": _rounded(metrics["accuracy_macro"].value),
        "category_micro": {
            category: _rounded(metrics[f"accuracy/category={tag}"].value)
            for category, tag in categories.items()
        },
        "category_macro": {
            category: _rounded(metrics[f"accuracy_macro/category={tag}"].value)
            for category, tag in categories.items()
        },
    } == expected
    read = metrics["accuracy_parsed"]
    assert (read.k, read.n) == (expected["n_correct"], expected["n"] - expected["n_unparsed"])


class Says:
    """A model that always gives the same reply."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0, reask: int = 0
    ) -> Reply:
        return Reply(text=self.text)

    async def many(self, asks: Sequence[Asked]) -> list[Reply]:
        return [Reply(text=self.text) for _ in asks]


async def _letter_of(mmlu: Mmlu, sample: Sample, option: int) -> str:
    """The letter under which the run shows an option, from the order kept with the score."""
    if option < 0:
        return UNREADABLE
    if mmlu.opt.style not in ("permuted", "duplicatewrong"):
        return LETTERS[option]
    kept = await mmlu.solve(sample, Says(UNREADABLE))
    return LETTERS[kept.parsed["order"].index(option)]


def _rounded(value: float | None) -> float:
    assert value is not None
    return round(value, 6)
