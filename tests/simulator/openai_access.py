"""What may be asked of OpenAI: models, money, rate limits, and what is cached."""

from __future__ import annotations

import math
from typing import Any, NoReturn

from tests.simulator.clock import duration
from tests.simulator.exchange import Bill, Exchange, Refused
from tests.simulator.images import Image, patch_tokens, tile_tokens
from tests.simulator.limits import Buckets, openai_headers, whole_seconds, written
from tests.simulator.models import Model
from tests.simulator.openai_errors import error, refuse
from tests.simulator.promptcache import implicit_prefixes
from tests.simulator.world import World, price

NAME = "openai"
ORGANIZATION = "org-simulated"
_TILES = {
    "gpt-4o": (85, 170),
    "gpt-4.1": (85, 170),
    "gpt-4o-mini": (2833, 5667),
    "gpt-5": (70, 140),
    "o3": (75, 150),
}
_PATCH_FACTORS = {
    "gpt-4.1-mini": 1.62,
    "gpt-4.1-nano": 2.46,
    "gpt-5-mini": 1.62,
    "gpt-5-nano": 2.46,
    "o4-mini": 1.72,
}


def body(exchange: Exchange) -> dict[str, Any]:
    """The JSON object of a request."""
    try:
        value = exchange.body
    except ValueError:
        refuse(
            "We could not parse the JSON body of your request. (HINT: This likely means you "
            "aren't using your HTTP library correctly.)"
        )
    if not isinstance(value, dict):
        refuse("Invalid type for request body: expected an object.", code="invalid_type")
    if not isinstance(value.get("model"), str) or not value["model"]:
        refuse("you must provide a model parameter")
    exchange.model = value["model"]
    return value


def model(world: World, name: str) -> Model:
    """A model that can be asked (chat completions' wording)."""
    known = world.catalogue.find(NAME, name)
    if known is None:
        refuse(
            f"The model `{name}` does not exist or you do not have access to it.",
            code="model_not_found",
            status=404,
        )
    if known.lifecycle == "retired":
        refuse(
            f"The model `{name}` has been deprecated, learn more here: "
            "https://platform.openai.com/docs/deprecations",
            code="model_not_found",
            status=404,
        )
    return known


def limit(world: World, buckets: Buckets, name: str, now: float, tokens: int) -> None:
    """Refuse what is over a rate limit, and take what is not."""
    denial = world.limits.check(buckets, now, tokens=tokens)
    if denial is None:
        buckets.take(now, tokens=tokens)
        return
    by_requests = denial.what == "requests"
    unit = "requests per min (RPM)" if by_requests else "tokens per min (TPM)"
    counts = f"Limit {denial.limit}, Used {denial.used}, Requested {denial.requested}."
    if denial.wait is None:
        text = f"Request too large for {name} in organization {ORGANIZATION} on {unit}: {counts}"
    else:
        text = (
            f"Rate limit reached for {name} in organization {ORGANIZATION} on {unit}: {counts} "
            f"Please try again in {duration(denial.wait)}."
        )
    answer = error(429, text, "requests" if by_requests else "tokens", code="rate_limit_exceeded")
    answer.headers.update(written(openai_headers, buckets, now))
    if denial.wait is not None:
        answer.headers["retry-after"] = whole_seconds(denial.wait)
        answer.headers["retry-after-ms"] = str(math.ceil(denial.wait * 1000) or 1)
    raise Refused(answer)


def bill(
    world: World,
    exchange: Exchange,
    known: Model,
    text: str,
    *,
    input_tokens: int,
    output_tokens: int,
    reasoning_tokens: int,
    tier: str,
    cache_key: str,
) -> Bill:
    """What an answer costs, after looking its prompt up in the implicit cache."""
    cost = Bill(known.id, input_tokens, output_tokens, reasoning_tokens=reasoning_tokens)
    prefixes = implicit_prefixes(text, known.chars_per_token)
    if prefixes:
        now = exchange.now
        owner = (NAME, exchange.key, known.id, cache_key)
        begins = now + world.latency.of(exchange.content, 0)
        cost.cache_read_tokens = world.cache.use(owner, prefixes, now, begins)
        if known.cache_writes_reported:
            cost.cache_write_tokens = prefixes[-1].tokens - cost.cache_read_tokens
    return price(cost, known, 0.5 if tier == "flex" else 1.0)


def image_tokens(known: Model, image: Image | None, detail: str) -> int:
    """Tokens of one image: tiles for some models, patches for the rest."""
    width, height = (image.width, image.height) if image else (0, 0)
    if known.id in _TILES:
        base, tile = _TILES[known.id]
        return tile_tokens(width, height, detail, base, tile)
    most = 10_000 if detail == "original" else 1536
    return int(patch_tokens(width, height, most) * _PATCH_FACTORS.get(known.id, 1.0))


def context_exceeded(known: Model, tokens: int) -> NoReturn:
    """A chat prompt that does not fit."""
    refuse(
        f"This model's maximum context length is {known.context} tokens. However, your messages "
        f"resulted in {tokens} tokens. Please reduce the length of the messages.",
        param="messages",
        code="context_length_exceeded",
    )
