"""What ``run`` and ``estimate`` are about: a benchmark and models, or a suite."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from evalbench.engine import registry
from evalbench.engine.settings import RunSpec
from evalbench.tui.cli.parser import Parser, bare_words, flag_values, given
from evalbench.tui.cli.settings import DEFAULT_MODEL, declare_settings, new_specs, suite_specs


def declare_target(parser: Parser) -> None:
    """The benchmark or suite, and ``--model``."""
    parser.short_usage("BENCHMARK|SUITE.toml [--model PROVIDER/NAME]... [settings]")
    parser.add_argument(
        "target",
        metavar="BENCHMARK|SUITE.toml",
        help="what to run: " + ", ".join(registry.benchmark_names()) + ", or a suite file",
    )
    parser.add_argument(
        "--model",
        action="append",
        metavar="PROVIDER/NAME",
        help=f"model to ask; repeat it to run several (default {DEFAULT_MODEL})",
    )


def declare_target_settings(parser: Parser, words: Sequence[str]) -> None:
    """Flags of every run and, for a benchmark among ``words``, its own and its providers'."""
    declare_settings(parser, None, ())
    target = _target(bare_words(parser, words))
    if target and not _is_suite(target):
        models = flag_values(words, "--model") or [DEFAULT_MODEL]
        declare_settings(parser, registry.benchmark_class(target), models)


def _target(words: Sequence[str]) -> str | None:
    known = registry.benchmark_names()
    return next(
        (word for word in words if word in known or _is_suite(word)), words[0] if words else None
    )


def _is_suite(word: str) -> bool:
    return word.endswith(".toml")


def wanted_specs(args: argparse.Namespace) -> tuple[list[RunSpec], tuple[str, ...]]:
    """The specs that are meant, and remarks to make about them first.

    Raises:
        SpecError: for a value that does not fit.
    """
    if _is_suite(args.target):
        return suite_specs(args, Path(args.target)), ()
    if args.model:
        return new_specs(args, args.target, args.model), ()
    bench = registry.benchmark_class(args.target)
    if model := bench.default_model(given(args, bench.options)):
        return new_specs(args, args.target, [model]), ()
    notes = (f"no --model given: asking {DEFAULT_MODEL}, which runs on this machine",)
    return new_specs(args, args.target, [DEFAULT_MODEL]), notes
