"""``evalbench models fit``: do models fit in this machine's memory?"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from evalbench.engine import preflight
from evalbench.engine.calls.options import Option
from evalbench.engine.config import registry
from evalbench.engine.hardware.fit import Fit
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.output import stderr, stdout
from evalbench.tui.cli.parser import Parser, add_options, flag_values, given
from evalbench.tui.cli.plain import Plain
from evalbench.tui.cli.settings import declare_settings, new_specs
from evalbench.tui.cli.table import print_columns
from evalbench.tui.state import figures
from evalbench.tui.state.fit_words import FORMS, fit_words

PROVIDER = "local"
_OPTIONS = (
    *("backend", "device", "dtype", "quantize", "memory_limit", "max_batch_tokens", "slots"),
    "deterministic",
)


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.short_usage("fit [MODEL]... [--benchmark NAME [settings]] [--memory-limit 6GB]")
    parser.add_argument("provider", metavar="fit", help="literally fit")
    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="*",
        help="model name, Hugging Face org/name, folder or GGUF file (default: all known models)",
    )
    parser.add_argument(
        "--benchmark",
        metavar="NAME",
        choices=registry.benchmark_names(),
        help="size for this benchmark's longest prompt and answer; takes its options from "
        "evalbench run",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    add_options(parser, _options(), "how it would be loaded")
    for name in flag_values(words, "--benchmark"):
        if name in registry.benchmark_names():
            declare_settings(parser, registry.benchmark_class(name), [f"{PROVIDER}/any"])
    parser.examples(
        "evalbench models fit",
        "evalbench models fit llama-3.2-3b --memory-limit 6GB --benchmark mt-bench",
        "evalbench models fit --benchmark mmlu --shots 5 --data ./mmlu",
        "evalbench models fit Qwen/Qwen3-0.6B ./my-model --quantize 4bit",
    )


def execute(args: argparse.Namespace) -> int:
    """Print what each model needs; exit code 1 if something is unknown."""
    settings = given(args, registry.provider_class(PROVIDER).options)
    asked = new_specs(args, args.benchmark, [f"{PROVIDER}/any"])[0] if args.benchmark else None
    names = [_name(word) for word in args.models] or [
        model["name"] for model in preflight.models(PROVIDER)
    ]
    found = preflight.fit_models(PROVIDER, names, settings, asked, Plain(stderr()).preparing)
    out = stdout()
    if args.json:
        from evalbench.tui.cli import jsonlines

        for fit in found:
            ident = f"{PROVIDER}/{fit['model']}"
            jsonlines.write(out, "fit", **{**fit, "model": ident})
    else:
        _print(args, found, settings)
    return 1 if any(fit["error"] for fit in found) else 0


def _print(
    args: argparse.Namespace, found: Sequence[dict[str, Any]], settings: dict[str, Any]
) -> None:
    fits = {one["model"]: Fit.from_json(one["fit"]) for one in found if one["fit"]}
    if fits:
        _print_fits(args, fits, found[0]["device"], limited=bool(settings.get("memory_limit")))
    for one in found:
        if one["error"]:
            named = "" if one["model"] in one["error"] else f"{one_line(one['model'])}: "
            stderr().line(f"error: {named}{one_line(one['error'])}")
            if one["hint"]:
                stderr().line(f"  try: {one_line(one['hint'])}")


def _print_fits(
    args: argparse.Namespace, fits: Mapping[str, Fit], device: str, *, limited: bool
) -> None:
    out = stdout()
    tokens = max(one.tokens for one in fits.values())
    about = f" of {args.benchmark}" if args.benchmark else ""
    free = figures.amount(next(iter(fits.values())).free, "B")
    out.line(
        f"{one_line(device)}, {'at most' if limited else 'free:'} {free}; prompts with their"
        f" answers{about} up to {figures.counted(tokens, 'token')}"
    )
    out.line()
    forms = list(dict.fromkeys(form for one in fits.values() for form in one.least))
    rows = [
        (
            one_line(name),
            fit_words(one)[0],
            figures.count(one.slots),
            *(figures.amount(one.least[form], "B") if form in one.least else "" for form in forms),
        )
        for name, one in fits.items()
    ]
    least = [f"least in {FORMS.get(form, form)}" for form in forms]
    print_columns(out, ("model", "verdict", "side by side", *least), rows)


def _name(word: str) -> str:
    """A model's name as the provider expects it."""
    return word.removeprefix(f"{PROVIDER}/")


def _options() -> list[Option]:
    declared = registry.provider_class(PROVIDER).options
    return [option for option in declared if option.name in _OPTIONS]
