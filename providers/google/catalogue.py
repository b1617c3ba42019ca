"""Reading Google's model lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls import ModelInfo
from evalbench.providers.modelfacts import FactsResolver


def model_info(entry: Mapping[str, Any], facts_resolver: FactsResolver) -> ModelInfo | None:
    """A line of the model list; None for a model that does not answer prompts.

    Args:
        entry: a model as the SDK returns it.
        facts_resolver: what else is known about models.

    Raises:
        KeyError: the entry has no name.
    """
    actions = entry.get("supported_actions")
    if actions and "generateContent" not in actions:
        return None
    name = str(entry["name"]).rpartition("/")[2]
    facts = facts_resolver.of(name)
    return ModelInfo(
        name=name,
        title=entry.get("display_name") or "",
        context_tokens=entry.get("input_token_limit") or facts.context_tokens,
        retires=facts.retires or "",
    )


def told_facts(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Facts for :class:`~evalbench.providers.modelfacts.ModelFacts` from a model's entry."""
    known = {
        "context_tokens": entry.get("input_token_limit"),
        "output_tokens": entry.get("output_token_limit"),
    }
    return {name: value for name, value in known.items() if type(value) is int}
