"""``evalbench models fit``: figures for people and for programs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine import preflight
from evalbench.engine.hardware.devices import DeviceMemory
from evalbench.engine.preflight import fitting
from evalbench.tui.cli.main import main

GB = 1_000_000_000


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, home: Any) -> None:
    """A small card, and no child process."""
    card = DeviceMemory("cuda", "Pretend 9000", 6 * GB, 8 * GB)
    monkeypatch.setattr(fitting, "device_memory", lambda device="auto": card)

    def in_process(*asked: Any) -> Any:
        return asyncio.run(fitting.fit_models(*asked))

    monkeypatch.setattr(preflight, "fit_models", in_process)
    monkeypatch.setattr(preflight, "models", lambda provider: [{"name": "gpt2-large"}])


def test_a_table_with_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "fit", "gpt2-large", "local/phi-3-mini"]) == 0
    first, _, head, *rows = capsys.readouterr().out.splitlines()
    assert first.startswith("Pretend 9000, free: 6.0 GB; prompts with their answers up to 2,048")
    assert head.split("  ")[0] == "model"
    assert [name for name in ("bfloat16", "8-bit", "4-bit") if f"least in {name}" in head] == [
        "bfloat16",
        "8-bit",
        "4-bit",
    ]
    assert rows[0].startswith("gpt2-large  fits with a smaller batch: ")
    assert rows[1].startswith("phi-3-mini  fits in 8-bit: ")


def test_without_names_those_known_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "fit", "--memory-limit", "1MB"]) == 0
    told = capsys.readouterr().out
    assert "Pretend 9000, at most 1.0 MB" in told
    assert "does not fit: 1.6 GB in 4-bit, 1.0 MB free" in told


def test_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "fit", "gpt2-large", "no-such", "--json"]) == 1
    good, bad = map(json.loads, capsys.readouterr().out.splitlines())
    assert (good["event"], good["model"], good["error"]) == ("fit", "local/gpt2-large", None)
    assert good["fit"]["need"]["total"] <= good["fit"]["free"] == 6 * GB
    assert good["footprint"]["parameters"] == 774_030_080
    assert bad["fit"] is None
    assert "there is no local model" in bad["error"]


def test_a_model_that_is_not_there_is_told_beside_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["models", "fit", "gpt2-large", "no-such"]) == 1
    told = capsys.readouterr()
    assert "gpt2-large" in told.out
    assert "error: there is no local model named 'no-such'" in told.err
    assert "  try: " in told.err


def test_a_mistake_in_the_limit_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "fit", "--memory-limit", "plenty"]) == 1
    assert "--memory-limit cannot be 'plenty'" in capsys.readouterr().err


def tokens(capsys: pytest.CaptureFixture[str], *words: str) -> int:
    """Of the longest prompt and answer that was expected."""
    assert main(["models", "fit", "gpt2-large", "--json", *words]) == 0
    return int(json.loads(capsys.readouterr().out)["fit"]["tokens"])


def test_a_benchmark_takes_its_settings_as_a_run_does(
    capsys: pytest.CaptureFixture[str], shared_data: Path
) -> None:
    few, more = (
        tokens(capsys, "--benchmark", "quickstart", "--max-tokens", most) for most in ("50", "250")
    )
    assert more - few == 200
    mmlu = ("--benchmark", "mmlu", "--data", str(shared_data / "mmlu"), "--subject", "anatomy")
    assert tokens(capsys, *mmlu, "--shots", "0") < tokens(capsys, *mmlu, "--shots", "5")


def test_settings_of_a_benchmark_need_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "fit", "gpt2-large", "--data", "x"]) == 1
    assert "no flag --data" in capsys.readouterr().err
    assert main(["models", "fit", "--benchmark", "mmlu", "--data", "/no/such"]) == 1
    assert "there is no file or folder /no/such" in capsys.readouterr().err
