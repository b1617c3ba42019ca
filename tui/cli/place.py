"""Where and as whom a provider is asked: an address, a region, a profile."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from evalbench.engine.calls import PLACES
from evalbench.engine.calls.options import Option
from evalbench.engine.config import registry
from evalbench.tui.cli.parser import Parser, add_options, bare_words, given


def declare_place(parser: Parser, words: Sequence[str]) -> None:
    """``--base-url``, and what else places the provider that is among ``words``."""
    parser.add_argument("--base-url", metavar="URL", help="ask at another address")
    named = set(bare_words(parser, words)) & set(registry.provider_names())
    for name in sorted(named):
        add_options(parser, _placing(name), f"where {name} is asked, and as whom")


def place(args: argparse.Namespace, provider: str) -> dict[str, Any]:
    """The settings of a provider that were given by these flags."""
    if provider not in registry.provider_names():
        return {}
    settings = given(args, _placing(provider))
    return {"base_url": args.base_url, **settings} if args.base_url else settings


def _placing(provider: str) -> list[Option]:
    options = registry.provider_class(provider).options
    return [option for option in options if option.name in PLACES and option.name != "base_url"]
