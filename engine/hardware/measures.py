"""Measurements of a local model: speed and memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalbench.engine.calls import Reply


@dataclass(slots=True)
class Measures:
    """Measurements of one model in the workers of one run.

    Attributes:
        answers: number of answers.
        seconds: total time of all answers, each from start to end; answers written
            concurrently count in full.
        slowest: the longest of them.
        input_tokens, output_tokens: of all answers.
        busy_s: seconds during which the worker computed.
        peak: maximum bytes used by the model: on its GPU, or by the worker's process.
        total: bytes of the GPU, or of the machine.
        device: where it ran, as text.
        numbers: its number format or quantisation.
        layout: ``alone`` if every call was computed separately, else ``together``.
        expected: maximum bytes estimated before it was loaded; 0 if unknown.
    """

    answers: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    busy_s: float = 0.0
    peak: int = 0
    total: int = 0
    device: str = ""
    numbers: str = ""
    layout: str = ""
    expected: int = 0

    def loaded(self, info: Mapping[str, Any]) -> None:
        """Record how the model was loaded, as reported by its worker."""
        quantize = str(info.get("quantize") or "none")
        self.device = str(info.get("device") or "")
        self.numbers = str(info.get("dtype") or "") if quantize == "none" else quantize
        self.layout = str(info.get("layout") or "")

    def count(self, reply: Reply) -> None:
        """Add one answer."""
        self.answers += 1
        self.seconds += reply.latency_s
        self.slowest = max(self.slowest, reply.latency_s)
        self.input_tokens += reply.usage.input_tokens or 0
        self.output_tokens += reply.usage.output_tokens or 0

    def add(self, other: Measures) -> None:
        """Add another worker's measurements."""
        for name in ("answers", "seconds", "input_tokens", "output_tokens", "busy_s"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("slowest", "peak", "total", "expected"):
            setattr(self, name, max(getattr(self, name), getattr(other, name)))
        for name in ("device", "numbers", "layout"):
            setattr(self, name, getattr(other, name) or getattr(self, name))

    @property
    def seconds_per_answer(self) -> float | None:
        """The mean; None if there are no answers."""
        return self.seconds / self.answers if self.answers else None

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens generated per second of computing; None if there are none."""
        return self.output_tokens / self.busy_s if self.busy_s and self.output_tokens else None

    def to_json(self) -> dict[str, Any]:
        """The JSON form read by :meth:`from_json`, plus both rates for display."""
        rates = {
            "seconds_per_answer": self.seconds_per_answer,
            "tokens_per_second": self.tokens_per_second,
        }
        values = {**asdict(self), **rates}
        return {k: round(v, 3) if isinstance(v, float) else v for k, v in values.items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Measures:
        """Inverse of :meth:`to_json`; missing values are zero."""
        return cls(**{one.name: value[one.name] for one in fields(cls) if one.name in value})


def together(measured: Iterable[Mapping[str, Any]]) -> dict[str, Measures]:
    """The measurements of each model over all engines of a run, from their reports."""
    found: dict[str, Measures] = {}
    for one in measured:
        found.setdefault(str(one.get("model", "")), Measures()).add(Measures.from_json(one))
    return found
