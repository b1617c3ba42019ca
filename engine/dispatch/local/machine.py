"""Places for workers on this machine: one, or one on each of its cards."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalbench.engine.dispatch.local.worker_slots import LocalSlot, WorkerSlot
from evalbench.engine.errors import UsageError
from evalbench.engine.hardware.devices import cards_to_use


class Machine:
    """This machine. Each of several workers sees one card; without cards they share the cores."""

    look_s: float | None = None
    here = True

    def __init__(self, log: Path, workers: int = 1, device: str = "auto") -> None:
        """Describe it.

        Args:
            log: file for what workers print.
            workers: how many.
            device: as the provider's option: ``auto``, ``cpu``, ``cuda``, ``mps``.
        """
        self.most: int | None = workers
        self._log = log
        self._device = device

    async def slots(self) -> Sequence[WorkerSlot]:
        """Where workers can be, in the order in which they should be taken."""
        if self.most == 1:
            return [LocalSlot(self._log)]
        # The driver may be slow to answer, the first time above all.
        cards = await asyncio.to_thread(cards_to_use, self._device)
        names = [str(card["uuid"] or number) for number, card in enumerate(cards)]
        return slots_for(self.most or 1, names, self._log)

    def cards(self) -> list[dict[str, Any]]:
        """What the cards of other machines said last, see :class:`..gpu.Card`, with ``node``."""
        return []

    async def close(self) -> None:
        """Give everything back."""


def slots_for(workers: int, cards: Sequence[str], log: Path) -> list[WorkerSlot]:
    """One place for each worker.

    Args:
        workers: how many.
        cards: as CUDA_VISIBLE_DEVICES takes them; none: workers share the cores.
        log: file for what they print.

    Raises:
        UsageError: there are fewer cards.
    """
    if cards and workers > len(cards):
        raise UsageError(
            f"there are not {workers} GPUs for {workers} workers",
            why=f"each takes one, and this machine has {len(cards)} that can be used",
            hint=f"--workers {len(cards)}",
        )
    if not cards:
        return [LocalSlot(log, f"worker {n}", sharing=workers) for n in range(1, workers + 1)]
    return [
        LocalSlot(log, f"gpu {n}", sharing=workers, env={"CUDA_VISIBLE_DEVICES": cards[n]})
        for n in range(workers)
    ]
