"""How servers that speak chat completions differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evalbench.engine.calls import RateLimits
from evalbench.providers.wire.headers import openai_limits


@dataclass(frozen=True, slots=True)
class Quirks:
    """One kind of server.

    Attributes:
        cap: field that caps generated tokens. When a server refuses it, the
            other one is learned and used.
        seed: field of the sampling seed; empty: there is none.
        top_k: whether ``top_k`` is a field.
        effort: how reasoning effort is said: a field of its own, OpenRouter's
            ``reasoning`` object, or not at all.
        budget: whether the ``reasoning`` object takes a token budget.
        logprobs: whether log-probabilities are reported.
        most_logprobs: most alternatives per token.
        cached_from: tokens of the shortest prefix whose later uses are cheaper; 0: none.
        schema: whether answers can be made to follow a JSON schema.
        batches: whether there are files and batches as OpenAI has them.
        most_images: images in one request; 0: no limit is known.
        raw_text: whether ``/completions`` continues raw text.
        day_requests: the request limit in headers is per day.
        key_path: path that says whether a key is good.
        extra: fields of every request.
        limits: reads the rate-limit headers.
    """

    cap: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    seed: str = "seed"
    top_k: bool = True
    effort: Literal["reasoning_effort", "reasoning", ""] = "reasoning_effort"
    budget: bool = False
    logprobs: bool = True
    most_logprobs: int = 20
    cached_from: int = 0
    schema: bool = True
    batches: Literal["yes", "no", "auto"] = "no"
    most_images: int = 0
    raw_text: bool = False
    day_requests: bool = False
    key_path: str = "/models"
    extra: Mapping[str, Any] = field(default_factory=dict)
    limits: Callable[[Mapping[str, str]], RateLimits | None] = openai_limits
