"""Requested parameters in Anthropic's terms.

Each generation of Claude takes different ones, and refuses the others even at
their default values. The facts come from :mod:`evalbench.providers.modelfacts`.
"""

from __future__ import annotations

from evalbench.engine.calls import Params
from evalbench.engine.errors import CallRejected
from evalbench.providers.modelfacts import ModelFacts, Refused
from evalbench.providers.wire.negotiation import Negotiation, Terms
from evalbench.providers.wire.schemas import ALIASES, schema_of

LEGACY_VERSION = "2023-06-01"
"""The last API version that knows temperature and top_p."""

FALLBACK_MAX_TOKENS = 4096
"""The API demands a cap; this one applies when a benchmark asks for none."""

LEAST_BUDGET = 1024


def terms(params: Params, facts: ModelFacts, refused: Refused, *, legacy_sampling: bool) -> Terms:
    """What the parameters become for one model.

    Args:
        params: as requested.
        facts: of the model.
        refused: what the model refused before.
        legacy_sampling: whether the old API version may be used to set the
            temperature of models that still have one.

    Raises:
        CallRejected: for a thinking budget that no request could carry.
    """
    talk = Negotiation(params, refused, "Anthropic's API")
    talk.fix("max_tokens", "max_tokens", params.max_tokens or FALLBACK_MAX_TOKENS)
    thinks = _thinking(talk, params, facts)
    _sampling(talk, facts, thinks=thinks, legacy=legacy_sampling)
    _stop(talk, params)
    _schema(talk, params, facts)
    talk.drop("seed", "Anthropic's API takes no seed")
    talk.drop("logprobs", "Anthropic's API gives no log-probabilities")
    return talk.terms()


def _thinking(talk: Negotiation, params: Params, facts: ModelFacts) -> bool:
    """Put effort and thinking budget on the wire; returns whether the model will think."""
    modes = facts.thinking
    budget = params.thinking_budget
    if budget == 0:
        thinks = _off(talk, "thinking_budget", facts)
        _effort(talk, params, facts)
        return thinks
    if budget is not None and (modes is None or "enabled" in modes):
        thinks = _budget(talk, params, budget)
        _effort(talk, params, facts)
        return thinks or bool(facts.thinks)
    talk.drop("thinking_budget", "the model decides itself how long it thinks; ask for effort")
    if params.effort == "none":
        return _off(talk, "effort", facts)
    if _effort(talk, params, facts) and not facts.thinks and modes and "adaptive" in modes:
        talk.fields["thinking"] = {"type": "adaptive"}
        return True
    return bool(facts.thinks)


def _budget(talk: Negotiation, params: Params, budget: int) -> bool:
    cap = params.max_tokens or FALLBACK_MAX_TOKENS
    if budget < LEAST_BUDGET:
        raise CallRejected(
            f"a thinking budget of {budget} tokens is too small",
            why=f"Anthropic takes budgets of {LEAST_BUDGET} tokens and more",
            cure="raise --thinking-budget, or set it to 0 to turn thinking off",
        )
    if budget >= cap:
        raise CallRejected(
            f"a thinking budget of {budget} tokens leaves no room for an answer",
            why=f"thinking counts towards the cap of {cap} tokens of this call",
            cure="raise --max-tokens above --thinking-budget",
        )
    value = {"type": "enabled", "budget_tokens": budget}
    return talk.send("thinking_budget", "thinking", value, aliases=("budget_tokens",))


def _effort(talk: Negotiation, params: Params, facts: ModelFacts) -> bool:
    effort = params.effort
    if effort is None:
        return False
    if facts.efforts is not None and effort not in facts.efforts:
        known = ", ".join(facts.efforts)
        talk.drop("effort", f"the model takes {known}" if known else "the model takes no effort")
        return False
    return talk.send("effort", "output_config.effort", aliases=("effort", "thinking"))


def _off(talk: Negotiation, name: str, facts: ModelFacts) -> bool:
    """Turn thinking off; returns whether the model thinks all the same."""
    modes = facts.thinking
    for mode in ("disabled", "between_tools"):
        if modes is None or mode in modes:
            talk.send(name, "thinking", {"type": mode})
            return False
    if modes:
        talk.drop(name, "the model always thinks")
        return True
    talk.drop(name, "the model does not think")
    return False


def _sampling(talk: Negotiation, facts: ModelFacts, *, thinks: bool, legacy: bool) -> None:
    names = ("temperature", "top_p")
    reason = ""
    if facts.sampling != "legacy":
        reason = "the model takes no sampling parameters"
    elif not legacy:
        reason = f"only API version {LEGACY_VERSION} takes it; see --legacy-sampling"
    elif thinks:
        reason = "not while the model thinks"
    sent = False
    for name in names:
        if reason:
            talk.drop(name, reason)
        elif sent:
            talk.drop(name, "the model takes temperature or top_p, not both")
        else:
            sent = talk.send(name, name)
    if sent:
        talk.headers["anthropic-version"] = LEGACY_VERSION


def _stop(talk: Negotiation, params: Params) -> None:
    usable = [text for text in params.stop if text.strip()]
    if len(usable) == len(params.stop):
        talk.send("stop", "stop_sequences")
    elif usable:
        talk.send("stop", "stop_sequences", usable, reason="without those of white space only")
    else:
        talk.drop("stop", "Anthropic takes no stop texts of white space only")


def _schema(talk: Negotiation, params: Params, facts: ModelFacts) -> None:
    if params.schema is None:
        return
    if facts.schema is False:
        talk.drop("schema", "the model takes no schema")
        return
    value = {"type": "json_schema", "schema": schema_of(params)}
    talk.send("schema", "output_config.format", value, aliases=ALIASES)
