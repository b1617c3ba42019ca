"""Runs at Together: live prices, and a model that cannot be called."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from evalbench.engine.journal import JournalReader
from tests.e2e.commandline import CommandLine
from tests.simulator.handle import Handle

KEY = {"TOGETHER_API_KEY": "tgp_v1_" + "x" * 43}
UNLISTED = "together/Qwen/Qwen3.5-397B-A17B"


@pytest.fixture
def riddles(tmp_path: Path) -> Path:
    file = tmp_path / "riddles.jsonl"
    row = '{{"question": "Riddle {}: which letter?", "answer": "A", "group": "0"}}\n'
    file.write_text("".join(row.format(n) for n in range(6)))
    return file


def words(sim: Handle, riddles: Path, model: str = UNLISTED) -> tuple[str, ...]:
    address = ("--base-url", sim.base_url("together"))
    return ("synthetic", "--model", model, "--data", str(riddles), "--json", *address)


def test_a_budget_is_kept_by_prices_that_only_the_catalogue_has(
    cli: CommandLine, sim: Handle, riddles: Path
) -> None:
    done = cli("run", *words(sim, riddles), "--budget", "1", **KEY)
    assert done.code == 0, done.err
    [run] = cli.runs()
    with JournalReader(run.journal) as journal:
        replies = [call.reply for sample in journal.samples() for call in journal.calls(sample.row)]
    spent = sum((reply.cost or Decimal(0) for reply in replies if reply), Decimal(0))
    billed = sum(entry["bill"]["nanodollars"] for entry in sim.entries() if entry.get("bill"))
    assert billed
    assert spent == Decimal(billed).scaleb(-9)


def test_an_estimate_asks_for_the_price_where_there_is_a_key(
    cli: CommandLine, sim: Handle, riddles: Path
) -> None:
    done = cli("estimate", *words(sim, riddles), **KEY)
    assert done.code == 0, done.err
    assert done.lines[-1]["realtime"] is not None
    assert [entry["method"] for entry in sim.entries()] == ["GET"]


def test_a_model_that_is_not_serverless_stops_the_run_with_its_first_call(
    cli: CommandLine, sim: Handle, riddles: Path
) -> None:
    done = cli("run", *words(sim, riddles, "together/mistralai/Mixtral-8x22B-Instruct-v0.1"), **KEY)
    assert done.code == 5
    told = done.out + done.err
    assert "not serverless" in told
    assert "dedicated endpoint" in told
    assert [entry["status"] for entry in sim.entries() if entry["method"] == "POST"] == [400]
