"""How the GPU script compares our gauges with nvidia-smi."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import gpu_gauges
from bench.gpu_gauges import Beside, of_card, outside, read_smi

MIB = 1 << 20
UUID = "GPU-1234"


def card(used_mib: int, power: float | None = 120.5) -> dict[str, object]:
    return {
        "uuid": UUID,
        "used": used_mib * MIB,
        "total": 8192 * MIB,
        "utilisation": 87,
        "temperature": 64,
        "power": power,
    }


def test_nvidia_smis_lines_are_read_by_card() -> None:
    told = read_smi("GPU-1, 512, 8192, 87, 64, 120.50\nGPU-2, 3, 8192, [N/A], 40, [N/A]\n")
    assert told["GPU-1"] == {
        "used": 512.0,
        "total": 8192.0,
        "utilisation": 87.0,
        "temperature": 64.0,
        "power": 120.5,
    }
    assert (told["GPU-2"]["utilisation"], told["GPU-2"]["power"]) == (None, None)


@pytest.mark.parametrize(("there", "gap"), [(600, 0), (450, 50), (512, 0), (700, 0), (712, 12)])
def test_what_lies_between_two_readings_agrees(there: int, gap: int) -> None:
    before, after = of_card(card(500)), of_card(card(700, power=None))
    found = outside(before, {"used": there, "total": 8192, "power": 90}, after)
    assert found == {"used": gap, "total": 0}


def test_both_are_read_while_something_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cards:
        trouble = ""

        def read(self) -> list[dict[str, object]]:
            return [card(512)]

    monkeypatch.setattr(gpu_gauges, "Gpus", Cards)
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\necho '{UUID}, 530, 8192, 80, 64, 130.5'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    beside = Beside(every=0.01)
    with beside:
        while not beside.seen and not beside.problem:
            beside._over.wait(0.01)
    assert beside.problem == ""
    assert beside.gaps() == {
        "used": 18.0,
        "total": 0.0,
        "utilisation": 7.0,
        "temperature": 0.0,
        "power": 10.0,
    }
    assert beside.peak == 530.0


def test_a_missing_nvidia_smi_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    beside = Beside(every=0.001)
    with beside:
        assert beside._thread is not None
        beside._thread.join(timeout=60)
    assert beside.problem.startswith("nvidia-smi: ")
    assert beside.gaps() == {}
