"""An engine tells what the machine's cards say while a model runs on the machine, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.config.spec import make_spec
from tests.faults.engines import Engines, wait_until
from tests.faults.workers import Homely

pytestmark = pytest.mark.slow

WORKER = """
import json, struct, sys, time

def say(**frame):
    body = json.dumps(frame).encode()
    sys.stdout.buffer.write(struct.pack(">I", len(body)) + body)
    sys.stdout.buffer.flush()

say(type="hello", protocol=1, pid=0)
while head := sys.stdin.buffer.read(4):
    frame = json.loads(sys.stdin.buffer.read(struct.unpack(">I", head)[0]))
    if frame["type"] == "load":
        say(type="loaded", info={"device": "none"})
    for call in frame.get("calls", []):
        time.sleep(0.02)
        say(type="reply", key=call["key"], reply={"text": "A"})
"""

PYNVML = """
from types import SimpleNamespace

NVML_TEMPERATURE_GPU = NVML_CLOCK_SM = 0
NVML_CLOCK_MEM = 2
nvmlMemory_v2 = 2

class NVMLError(Exception):
    pass

NVMLError_LibraryNotFound = NVMLError_DriverNotLoaded = NVMLError

def nvmlInit():
    pass

def nvmlDeviceGetCount():
    return 1

def nvmlDeviceGetHandleByIndex(number):
    return number

def nvmlDeviceGetName(card):
    return "Pretend 9000"

def nvmlDeviceGetMemoryInfo(card, version=None):
    return SimpleNamespace(used=3, total=8, free=5)

def nvmlDeviceGetUtilizationRates(card):
    return SimpleNamespace(gpu=87, memory=40)

def nvmlDeviceGetTemperature(card, sensor):
    return 64

def nvmlDeviceGetPowerUsage(card, *more):
    raise NVMLError("not supported")

nvmlDeviceGetEnforcedPowerLimit = nvmlDeviceGetPowerUsage
nvmlDeviceGetCudaComputeCapability = nvmlDeviceGetPowerUsage
nvmlDeviceGetMigMode = nvmlDeviceGetUUID = nvmlDeviceGetPowerUsage
nvmlDeviceGetComputeRunningProcesses = nvmlDeviceGetPowerUsage
nvmlDeviceGetClockInfo = nvmlDeviceGetMaxClockInfo = nvmlDeviceGetPowerUsage

def nvmlSystemGetDriverVersion():
    return "590"
"""

CARD = {
    "name": "Pretend 9000",
    "used": 3,
    "peak": 3,
    "total": 8,
    "free": 5,
    "utilisation": 87,
    "temperature": 64,
    "power": None,
    "power_limit": None,
    "capability": None,
    "uuid": None,
    "processes": {},
    "clock": None,
    "clock_limit": None,
    "memory_clock": None,
}


@pytest.fixture
def with_a_card(engines: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engines:
    """Engines on a machine with one card and a provider that runs models on it."""
    homely = Homely(tmp_path / "installed", monkeypatch, WORKER)
    (homely.folder / "pynvml.py").write_text(PYNVML)
    return engines


def test_cards_are_read_while_a_model_runs_here(with_a_card: Engines) -> None:
    run = with_a_card.start(make_spec("synthetic", "homely/any", options={"size": 200}))
    wait_until(lambda: run.status().gauges.get("gpus"), "a reading")
    (card,) = run.status().gauges["gpus"]
    history = card.pop("history")
    assert (card, set(history)) == (CARD, {87})
    status = with_a_card.finish(run)
    assert (status.state, status.done, status.gauges) == ("complete", 200, {})


def test_a_run_over_the_network_has_no_cards(with_a_card: Engines) -> None:
    run = with_a_card.start(with_a_card.spec(size=200, concurrency=2))
    wait_until(lambda: run.status().done > 50, "some scores")
    assert "in_flight" in run.status().gauges
    assert "gpus" not in run.status().gauges
