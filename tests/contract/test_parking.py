"""Every benchmark, asked through batches with a wait at every step, scores as it does at once."""

from __future__ import annotations

import json
import random
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmarks.custom import example as custom_example
from evalbench.engine.benchmarks.sets.toml_sets import KnownSet
from evalbench.engine.config import registry
from evalbench.engine.config.roles import answers_model
from evalbench.engine.config.spec import RunSpec, build_benchmark, make_spec
from evalbench.engine.data.dataset import prepare, read_header
from evalbench.engine.execution.ask import BoundModel
from evalbench.engine.execution.driver import Driver
from evalbench.engine.execution.sample_loading import load_samples
from evalbench.engine.journal import Journal, JournalReader
from evalbench.engine.journal.schema import create
from evalbench.engine.paths import cache_dir
from evalbench.engine.runs.status import State
from tests.unit.engine.post import Post, batching
from tests.unit.engine.virtual_time import virtual_time

MODEL = "vllm/one"
JUDGES = ["vllm/two", "vllm/three"]


BENCHMARKS = (
    "quickstart",
    "mmlu",
    "mt-bench",
    "spec-generate",
    "spec-comply",
    "spec-rank",
    "code-prediction",
    "code-choice",
    "openseesime",
    "humaneval",
    "mbpp",
    "ifeval",
    "simpleqa",
    "custom",
)


def small(name: str, data: Path, folder: Path) -> dict[str, Any]:
    """The settings of a small run of a benchmark."""
    speceval = data / "speceval" / "sample"
    spec = {"data": str(speceval / "specs" / "sample.jsonl")}
    match name:
        case "mmlu":
            return {"data": str(data / "mmlu"), "limit": 9, "options": {"family": "chat"}}
        case "mt-bench":
            return {"data": str(data / "mt_bench"), "limit": 8, "judge": JUDGES}
        case "spec-generate":
            return {**spec, "options": {"inputs": str(speceval / "inputs")}}
        case "spec-comply" | "spec-rank":
            folders = sorted((speceval / "generations").iterdir())[:2]
            answers = [f"{folder.name}={folder}" for folder in folders]
            return {**spec, "options": {"answers": answers}, "judge": JUDGES}
        case "code-prediction" | "code-choice":
            return {"data": str(data / "execution" / "mutated.jsonl"), "limit": 3}
        case "openseesime":
            few = {"frames": 1, "max_side": 64}
            return {"data": str(data / "openseesime"), "limit": 3, "options": few}
        case "humaneval" | "mbpp":
            problem = {"task_id": 11, "prompt": "def add(a, b):\n", "text": "Write add."}
            tests = {"entry_point": "add", "test": "", "test_list": ["assert add(1, 2) == 3"]}
            (folder / "problems.jsonl").write_text(
                "".join(json.dumps({**problem, **tests, "task_id": n}) + "\n" for n in (11, 12))
                if name == "mbpp"
                else json.dumps({**problem, **tests, "task_id": "HumanEval/0"}) + "\n"
            )
            few = {"generations": 2, "unsafe_run_code": True}
            return {"data": str(folder / "problems.jsonl"), "options": few}
        case "ifeval":
            asked = {"prompt": "Say red.", "instruction_id_list": ["punctuation:no_comma"]}
            rows = [{"key": n, **asked, "kwargs": [{}]} for n in range(3)]
            (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            return {"data": str(folder / "train.jsonl")}
        case "simpleqa":
            row = {"metadata": "{'topic': 'Art'}", "problem": "Who?", "answer": "Ann"}
            (folder / "test.jsonl").write_text((json.dumps(row) + "\n") * 3)
            return {"data": str(folder / "test.jsonl"), "judge": JUDGES[:1]}
        case "custom":
            for name, body in custom_example.files_of("choice", "own").items():
                (folder / name).write_bytes(body)
            return {"options": {"file": str(folder / "own.toml")}}
        case _:
            return {"limit": 12}


SAYS = (
    "A",
    "The answer is (B).",
    "Rating: [[7]]",
    '{"compliant": true, "confidence": 0.8}',
    "Model: A",
    "[[B]]",
    "[ANSWER]assert f(1) == 2[/ANSWER]",
)


def says(text: str) -> str:
    """Some answer that a benchmark may or may not be able to read; always the same to a text."""
    return SAYS[sum(text.encode()) % len(SAYS)]


@asynccontextmanager
async def driven(spec: RunSpec, folder: Path, post: Post, *, parked: bool) -> AsyncIterator[Driver]:
    """A driver over a fresh run of a spec, whose every role asks the post."""
    folder.mkdir()
    path = folder / "journal.db"
    create(path)
    file = prepare(spec, cache_dir())
    opened = Journal(path)
    benchmark = build_benchmark(spec, read_header(file).shared)
    await load_samples(opened, file, spec, benchmark, 0)
    roles = {
        role: BoundModel(
            part.ref,
            batching(post, opened, role=role, model=part.ref, collect=parked),
            part.overrides(),
        )
        for role, part in spec.roles().items()
    }
    driver = Driver(opened, benchmark, roles)
    driver.open()
    try:
        yield driver
    finally:
        for part in roles.values():
            await part.dispatcher.close()
        await opened.close()


async def scores(spec: RunSpec, folder: Path, *, parked: bool) -> tuple[Mapping[str, Any], Post]:
    """All scores of a run by row."""
    post = Post(most_requests=4)
    post.says = says
    async with driven(spec, folder, post, parked=parked) as driver:
        assert await driver.drive() is State.COMPLETE
    with JournalReader(folder / "journal.db") as reader:
        found = {
            str(score.row): [score.outcome.value, _but_time(score.values), dict(score.detail)]
            for score in reader.scores()
        }
    return found, post


def _but_time(values: Mapping[str, float]) -> dict[str, float]:
    """Nobody waits for a reply that comes in a batch, so it took no time."""
    return {name: value for name, value in values.items() if name != "seconds"}


@pytest.mark.share(3)
@pytest.mark.parametrize("name", BENCHMARKS)
def test_waiting_at_every_step_changes_no_score(
    name: str, tmp_path: Path, home: Path, shared_data: Path
) -> None:
    @virtual_time
    async def check() -> None:
        spec = make_spec(name, MODEL, **small(name, shared_data, tmp_path))
        at_once, asked = await scores(spec, tmp_path / "at-once", parked=False)
        later, post = await scores(spec, tmp_path / "later", parked=True)
        assert later == at_once
        assert asked.asked
        assert not asked.parcels
        assert not post.asked
        assert post.executed == asked.executed

    check()


def test_no_benchmark_is_forgotten() -> None:
    theirs = {"synthetic", "two-turn", "judged"}
    # It has no questions but those of its tasks, whose calls of every kind are independent.
    families = {"lm-eval"}
    ours = set(registry.benchmark_names()) - theirs - families
    # Well-known sets ask as a benchmark file does, which is here, unless they say how.
    sets = {
        name
        for name in ours
        if issubclass(cls := registry.benchmark_class(name), KnownSet) and "solve" not in vars(cls)
    }
    assert ours - sets <= set(BENCHMARKS)


ORDER = "hpaokbnjcgmdlief"
"""Sixteen contestants, the worst first: their names say nothing of how good they are."""


def test_many_contestants_keep_their_answers_whatever_the_order_of_results(
    tmp_path: Path, home: Path
) -> None:
    folders = []
    for worth, letter in enumerate(ORDER):
        results = tmp_path / letter / "results"
        results.mkdir(parents=True)
        said = [{"input_text": "How good?", "output_text": f"I am worth {worth}"}]
        (results / "be_good.json").write_text(json.dumps(said))
        folders.append(f"{letter}={results.parent}")
    statement = {"id": "be_good", "text": "Be good.", "type": "GUIDELINE"}
    (tmp_path / "spec.jsonl").write_text(json.dumps(statement))
    wins: dict[str, float | None] = {}

    def stronger(text: str) -> str:
        first, second = map(int, re.findall(r"Response [AB]\]\nI am worth (\d+)", text))
        return "Model: A" if first > second else "Model: B"

    @virtual_time
    async def rank() -> None:
        spec = make_spec(
            "spec-rank",
            answers_model(list(ORDER)),
            data=str(tmp_path / "spec.jsonl"),
            options={"answers": folders},
            judge=JUDGES[:1],
        )
        post, dice = Post(most_requests=70), random.Random(3)
        post.says = stronger
        post.spoil = lambda lines: dice.sample(lines, len(lines))
        async with driven(spec, tmp_path / "run", post, parked=True) as driver:
            assert await driver.drive() is State.COMPLETE
            wins.update({metric.name: metric.value for metric in driver.metrics()})
        assert sum(len(parcel.lines) for parcel in post.parcels.values()) == 16 * 15

    rank()
    for worth, letter in enumerate(ORDER):
        assert wins[f"win_rate_adjusted/contestant={letter}"] == pytest.approx(worth / 15)
