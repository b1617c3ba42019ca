"""Common flags of scripts for Bedrock's Converse, translated to ours.

``--model-id X`` is ``--model bedrock/X``; the others are settings that have another name here.
"""

from __future__ import annotations

from collections.abc import Sequence

from evalbench.engine.config import registry
from evalbench.engine.config.spec import COMMON
from evalbench.tui.cli.parser import Parser, add_alias, flag_values

PROVIDER = "bedrock"
ENABLED_BUDGET = 2000
"""Thinking tokens if thinking is enabled without a budget: the usual initial value."""


def declare_model_id(parser: Parser) -> None:
    """``--model-id``."""
    parser.add_argument(
        "--model-id",
        action="append",
        dest="model",
        type=lambda name: f"{PROVIDER}/{name}",
        metavar="ID",
        help=f"same as --model {PROVIDER}/ID",
    )


def models_by_id(words: Sequence[str]) -> list[str]:
    """The models named by ``--model-id``, read before parsing."""
    return [f"{PROVIDER}/{name}" for name in flag_values(words, "--model-id")]


def declare_bedrock_flags(parser: Parser, models: Sequence[str]) -> None:
    """The other flags, if a Bedrock model is called and its settings are declared."""
    if not any(model.startswith(f"{PROVIDER}/") for model in models):
        return
    latency = next(o for o in registry.provider_class(PROVIDER).options if o.name == "latency")
    budget = next(option for option in COMMON if option.name == "thinking_budget")
    add_alias(parser, "--latency-profile", latency)
    add_alias(parser, "--thinking-budget-tokens", budget)
    add_alias(parser, "--enable-thinking", budget, str(ENABLED_BUDGET))
