"""``evalbench estimate``: estimate the calls, tokens and cost of a run. Needs no key.

It queries no provider either, except for a price that only the provider's own list has.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from evalbench.engine import preflight
from evalbench.engine.process.run_keys import price_keys
from evalbench.tui.cli import key_hosts
from evalbench.tui.cli.output import stderr, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.cli.plain import Plain
from evalbench.tui.cli.target import declare_target, declare_target_settings, wanted_specs


def declare(parser: Parser, words: Sequence[str]) -> None:
    """The arguments of ``run``, without those about how to run."""
    declare_target(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per run")
    key_hosts.declare(parser)
    declare_target_settings(parser, words)
    parser.examples(
        "evalbench estimate mmlu --model anthropic/claude-haiku-4-5 --shots 5",
        "evalbench estimate mmlu --model openai/gpt-4.1 --model openai/gpt-4.1-mini --limit 500",
        "evalbench estimate suite.toml --json | jq .realtime",
    )


def execute(args: argparse.Namespace) -> int:
    """Print the estimates."""
    specs, notes = wanted_specs(args)
    for note in notes:
        stderr().line(note)
    # Inspecting someone else's file does not mean trusting it.
    withheld = key_hosts.not_allowed(args, specs)
    found = preflight.estimates(specs, Plain(stderr()).preparing, price_keys(specs, withheld))
    out = stdout()
    if args.json:
        from evalbench.tui.cli import jsonlines

        for spec, one in zip(specs, found, strict=True):
            jsonlines.write(out, "estimate", benchmark=spec.benchmark, model=spec.model, **one)
    else:
        from evalbench.tui.cli.quote import print_estimates

        print_estimates(out, specs, found)
    return 0
