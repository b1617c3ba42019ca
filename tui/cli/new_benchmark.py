"""``evalbench new-benchmark``: write an example of a benchmark of one's own."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from evalbench.engine.benchmarks.custom.example import FILE, TABLE
from evalbench.engine.errors import UsageError
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import Parser

_NAME = re.compile(r"[\w][\w.-]*")


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.add_argument("name", metavar="NAME", help="of the files to write: NAME.toml, NAME.csv")
    parser.examples("evalbench new-benchmark capitals", "evalbench run capitals.toml")


def execute(args: argparse.Namespace) -> int:
    """Write both files; never over others."""
    name = args.name.removesuffix(".toml")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{args.name!r} cannot be a name", why="letters, digits, dots and dashes are allowed"
        )
    files = {Path(f"{name}.toml"): FILE.format(name=name), Path(f"{name}.csv"): TABLE}
    if there := [path for path in files if path.exists()]:
        raise UsageError(f"{there[0]} exists already", cure="choose another name")
    for path, text in files.items():
        try:
            path.write_text(text, "utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {path}", why=error.strerror or str(error)) from None
    out = stdout()
    out.line(f"wrote {name}.toml and {name}.csv")
    out.line(f"run it:   evalbench run {name}.toml")
    out.line("change it: the comments in it say how; docs/custom-benchmarks.md says more")
    return 0
