"""``evalbench run``: start one run for each model, or the runs of a suite."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from evalbench.engine.errors import SpecError
from evalbench.engine.process import PILOT, Engine, start_run
from evalbench.tui.cli.approval import approval
from evalbench.tui.cli.confirm import can_ask
from evalbench.tui.cli.follow import View
from evalbench.tui.cli.launch import declare_following, declare_run_dir, launch
from evalbench.tui.cli.parser import Parser, add_options, given
from evalbench.tui.cli.target import declare_target, declare_target_settings, wanted_specs


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments; with a benchmark among ``words`` its own flags too."""
    declare_target(parser)
    declare_run_dir(parser)
    add_options(parser, [PILOT], declare_following(parser))
    declare_target_settings(parser, words)
    parser.examples(
        "evalbench run quickstart",
        "evalbench run mmlu --subject anatomy --subject astronomy --limit 100",
        "evalbench run mmlu --help                       settings of mmlu",
        "evalbench run mmlu --model local/NAME --help    and of the provider",
        "evalbench run mmlu --model anthropic/NAME --budget 5 --pilot 20",
        "evalbench run mmlu --data FOLDER --json | jq .  for programs",
        "evalbench run mmlu --detach                     come back with evalbench attach",
        "evalbench run suite.toml --limit 20             try a suite on few samples",
    )


def execute(args: argparse.Namespace) -> int:
    """Start and follow."""
    specs, notes = wanted_specs(args)
    pilot: int | None = PILOT.parse(given(args, [PILOT]).get("pilot"))
    if pilot and args.detach:
        raise SpecError(
            "pilot",
            "--pilot and --detach contradict each other",
            why="somebody must be there to go on after the pilot",
            cure="leave one of them out",
        )

    def start(view: View) -> Engine:
        approve = None
        if can_ask(json=args.json):
            approve = approval(view, specs, pilot=pilot, yes=args.yes)
        return start_run(
            specs,
            run_dir=args.run_dir,
            foreground=args.foreground,
            progress=view.preparing,
            pilot=pilot,
            approve=approve,
        )

    return launch(args, start, notes=notes, pilot=pilot)
