"""Facts about models on Bedrock.

Claude and GPT are the same as at their vendors, so the facts from there apply. For the others there
are a few families here; sources: the model cards of the Bedrock user guide, November 2026.
Parameters with unknown support are sent.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from evalbench.providers.bedrock.names import model_name
from evalbench.providers.modelfacts import ModelFacts, table_facts

_FAMILIES: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "amazon.nova-",
        {"images": True, "sampling": "yes", "cache_tokens": 1024, "context_tokens": 300_000},
    ),
    ("amazon.nova-micro", {"images": False, "context_tokens": 128_000}),
    ("amazon.nova-premier", {"context_tokens": 1_000_000}),
    ("amazon.titan-", {"images": False, "efforts": [], "sampling": "yes"}),
    ("deepseek.r1", {"images": False, "thinks": True, "efforts": [], "context_tokens": 128_000}),
    ("meta.llama3-", {"images": False, "efforts": [], "sampling": "yes"}),
    ("meta.llama3-2-11b", {"images": True}),
    ("meta.llama3-2-90b", {"images": True}),
    ("meta.llama4", {"images": True, "efforts": [], "sampling": "yes"}),
    ("mistral.mi", {"efforts": [], "sampling": "yes"}),
    (
        "openai.gpt-oss",
        {
            "images": False,
            "thinks": True,
            "efforts": ["low", "medium", "high"],
            "context_tokens": 128_000,
        },
    ),
)
_MAKERS = ("anthropic", "openai")
_FILMS = ("amazon.nova-lite", "amazon.nova-pro", "amazon.nova-premier", "amazon.nova-2")
_UNCACHED = ("anthropic.claude-3-haiku", "anthropic.claude-3-sonnet", "anthropic.claude-3-opus")


@cache
def bedrock_facts(model: str) -> ModelFacts:
    """Facts about a model, by any of its names."""
    name = model_name(model)
    facts = ModelFacts()
    if name.vendor in _MAKERS:
        facts = table_facts(name.vendor, name.plain)
        # A model retired by its vendor is not necessarily retired here.
        facts = facts.with_known({"retires": "", "successor": ""})
    for prefix, known in _FAMILIES:
        if name.base.startswith(prefix):
            facts = facts.with_known(known)
    return facts


def is_claude(model: str) -> bool:
    """Whether a model is a Claude, with its own rules for thinking and sampling."""
    return model_name(model).base.startswith("anthropic.claude-")


def takes_video(model: str) -> bool | None:
    """Whether a model accepts video; None if its name does not show that."""
    base = model_name(model).base
    if base.startswith(_FILMS):
        return True
    return False if base.startswith(("anthropic.", "meta.", "openai.gpt-oss")) else None


def least_cached(model: str, facts: ModelFacts) -> int:
    """Minimum tokens of a prefix that is cached if marked; 0: the model caches none."""
    base = model_name(model).base
    if base.startswith(_UNCACHED) or not base.startswith(("anthropic.", "amazon.nova-")):
        return 0
    return facts.cache_tokens or 1024
