"""A Converse body for a call: pure, for realtime and batch alike.

Media are bytes in the body, as boto3 expects; :func:`as_json` encodes them as on the wire.
Converse has one form for all models; which parameters a model supports depends on its vendor.
The rules for Claude's generations apply here too.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import orjson

from evalbench.engine.calls import Call, MediaPart, Message, Params, TextPart
from evalbench.engine.calls.prefixes import shared_prefix
from evalbench.engine.errors import CallRejected
from evalbench.providers.bedrock.facts import least_cached, takes_video
from evalbench.providers.modelfacts import ModelFacts, Refused
from evalbench.providers.wire.claude import Claude
from evalbench.providers.wire.exchange import Prepared
from evalbench.providers.wire.negotiation import Negotiation, Terms
from evalbench.providers.wire.prompt_checks import check_turns, leading_system
from evalbench.providers.wire.provider import wire_name
from evalbench.providers.wire.schemas import ALIASES, NAME, schema_of, takes_schema

WHO = "Bedrock"
_CLAUDE = Claude(
    "additionalModelRequestFields.thinking", "outputConfig.effort", "inferenceConfig.stopSequences"
)
_SAMPLING = {"temperature": "inferenceConfig.temperature", "top_p": "inferenceConfig.topP"}
_CLAUDE_SAMPLING = _SAMPLING | {"top_k": "additionalModelRequestFields.top_k"}
_MOST_STOPS = 2500


def terms(
    params: Params, facts: ModelFacts, refused: Refused, *, claude: str = "", latency: str = ""
) -> Terms:
    """Negotiate the parameters for one model.

    Args:
        params: the requested parameters.
        facts: facts about the model.
        refused: what the model refused before.
        claude: the model's plain name, if it is a Claude.
        latency: ``performanceConfig`` latency; empty: not requested. A model that does not support
            it is called without it.

    Raises:
        CallRejected: the thinking budget is impossible.
    """
    talk = Negotiation(params, refused, WHO, {"latency": latency} if latency else None)
    talk.fix("max_tokens", "inferenceConfig.maxTokens", talk.max_tokens)
    if claude:
        thinks = _CLAUDE.thinking(talk, params, facts)
        _claude_sampling(talk, facts, claude, thinks=thinks)
        _CLAUDE.stop(talk, params)
    else:
        talk.drop("thinking_budget", "only Claude models take a thinking budget here")
        if talk.takes_effort(facts):
            talk.send("effort", "outputConfig.effort", aliases=("effort",))
        _sampling(talk, params, facts)
        if facts.stop is False:
            talk.drop("stop", "the model takes no stop texts")
        else:
            talk.send("stop", "inferenceConfig.stopSequences", list(params.stop[:_MOST_STOPS]))
    _schema(talk, params, facts)
    talk.send("latency", "performanceConfig.latency", aliases=("latency", "performance"))
    talk.drop("seed", "Bedrock takes no seed")
    talk.drop("logprobs", "Bedrock gives no log-probabilities")
    return talk.terms()


def _claude_sampling(talk: Negotiation, facts: ModelFacts, name: str, *, thinks: bool) -> None:
    reason = ""
    if facts.sampling == "no":
        reason = "the model takes no sampling parameters"
    elif thinks:
        reason = "not while the model thinks"
    either = not name.startswith("claude-3")
    sent = False
    for asked, field in _CLAUDE_SAMPLING.items():
        if reason:
            talk.drop(asked, reason)
        elif sent and either and asked == "top_p":
            talk.drop(asked, "the model takes temperature or top_p, not both")
        else:
            sent = talk.send(asked, field, aliases=(asked,)) or sent


def _sampling(talk: Negotiation, params: Params, facts: ModelFacts) -> None:
    reasons = facts.sampling == "unreasoned" and params.effort != "none"
    for asked, field in _SAMPLING.items():
        if facts.sampling == "no" or reasons:
            talk.drop(asked, "the model takes no sampling parameters")
        else:
            talk.send(asked, field, aliases=(asked,))


def _schema(talk: Negotiation, params: Params, facts: ModelFacts) -> None:
    if not takes_schema(talk, params, facts):
        return
    schema = orjson.dumps(schema_of(params)).decode()
    value: dict[str, Any] = {
        "type": "json_schema",
        "structure": {"jsonSchema": {"name": NAME, "schema": schema}},
    }
    talk.send("schema", "outputConfig.textFormat", value, aliases=(*ALIASES, "textFormat"))


IMAGES = {f"image/{kind}": kind for kind in ("png", "jpeg", "gif", "webp")}
VIDEOS = {
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    "video/x-matroska": "mkv",
    "video/matroska": "mkv",
    "video/webm": "webm",
    "video/x-flv": "flv",
    "video/mpeg": "mpeg",
    "video/x-ms-wmv": "wmv",
    "video/3gpp": "three_gp",
}
DOCUMENTS = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
}
_KINDS = (("image", IMAGES), ("video", VIDEOS), ("document", DOCUMENTS))


@dataclass(frozen=True, slots=True)
class BodySettings:
    """Settings that affect the body but are not negotiated.

    Attributes:
        prompt_cache: lifetime of a cached prefix, ``5m`` or ``1h``; empty: no caching.
        service_tier: ``default``, ``priority``, ``flex`` or ``reserved``; empty: omitted.
    """

    prompt_cache: str = "5m"
    service_tier: str = ""


def prepare(call: Call, facts: ModelFacts, terms: Terms, habits: BodySettings) -> Prepared:
    """The request for a call.

    A prefix marked as shared gets a cache point if it is long enough. Turns without text are
    omitted, and adjacent turns of the same role are merged: the API rejects both.

    Raises:
        CallRejected: the model does not accept this form of conversation.
    """
    messages = call.prompt.messages
    name = wire_name(call)
    leading = leading_system(messages)
    check_turns(messages[leading:], facts, WHO, system_turns=facts.system_turns is True)
    prefix = shared_prefix(messages) if habits.prompt_cache else None
    least = least_cached(name, facts)
    point_at = None
    if prefix and least and prefix.tokens >= least:
        point_at = prefix.message, prefix.part
    point = {"type": "default"} | ({"ttl": "1h"} if habits.prompt_cache == "1h" else {})
    writer = _Writer(name, point_at, point)
    body: dict[str, Any] = {}
    if head := [block for message in messages[:leading] for block in writer.blocks(message)]:
        body["system"] = head
    body["messages"] = writer.turns(messages[leading:])
    body |= terms.fields
    if habits.service_tier:
        body["serviceTier"] = {"type": habits.service_tier}
    return Prepared(
        model=name,
        path=f"/model/{quote(name, safe='')}/converse",
        body=body,
        notes=terms.notes,
        negotiable=terms.negotiable,
    )


def as_json(body: dict[str, Any]) -> bytes:
    """A body as sent over the wire, or written to a line of a batch."""
    return orjson.dumps(body, default=lambda media: b64encode(media).decode("ascii"))


class _Writer:
    """Writes messages as blocks."""

    def __init__(self, model: str, point_at: tuple[int, int] | None, point: dict[str, str]) -> None:
        self._model = model
        self._point_at = point_at
        self._point = point
        self._message = -1
        self._documents = 0

    def turns(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """The ``messages`` field."""
        turns: list[dict[str, Any]] = []
        for message in messages:
            blocks = self.blocks(message)
            if turns and turns[-1]["role"] == message.role:
                turns[-1]["content"] += blocks
            elif blocks:
                turns.append({"role": message.role, "content": blocks})
        return turns

    def blocks(self, message: Message) -> list[dict[str, Any]]:
        """A message's parts; consecutive texts become one block."""
        self._message += 1
        blocks: list[dict[str, Any]] = []
        for index, part in enumerate(message.parts):
            if isinstance(part, MediaPart):
                blocks.append(self._media(part))
            else:
                _append(blocks, part)
            if (self._message, index) == self._point_at and blocks:
                blocks.append({"cachePoint": self._point})
        # The API rejects blocks of white space.
        return [block for block in blocks if "text" not in block or block["text"].strip()]

    def _media(self, part: MediaPart) -> dict[str, Any]:
        found = next(
            ((kind, known[part.media_type]) for kind, known in _KINDS if part.media_type in known),
            None,
        )
        if found is None:
            raise CallRejected(f"{WHO} cannot be sent {part.media_type} parts")
        kind, form = found
        if not part.data:
            raise CallRejected(f"the bytes of {kind} {part.sha256[:12]} are missing")
        if kind == "video" and takes_video(self._model) is False:
            raise CallRejected(
                "the model sees no video", hint="send frames, or take a model that does: Nova"
            )
        block: dict[str, Any] = {"format": form, "source": {"bytes": part.data}}
        if kind == "document":
            self._documents += 1
            # Deliberately neutral: models read the name.
            block["name"] = f"document {self._documents}"
        return {kind: block}


def _append(blocks: list[dict[str, Any]], part: TextPart) -> None:
    if blocks and "text" in blocks[-1]:
        blocks[-1]["text"] += part.text
    elif part.text:
        blocks.append({"text": part.text})
