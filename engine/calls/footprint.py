"""The size of a model that runs on this machine, as its provider tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

BYTES = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0}
QUANTISED = {"8bit": 1.0, "4bit": 0.516}
"""Bytes per weight of a linear layer: int8, and nf4 with doubly quantised scales."""

AS_IN_FILE = "as in the file"
"""The number format of a GGUF file that is not converted."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """What determines the memory use of a model.

    Attributes:
        parameters: number of weights.
        linear: those in linear layers, which quantisation shrinks.
        kept: numbers stored per token of context: keys and values of all layers.
        passing: numbers that a forward pass holds per token: hidden states, heads and the
            widest layer.
        vocabulary: logits per position.
        context_tokens: maximum tokens of prompt and answer together.
        download: bytes of the files; None if unknown.
        form: number format if none is chosen; empty if the device decides.
        packed: bytes of the weights if they stay as they are in the file (``form`` is then
            ``as in the file``).
        process: bytes of the processes without the model on a CPU; 0 for those of a worker.
    """

    parameters: int
    linear: int
    kept: int
    passing: int
    vocabulary: int
    context_tokens: int
    download: int | None = None
    form: str = ""
    packed: int = 0
    process: int = 0

    def weights(self, form: str) -> int:
        """Bytes of the weights in a number format, or quantised with 16 bits for the rest."""
        if form == AS_IN_FILE:
            return self.packed
        if form in BYTES:
            return round(self.parameters * BYTES[form])
        return round(self.linear * QUANTISED[form] + (self.parameters - self.linear) * 2)

    def to_json(self) -> dict[str, Any]:
        """A JSON form that :meth:`from_json` reads back."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Footprint:
        """Read a stored footprint."""
        return cls(**{one.name: value[one.name] for one in fields(cls)})
