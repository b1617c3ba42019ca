"""How fast a local model answered, and how much memory it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalbench.engine.calls import Reply


@dataclass(slots=True)
class Measures:
    """What one model did in workers of one run.

    Attributes:
        answers: how many it gave.
        seconds: all answers' own times together, each from its beginning to its end;
            answers that were written side by side count in full.
        slowest: the longest of them.
        input_tokens, output_tokens: of all answers.
        busy_s: seconds in which the worker computed.
        peak: most bytes that the model took: of its card, or of the worker's process.
        total: bytes of the card, or of the machine.
        device: where it ran, in words.
        numbers: its number format, or how it was quantised.
        layout: ``alone`` where every call was computed by itself, ``together`` where not.
        expected: most bytes that it was estimated to take before it was loaded; 0: unknown.
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
        """Take over how the model was loaded, as its worker tells it."""
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
        """Add what another worker did."""
        for name in ("answers", "seconds", "input_tokens", "output_tokens", "busy_s"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("slowest", "peak", "total", "expected"):
            setattr(self, name, max(getattr(self, name), getattr(other, name)))
        for name in ("device", "numbers", "layout"):
            setattr(self, name, getattr(other, name) or getattr(self, name))

    @property
    def seconds_per_answer(self) -> float | None:
        """The mean; None without answers."""
        return self.seconds / self.answers if self.answers else None

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens written in a second of computing; None where none were."""
        return self.output_tokens / self.busy_s if self.busy_s and self.output_tokens else None

    def to_json(self) -> dict[str, Any]:
        """A JSON form that :meth:`from_json` reads back, with both rates for people."""
        rates = {
            "seconds_per_answer": self.seconds_per_answer,
            "tokens_per_second": self.tokens_per_second,
        }
        held = {**asdict(self), **rates}
        return {k: round(v, 3) if isinstance(v, float) else v for k, v in held.items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Measures:
        """Read a stored form; what is missing is zero."""
        return cls(**{one.name: value[one.name] for one in fields(cls) if one.name in value})


def together(told: Iterable[Mapping[str, Any]]) -> dict[str, Measures]:
    """The measures of each model over all engines of a run, from what each has told."""
    found: dict[str, Measures] = {}
    for one in told:
        found.setdefault(str(one.get("model", "")), Measures()).add(Measures.from_json(one))
    return found
