"""Gemini models: what they take and what they cost, as of November 2026."""

from __future__ import annotations

from typing import Any

from tests.simulator.models import Model, Price

_LEVEL = frozenset({"level"})
_BUDGET = frozenset({"budget"})
_LMH = ("low", "medium", "high")
_ALL = ("minimal", *_LMH)


def _gemini(name: str, released: str, price: tuple[float, float, float], **facts: Any) -> Model:
    """A model; ``price`` is input, output and cached input."""
    plain, out, read = price
    facts.setdefault("context", 1_048_576)
    facts.setdefault("max_output", 65_536)
    facts.setdefault("logprobs", False)
    return Model(
        id=name,
        title=name.replace("-", " ").title(),
        released=released,
        price=Price(plain, out, read, plain),
        owner="google",
        **facts,
    )


def _level(
    name: str, released: str, price: tuple[float, float, float], default: str, **facts: Any
) -> Model:
    """A model that thinks by level."""
    facts.setdefault("efforts", _ALL)
    facts.setdefault("cache_minimum", 4096)
    return _gemini(
        name,
        released,
        price,
        thinking=_LEVEL,
        default_effort=default,
        thinks_unasked=True,
        **facts,
    )


GOOGLE: tuple[Model, ...] = (
    _gemini("gemini-1.5-pro", "2024-02-15", (1.25, 5, 0.3125), lifecycle="retired",
            retires_at="2025-09-24"),
    _gemini("gemini-2.0-flash", "2025-02-05", (0.1, 0.4, 0.025), logprobs=True,
            max_output=8192),
    _gemini("gemini-2.5-flash-lite", "2025-07-22", (0.1, 0.4, 0.01), logprobs=True,
            thinking=_BUDGET | {"off"}),
    _gemini("gemini-2.5-flash", "2025-06-17", (0.3, 2.5, 0.03), logprobs=True,
            thinking=_BUDGET | {"off"}, thinks_unasked=True),
    _gemini("gemini-2.5-pro", "2025-06-17", (1.25, 10, 0.125), thinking=_BUDGET,
            thinks_unasked=True, cache_minimum=4096),
    _level("gemini-3-flash-preview", "2025-12-17", (0.5, 3, 0.05), "high"),
    _level("gemini-3.1-pro-preview", "2026-02-19", (2, 12, 0.2), "high", efforts=_LMH),
    _level("gemini-3.1-flash-lite", "2026-04-02", (0.25, 1.5, 0.025), "minimal"),
    _level("gemini-3.6-flash", "2026-07-14", (1.5, 7.5, 0.15), "medium", sampling="never"),
    _level("gemini-3.7-flash", "2026-09-08", (1.5, 7.5, 0.15), "medium", sampling="never"),
    _level("gemini-3.8-flash", "2026-10-27", (1.5, 7.5, 0.15), "medium", sampling="never",
           efforts=_LMH),
    _level("gemini-4-argon", "2026-11-17", (4, 20, 0.2), "high", sampling="never", efforts=_LMH),
    _gemini("gemini-embedding-001", "2025-07-14", (0.15, 0, 0), context=2048, max_output=1,
            ),
)  # fmt: skip
