"""Rules specific to Claude models, wherever they are hosted: thinking, effort, stop sequences."""

from __future__ import annotations

from dataclasses import dataclass

from evalbench.engine.calls import Params
from evalbench.engine.errors import CallRejected
from evalbench.providers.modelfacts import ModelFacts
from evalbench.providers.wire.negotiation import Negotiation

_LEAST_BUDGET = 1024


@dataclass(frozen=True, slots=True)
class Claude:
    """Where an API expects Claude's settings.

    Attributes:
        thinking_field, effort_field, stop_field: dotted paths in the wire body.
    """

    thinking_field: str
    effort_field: str
    stop_field: str

    def thinking(self, talk: Negotiation, params: Params, facts: ModelFacts) -> bool:
        """Send effort and thinking budget; returns whether the model will think.

        Raises:
            CallRejected: the thinking budget is impossible.
        """
        modes = facts.thinking
        budget = params.thinking_budget
        if budget == 0:
            thinks = self._off(talk, "thinking_budget", facts)
            self._effort(talk, facts)
            return thinks
        if budget is not None and (modes is None or "enabled" in modes):
            thinks = self._budget(talk, budget)
            self._effort(talk, facts)
            return thinks or bool(facts.thinks)
        talk.drop("thinking_budget", "the model decides itself how long it thinks; ask for effort")
        if params.effort == "none":
            return self._off(talk, "effort", facts)
        unasked = not facts.thinks and modes and "adaptive" in modes
        if self._effort(talk, facts) and unasked:
            talk.put(self.thinking_field, {"type": "adaptive"})
            return True
        return bool(facts.thinks)

    def _budget(self, talk: Negotiation, budget: int) -> bool:
        if budget < _LEAST_BUDGET:
            raise CallRejected(
                f"a thinking budget of {budget} tokens is too small",
                why=f"Anthropic takes budgets of {_LEAST_BUDGET} tokens and more",
                hint="raise --thinking-budget, or set it to 0 to turn thinking off",
            )
        if budget >= talk.max_tokens:
            raise CallRejected(
                f"a thinking budget of {budget} tokens leaves no room for an answer",
                why=f"thinking counts towards the cap of {talk.max_tokens} tokens of this call",
                hint="raise --max-tokens above --thinking-budget",
            )
        value = {"type": "enabled", "budget_tokens": budget}
        return talk.send("thinking_budget", self.thinking_field, value, aliases=("budget_tokens",))

    def _effort(self, talk: Negotiation, facts: ModelFacts) -> bool:
        aliases = ("effort", "thinking")
        return talk.takes_effort(facts) and talk.send("effort", self.effort_field, aliases=aliases)

    def _off(self, talk: Negotiation, name: str, facts: ModelFacts) -> bool:
        """Turn thinking off; returns whether the model thinks anyway."""
        modes = facts.thinking
        for mode in ("disabled", "between_tools"):
            if modes is None or mode in modes:
                talk.send(name, self.thinking_field, {"type": mode})
                return False
        if modes:
            talk.drop(name, "the model always thinks")
            return True
        talk.drop(name, "the model does not think")
        return False

    def stop(self, talk: Negotiation, params: Params) -> None:
        """Send stop sequences."""
        usable = [text for text in params.stop if text.strip()]
        if len(usable) == len(params.stop):
            talk.send("stop", self.stop_field)
        elif usable:
            reason = "without those of white space only"
            talk.send("stop", self.stop_field, usable, reason=reason)
        else:
            talk.drop("stop", "Anthropic takes no stop texts of white space only")
