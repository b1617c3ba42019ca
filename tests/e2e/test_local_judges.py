"""Benchmarks with judges on a model of this machine, as candidate and as judge at once."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
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


@pytest.mark.timeout(300)
def test_several_candidates_come_one_after_the_other_and_outgrow_their_context(
    cli: CommandLine, shared_data: Path, tmp_path: Path
) -> None:
    folders = [tiny.make_llama(tmp_path / name, num_hidden_layers=1) for name in ("one", "two")]
    started = cli.start(
        "run", "mt-bench", "--data", str(shared_data / "mt_bench"), "--category", "math",
        "--limit", "2", *(word for folder in folders for word in ("--model", f"local/{folder}")),
        "--max-tokens", "200", "--judge", "scripted/good", "--chat-template",
        "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }} {% endfor %}",
    )  # fmt: skip
    workers: dict[str, int] = {}
    while started.poll() is None:
        for run in cli.runs():
            if (pid := run.status().gauges.get("worker_pid")) and run.id not in workers:
                assert not any(psutil.pid_exists(other) for other in workers.values())
                workers[run.id] = pid
        time.sleep(0.02)
    done = cli.finish(started)
    assert done.code == 0, done.err
    assert len(workers) == 2
    for run in cli.runs():
        shown = cli("show", run.id, "--json").lines[0]
        cut = shown["metrics"]["cut_prompts"]
        assert (cut["k"], cut["n"], shown["outcomes"]["truncated"]) == (2, 2, 2)
        [measured] = shown["local_models"].values()
        assert measured["answers"] == 4
        assert measured["peak"] > 0 < measured["tokens_per_second"]
        assert measured["seconds_per_answer"] > 0
        with JournalReader(run.journal) as journal:
            replies = [c.reply for row in journal.samples() for c in journal.calls(row.row)]
            notes = [score.detail["note"] for score in journal.scores()]
            loaded = [e.body for e in journal.events() if e.kind == "model-loaded"]
        assert [info["chat_template"] for info in loaded] == ["given"]
        assert sum(bool(reply and reply.cut_tokens) for reply in replies) == 2
        assert all("turn 2 lost its first" in note for note in notes)
    assert "tokens/s" in cli("show", "last").out


def test_specifications_are_judged_here(cli: CommandLine, shared_data: Path, model: str) -> None:
    folder = shared_data / "speceval" / "sample"
    done = cli(
        "run", "spec-comply", "--data", str(folder / "specs" / "sample.jsonl"), "--limit", "4",
        "--answers", str(folder / "generations" / "sample-model-a"),
        "--judge", f"{model},max-tokens=8", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.lines[-1]["metrics"]["compliance"]["n"] == 4
