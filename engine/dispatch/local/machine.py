"""Worker slots on this machine: one, or one per GPU."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalbench.engine.dispatch.local.local_slot import LocalSlot
from evalbench.engine.dispatch.local.worker_slots import WorkerSlot
from evalbench.engine.errors import UsageError
from evalbench.engine.hardware.devices import cards_to_use


class Machine:
    """This machine. With several workers each sees one GPU; without GPUs they share the cores."""

    look_s: float | None = None
    here = True

    def __init__(self, log: Path, workers: int = 1, device: str = "auto") -> None:
        """Describe the machine.

        Args:
            log: file for the workers' output.
            workers: number of workers.
            device: the provider's option: ``auto``, ``cpu``, ``cuda``, ``mps``.
        """
        self.most: int | None = workers
        self._log = log
        self._device = device

    async def slots(self) -> Sequence[WorkerSlot]:
        """The worker slots, in the order in which to use them."""
        if self.most == 1:
            return [LocalSlot(self._log)]
        # The GPU driver may be slow to answer, especially the first time.
        cards = await asyncio.to_thread(cards_to_use, self._device)
        names = [str(card["uuid"] or number) for number, card in enumerate(cards)]
        return slots_for(self.most or 1, names, self._log)

    def cards(self) -> list[dict[str, Any]]:
        """Latest readings of other machines' GPUs, see :class:`..gpu.Card`, with ``node``."""
        return []

    async def close(self) -> None:
        """Release all resources."""


def slots_for(workers: int, cards: Sequence[str], log: Path) -> list[WorkerSlot]:
    """One slot per worker.

    Args:
        workers: number of workers.
        cards: GPUs in the form of CUDA_VISIBLE_DEVICES; if empty, workers share the cores.
        log: file for the workers' output.

    Raises:
        UsageError: there are fewer GPUs than workers.
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
