"""``evalbench tag``: add tags to runs, and remove them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from evalbench.engine.errors import UsageError
from evalbench.engine.runs.folder import find_run
from evalbench.engine.runs.tags import change_tags
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import Parser


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="run ID, part of an ID, folder, or last; one or more"
    )
    parser.add_argument(
        "--add", metavar="TAG", action="append", default=[], help="a tag to add; can be repeated"
    )
    parser.add_argument(
        "--remove",
        metavar="TAG",
        action="append",
        default=[],
        help="a tag to remove; can be repeated",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.examples(
        "evalbench tag last --add paper",
        "evalbench tag 7854 91c2 --add final --remove draft",
        "evalbench runs --tag paper",
    )


def execute(args: argparse.Namespace) -> int:
    """Change the tags of every run, and list them."""
    add, remove = ([tag.strip() for tag in tags] for tags in (args.add, args.remove))
    if not all([*add, *remove]):
        raise UsageError("a tag cannot be empty")
    out = stdout()
    for folder in [find_run(name) for name in dict.fromkeys(args.runs)]:
        tags = change_tags(folder, add, remove) if add or remove else folder.status().tags
        if args.json:
            from evalbench.tui.cli import jsonlines

            jsonlines.write(out, "tags", run=folder.id, tags=tags)
        else:
            out.line(f"{folder.id}: {', '.join(map(one_line, tags)) or 'no tags'}")
    return 0
