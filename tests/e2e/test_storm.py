"""A provider that refuses and fails a lot: one reply each, and none asked for too early."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalbench.engine.journal import JournalReader
from tests.e2e.commandline import CommandLine
from tests.simulator.handle import Handle

SAMPLES = 2000


@pytest.fixture
def riddles(tmp_path: Path) -> Path:
    file = tmp_path / "riddles.jsonl"
    rows = (
        {"question": f"Riddle {n}: which letter?", "answer": "ABCD"[n % 4], "group": str(n % 7)}
        for n in range(SAMPLES)
    )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("compatible/mine", "custom"),
        ("anthropic/claude-haiku-4-5", "anthropic"),
        ("bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0", "bedrock"),
        ("google/gemini-2.0-flash", "google"),
    ],
)
def test_a_storm_of_refusals_loses_nothing(
    cli: CommandLine, sim: Handle, riddles: Path, model: str, path: str
) -> None:
    # Gemini's SDK takes 2 ms of a processor for a call: fewer calls show as much.
    samples = SAMPLES // 5 if path == "google" else SAMPLES
    sim.latency(0.02)
    sim.fault("status", status=429, retry_after=1, share=0.2)
    sim.fault("status", status=500, share=0.05)
    done = cli(
        "run", "synthetic", "--model", model, "--data", str(riddles),
        "--base-url", sim.base_url(path), "--concurrency", "64", "--price", "1/5", "--json",
        "--limit", str(samples),
        ANTHROPIC_API_KEY="sk-ant-api03-" + "x" * 80,
        GOOGLE_API_KEY="AIza" + "x" * 35,
        AWS_ACCESS_KEY_ID="AKIAPLANTED1234567",
        AWS_SECRET_ACCESS_KEY="x" * 40,
        AWS_REGION="us-east-1",
    )  # fmt: skip
    assert done.code == 0, done.err
    seen = sim.summary()
    assert seen["high_water"] <= 64
    assert seen["requests"] <= 1.4 * samples
    assert not {"before_retry_after", "storm", "asked_after_answer"} & set(seen["verdicts"])
    [run] = cli.runs()
    with JournalReader(run.journal) as journal:
        replies = [call.reply for sample in journal.samples() for call in journal.calls(sample.row)]
    assert len(replies) == samples
    assert all(reply is not None and reply.outcome != "error" for reply in replies)
