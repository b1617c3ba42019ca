"""``evalbench score``: rescore a run from its stored replies. Makes no calls, costs nothing."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from typing import Any

from evalbench.engine.execution.rescoring import Rescored, rescore
from evalbench.engine.runs.folder import RunFolder, find_run
from evalbench.tui.cli.output import Out, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.cli.signals import second_interrupt_ends
from evalbench.tui.state import figures


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.add_argument("run", metavar="RUN", help="run ID, part of an ID, folder, or last")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.examples("evalbench score last", "evalbench score 7854 --json | jq .after.accuracy")


def execute(args: argparse.Namespace) -> int:
    """Rescore and print what changed."""
    folder = find_run(args.run)
    done = asyncio.run(_anew(folder))
    out = stdout()
    if args.json:
        from evalbench.tui.cli import jsonlines

        jsonlines.write(
            out,
            "score",
            run=folder.id,
            scored=done.scored,
            changed=done.changed,
            kept=done.kept,
            failed=done.failed,
            before=jsonlines.metrics_json(done.before),
            after=jsonlines.metrics_json(done.after),
        )
    else:
        _print(out, done)
    return 0


async def _anew(folder: RunFolder) -> Rescored:
    second_interrupt_ends()  # asyncio has a handler of its own
    return await rescore(folder)


def _print(out: Out, done: Rescored) -> None:
    out.line(
        f"{figures.counted(done.scored, 'score')} recomputed from stored replies,"
        f" {figures.count(done.changed)} of them changed"
    )
    if done.kept:
        out.line(
            f"{figures.count(done.kept)} kept: their replies are not all there,"
            " or answer other questions than are asked now"
        )
    if done.failed:
        out.line(f"{figures.count(done.failed)} of them failed: scoring took too long")
    out.line()
    _print_metrics(out, done)


def _print_metrics(out: Out, done: Rescored) -> None:
    from evalbench.tui.cli.table import print_columns

    rows = [
        (metric["title"] or name, _value(done.before.get(name)), figures.score(metric))
        for name, metric in done.after.items()
        if not metric["group"]
    ]
    print_columns(out, ("metric", "before", "now"), rows, right=frozenset((1, 2)))


def _value(metric: Any) -> str:
    return figures.score(metric) if metric else ""
