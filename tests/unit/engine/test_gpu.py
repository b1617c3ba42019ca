"""Reading cards through the driver's library: whole, in part, or not at all."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import pynvml
import pytest

from evalbench.engine.hardware.gpu import Gpus

GB = 1 << 30
NOT_SUPPORTED = pynvml.NVML_ERROR_NOT_SUPPORTED


class Driver:
    """Stands for ``libnvidia-ml``: its functions fill in what they are given a pointer to.

    ``mute`` names functions that answer "not supported".
    """

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self.used = 3 * GB
        self.mute: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvml"):
            raise AttributeError(name)

        def answer(*args: Any) -> int:
            if name in self.mute:
                return int(NOT_SUPPORTED)
            self._fill(name, args)
            return 0

        return answer

    def _fill(self, name: str, args: tuple[Any, ...]) -> None:
        into: Any = getattr(args[-1], "_obj", args[-1]) if args else None
        match name:
            case "nvmlDeviceGetCount_v2":
                into.value = self.count
            case "nvmlDeviceGetName":
                args[1].value = b"Pretend 9000"
            case "nvmlDeviceGetMemoryInfo_v2":
                into.used, into.total, into.free = self.used, 8 * GB, 7 * GB - self.used
            case "nvmlDeviceGetMemoryInfo":
                into.used, into.total, into.free = self.used + GB, 8 * GB, 7 * GB - self.used
            case "nvmlDeviceGetUtilizationRates":
                into.gpu, into.memory = 87, 40
            case "nvmlDeviceGetTemperature":
                into.value = 64
            case "nvmlDeviceGetPowerUsage":
                into.value = 120_500
            case "nvmlDeviceGetEnforcedPowerLimit":
                into.value = 170_000
            case "nvmlDeviceGetClockInfo":
                of_cores = args[1].value == pynvml.NVML_CLOCK_SM
                into.value = 1_980 if of_cores else 3_201
            case "nvmlDeviceGetMaxClockInfo":
                into.value = 2_100
            case "nvmlDeviceGetCudaComputeCapability":
                args[1]._obj.value, args[2]._obj.value = 8, 6


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    pretended = Driver()
    monkeypatch.setattr(pynvml, "nvmlLib", pretended)
    # It keeps the functions it has found.
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    return pretended


def test_a_card_tells_memory_load_heat_and_power(driver: Driver) -> None:
    assert Gpus().read() == [
        {
            "name": "Pretend 9000",
            "used": 3 * GB,
            "peak": 3 * GB,
            "total": 8 * GB,
            "free": 4 * GB,
            "utilisation": 87,
            "temperature": 64,
            "power": 120.5,
            "power_limit": 170.0,
            "capability": (8, 6),
            "uuid": "",
            "processes": {},
            "history": [87],
            "clock": 1_980,
            "clock_limit": 2_100,
            "memory_clock": 3_201,
        }
    ]


def test_the_peak_is_the_most_that_was_read(driver: Driver) -> None:
    cards = Gpus()
    for used, peak in ((3, 3), (6, 6), (2, 6)):
        driver.used = used * GB
        (card,) = cards.read()
        assert (card["used"], card["peak"]) == (used * GB, peak * GB)


def test_an_old_driver_counts_what_it_keeps_itself_as_used(driver: Driver) -> None:
    driver.mute.add("nvmlDeviceGetMemoryInfo_v2")
    (card,) = Gpus().read()
    assert (card["used"], card["total"], card["free"]) == (4 * GB, 8 * GB, 4 * GB)


@pytest.mark.parametrize(
    ("function", "unknown"),
    [
        ("nvmlDeviceGetMemoryInfo", {"used", "peak", "total", "free"}),
        ("nvmlDeviceGetUtilizationRates", {"utilisation"}),
        ("nvmlDeviceGetTemperature", {"temperature"}),
        ("nvmlDeviceGetPowerUsage", {"power"}),
        ("nvmlDeviceGetEnforcedPowerLimit", {"power_limit"}),
        ("nvmlDeviceGetClockInfo", {"clock", "memory_clock"}),
        ("nvmlDeviceGetMaxClockInfo", {"clock_limit"}),
        ("nvmlDeviceGetCudaComputeCapability", {"capability"}),
    ],
)
def test_what_a_card_does_not_tell_is_none(
    driver: Driver, function: str, unknown: set[str]
) -> None:
    driver.mute |= {function, f"{function}_v2"}
    (card,) = Gpus().read()
    assert {name for name, value in card.items() if value is None} == unknown


def test_a_card_without_a_name_still_has_one(driver: Driver) -> None:
    driver.mute.add("nvmlDeviceGetName")
    assert Gpus().read()[0]["name"] == "GPU"


def test_every_card_is_read(driver: Driver) -> None:
    driver.count = 3
    assert len(Gpus().read()) == 3


@pytest.mark.parametrize("function", ["nvmlInitWithFlags", "nvmlDeviceGetCount_v2"])
def test_a_driver_that_does_not_answer_is_no_card(driver: Driver, function: str) -> None:
    driver.mute.add(function)
    assert Gpus().read() == []


def test_without_a_driver_there_is_no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pynvml, "nvmlLib", None)

    def no_library(*_: Any) -> None:
        raise OSError("no such library")

    monkeypatch.setattr(ctypes, "CDLL", no_library)
    monkeypatch.setattr(pynvml, "CDLL", no_library)
    assert Gpus().read() == []


def test_without_the_python_library_there_is_no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert Gpus().read() == []
