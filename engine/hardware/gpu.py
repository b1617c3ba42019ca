"""Readings of NVIDIA GPUs from the driver library (NVML).

The reader never fails: without ``nvidia-ml-py``, a driver or a GPU there is nothing to read,
:attr:`Gpus.trouble` says why, and a value that a GPU does not report is None. For a GPU split
into MIG devices, these are listed instead; what only the whole GPU has (temperature, power) is
repeated for each of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

HISTORY = 120
"""Number of readings for which utilisation is kept."""


@dataclass(slots=True)
class Card:
    """One reading of one GPU; None for anything not reported.

    Attributes:
        name: the vendor's name.
        used, peak, total: bytes of its memory: used now by all processes, maximum since
            reading began, and total.
        free: bytes that can still be allocated; with ``used`` less than ``total`` if the driver
            reserves some for itself.
        utilisation: percentage of the last sampling period in which it was busy.
        temperature: degrees Celsius.
        power, power_limit: watts.
        clock, clock_limit, memory_clock: MHz of its cores, their maximum, and of its memory.
        capability: CUDA's compute capability, major and minor.
        uuid: in the form of CUDA_VISIBLE_DEVICES.
        processes: bytes held by each process, by process id; None if unknown.
        history: utilisation at this and earlier readings, newest last.
    """

    name: str
    used: int | None = None
    peak: int | None = None
    total: int | None = None
    free: int | None = None
    utilisation: int | None = None
    temperature: int | None = None
    power: float | None = None
    power_limit: float | None = None
    capability: tuple[int, int] | None = None
    uuid: str | None = None
    processes: dict[str, int | None] = field(default_factory=dict)
    history: list[int] = field(default_factory=list)
    clock: int | None = None
    clock_limit: int | None = None
    memory_clock: int | None = None


class _Source(NamedTuple):
    """What is read: a GPU, or a MIG device and the GPU it belongs to."""

    handle: Any
    card: Any


class Gpus:
    """The GPUs of this machine. Only one thread at a time may read them.

    The driver's library stays open until the process ends.

    Attributes:
        trouble: why there is nothing to read; empty before the first reading.
        driver: the driver's version.
    """

    def __init__(self) -> None:
        self._nvml: Any = None
        self._sources: list[_Source] = []
        self._peaks: dict[int, int] = {}
        self._loads: dict[int, deque[int]] = {}
        self._opened = False
        self.trouble = ""
        self.driver = ""

    def read(self) -> list[dict[str, Any]]:
        """A :class:`Card` as a mapping for every GPU; empty if there is none.

        The first call loads the driver's library, which may take a second.
        """
        if not self._opened:
            self._opened = True
            self._open()
        return [asdict(self._card(number, one)) for number, one in enumerate(self._sources)]

    def _open(self) -> None:
        try:
            import pynvml
        except ImportError:
            self.trouble = "nvidia-ml-py is not installed"
            return
        try:
            pynvml.nvmlInit()
            self._nvml = pynvml
            count = pynvml.nvmlDeviceGetCount()
            cards = [pynvml.nvmlDeviceGetHandleByIndex(number) for number in range(count)]
        except pynvml.NVMLError_LibraryNotFound:
            self.trouble = "there is no NVIDIA driver"
            return
        except pynvml.NVMLError_DriverNotLoaded:
            self.trouble = "an NVIDIA driver is installed but not loaded"
            return
        except pynvml.NVMLError as error:
            self.trouble = f"the NVIDIA driver does not answer: {error}"
            return
        self.driver = _text(self._ask(pynvml.nvmlSystemGetDriverVersion)) or ""
        self._sources = [source for card in cards for source in self._parts(card)]
        self.trouble = "" if self._sources else "the NVIDIA driver sees no card"

    def _parts(self, card: Any) -> list[_Source]:
        """The MIG devices of a GPU if it is split, else the GPU."""
        nvml = self._nvml
        mode = self._ask(lambda: nvml.nvmlDeviceGetMigMode(card))
        if not mode or mode[0] != nvml.NVML_DEVICE_MIG_ENABLE:
            return [_Source(card, card)]
        count = self._ask(lambda: nvml.nvmlDeviceGetMaxMigDeviceCount(card)) or 0
        parts = [self._part(card, number) for number in range(count)]
        return [_Source(part, card) for part in parts if part is not None]

    def _part(self, card: Any, number: int) -> Any:
        return self._ask(lambda: self._nvml.nvmlDeviceGetMigDeviceHandleByIndex(card, number))

    def _card(self, number: int, source: _Source) -> Card:
        nvml, handle = self._nvml, source.handle
        memory = self._memory(handle)
        rates = self._ask(lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
        used = None if memory is None else int(memory.used)
        if used is not None:
            self._peaks[number] = max(used, self._peaks.get(number, 0))
        if rates is not None:
            self._loads.setdefault(number, deque(maxlen=HISTORY)).append(int(rates.gpu))

        def of_card(ask: Callable[[Any], T]) -> T | None:
            """What the MIG device reports, or else the GPU."""
            found = self._ask(lambda: ask(handle))
            return self._ask(lambda: ask(source.card)) if found is None else found

        sensor = nvml.NVML_TEMPERATURE_GPU
        cores, memory_clock = nvml.NVML_CLOCK_SM, nvml.NVML_CLOCK_MEM
        return Card(
            _text(of_card(nvml.nvmlDeviceGetName)) or "GPU",
            used,
            self._peaks.get(number),
            None if memory is None else int(memory.total),
            None if memory is None else int(memory.free),
            None if rates is None else int(rates.gpu),
            of_card(lambda one: nvml.nvmlDeviceGetTemperature(one, sensor)),
            _watts(of_card(nvml.nvmlDeviceGetPowerUsage)),
            _watts(of_card(nvml.nvmlDeviceGetEnforcedPowerLimit)),
            of_card(nvml.nvmlDeviceGetCudaComputeCapability),
            _text(self._ask(lambda: nvml.nvmlDeviceGetUUID(handle))),
            self._processes(handle),
            list(self._loads.get(number, ())),
            of_card(lambda one: nvml.nvmlDeviceGetClockInfo(one, cores)),
            of_card(lambda one: nvml.nvmlDeviceGetMaxClockInfo(one, cores)),
            of_card(lambda one: nvml.nvmlDeviceGetClockInfo(one, memory_clock)),
        )

    def _memory(self, handle: Any) -> Any:
        """As shown by nvidia-smi; drivers before 510 count what they reserve as used."""
        nvml = self._nvml
        ask = nvml.nvmlDeviceGetMemoryInfo
        memory = self._ask(lambda: ask(handle, version=nvml.nvmlMemory_v2))
        return memory or self._ask(lambda: ask(handle))

    def _processes(self, handle: Any) -> dict[str, int | None]:
        processes = self._ask(lambda: self._nvml.nvmlDeviceGetComputeRunningProcesses(handle))
        return {str(one.pid): one.usedGpuMemory for one in processes or ()}

    def _ask(self, ask: Callable[[], T]) -> T | None:
        try:
            return ask()
        except self._nvml.NVMLError:
            return None


def _text(answer: Any) -> str | None:
    """Old versions of the library return bytes."""
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000
