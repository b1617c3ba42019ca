"""``evalbench probe``: send one short prompt to a model, with the settings of a run."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalbench.engine import preflight
from evalbench.engine.calls.options import parse_options
from evalbench.engine.config import registry
from evalbench.engine.config.roles import PARAMS, with_address
from evalbench.engine.config.spec import COMMON, parse_model
from evalbench.engine.keys import find_key, looks_like_key, not_here
from evalbench.tui.cli.address import remember
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import Parser, add_options, bare_words, given
from evalbench.tui.state.probe_words import probe_facts

_OPTIONS = [option for option in COMMON if option.name in (*PARAMS, "price", "key", "env_file")]


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments; with a model among ``words``, also its provider's settings."""
    parser.short_usage("PROVIDER/NAME [settings]")
    parser.add_argument("model", metavar="PROVIDER/NAME", help="model")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_options(parser, _OPTIONS, "settings, as for run")
    for model in (word for word in bare_words(parser, words)[:1] if "/" in word):
        name = parse_model(model).provider
        add_options(parser, registry.provider_class(name).options, f"settings of provider {name}")
    parser.examples(
        "evalbench probe anthropic/claude-haiku-4-5",
        "evalbench probe openai/gpt-5 --effort low --key work",
    )


def execute(args: argparse.Namespace) -> int:
    """Send the prompt, and print the reply and its usage."""
    if looks_like_key(args.model):
        raise not_here()
    model = parse_model(args.model)
    provider = registry.provider_class(model.provider)
    settings = parse_options(
        provider.options, given(args, provider.options), f"provider {provider.name}"
    )
    common = parse_options(_OPTIONS, given(args, _OPTIONS), "probe")
    params = {name: common[name] for name in PARAMS if common[name] not in (None, ())}
    secret = _secret(model.provider, common["key"], common["env_file"], settings.get("profile"))
    settings = with_address(model.provider, settings)
    remember(args, model.provider, settings, secret)
    answer = preflight.probe_model(model, secret, settings, params, common["price"])
    out, probe = stdout(), _probe_json(args.model, answer)
    if args.json:
        from evalbench.tui.cli import jsonlines

        jsonlines.write(out, "probe", **probe)
    else:
        for name, words in probe_facts(probe):
            out.line(f"{name:<9}{words}")
    return 0


def _secret(provider: str, name: str | None, file: str | None, profile: str | None) -> str:
    need = registry.provider_class(provider).key
    if name and looks_like_key(name):
        raise not_here()
    if need is None:
        return ""
    path = Path(file) if file else None
    return find_key(provider, need, name, env_file=path, profile=profile)[1]


def _probe_json(model: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    usage = answer.get("usage", {})
    return {
        "model": model,
        "text": answer.get("text", ""),
        "reasoning": answer.get("reasoning", ""),
        "outcome": answer.get("outcome", "ok"),
        "stop_reason": answer.get("stop_reason", ""),
        "provider_model": answer.get("provider_model", ""),
        "input_tokens": usage.get("input_tokens"),
        "output_tokens": usage.get("output_tokens"),
        "reasoning_tokens": usage.get("reasoning_tokens"),
        "cost_usd": None if answer["cost"] is None else float(answer["cost"]),
        "latency_s": answer.get("latency_s", 0.0),
        "params": {
            name: {"fate": fate, "reason": reason}
            for name, fate, reason in answer.get("params", ())
        },
    }
