"""``evalbench leaderboard``: models against benchmarks over all runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from evalbench.engine.errors import SpecError, UsageError, nearest
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.launch import declare_run_dir
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.state.leaderboard import chosen, leaderboard, moment
from evalbench.tui.state.run_list import RunList


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    declare_run_dir(parser)
    parser.add_argument("--by", metavar="BENCHMARK", default="", help="order models by this one")
    parser.add_argument("--tag", metavar="TAG", default="", help="only runs with this tag")
    parser.add_argument("--since", metavar="DATE", help="only runs made on this day or later")
    parser.add_argument("--until", metavar="DATE", help="only runs made on this day or earlier")
    parser.add_argument(
        "--format",
        choices=("md", "html", "csv", "json"),
        help="what to write; left out: as the file's ending says, or a table for people",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file")
    parser.examples(
        "evalbench leaderboard",
        "evalbench leaderboard --by gsm8k --tag nightly --since 2026-05-01",
        "evalbench leaderboard -o leaderboard.html",
        "evalbench leaderboard --format csv > leaderboard.csv",
    )


def execute(args: argparse.Namespace) -> int:
    """Print it, or write it to a file."""
    since = moment(args.since) if args.since else 0.0
    until = moment(args.until, end=True) if args.until else None
    lines = chosen(RunList(args.run_dir).look(), args.tag, since, until)
    board = leaderboard(lines, args.by)
    if args.by and args.by != board.by:
        raise SpecError(
            "by",
            f"no model has a score on {args.by!r}",
            hint=" or ".join(name for name in board.benchmarks if args.by in name)
            or nearest(args.by, board.benchmarks)
            or "evalbench runs",
        )
    out = stdout()
    from evalbench.tui.state.leaderboard_files import FORMATS, format_of, listing, matrix, write

    kind = args.format or format_of(args.output or "")
    if args.output and not kind:
        raise UsageError(
            f"the ending of {args.output} tells no format", hint="--format md, html, csv or json"
        )

    if kind:
        if not args.output:
            out.write(FORMATS[kind](board))
            return 0
        path = write(board, kind, args.output)
        out.line(f"written to {one_line(str(path))}")
        return 0
    if not board.models:
        out.line("no complete run has a score" + (" among these" if args.tag or since else ""))
        out.line("start some: evalbench run mmlu gsm8k --model A --model B")
        return 0
    from evalbench.tui.cli.table import print_columns, width_of

    heads, rows = matrix(board)
    left = {0}
    about = "score (95 % interval) · places that intervals allow; the newest complete runs"
    if width_of([*map(one_line, heads)], rows) > out.console().width:
        heads, rows = listing(board)
        left = {0, 1}
        about = "places are those that intervals allow; the newest complete runs"
    right = frozenset(range(len(heads))) - left
    print_columns(out, heads, rows, name=heads[0], right=right)
    out.line(about)
    return 0
