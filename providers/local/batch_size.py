"""How many tokens fit: computed from free memory at first, halved whenever memory runs out."""

from __future__ import annotations

from evalbench.providers.local.memory import bytes_per_token, free_bytes, readings
from evalbench.providers.local.model import LoadedModel

SMALLEST = 32
"""A batch of this many tokens is not halved further."""

_CPU_BATCH = 512
_DEVICE_BATCH = 4096
_CPU_SLOTS = 32
_DEVICE_SLOTS = 64


class Budget:
    """Memory limits of one loaded model.

    Attributes:
        batch: maximum tokens in one forward pass. More than 512 are no faster on a CPU: attention
            within a pack grows with the square of its size.
        resident: maximum tokens whose keys and values are held at the same time; they take half of
            the free memory, and forward passes a quarter.
        slots: maximum answers generated concurrently.
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
            model: the loaded model.
            max_batch_tokens, slots: option values; 0: automatic.
            limit: maximum bytes for the model and its work.
            smaller: how often to halve at once, because memory ran out before.
            fixed: answers must not depend on the batch size, so it is never halved.
            sharing: number of workers that share the memory.
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
        """Go down one step; False if there is none left."""
        if self._fixed or (self.batch <= SMALLEST and self.slots == 1):
            return False
        self.batch = min(self.batch, max(SMALLEST, self.batch // 2))
        self.resident = max(self.batch, self.resident // 2)
        self.slots = max(1, self.slots // 2)
        return True
