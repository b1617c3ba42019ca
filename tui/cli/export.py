"""``evalbench export``: a run as files of another system."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from evalbench.engine.process import open_run
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.state import figures
from evalbench.tui.state.clean import one_line


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    from evalbench.engine.results.exporting import FORMATS

    lines = [f"  {name:<16}{one.summary}" for name, one in FORMATS.items()]
    parser.description = "\n".join([f"{parser.description}", "", *lines])
    parser.add_argument("run", metavar="RUN", help="id, part of it, folder, or: last")
    parser.add_argument(
        "--format", metavar="FORMAT", help="one of those above; left out, the one that fits the run"
    )
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", type=Path, required=True, help="where to write to"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.examples(
        "evalbench export last --format speceval -o specs_out",
        "evalbench export 7854 -o mt_bench && evalbench import fastchat mt_bench/model_judgment/…",
    )


def execute(args: argparse.Namespace) -> int:
    """Write the files and say which."""
    from evalbench.engine.results.exporting import export_run

    folder = open_run(args.run)
    done = export_run(folder, args.format, args.output.expanduser())
    out = stdout()
    if args.json:
        from evalbench.tui.cli import jsonlines

        files = [str(path) for path in done.files]
        jsonlines.write(out, "exported", run=folder.id, files=files, notes=done.notes)
        return 0
    out.line(f"{figures.count(len(done.files))} files written to {one_line(str(args.output))}")
    for note in done.notes:
        out.line(f"  note: {note}")
    return 0
