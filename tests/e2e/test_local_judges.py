"""Benchmarks with judges on a model of this machine, as candidate and as judge at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.journal import JournalReader
from tests.contract.local import tiny
from tests.e2e.commandline import CommandLine

pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A random model: what it says means nothing, so most judgements cannot be read."""
    folder = tmp_path_factory.mktemp("models") / "llama"
    return f"local/{tiny.make_llama(folder, max_position_embeddings=16_384)}"


def test_one_worker_answers_and_judges(cli: CommandLine, shared_data: Path, model: str) -> None:
    done = cli(
        "run", "mt-bench", "--data", str(shared_data / "mt_bench"), "--category", "writing",
        "--limit", "3", "--model", model, "--max-tokens", "12", "--judge", f"{model},max-tokens=8",
        "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    end = done.lines[-1]
    assert (end["done"], end["failed"], end["spend_usd"]) == (3, 0, 0)
    [run] = cli.runs()
    assert (run.path / "worker.log").read_text("utf-8", "replace").count("model loaded") <= 1
    with JournalReader(run.journal) as journal:
        loaded = [event for event in journal.events() if event.kind == "model-loaded"]
        calls = [call for row in journal.samples() for call in journal.calls(row.row)]
    assert len(loaded) == 1
    roles = [call.key.role for call in calls]
    assert (roles.count("candidate"), roles.count("judge")) == (6, 6)


def test_specifications_are_judged_here(cli: CommandLine, shared_data: Path, model: str) -> None:
    folder = shared_data / "speceval" / "sample"
    done = cli(
        "run", "spec-comply", "--data", str(folder / "specs" / "sample.jsonl"), "--limit", "4",
        "--answers", str(folder / "generations" / "sample-model-a"),
        "--judge", f"{model},max-tokens=8", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.lines[-1]["metrics"]["compliance"]["n"] == 4
