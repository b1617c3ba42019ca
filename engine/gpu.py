"""What NVIDIA cards say about themselves, read from the driver's library (NVML).

The reader never fails: without ``nvidia-ml-py``, a driver or a card there is
nothing to read, and a counter that a card does not have is None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Card:
    """One reading of one card; None for what it does not tell.

    Attributes:
        name: as its maker calls it.
        used, peak, total: bytes of its memory: now by all processes, at most
            since reading began, and in all.
        utilisation: percent of the last moment in which it was busy.
        temperature: degrees Celsius.
        power, power_limit: watts.
        capability: CUDA's compute capability, major and minor.
    """

    name: str
    used: int | None = None
    peak: int | None = None
    total: int | None = None
    utilisation: int | None = None
    temperature: int | None = None
    power: float | None = None
    power_limit: float | None = None
    capability: tuple[int, int] | None = None


class Gpus:
    """The cards of this machine. One thread at a time may read them.

    The driver's library stays open until the process ends.
    """

    def __init__(self) -> None:
        self._nvml: Any = None
        self._handles: list[Any] = []
        self._peaks: dict[int, int] = {}
        self._opened = False

    def read(self) -> list[dict[str, Any]]:
        """A :class:`Card` as a mapping for every card; empty where there is none.

        The first call loads the driver's library, which may take a second.
        """
        if not self._opened:
            self._opened = True
            self._open()
        return [asdict(self._card(number, handle)) for number, handle in enumerate(self._handles)]

    def _open(self) -> None:
        try:
            import pynvml
        except ImportError:
            return
        try:
            pynvml.nvmlInit()
            count = pynvml.nvmlDeviceGetCount()
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(number) for number in range(count)]
        except pynvml.NVMLError:
            return
        self._nvml = pynvml

    def _card(self, number: int, handle: Any) -> Card:
        nvml = self._nvml
        memory = self._told(lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
        rates = self._told(lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
        used = None if memory is None else int(memory.used)
        if used is not None:
            self._peaks[number] = max(used, self._peaks.get(number, 0))
        name = self._told(lambda: nvml.nvmlDeviceGetName(handle))
        return Card(
            # Old versions of the library give bytes.
            name.decode("utf-8", "replace") if isinstance(name, bytes) else name or "GPU",
            used,
            self._peaks.get(number),
            None if memory is None else int(memory.total),
            None if rates is None else int(rates.gpu),
            self._told(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
            _watts(self._told(lambda: nvml.nvmlDeviceGetPowerUsage(handle))),
            _watts(self._told(lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle))),
            self._told(lambda: nvml.nvmlDeviceGetCudaComputeCapability(handle)),
        )

    def _told(self, ask: Callable[[], T]) -> T | None:
        try:
            return ask()
        except self._nvml.NVMLError:
            return None


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000
