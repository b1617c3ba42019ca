"""``evalbench translate``: translate another tool's command line to ours."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence

from evalbench.engine.errors import UsageError
from evalbench.engine.formats.command_lines import split_commands, translate
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import Parser

_MOST = 1_000_000


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments: the command as typed for the other tool."""
    parser.short_usage("COMMAND…")
    parser.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="COMMAND…",
        help="the command as typed there; without it, or with -, commands from standard input",
    )
    parser.examples(
        "evalbench translate python -m src.cli --models gpt2-large --max-questions 5",
        "evalbench translate python run_experiment.py --exp-path e --df-path d --max-questions 9",
        "evalbench translate < commands.sh",
    )


def execute(args: argparse.Namespace) -> int:
    """Print the commands in shell syntax, each after the notes about it."""
    if args.command and args.command != ["-"]:
        _print(args.command)
        return 0
    if sys.stdin.isatty():
        raise UsageError("there is no command", hint="evalbench translate python script.py …")
    code = 0
    for words in split_commands(sys.stdin.read(_MOST)):
        stdout().line(f"# {one_line(shlex.join(words))}")
        try:
            _print(words)
        except UsageError as error:
            stdout().line(f"# not known: {one_line(error.what)}; {one_line(error.why)}")
            code = error.exit_code
        stdout().line()
    return code


def _print(words: Sequence[str]) -> None:
    found = translate(words)
    for note in found.notes:
        stdout().line(f"# {one_line(note)}")
    for command in found.commands:
        stdout().line(one_line(shlex.join(command)))
