"""``evalbench models``: list the models of providers, queried now."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalbench.engine import preflight
from evalbench.engine.calls import KeyNeed
from evalbench.engine.config import registry
from evalbench.engine.config.roles import with_address
from evalbench.engine.errors import (
    BadKey,
    ConnectionFailed,
    EvalbenchError,
    KeyUnavailable,
    SpecError,
)
from evalbench.engine.keys import find_key
from evalbench.engine.process.run_keys import remember_place
from evalbench.engine.terminal_text import clean
from evalbench.tui.cli import models_fit, models_loaded
from evalbench.tui.cli.address import declare_place, place, remember
from evalbench.tui.cli.output import stderr, stdout
from evalbench.tui.cli.parser import Parser, bare_words
from evalbench.tui.state import figures

if TYPE_CHECKING:
    from evalbench.engine.cost.prices import PriceBook

_AT_ONCE = 4
"""Each provider is queried in a separate process."""

Listed = list[dict[str, Any]] | EvalbenchError


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments; ``fit``, ``loaded`` and ``unload`` have their own."""
    word = next(iter(bare_words(parser, words)), "")
    if word == "fit":
        models_fit.declare(parser, words)
        return
    if word in models_loaded.WORDS:
        models_loaded.declare(parser, word)
        return
    parser.add_argument(
        "provider",
        metavar="PROVIDER|fit|loaded|unload",
        nargs="?",
        help="list only this provider's models; fit checks whether local models fit in memory;"
        " loaded lists those that stay in memory after a run, unload frees them",
    )
    declare_place(parser, words)
    parser.add_argument("--key", metavar="NAME", help="name of the keychain key to use")
    parser.add_argument(
        "--env-file", type=Path, metavar="FILE", help="read keys from this .env file first"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.examples(
        "evalbench models",
        "evalbench models anthropic",
        "evalbench models fit --help",
        "evalbench models unload",
        "evalbench models compatible --base-url http://127.0.0.1:8000/v1",
    )


def execute(args: argparse.Namespace) -> int:
    """Print the list; providers without one are named at the end."""
    if args.provider == "fit":
        return models_fit.execute(args)
    if args.provider in models_loaded.WORDS:
        return models_loaded.execute(args)
    if args.provider is None and (args.base_url or args.key):
        raise SpecError(
            "provider",
            "--base-url and --key are about one provider",
            hint="evalbench models PROVIDER …",
        )
    found = _one(args) if args.provider else _all(args)
    out = stdout()
    rows: list[tuple[str, ...]] = []
    book: PriceBook | None = None
    code = 0
    for provider, listed in found:
        if isinstance(listed, EvalbenchError):
            stderr().line(f"error: {provider}: " + clean(str(listed)))
            code = max(code, listed.exit_code)
            continue
        if args.json:
            from evalbench.engine.cost.prices import PriceBook
            from evalbench.tui.cli import jsonlines

            book = book or PriceBook()

            for model in listed:
                model.pop("rates", None)
                ident, price = f"{provider}/{model['name']}", _price(book, provider, model["name"])
                jsonlines.write(out, "model", provider=provider, id=ident, **model, price=price)
        rows += [_row(provider, model) for model in listed]
    if not args.json:
        from evalbench.tui.cli.table import print_columns

        print_columns(out, ("model", "context", "retires", "notes"), rows)
    return code


def _price(book: PriceBook, provider: str, name: str) -> dict[str, float] | None:
    """US dollars per million tokens for a short call; None if unknown."""
    from evalbench.engine.calls import ModelRef

    prices = book.prices(ModelRef(provider, name))
    if prices is None:
        return None
    return {"input": float(prices.rates.input), "output": float(prices.rates.output)}


def _row(provider: str, model: dict[str, Any]) -> tuple[str, ...]:
    context = figures.count(model["context_tokens"]) if model["context_tokens"] else ""
    notes = "; ".join(filter(None, [model["title"], model["notes"]]))
    return f"{provider}/{model['name']}", context, model["retires"], notes


def _one(args: argparse.Namespace) -> Iterator[tuple[str, Listed]]:
    """One provider's models; raises the reason if there are none."""
    need = _need(args.provider)
    secret, settings = "", place(args, args.provider)
    if need:
        profile = settings.get("profile")
        _, secret = find_key(args.provider, need, args.key, env_file=args.env_file, profile=profile)
    remember(args, args.provider, settings, secret)
    yield args.provider, preflight.models(args.provider, secret, settings)


def _all(args: argparse.Namespace) -> Iterator[tuple[str, Listed]]:
    """The models of every available provider; the others are listed together."""
    without_key, silent = [], []
    names = registry.provider_names()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = pool.map(lambda name: _listed(name, args.env_file), names)
        for name, listed in zip(names, answers, strict=True):
            if isinstance(listed, KeyUnavailable):
                without_key.append(name)
            elif isinstance(listed, (ConnectionFailed, SpecError)):
                silent.append(name)
            else:
                yield name, listed
    if without_key:
        stderr().line(f"no key for {', '.join(without_key)}: evalbench keys set PROVIDER")
    if silent:
        stderr().line(f"no answer from {', '.join(silent)}: evalbench models PROVIDER says why")


def _listed(name: str, env_file: Path | None) -> Listed:
    need, secret = None, ""
    try:
        need = _need(name)
        if need:
            # The keychain is queried only for keys that were set, not once per provider.
            ref, secret = find_key(name, replace(need, required=False), env_file=env_file)
            if need.required and not secret:
                return KeyUnavailable(f"{ref}")
        settings = with_address(name, {})
        remember_place(name, settings, secret, typed=False)
        return preflight.models(name, secret, settings)
    except BadKey as error:
        # Providers whose SDK finds its own credentials are queried, and may find none.
        return KeyUnavailable(error.what) if need and need.profile and not secret else error
    except EvalbenchError as error:
        return error


def _need(provider: str) -> KeyNeed | None:
    return registry.provider_class(provider).key
