"""How servers that speak chat completions differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evalbench.engine.calls import RateLimits
from evalbench.providers.wire.headers import openai_limits
from evalbench.providers.wire.negotiation import MOST_LOGPROBS


@dataclass(frozen=True, slots=True)
class Quirks:
    """The quirks of one kind of server.

    Attributes:
        cap: field that caps generated tokens. If a server refuses it, the other one is learned and
            used.
        seed: field of the sampling seed; empty: not supported.
        top_k: whether ``top_k`` is supported.
        effort: how reasoning effort is sent: its own field, OpenRouter's ``reasoning`` object, or
            not at all.
        no_thinking: field and value that turn thinking off; None: effort ``none`` does.
        budget: whether the ``reasoning`` object takes a token budget.
        logprobs: whether log-probabilities are reported.
        most_logprobs: maximum alternatives per token.
        cached_from: minimum tokens of a prefix that is cheaper when reused; 0: none.
        schema: whether answers can be made to follow a JSON schema.
        batches: whether OpenAI-style files and batches are supported.
        most_images: maximum images per request; 0: no known limit.
        raw_text: whether ``/completions`` continues raw text.
        key_path: path that verifies a key.
        extra: fields added to every request.
        limits: reads the rate-limit headers.
    """

    cap: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    seed: str = "seed"
    top_k: bool = True
    effort: Literal["reasoning_effort", "reasoning", ""] = "reasoning_effort"
    no_thinking: tuple[str, Any] | None = None
    budget: bool = False
    logprobs: bool = True
    most_logprobs: int = MOST_LOGPROBS
    cached_from: int = 0
    schema: bool = True
    batches: Literal["yes", "no", "auto"] = "no"
    most_images: int = 0
    raw_text: bool = False
    key_path: str = "/models"
    extra: Mapping[str, Any] = field(default_factory=dict)
    limits: Callable[[Mapping[str, str]], RateLimits | None] = openai_limits
