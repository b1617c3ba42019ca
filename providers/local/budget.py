"""How many tokens fit: from the free memory at first, halved whenever they did not."""

from __future__ import annotations

from evalbench.providers.local.memory import bytes_per_token, free_bytes, readings
from evalbench.providers.local.model import LoadedModel

SMALLEST = 32
"""Tokens of a batch that is not halved any further."""

_CPU_BATCH = 512
_DEVICE_BATCH = 4096
_CPU_SLOTS = 32
_DEVICE_SLOTS = 64


class Budget:
    """Limits of one loaded model.

    Attributes:
        batch: most tokens in one forward pass. More than 512 gain a CPU nothing:
            attention within a pack grows with the square of its size.
        resident: most tokens whose keys and values are held at the same time;
            half of the free memory, and a quarter goes to forward passes.
        slots: most answers generated side by side.
    """

    def __init__(
        self,
        model: LoadedModel,
        *,
        max_batch_tokens: int,
        slots: int,
        limit: int | None = None,
        smaller: int = 0,
        fixed: bool = False,
        sharing: int = 1,
    ) -> None:
        """Choose limits.

        Args:
            model: whose.
            max_batch_tokens, slots: as the options; 0 chooses.
            limit: most bytes that the model and its work may take.
            smaller: how often to halve at once, since memory ran out before.
            fixed: answers may not depend on the size of a batch, so it is never halved.
            sharing: so many workers live on the same memory.
        """
        self._fixed = fixed
        on_cpu = model.device.type == "cpu"
        free = free_bytes(model.device) // sharing
        if limit is not None:
            free = max(0, min(free, limit - readings(model.device)["used"]))
        kept, passing = bytes_per_token(model.network.config.get_text_config(), model.dtype)
        preferred = _CPU_BATCH if on_cpu else _DEVICE_BATCH
        self.batch = max_batch_tokens or max(SMALLEST, min(preferred, free // 4 // passing))
        self.resident = max(self.batch, free // 2 // kept)
        self.slots = slots or (_CPU_SLOTS if on_cpu else _DEVICE_SLOTS)
        for _ in range(smaller):
            self.halve()

    def halve(self) -> bool:
        """Go down one step; False when there is none left."""
        if self._fixed or (self.batch <= SMALLEST and self.slots == 1):
            return False
        self.batch = min(self.batch, max(SMALLEST, self.batch // 2))
        self.resident = max(self.batch, self.resident // 2)
        self.slots = max(1, self.slots // 2)
        return True
