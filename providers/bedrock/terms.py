"""Requested parameters in the terms of Bedrock's Converse API.

Converse has one form for all models; what a model supports depends on its vendor. The rules for
Claude's generations apply here too.
"""

from __future__ import annotations

from typing import Any

import orjson

from evalbench.engine.calls import Params
from evalbench.providers.modelfacts import ModelFacts, Refused
from evalbench.providers.wire.claude import FALLBACK_MAX_TOKENS, Claude
from evalbench.providers.wire.negotiation import Negotiation, Terms
from evalbench.providers.wire.schemas import ALIASES, NAME, schema_of

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
    talk.fix("max_tokens", "inferenceConfig.maxTokens", params.max_tokens or FALLBACK_MAX_TOKENS)
    if claude:
        thinks = _CLAUDE.thinking(talk, params, facts)
        _claude_sampling(talk, facts, claude, thinks=thinks)
        _CLAUDE.stop(talk, params)
    else:
        _effort(talk, params, facts)
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


def _effort(talk: Negotiation, params: Params, facts: ModelFacts) -> None:
    talk.drop("thinking_budget", "only Claude models take a thinking budget here")
    if params.effort is None:
        return
    if facts.efforts is not None and params.effort not in facts.efforts:
        known = ", ".join(facts.efforts)
        talk.drop("effort", f"the model takes {known}" if known else "the model takes no effort")
        return
    talk.send("effort", "outputConfig.effort", aliases=("effort",))


def _schema(talk: Negotiation, params: Params, facts: ModelFacts) -> None:
    if params.schema is None:
        return
    if facts.schema is False:
        talk.drop("schema", "the model takes no schema")
        return
    schema = orjson.dumps(schema_of(params)).decode()
    value: dict[str, Any] = {
        "type": "json_schema",
        "structure": {"jsonSchema": {"name": NAME, "schema": schema}},
    }
    talk.send("schema", "outputConfig.textFormat", value, aliases=(*ALIASES, "textFormat"))
