"""Builds chat completions: the same for OpenAI and every server that copies it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from tests.simulator import tokens
from tests.simulator.brain import Ask, Completion
from tests.simulator.chat_prompt import ChatPrompt
from tests.simulator.exchange import Bill, Exchange
from tests.simulator.models import Model
from tests.simulator.promptcache import implicit_prefixes
from tests.simulator.world import World, price

_LETTER = re.compile(r"^(\s*)([A-J])$")
_RIVALS = (" the", " a", "\n", ".", " B", "A", "C", " is", "D", "1", " not", ",", " of")


def finish_reason(completion: Completion) -> str:
    """Why the text ends, in chat completions' words."""
    if completion.kind == "filtered":
        return "content_filter"
    return "length" if completion.truncated else "stop"


def completions(
    world: World,
    exchange: Exchange,
    model: Model,
    prompt: ChatPrompt,
    value: dict[str, Any],
    *,
    cap: int,
    effort: str,
    count: int,
) -> list[Completion]:
    """What the model says, ``count`` times."""
    stops = value.get("stop") or ()
    return [
        world.brain.complete(
            Ask(
                exchange.content,
                model.id,
                prompt.last,
                prompt.text,
                cap,
                model.chars_per_token,
                (stops,) if isinstance(stops, str) else tuple(stops),
                effort,
                schema=_schema(value.get("response_format")),
                choice=choice,
            )
        )
        for choice in range(count)
    ]


def _schema(wanted: Any) -> dict[str, Any] | None:
    if not isinstance(wanted, dict):
        return None
    if wanted.get("type") == "json_schema":
        schema: dict[str, Any] = (wanted.get("json_schema") or {}).get("schema", {})
        return schema
    return {"type": "object", "properties": {}} if wanted.get("type") == "json_object" else None


def bill(
    world: World,
    exchange: Exchange,
    api: str,
    model: Model,
    prompt: ChatPrompt,
    said: Sequence[Completion],
    *,
    cached: bool,
) -> Bill:
    """What completions cost; ``cached``: a prompt that was asked before is cheaper by itself."""
    cost = Bill(
        model.id,
        prompt.tokens,
        sum(one.output_tokens for one in said),
        reasoning_tokens=sum(one.reasoning_tokens for one in said),
    )
    if cached:
        prefixes = implicit_prefixes(prompt.text, model.chars_per_token)
        cost.cache_read_tokens = world.read_cache(exchange, api, model.id, prefixes)
    return price(cost, model)


def logprobs(text: str, content: int, top: int) -> list[dict[str, Any]]:
    """A log-probability for each token of ``text`` with ``top`` alternatives, best first."""
    out = []
    for at, piece in enumerate(tokens.pieces(text)):
        spin = blake2b(b"%d|%d" % (content, at), digest_size=4).digest()
        best = -0.001 - int.from_bytes(spin) / 2**33
        rivals = _rivals(piece)[: max(0, top - 1)]
        alternatives = [(piece, best)] + [
            (rival, best - 1.5 - 0.75 * place) for place, rival in enumerate(rivals)
        ]
        out.append(
            {
                **_token(piece, best),
                "top_logprobs": [_token(name, value) for name, value in alternatives[:top]],
            }
        )
    return out


def _rivals(piece: str) -> Sequence[str]:
    letter = _LETTER.match(piece)
    if letter:
        others = [letter[1] + other for other in "ABCDEFGHIJ" if other != letter[2]]
        return [*others, *_RIVALS]
    return [rival for rival in _RIVALS if rival != piece]


def _token(text: str, value: float) -> dict[str, Any]:
    return {"token": text, "logprob": value, "bytes": list(text.encode())}
