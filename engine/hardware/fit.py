"""Does a model fit in memory? Estimated from its configuration, before anything is loaded.

The need is the sum of the weights, the keys and values of all tokens held at the same time, the
memory of one forward pass, and the logits. The formulas were checked against models loaded by
transformers 5.24 and bitsandbytes 0.50.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from evalbench.engine.calls.footprint import BYTES, QUANTISED, Footprint
from evalbench.engine.errors import SpecError
from evalbench.engine.hardware.devices import DeviceMemory

SMALLEST_BATCH = 32
"""Minimum tokens of a forward pass."""

_BATCH = {"cpu": 512}
_BATCH_GPU = 4096
FIXED_BATCH = 512
"""Tokens of a forward pass if answers must not depend on free memory."""

_SLOTS = {"cpu": 32}
_SLOTS_GPU = 64
_PROCESS = {"cpu": 400_000_000, "mps": 400_000_000}
"""Resident memory of a worker without its model: Python, torch and transformers."""

_CUDA_CONTEXT = 800_000_000
"""The driver's context and the libraries' workspaces, per GPU: 0.6 to 1.2 GB were seen."""

_WIDENED = {"cpu": 4 << 20}
_WIDENED_GPU = 64 << 20
"""Head weights in float32, processed in pieces unless all weights are float32."""

_USUAL_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class Work:
    """The largest work that a benchmark asks of the model.

    Attributes:
        tokens: of the longest prompt plus its answer.
        calls: maximum number at the same time.
    """

    tokens: int = _USUAL_TOKENS
    calls: int | None = None


@dataclass(frozen=True, slots=True)
class Loading:
    """How a model would be loaded.

    Attributes:
        form: a number format, ``8bit`` or ``4bit``.
        limit: maximum bytes, regardless of free memory; None for what is free.
        batch, slots: see the options of the same names; 0 to derive them from free memory.
    """

    form: str
    limit: int | None = None
    batch: int = 0
    slots: int = 0

    @classmethod
    def chosen(
        cls, options: Mapping[str, Any], memory: DeviceMemory, footprint: Footprint | None = None
    ) -> Loading:
        """From a provider's options, as far as it has them, for a device.

        ``footprint`` is the model's, if its number format is known to be another than usual.
        """
        if options.get("deterministic"):
            batch = options.get("max_batch_tokens") or FIXED_BATCH
            options = {**options, "dtype": "float32", "slots": 1, "max_batch_tokens": batch}
        form = str(options.get("quantize") or "none")
        if form == "none":
            form = str(options.get("dtype") or "auto")
        if form == "auto" and footprint and footprint.form:
            form = footprint.form
        elif form == "auto":
            form = "float32" if memory.device == "cpu" else "bfloat16" if memory.bf16 else "float16"
        limit = parse_bytes(options.get("memory_limit"))
        return cls(form, limit, options.get("max_batch_tokens") or 0, options.get("slots") or 0)


@dataclass(frozen=True, slots=True)
class Need:
    """Maximum bytes needed by a model, by purpose."""

    weights: int
    cache: int
    passing: int
    logits: int
    process: int

    @property
    def total(self) -> int:
        """The total."""
        return self.weights + self.cache + self.passing + self.logits + self.process


def flag(form: str) -> str:
    """The option that loads a model in a number format, or quantised."""
    return f"--{'dtype' if form in BYTES else 'quantize'} {form}"


class Verdict(StrEnum):
    """Whether a model fits, from yes to no."""

    FITS = "fits"
    SMALLER_BATCH = "smaller-batch"
    OTHER_FORM = "other-format"
    DOES_NOT = "does-not-fit"


@dataclass(frozen=True, slots=True)
class Fit:
    """The answer for one model on one device.

    Attributes:
        verdict: whether it fits.
        form: the number format it refers to; for ``other-format`` the first that fits.
        need: bytes with ``batch`` and ``slots``; those of the smallest batch if it does not
            fit.
        free: bytes available, or allowed.
        batch, slots: tokens of a forward pass and concurrent answers with which it fits.
        tokens: of the longest expected prompt and answer.
        least: bytes with the smallest batch, by number format.
    """

    verdict: Verdict
    form: str
    need: Need
    free: int
    batch: int
    slots: int
    tokens: int
    least: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """A JSON form; ``need`` includes its total."""
        return asdict(self) | {
            "verdict": str(self.verdict),
            "need": asdict(self.need) | {"total": self.need.total},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Fit:
        """Inverse of :meth:`to_json`."""
        own = {one.name: value[one.name] for one in fields(cls)}
        need = Need(**{one.name: value["need"][one.name] for one in fields(Need)})
        return cls(**{**own, "verdict": Verdict(value["verdict"]), "need": need})


def fit(
    footprint: Footprint, memory: DeviceMemory, loading: Loading, work: Work | None = None
) -> Fit:
    """Whether a model fits, and how.

    Args:
        footprint: the model's footprint.
        memory: the device and what is free there.
        loading: how it would be loaded.
        work: what it would be asked (default: prompts of typical length).
    """
    work = work or Work()
    tokens = min(work.tokens, footprint.context_tokens)
    free = memory.free if loading.limit is None else loading.limit
    batch = loading.batch or _BATCH.get(memory.device, _BATCH_GPU)
    most = loading.slots or _SLOTS.get(memory.device, _SLOTS_GPU)
    slots = max(1, min(most, work.calls or most))

    def need(form: str, batch: int, slots: int) -> Need:
        return needed(footprint, form, memory, tokens=tokens, batch=batch, slots=slots)

    smallest = min(batch, SMALLEST_BATCH)
    smaller = _smaller_forms(loading.form, memory, served=bool(footprint.form))
    forms = dict.fromkeys((loading.form, *smaller))
    least = {form: need(form, smallest, 1).total for form in forms}
    if need(loading.form, batch, slots).total <= free:
        verdict, form = Verdict.FITS, loading.form
    elif found := next((form for form, bytes_ in least.items() if bytes_ <= free), None):
        verdict = Verdict.SMALLER_BATCH if found == loading.form else Verdict.OTHER_FORM
        form = found
    else:
        verdict, form, batch, slots = Verdict.DOES_NOT, loading.form, smallest, 1
    while verdict is not Verdict.DOES_NOT and need(form, batch, slots).total > free:
        batch, slots = max(smallest, batch // 2), max(1, slots // 2)
    return Fit(verdict, form, need(form, batch, slots), free, batch, slots, tokens, least)


def _smaller_forms(form: str, memory: DeviceMemory, *, served: bool) -> list[str]:
    """Number formats that take less memory, the closest to ``form`` first."""
    # bitsandbytes has no kernels for Apple's GPUs, and servers take weights as they are.
    plain = served or memory.device == "mps"
    forms = ["bfloat16"] if plain else ["bfloat16", "8bit", "4bit"]
    sizes = {**BYTES, **QUANTISED}
    return [one for one in forms if form in sizes and sizes[one] < sizes[form]]


def needed(
    footprint: Footprint, form: str, memory: DeviceMemory, *, tokens: int, batch: int, slots: int
) -> Need:
    """Maximum bytes needed by a model.

    Args:
        footprint: the model's footprint.
        form: a number format, ``8bit`` or ``4bit``.
        memory: the device.
        tokens: of the longest prompt plus its answer.
        batch: tokens of one forward pass.
        slots: concurrent answers.
    """
    size = BYTES.get(form, 2.0)
    # One context extra: a prompt is computed separately before it gets a slot.
    cached_tokens = (slots + 1) * tokens if slots > 1 else tokens
    rows = max(slots, batch // 16)
    head = 0 if form == "float32" else _WIDENED.get(memory.device, _WIDENED_GPU)
    process = _PROCESS.get(memory.device, _CUDA_CONTEXT * memory.cards)
    return Need(
        weights=footprint.weights(form),
        cache=round(cached_tokens * footprint.kept * size),
        passing=round(batch * footprint.passing * size),
        logits=rows * footprint.vocabulary * 8 + head,
        process=footprint.process or process if memory.device in _PROCESS else process,
    )


_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?)?", re.IGNORECASE)
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}


def parse_bytes(text: str | None) -> int | None:
    """Bytes from ``6GB``, ``512MiB`` or ``6`` (gigabytes); None for an empty text.

    Raises:
        SpecError: it is not an amount of memory.
    """
    if not text or not text.strip():
        return None
    found = _AMOUNT.fullmatch(text.strip())
    if not found or not float(found[1]):
        raise SpecError(
            "memory_limit",
            f"--memory-limit cannot be {text!r}",
            hint="give an amount of memory, such as 6GB or 512MiB",
        )
    number, unit, binary = found.groups()
    base = 1024 if binary else 1000
    return round(float(number) * float(base ** _POWERS[(unit or "g").lower()]))
