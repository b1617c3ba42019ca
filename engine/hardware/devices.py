"""Where a model could run on this machine, and how much memory is free there.

Determined without torch: from the driver library for NVIDIA GPUs, from the system for the rest.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalbench.engine.hardware.gpu import Gpus

_BF16_FROM = (8, 0)
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """One device, or all GPUs together.

    Attributes:
        device: ``cpu``, ``cuda`` or ``mps``.
        name: display name.
        free, total: bytes.
        cards: number of GPUs.
        bf16: whether it supports bfloat16.
    """

    device: str
    name: str
    free: int
    total: int
    cards: int = 1
    bf16: bool = True

    def shared_out(self, workers: int) -> DeviceMemory:
        """What each of several workers gets: a GPU of its own, or a share of main memory."""
        if workers == 1:
            return self
        parts = self.cards if self.device == "cuda" else workers
        return replace(self, free=self.free // parts, total=self.total // parts, cards=1)


def device_memory(device: str = "auto") -> DeviceMemory:
    """The memory of a device; ``auto`` selects what a local model would use."""
    if device in ("auto", "cuda") and (cards := _cards(forced=device == "cuda")):
        return cards
    apple = sys.platform == "darwin" and platform.machine() == "arm64"
    free, total = system_memory()
    if device == "mps" or (device == "auto" and apple):
        return DeviceMemory("mps", "Apple GPU", free, total)
    return DeviceMemory("cpu", "CPU", free, total)


def cards_to_use(device: str = "auto") -> list[Mapping[str, Any]]:
    """The GPUs on which a model could be loaded, individually.

    Args:
        device: the requested device; only ``auto`` and ``cuda`` have GPUs.
    """
    if device not in ("auto", "cuda") or (device == "auto" and _torch_is_for_cpus()):
        return []
    return named_cards(Gpus().read(), os.environ.get("CUDA_VISIBLE_DEVICES"))


def _cards(*, forced: bool) -> DeviceMemory | None:
    """All GPUs together; None if there are none or torch could not use them."""
    named = _together(cards_to_use("cuda" if forced else "auto"))
    cards = [card for card in named if card["total"] and card["free"] is not None]
    if not cards:
        return None
    names = {str(card["name"]) for card in cards}
    return DeviceMemory(
        "cuda",
        (f"{len(cards)} × " if len(cards) > 1 else "") + ", ".join(sorted(names)),
        sum(card["free"] for card in cards),
        sum(card["total"] for card in cards),
        len(cards),
        all(tuple(card["capability"] or _BF16_FROM) >= _BF16_FROM for card in cards),
    )


def visible(cards: Sequence[Mapping[str, Any]], named: str | None) -> list[Mapping[str, Any]]:
    """The GPUs that a program may use, as CUDA interprets ``CUDA_VISIBLE_DEVICES``.

    Numbers, or UUID prefixes, up to the first that matches no GPU; None allows all. A program can
    use only one MIG device.
    """
    return _together(named_cards(cards, named))


def named_cards(cards: Sequence[Mapping[str, Any]], named: str | None) -> list[Mapping[str, Any]]:
    """The GPUs that programs may use, though not necessarily together; see :func:`visible`."""
    found: list[Mapping[str, Any]] = []
    for word in ("" if named is None else named).split(","):
        word = word.strip()
        if word.isdecimal():
            fitting = list(cards[int(word) : int(word) + 1])
        else:
            fitting = [card for card in cards if word and str(card["uuid"]).startswith(word)]
        if not fitting:
            break
        found += [card for card in fitting if card not in found]
    return list(cards) if named is None else found


def _together(cards: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    parts = [card for card in cards if str(card["uuid"]).startswith("MIG-")]
    return parts[:1] or list(cards)


def _torch_is_for_cpus() -> bool:
    # Slow to import, and not needed for models in the cloud.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("torch").endswith("+cpu")
    except PackageNotFoundError:
        return False


def system_memory(cgroup: Path = _CGROUP) -> tuple[int, int]:
    """Bytes of main memory, free for a new process and total, within the container's limit."""
    free, total = _meminfo() or _sysconf()
    try:
        limit = (cgroup / "memory.max").read_text().strip()
        if limit != "max":
            used = int((cgroup / "memory.current").read_text())
            free, total = min(free, max(0, int(limit) - used)), min(total, int(limit))
    except (OSError, ValueError):
        pass
    return free, total


def _meminfo() -> tuple[int, int] | None:
    """As reported by Linux, including caches that can be dropped."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if ":" in line}
        return sizes["MemAvailable"], sizes["MemTotal"]
    except (OSError, ValueError, KeyError, IndexError):
        return None


def _sysconf() -> tuple[int, int]:
    """Elsewhere all memory counts as free: macOS frees memory on demand."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return total, total
