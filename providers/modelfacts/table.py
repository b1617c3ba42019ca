"""The shipped tables: ``models.json`` (generated), overridden by ``families.json`` (by hand)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from evalbench.providers.modelfacts.facts import ModelFacts

_HERE = Path(__file__).parent
_DATED = re.compile(r"[-@](?:20\d{6}|20\d\d-\d\d-\d\d|latest)$")


@cache
def _models() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    models: dict[str, dict[str, dict[str, Any]]] = orjson.loads(
        (_HERE / "models.json").read_bytes()
    )["models"]
    return models


@cache
def _families() -> Mapping[str, list[dict[str, Any]]]:
    families: dict[str, list[dict[str, Any]]] = orjson.loads(
        (_HERE / "families.json").read_bytes()
    )["families"]
    return families


@cache
def table_facts(provider: str, model: str) -> ModelFacts:
    """What the shipped tables know about a model: its own row, then its families.

    A dated or ``latest`` name without its own row uses the row of the plain name. Longer family
    prefixes override shorter ones.
    """
    rows = _models().get(provider, {})
    row = rows.get(model) or rows.get(_DATED.sub("", model)) or {}
    facts = ModelFacts().with_known(row)
    for family in sorted(_families().get(provider, ()), key=lambda f: len(f["prefix"])):
        if model.startswith(family["prefix"]):
            facts = facts.with_known(family["facts"])
    return facts


def known_names(provider: str) -> tuple[str, ...]:
    """Names of the provider's models in the generated table."""
    return tuple(_models().get(provider, ()))


def other_provider(provider: str, model: str) -> str:
    """The other provider that a model's name clearly belongs to; empty if none."""
    for name in ("anthropic", "openai"):
        if name != provider and model in _models().get(name, {}):
            return name
    return ""
