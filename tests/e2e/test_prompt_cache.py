"""Few-shot prompts through a provider that caches: written once, read by all the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.commandline import CommandLine
from tests.simulator.handle import Handle

QUESTIONS = 120
STORY = "A patient of forty years has felt pain for three weeks and cannot say since what day. " * 8


@pytest.fixture
def exam(tmp_path: Path) -> Path:
    folder = tmp_path / "exam"
    folder.mkdir()
    for split, count in (("dev", 5), ("test", QUESTIONS)):
        rows = (
            {
                "question": f"{STORY} Case {split} {n}: what now?",
                "subject": "anatomy",
                "choices": ["Wait", "Ask", "Look", "Go"],
                "answer": n % 4,
            }
            for n in range(count)
        )
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "model",
    ["anthropic/claude-sonnet-5-5", "bedrock/global.anthropic.claude-sonnet-5-5"],
)
def test_one_call_writes_the_cache_and_the_others_read_it(
    cli: CommandLine, sim: Handle, exam: Path, model: str
) -> None:
    sim.latency(0.2)
    words = (
        "mmlu", "--model", model, "--data", str(exam),
        "--family", "chat", "--shots", "5", "--effort", "none", "--json",
    )  # fmt: skip
    (estimate,) = cli("estimate", *words).lines
    done = cli(
        "run", *words, "--concurrency", "16",
        "--base-url", sim.base_url(model.partition("/")[0]),
        ANTHROPIC_API_KEY="sk-ant-" + "x" * 24, AWS_ACCESS_KEY_ID="AKIAPLANTED1234567",
        AWS_SECRET_ACCESS_KEY="x" * 40, AWS_REGION="us-east-1",
    )  # fmt: skip
    assert done.code == 0, done.err
    bills = [entry["bill"] for entry in sim.entries() if entry["bill"]]
    assert len(bills) == QUESTIONS
    writes = [bill for bill in bills if bill["cache_write_tokens"]]
    reads = [bill for bill in bills if bill["cache_read_tokens"]]
    assert (len(writes), len(reads)) == (1, QUESTIONS - 1)
    assert reads[0]["cache_read_tokens"] == writes[0]["cache_write_tokens"]
    assert sim.summary()["high_water"] <= 16
    low, high = estimate["realtime"]
    assert low <= sim.summary()["dollars"] <= high
