"""Cards read through ctypes from a shared library: a stand-in for NVIDIA's, compiled here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MIB = 1 << 20

_READ = """
import json
from evalbench.engine.hardware.gpu import Gpus
from evalbench.engine.hardware.devices import device_memory
gpus = Gpus()
gpus.read()
cards = gpus.read()
room = device_memory("cuda")
print(json.dumps({"cards": cards, "trouble": gpus.trouble, "driver": gpus.driver,
                  "room": [room.device, room.name, room.free, room.cards, room.bf16]}))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the compiled stand-in."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "a C compiler is needed"
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).with_name("nvml.c")
    target = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", target, source], check=True)
    return folder


def read(library: Path | None, **env: str) -> Any:
    """What a process of its own reads, since the library is found once by a process."""
    path = {"LD_LIBRARY_PATH": str(library)} if library else {}
    done = subprocess.run(
        [sys.executable, "-c", _READ],
        env={**os.environ, **path, **env},
        capture_output=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(sys.platform != "linux", reason="NVML is found so on Linux only"),
]


def test_a_card_and_its_processes(library: Path) -> None:
    told = read(library)
    assert told["cards"] == [
        {
            "name": "Pretend 9000",
            "used": 512 * MIB,
            "peak": 512 * MIB,
            "total": 8192 * MIB,
            "free": (8192 - 512 - 100) * MIB,
            "utilisation": 87,
            "temperature": 64,
            "power": 120.5,
            "power_limit": None,  # the library has no such function
            "capability": [8, 6],
            "uuid": "GPU-1234",
            "processes": {"4711": 300 * MIB, "4712": None},
            "history": [87, 87],
            **dict.fromkeys(("clock", "clock_limit", "memory_clock")),
        }
    ]
    assert (told["driver"], told["trouble"]) == ("590.44.01", "")


def test_several_cards_are_one_room(library: Path) -> None:
    told = read(library, NVML_CARDS="2", NVML_USED_MB="1024")
    assert [card["used"] for card in told["cards"]] == [1024 * MIB] * 2
    assert told["room"] == ["cuda", "2 × Pretend 9000", 2 * 7068 * MIB, 2, True]


def test_parts_of_a_card_are_read_and_the_rest_is_the_cards(library: Path) -> None:
    told = read(library, NVML_MIG="2")
    assert len(told["cards"]) == 2
    part = told["cards"][0]
    assert (part["name"], part["uuid"]) == ("Pretend 9000 MIG 1g.1gb", "MIG-1234")
    assert (part["total"], part["utilisation"], part["history"]) == (1024 * MIB, None, [])
    assert (part["temperature"], part["power"]) == (64, 120.5)


def test_an_old_card_has_no_bfloat16(library: Path) -> None:
    assert read(library, NVML_MAJOR="7")["room"][-1] is False


@pytest.mark.parametrize(
    ("env", "trouble"),
    [
        ({"NVML_INIT": "9"}, "an NVIDIA driver is installed but not loaded"),
        ({"NVML_INIT": "999"}, "the NVIDIA driver does not answer: Unknown Error"),
        ({"NVML_CARDS": "0"}, "the NVIDIA driver sees no card"),
    ],
)
def test_why_nothing_can_be_read(library: Path, env: dict[str, str], trouble: str) -> None:
    told = read(library, **env)
    assert (told["cards"], told["trouble"]) == ([], trouble)
    assert told["room"][0] == "cpu"


def test_without_a_driver_that_is_said(tmp_path: Path) -> None:
    told = read(None)
    if not told["cards"]:
        assert told["trouble"] == "there is no NVIDIA driver"
