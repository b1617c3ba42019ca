"""Our gauges of a card beside nvidia-smi, read at the same moment while a model runs.

What a card tells changes while one asks: so ours is read before and after nvidia-smi, and what
counts is how far nvidia-smi's number lies outside of the two.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.figures import median
from evalbench.engine.hardware.gpu import Gpus

_MIB = 1 << 20

FIELDS = {
    "used": "memory.used",
    "total": "memory.total",
    "utilisation": "utilization.gpu",
    "temperature": "temperature.gpu",
    "power": "power.draw",
}
"""Our names, and those of nvidia-smi."""

TOLERATED = {
    "used": (16.0, "MiB"),
    "total": (16.0, "MiB"),
    "utilisation": (10.0, "points"),
    "temperature": (2.0, "degrees"),
    "power": (25.0, "W"),
}
"""How far the median may lie outside, and its unit."""

_COMMAND = (
    "nvidia-smi",
    f"--query-gpu=uuid,{','.join(FIELDS.values())}",
    "--format=csv,noheader,nounits",
)

Reading = Mapping[str, float | None]


def read_smi(text: str) -> dict[str, dict[str, float | None]]:
    """What nvidia-smi printed, by the card's UUID, in its units: MiB, percent, °C, W."""
    found = {}
    for line in text.splitlines():
        uuid, *values = (part.strip() for part in line.split(","))
        found[uuid] = dict(zip(FIELDS, map(_number, values), strict=True))
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def outside(before: Reading, there: Reading, after: Reading) -> dict[str, float]:
    """How far a number lies outside of two others, for each that all three tell."""
    found = {}
    for name in FIELDS:
        first, value, last = before.get(name), there.get(name), after.get(name)
        if first is not None and value is not None and last is not None:
            found[name] = max(0.0, min(first, last) - value, value - max(first, last))
    return found


def of_card(card: Mapping[str, Any]) -> dict[str, float | None]:
    """Our reading in the units of nvidia-smi."""
    mib = {
        name: card[name] / _MIB if card[name] is not None else None for name in ("used", "total")
    }
    return {**{name: card[name] for name in FIELDS}, **mib}


@dataclass
class Beside:
    """Reads both until it is left.

    Attributes:
        every: seconds between readings.
        seen: of each reading, how far nvidia-smi lay outside, by field.
        peak: most MiB in use by nvidia-smi.
        problem: why nvidia-smi could not be asked.
    """

    every: float = 1.0
    seen: list[dict[str, float]] = field(default_factory=list)
    peak: float = 0.0
    problem: str = ""
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Beside:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        assert self._thread is not None
        self._thread.join()

    def gaps(self) -> dict[str, float]:
        """The median of each field."""
        names = {name for one in self.seen for name in one}
        return {name: median(one[name] for one in self.seen if name in one) for name in FIELDS
                if name in names}  # fmt: skip

    def _watch(self) -> None:
        gpus = Gpus()
        while not self.problem and not self._over.wait(self.every):
            before = _by_uuid(gpus.read())
            try:
                done = subprocess.run(
                    _COMMAND, capture_output=True, text=True, check=True, timeout=20
                )
                there = read_smi(done.stdout)
            except (OSError, subprocess.SubprocessError, ValueError) as error:
                self.problem = f"nvidia-smi: {error}"
                return
            after = _by_uuid(gpus.read())
            if not before:
                self.problem = gpus.trouble
            for uuid in there.keys() & before.keys() & after.keys():
                self.seen.append(outside(before[uuid], there[uuid], after[uuid]))
                self.peak = max(self.peak, there[uuid]["used"] or 0.0)


def _by_uuid(cards: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float | None]]:
    return {str(card["uuid"]): of_card(card) for card in cards}
