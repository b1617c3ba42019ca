"""The address and identity for querying a provider: an address, a region, a profile."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from evalbench.engine.calls import NETWORK_OPTIONS, PLACES
from evalbench.engine.calls.options import Option
from evalbench.engine.config import registry
from evalbench.engine.config.roles import environment_address, with_address
from evalbench.engine.process.run_keys import remember_place
from evalbench.tui.cli import key_hosts
from evalbench.tui.cli.confirm import can_ask
from evalbench.tui.cli.parser import Parser, add_options, bare_words, given


def declare_place(parser: Parser, words: Sequence[str]) -> None:
    """``--base-url``, and other location settings of the provider among ``words``."""
    parser.add_argument("--base-url", metavar="URL", help="base URL of the API")
    named = set(bare_words(parser, words)) & set(registry.provider_names())
    for name in sorted(named):
        add_options(parser, _placing(name), f"where {name} is asked, and as whom")


def place(args: argparse.Namespace, provider: str) -> dict[str, Any]:
    """The provider settings given by these flags."""
    if provider not in registry.provider_names():
        return {}
    settings = given(args, _placing(provider))
    return with_address(
        provider, {"base_url": args.base_url, **settings} if args.base_url else settings
    )


def remember(
    args: argparse.Namespace, provider: str, settings: Mapping[str, Any], secret: str
) -> None:
    """Remember where a key is sent; asks first if only the environment says so.

    Raises:
        SpecError: it may not be sent there.
    """
    typed = bool(
        given(args, NETWORK_OPTIONS).get("base_url")
        or getattr(args, "base_url", None)
        or environment_address(provider) is None
    )
    asked = can_ask(json=getattr(args, "json", False))
    ask = (lambda bound: key_hosts.ask("the environment", bound)) if asked else None
    remember_place(provider, settings, secret, typed=typed, ask=ask)


def _placing(provider: str) -> list[Option]:
    options = registry.provider_class(provider).options
    return [option for option in options if option.name in PLACES and option.name != "base_url"]
