"""Every benchmark, asked through batches with a wait at every step, scores as it does at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine import registry
from evalbench.engine.ask import Contestant
from evalbench.engine.benchmarks import custom_example
from evalbench.engine.dataset import prepare, read_header
from evalbench.engine.driver import Driver
from evalbench.engine.journal import Journal, JournalReader
from evalbench.engine.journal.schema import create
from evalbench.engine.loading import load_samples
from evalbench.engine.paths import cache_dir
from evalbench.engine.settings import RunSpec, build_benchmark, make_spec
from evalbench.engine.status import State
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
        case "custom":
            (folder / "own.csv").write_text(custom_example.TABLE)
            (folder / "own.toml").write_text(custom_example.FILE.format(name="own"))
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


async def scores(spec: RunSpec, folder: Path, *, parked: bool) -> tuple[Mapping[str, Any], Post]:
    """All scores of a run by row."""
    folder.mkdir()
    path = folder / "journal.db"
    create(path)
    file = prepare(spec, cache_dir())
    post = Post(most_requests=4)
    post.says = says
    opened = Journal(path)
    benchmark = build_benchmark(spec, read_header(file).shared)
    await load_samples(opened, file, spec, benchmark, 0)
    dispatchers = {
        role: batching(post, opened, role=role, model=part.ref, collect=parked)
        for role, part in spec.cast().items()
    }
    cast = {
        role: Contestant(part.ref, dispatchers[role], part.overrides())
        for role, part in spec.cast().items()
    }
    driver = Driver(opened, benchmark, cast, epochs=1)
    driver.open()
    try:
        assert await driver.drive() is State.COMPLETE
    finally:
        for dispatcher in dispatchers.values():
            await dispatcher.close()
        await opened.close()
    with JournalReader(path) as reader:
        found = {
            str(score.row): [score.outcome.value, _but_time(score.values), dict(score.detail)]
            for score in reader.scores()
        }
    return found, post


def _but_time(values: Mapping[str, float]) -> dict[str, float]:
    """Nobody waits for a reply that comes in a batch, so it took no time."""
    return {name: value for name, value in values.items() if name != "seconds"}


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
    assert set(registry.benchmark_names()) - theirs <= set(BENCHMARKS)
