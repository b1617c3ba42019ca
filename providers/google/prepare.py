"""The body of ``generateContent`` for a call: pure, for realtime and batch alike.

Gemini 2.5 thinks within a token budget, Gemini 3 and later at a level; each rejects the other's
setting. From Gemini 3.5 on, models take no sampling parameters. The facts come from
:mod:`evalbench.providers.modelfacts`; their ``thinking`` is ``budget`` (with ``off`` if it can be
disabled) or ``level``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalbench.engine.calls import Call, Message, Params, TextPart
from evalbench.engine.errors import CallRejected
from evalbench.providers.google.media import WHO, media_part
from evalbench.providers.modelfacts import ModelFacts, Negotiable, Refused
from evalbench.providers.modelfacts.refusals import refusal
from evalbench.providers.wire.exchange import Prepared
from evalbench.providers.wire.negotiation import Negotiation, Terms
from evalbench.providers.wire.prompt_checks import leading_system, raw_text_refused
from evalbench.providers.wire.provider import wire_name
from evalbench.providers.wire.schemas import ALIASES, schema_of, takes_schema

BUDGETS = {
    "minimal": 1024,
    "low": 1024,
    "medium": 8192,
    "high": 24_576,
    "xhigh": 24_576,
    "max": 24_576,
}
"""Thinking budgets for effort levels, as mapped in Google's OpenAI-compatible endpoint."""
_MOST_STOPS = 5
_THINKING = "generationConfig.thinkingConfig"
_THOUGHTS = f"{_THINKING}.includeThoughts"


def terms(params: Params, facts: ModelFacts, refused: Refused) -> Terms:
    """Negotiate the parameters for one model.

    Args:
        params: the requested parameters.
        facts: facts about the model.
        refused: what the model refused before.
    """
    talk = Negotiation(params, refused, "the Gemini API")
    talk.fix("max_tokens", "generationConfig.maxOutputTokens", talk.max_tokens)
    thinks = _thinking(talk, params, facts)
    _sampling(talk, facts)
    talk.send("seed", "generationConfig.seed")
    _stop(talk, params)
    _logprobs(talk, facts)
    _schema(talk, params, facts)
    agreed = talk.terms()
    if not thinks or refusal(refused, _THOUGHTS, "true") is not None:
        return agreed
    # Thoughts are billed in any case; visible ones are stored alongside the answer.
    config = talk.fields["generationConfig"].setdefault("thinkingConfig", {})
    config["includeThoughts"] = True
    shown = Negotiable(_THOUGHTS, "true", ("includeThoughts", "include_thoughts"))
    return replace(agreed, negotiable=(*agreed.negotiable, shown))


def _thinking(talk: Negotiation, params: Params, facts: ModelFacts) -> bool:
    """Send the effort or budget; returns whether the model will certainly think."""
    modes = facts.thinking
    if modes is not None and not modes:
        talk.drop("effort", "the model does not think")
        talk.drop("thinking_budget", "the model does not think")
        return False
    if modes is None or "level" in modes:
        if modes is not None:
            talk.drop("thinking_budget", "the model takes a level, not a budget; see --effort")
        elif params.thinking_budget is not None:
            return _budget(talk, "thinking_budget", params.thinking_budget, bool(modes))
        return _level(talk, params, facts) or bool(modes)
    name, budget = "thinking_budget", params.thinking_budget
    if budget is None and params.effort is not None:
        name, budget = "effort", 0 if params.effort == "none" else BUDGETS.get(params.effort)
        if budget is None:
            talk.drop("effort", f"the model takes {', '.join(('none', *BUDGETS))}")
    elif budget is not None:
        talk.drop("effort", "a thinking budget was asked for, too")
    if budget is None:
        return bool(facts.thinks)
    if budget == 0 and "off" not in modes:
        talk.drop(name, "the model always thinks")
        return True
    return _budget(talk, name, budget, known=True)


def _budget(talk: Negotiation, name: str, budget: int, known: bool) -> bool:
    reason = f"as a thinking budget of {budget:,} tokens" if name == "effort" else ""
    aliases = ("thinkingBudget", "thinking_budget", f"thinking budget {budget}", f"Budget {budget}")
    value = {"thinkingBudget": budget}
    sent = talk.send(name, _THINKING, value, aliases=(*aliases, "Thinking budget"), reason=reason)
    return known and sent and budget > 0


def _level(talk: Negotiation, params: Params, facts: ModelFacts) -> bool:
    if params.effort == "none":
        talk.drop("effort", "the model always thinks")
        return False
    if not talk.takes_effort(facts):
        return False
    level = str(params.effort).upper()
    aliases = ("thinkingLevel", "thinking_level", f"Thinking level {level}", "Thinking level")
    return talk.send("effort", _THINKING, {"thinkingLevel": level}, aliases=aliases)


def _sampling(talk: Negotiation, facts: ModelFacts) -> None:
    for name, field in (("temperature", "temperature"), ("top_p", "topP"), ("top_k", "topK")):
        if facts.sampling == "no":
            talk.drop(name, "the model takes no sampling parameters")
        else:
            talk.send(name, f"generationConfig.{field}", aliases=(name,))


def _stop(talk: Negotiation, params: Params) -> None:
    field, alias = "generationConfig.stopSequences", ("stop_sequences",)
    if len(params.stop) > _MOST_STOPS:
        kept = list(params.stop[:_MOST_STOPS])
        reason = f"the first {_MOST_STOPS}; Gemini takes no more"
        talk.send("stop", field, kept, aliases=alias, reason=reason)
    else:
        talk.send("stop", field, aliases=alias)


def _logprobs(talk: Negotiation, facts: ModelFacts) -> None:
    if facts.logprobs is False:
        talk.drop("logprobs", "the model reports no log-probabilities")
        return
    aliases = ("Logprobs", "responseLogprobs", "response_logprobs")
    if talk.send_logprobs("generationConfig.logprobs", aliases=aliases):
        talk.fields["generationConfig"]["responseLogprobs"] = True


def _schema(talk: Negotiation, params: Params, facts: ModelFacts) -> None:
    if not takes_schema(talk, params, facts):
        return
    aliases = (*ALIASES, "response_json_schema", "responseSchema", "response_schema")
    value: dict[str, Any] = schema_of(params)
    if talk.send("schema", "generationConfig.responseJsonSchema", value, aliases=aliases):
        talk.fields["generationConfig"]["responseMimeType"] = "application/json"


_HARMS = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")
_ROLES = {"user": "user", "assistant": "model"}


@dataclass(frozen=True, slots=True)
class BodySettings:
    """Settings that affect the body but are not parameters of the call.

    Attributes:
        safety: threshold for every harm category, as the API spells it; empty: its default.
        service_tier: ``standard``, ``flex`` or ``priority``; empty: omitted.
        fps: frames per second sampled from a video; None: the default of 1.
    """

    safety: str = ""
    service_tier: str = ""
    fps: float | None = None


def prepare(call: Call, terms: Terms, habits: BodySettings, uris: Mapping[str, str]) -> Prepared:
    """The request for a call.

    Turns without text or media are omitted: the API rejects empty ones.

    Args:
        call: the call.
        terms: its negotiated parameters.
        habits: settings of the provider.
        uris: URIs of uploaded files by the SHA-256 of their bytes.

    Raises:
        CallRejected: Gemini does not accept this form of conversation.
    """
    messages = call.prompt.messages
    leading = leading_system(messages)
    system, turns = messages[:leading], messages[leading:]
    body: dict[str, Any] = {}
    if head := "\n\n".join(message.text for message in system if message.text):
        body["systemInstruction"] = {"parts": [{"text": head}]}
    body["contents"] = _contents(turns, habits, uris)
    body |= terms.fields
    if habits.safety:
        body["safetySettings"] = [
            {"category": f"HARM_CATEGORY_{harm}", "threshold": habits.safety} for harm in _HARMS
        ]
    if habits.service_tier:
        body["serviceTier"] = habits.service_tier
    name = bare_name(wire_name(call))
    return Prepared(
        model=name,
        path=f"/models/{name}:generateContent",
        body=body,
        notes=terms.notes,
        negotiable=terms.negotiable,
    )


def bare_name(model: str) -> str:
    """A model's name without the ``models/`` prefix used in the API's own lists."""
    return model.removeprefix("models/")


def _contents(
    turns: Sequence[Message], habits: BodySettings, uris: Mapping[str, str]
) -> list[dict[str, Any]]:
    contents = []
    for turn in turns:
        if turn.role == "context":
            raise raw_text_refused(WHO)
        if turn.role == "system":
            raise CallRejected(f"{WHO} takes system messages only at the start")
        if parts := _parts(turn, habits, uris):
            contents.append({"role": _ROLES[turn.role], "parts": parts})
    if not contents:
        raise CallRejected("the call has a system message and no question")
    return contents


def _parts(turn: Message, habits: BodySettings, uris: Mapping[str, str]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for part in turn.parts:
        if not isinstance(part, TextPart):
            parts.append(media_part(part, uris, habits.fps))
        elif parts and "text" in parts[-1]:
            parts[-1]["text"] += part.text
        elif part.text:
            parts.append({"text": part.text})
    return parts
