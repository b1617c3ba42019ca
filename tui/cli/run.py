"""``evalbench run``: start one run for each model, or the runs of a suite."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from evalbench.engine import registry
from evalbench.engine.process import start_run
from evalbench.tui.cli.launch import declare_following, declare_run_dir, launch
from evalbench.tui.cli.parser import Parser, bare_words, flag_values
from evalbench.tui.cli.settings import DEFAULT_MODEL, declare_settings, new_specs, suite_specs


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments; with a benchmark among ``words`` its own flags too."""
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
    declare_run_dir(parser)
    declare_following(parser)
    declare_settings(parser, None, ())
    target = _target(bare_words(parser, words))
    if target and not _is_suite(target):
        models = flag_values(words, "--model") or [DEFAULT_MODEL]
        declare_settings(parser, registry.benchmark_class(target), models)
    parser.examples(
        "evalbench run quickstart",
        "evalbench run mmlu --subject anatomy --subject astronomy --limit 100",
        "evalbench run mmlu --help                       settings of mmlu",
        "evalbench run mmlu --model local/NAME --help    and of the provider",
        "evalbench run mmlu --data FOLDER --json | jq .  for programs",
        "evalbench run mmlu --detach                     come back with evalbench attach",
        "evalbench run suite.toml --limit 20             try a suite on few samples",
    )


def _target(words: Sequence[str]) -> str | None:
    known = registry.benchmark_names()
    return next(
        (word for word in words if word in known or _is_suite(word)), words[0] if words else None
    )


def _is_suite(word: str) -> bool:
    return word.endswith(".toml")


def execute(args: argparse.Namespace) -> int:
    """Start and follow."""
    notes = []
    if _is_suite(args.target):
        specs = suite_specs(args, Path(args.target))
    else:
        if not args.model:
            notes.append(f"no --model given: asking {DEFAULT_MODEL}, which runs on this machine")
        specs = new_specs(args, args.target, args.model or [DEFAULT_MODEL])
    return launch(
        args,
        lambda view: start_run(
            specs, run_dir=args.run_dir, foreground=args.foreground, progress=view.preparing
        ),
        notes=tuple(notes),
    )
