"""The GPU script on a CPU with tiny models: every step but what needs a card."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench import gpu
from bench.figures import read
from tests.contract.local import tiny

pytestmark = [pytest.mark.local, pytest.mark.timeout(600)]


def test_without_a_card_one_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    if torch.cuda.is_available():
        return
    assert gpu.main([]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("there is no CUDA device here: torch ")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody enforces the limit")
def test_every_step_runs_in_small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = tiny.make_llama(tmp_path / "weights", max_position_embeddings=8192)
    words = ["--device", "cpu", "--tiny", "--weights", str(weights), "--minutes", "20"]
    status = gpu.main([*words, "--figures", str(tmp_path / "figures")])
    said = capsys.readouterr().out
    assert status == 0, said
    figures, skipped = read(tmp_path / "figures")
    assert skipped == []
    by_name = {figure.name: figure for figure in figures}
    steps = [step.name for step in gpu.STEPS if step.tiny]
    for kind in ("bfloat16", "limit", "8 bits", "4 bits"):
        assert any(kind in name for name in steps)
    for name in steps:
        assert f"| {name} | " in said
    recovered = by_name["GPU, answers where memory ran out"]
    assert (recovered.value, recovered.target) == (100, 100)
    apart = by_name["GPU, log-likelihoods where memory ran out, apart from those without, median"]
    assert apart.value <= 0.2
    estimated = [figure for name, figure in by_name.items() if "off the one measured" in name]
    assert len(estimated) == len(steps) - 1
    assert all(figure.value < 60 for figure in estimated), estimated
