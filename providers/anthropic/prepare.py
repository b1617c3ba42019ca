"""The body of ``POST /v1/messages`` for a call: pure, for realtime and batch alike.

Each generation of Claude supports different parameters, and rejects the others even at their
default values. The facts come from :mod:`evalbench.providers.modelfacts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalbench.engine.calls import Call, MediaPart, Message, Params
from evalbench.engine.calls.prefixes import shared_prefix
from evalbench.providers.modelfacts import ModelFacts, Refused
from evalbench.providers.wire.claude import Claude
from evalbench.providers.wire.exchange import Prepared
from evalbench.providers.wire.images import base64_image
from evalbench.providers.wire.negotiation import Negotiation, Terms
from evalbench.providers.wire.prompt_checks import check_turns, leading_system
from evalbench.providers.wire.provider import wire_name
from evalbench.providers.wire.schemas import ALIASES, schema_of, takes_schema

LEGACY_VERSION = "2023-06-01"
"""The last API version with sampling parameters."""

SAMPLING = ("temperature", "top_p", "top_k")

_CLAUDE = Claude("thinking", "output_config.effort", "stop_sequences")


def terms(params: Params, facts: ModelFacts, refused: Refused, *, legacy_sampling: bool) -> Terms:
    """Negotiate the parameters for one model.

    Args:
        params: the requested parameters.
        facts: facts about the model.
        refused: what the model refused before.
        legacy_sampling: whether the old API version may be used to set the temperature of models
            that still have one.

    Raises:
        CallRejected: the thinking budget is impossible.
    """
    talk = Negotiation(params, refused, "Anthropic's API")
    talk.fix("max_tokens", "max_tokens", talk.max_tokens)
    thinks = _CLAUDE.thinking(talk, params, facts)
    _sampling(talk, facts, thinks=thinks, legacy=legacy_sampling)
    _CLAUDE.stop(talk, params)
    _schema(talk, params, facts)
    talk.drop("seed", "Anthropic's API takes no seed")
    talk.drop("logprobs", "Anthropic's API gives no log-probabilities")
    return talk.terms()


def _sampling(talk: Negotiation, facts: ModelFacts, *, thinks: bool, legacy: bool) -> None:
    reason = ""
    if facts.sampling != "legacy":
        reason = "the model takes no sampling parameters"
    elif not legacy:
        reason = f"only API version {LEGACY_VERSION} takes it; see --legacy-sampling"
    elif thinks:
        reason = "not while the model thinks"
    sent = False
    for name in SAMPLING:
        if reason:
            talk.drop(name, reason)
        elif sent and name == "top_p":
            talk.drop(name, "the model takes temperature or top_p, not both")
        else:
            sent = talk.send(name, name) or sent
    if sent:
        talk.headers["anthropic-version"] = LEGACY_VERSION


def _schema(talk: Negotiation, params: Params, facts: ModelFacts) -> None:
    if not takes_schema(talk, params, facts):
        return
    value = {"type": "json_schema", "schema": schema_of(params)}
    talk.send("schema", "output_config.format", value, aliases=ALIASES)


WHO = "Anthropic"
PATH = "/v1/messages"


@dataclass(frozen=True, slots=True)
class BodySettings:
    """Settings that affect the body but are not parameters of the call.

    Attributes:
        prompt_cache: lifetime of a cached prefix, ``5m`` or ``1h``; empty: no caching.
        oversized_image: ``error`` or ``downsize``.
        service_tier: ``auto`` or ``standard_only``; empty: omitted.
    """

    prompt_cache: str = "5m"
    oversized_image: str = "error"
    service_tier: str = ""


def prepare(call: Call, facts: ModelFacts, terms: Terms, habits: BodySettings) -> Prepared:
    """The request for a call.

    A prefix marked as shared gets a cache breakpoint if it is long enough. Turns without text are
    omitted: the API rejects empty ones; their neighbours are merged.

    Raises:
        CallRejected: the model does not accept this form of conversation.
    """
    messages = call.prompt.messages
    leading = leading_system(messages)
    system, turns = messages[:leading], messages[leading:]
    check_turns(turns, facts, WHO, system_turns=facts.system_turns is not False)
    prefix = shared_prefix(messages) if habits.prompt_cache else None
    breakpoint_at = None
    if prefix and prefix.tokens >= least_cached(facts):
        breakpoint_at = prefix.message, prefix.part
    mark = {"type": "ephemeral"} | ({"ttl": "1h"} if habits.prompt_cache == "1h" else {})
    writer = _Writer(breakpoint_at, mark, habits.oversized_image)
    body: dict[str, Any] = {"model": wire_name(call)}
    if head := writer.system(system):
        body["system"] = head
    body["messages"] = writer.turns(turns)
    body |= terms.fields
    if habits.service_tier:
        body["service_tier"] = habits.service_tier
    return Prepared(
        model=wire_name(call),
        path=PATH,
        body=body,
        headers=terms.headers,
        notes=terms.notes,
        negotiable=terms.negotiable,
    )


def least_cached(facts: ModelFacts) -> int:
    """The minimum number of tokens in a prefix that the model caches."""
    return facts.cache_tokens or 1024


class _Writer:
    """Writes messages as blocks, or as plain strings where blocks add nothing."""

    def __init__(
        self, breakpoint_at: tuple[int, int] | None, mark: dict[str, str], oversized: str
    ) -> None:
        self._breakpoint = breakpoint_at
        self._mark = mark
        self._oversized = oversized
        self._message = -1

    def system(self, messages: Sequence[Message]) -> str | list[dict[str, Any]]:
        """The ``system`` field."""
        blocks = [block for message in messages for block in self._blocks(message)]
        if any("cache_control" in block for block in blocks):
            return blocks
        return "\n\n".join(block["text"] for block in blocks)

    def turns(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """The ``messages`` field."""
        turns = []
        for message in messages:
            blocks = self._blocks(message)
            if not blocks:
                continue
            plain = all(block.keys() == {"type", "text"} for block in blocks)
            content = "".join(block["text"] for block in blocks) if plain else blocks
            turns.append({"role": message.role, "content": content})
        return turns

    def _blocks(self, message: Message) -> list[dict[str, Any]]:
        """A message's parts; adjacent texts become one block, up to the breakpoint."""
        self._message += 1
        blocks: list[dict[str, Any]] = []
        for index, part in enumerate(message.parts):
            if isinstance(part, MediaPart):
                blocks.append(self._image(part))
            elif blocks and blocks[-1].keys() == {"type", "text"}:
                blocks[-1]["text"] += part.text
            else:
                blocks.append({"type": "text", "text": part.text})
            if (self._message, index) == self._breakpoint:
                blocks[-1]["cache_control"] = self._mark
        # The API rejects blocks of white space.
        return [block for block in blocks if block["type"] != "text" or block["text"].strip()]

    def _image(self, part: MediaPart) -> dict[str, Any]:
        return {
            "type": "image",
            "source": {
                "type": "base64",
                "media_type": part.media_type,
                "data": base64_image(part, WHO),
            },
            # The API would silently shrink the image, which would distort an evaluation.
            "transformations": {"oversized_image": self._oversized},
        }
