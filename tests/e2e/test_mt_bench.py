"""MT-bench from the command line: several judges, each with its own provider and settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.journal import JournalReader
from tests.e2e.commandline import CommandLine
from tests.simulator.handle import Handle

KEYS = {
    "ANTHROPIC_API_KEY": "sk-ant-api03-" + "x" * 80,
    "OPENAI_API_KEY": "sk-proj-" + "y" * 60,
}


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("candidate", "path"),
    [("anthropic/claude-haiku-4-5", "anthropic"), ("compatible/mine", "custom")],
)
def test_two_judges_rate_every_turn(
    cli: CommandLine, sim: Handle, shared_data: Path, candidate: str, path: str
) -> None:
    judges = [
        f"openai/gpt-5-mini,base-url={sim.base_url('openai')},temperature=0.2,qps=200",
        f"compatible/judge,base-url={sim.base_url('custom')},max-tokens=300",
    ]
    done = cli(
        "run", "mt-bench", "--model", candidate, "--base-url", sim.base_url(path),
        *(word for judge in judges for word in ("--judge", judge)),
        "--data", str(shared_data / "mt_bench"), "--limit", "16", "--price", "compatible/judge=1/1",
        "--price", "1/5", "--json", **KEYS,
    )  # fmt: skip
    assert done.code == 0, done.err
    end = done.lines[-1]
    assert end["metrics"]["score"]["n"] == 16 * 2 * 2
    assert end["metrics"]["score"]["value"] is not None
    assert end["outcomes"]["ok"] == 16
    assert end["spend_usd"] > 0
    [run] = cli.runs()
    with JournalReader(run.journal) as journal:
        calls = [call for row in journal.samples() for call in journal.calls(row.row)]
    roles = {(call.key.role, call.key.model) for call in calls}
    assert roles == {
        ("candidate", candidate),
        ("judge", "openai/gpt-5-mini"),
        ("judge", "compatible/judge"),
    }
    capped = {call.prompt.params.max_tokens for call in calls if call.key.model.endswith("/judge")}
    assert capped == {300}
    assert len(calls) == 16 * 6


def test_what_judges_cost_is_estimated_apart(cli: CommandLine, shared_data: Path) -> None:
    done = cli(
        "estimate", "mt-bench", "--model", "compatible/mine", "--base-url", "http://127.0.0.1:9/v1",
        "--judge", "openai/gpt-4.1-nano", "--judge-repeats", "2", "--price", "1/5",
        "--data", str(shared_data / "mt_bench"), "--limit", "8", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    [line] = done.lines
    candidate, judge = line["roles"]
    assert candidate["calls"] == [16, 16]
    assert (judge["role"], judge["calls"]) == ("judge/openai/gpt-4.1-nano", [32, 32])
    assert judge["realtime"][1] > 0


def test_no_judge_is_told_with_the_cure(cli: CommandLine, shared_data: Path) -> None:
    done = cli(
        "run", "mt-bench", "--model", "scripted/good", "--data", str(shared_data / "mt_bench")
    )
    assert done.code == 1
    assert "needs a judge" in done.err
    assert "--judge" in done.err
