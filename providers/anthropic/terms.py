"""Requested parameters in Anthropic's terms.

Each generation of Claude supports different ones, and rejects the others even at their default
values. The facts come from :mod:`evalbench.providers.modelfacts`.
"""

from __future__ import annotations

from evalbench.engine.calls import Params
from evalbench.providers.modelfacts import ModelFacts, Refused
from evalbench.providers.wire.claude import FALLBACK_MAX_TOKENS, Claude
from evalbench.providers.wire.negotiation import Negotiation, Terms
from evalbench.providers.wire.schemas import ALIASES, schema_of

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
    talk.fix("max_tokens", "max_tokens", params.max_tokens or FALLBACK_MAX_TOKENS)
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
    if params.schema is None:
        return
    if facts.schema is False:
        talk.drop("schema", "the model takes no schema")
        return
    value = {"type": "json_schema", "schema": schema_of(params)}
    talk.send("schema", "output_config.format", value, aliases=ALIASES)
