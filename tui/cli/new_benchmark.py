"""``evalbench new-benchmark``: write an example of a custom benchmark."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from evalbench.engine.benchmarks.custom.example import TEMPLATES, files_of
from evalbench.engine.errors import UsageError
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import Parser

_NAME = re.compile(r"[\w][\w.-]*")


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.add_argument(
        "name", metavar="NAME", help="name of the files to create: NAME.toml and NAME.csv"
    )
    parser.add_argument(
        "--template",
        choices=tuple(TEMPLATES),
        default="choice",
        help="; ".join(f"{name}: {one.about}" for name, one in TEMPLATES.items()),
    )
    parser.examples(
        "evalbench new-benchmark capitals",
        "evalbench new-benchmark sums --template number",
        "evalbench run capitals.toml",
    )


def execute(args: argparse.Namespace) -> int:
    """Write the files; never overwrites any."""
    name = args.name.removesuffix(".toml")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{args.name!r} cannot be a name",
            why="letters, digits, dots and dashes are allowed",
            hint="give a name alone: the files are written into this folder",
        )
    files = {Path(name): body for name, body in files_of(args.template, name).items()}
    if there := [path for path in files if path.exists()]:
        raise UsageError(f"{there[0]} exists already", hint="choose another name")
    for path, body in files.items():
        try:
            path.write_bytes(body)
        except OSError as error:
            raise UsageError(f"cannot write {path}", why=error.strerror or str(error)) from None
    *most, last = map(str, files)
    judge = " --judge PROVIDER/NAME" if args.template == "judged" else ""
    out = stdout()
    out.line(f"wrote {', '.join(most)} and {last}")
    out.line(f"run it:   evalbench run {name}.toml{judge}")
    out.line("change it: the comments in it say how; docs/custom-benchmarks.md says more")
    return 0
