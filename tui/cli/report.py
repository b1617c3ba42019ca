"""``evalbench report``: runs as a page to keep, print and send, and as plots."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalbench.engine.errors import UsageError
from evalbench.engine.paths import absolute, expand
from evalbench.engine.runs.folder import RunFolder, find_run
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.output import Out, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.state import figures

if TYPE_CHECKING:
    from evalbench.tui.report.content import Report

_TERMINAL = "-"
_UNLIMITED = 100
"""Width in columns of plots written to a file or pipe."""


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.add_argument(
        "run",
        metavar="RUN",
        nargs="+",
        help="run ID, part of an ID, folder, or last; several are compared",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="output file, .html or .md; - for standard output; repeatable; $GITHUB_STEP_SUMMARY "
        "is appended to (default: report.html in the run folder)",
    )
    parser.add_argument(
        "--format", choices=("html", "md"), help="output format, whatever the file is called"
    )
    parser.add_argument(
        "--plots",
        metavar="FOLDER",
        help="write plots as SVG and PNG to this folder; - draws them in the terminal",
    )
    parser.add_argument(
        "--samples",
        metavar="N",
        type=int,
        help="samples to show of each kind: failed, unparsed, wrong, flipped (default: 8)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.examples(
        "evalbench report last",
        "evalbench report last -o report.html -o report.md --samples 20",
        "evalbench report 7854 9c01 -o side-by-side.html --plots plots",
        "evalbench report last --plots -",
    )


def execute(args: argparse.Namespace) -> int:
    """Write the files and list them."""
    from evalbench.tui.report.content import SAMPLES, report_on
    from evalbench.tui.report.writing import check_name, text_of, write_report

    samples = SAMPLES if args.samples is None else args.samples
    if samples < 0:
        raise UsageError("--samples cannot be less than 0", hint="--samples 0 shows none")
    if args.json and args.plots == _TERMINAL:
        raise UsageError("--plots - is for people, --json for programs", hint="--plots FOLDER")
    folders = [find_run(name) for name in args.run]
    piped = [str(file) == _TERMINAL for file in args.output]
    if any(piped) and (len(piped) > 1 or args.json or args.plots):
        raise UsageError("-o - is for one report, with nothing else on standard output")
    if any(piped):
        stdout().write(text_of(report_on(folders, samples=samples), args.format or "md"))
        return 0
    files = _files(args, folders)
    for file in files:
        check_name(file, args.format)
    out = stdout()
    report = report_on(folders, samples=samples)
    notes: list[str] = []
    for file in files:
        write_report(report, file, args.format)
    if args.plots == _TERMINAL:
        _draw(out, report)
    elif args.plots:
        from evalbench.tui.report.plots import write_plots

        more, notes = write_plots(report.charts, expand(args.plots))
        files += more
    if args.json:
        from evalbench.tui.cli import jsonlines

        runs = [folder.id for folder in folders]
        jsonlines.write(out, "reported", runs=runs, files=[str(f) for f in files], notes=notes)
        return 0
    for file in files:
        size = figures.amount(file.stat().st_size, "B")
        out.line(f"{one_line(str(file))} written, {size}")
    for note in notes:
        out.line(f"  note: {note}")
    return 0


def _files(args: argparse.Namespace, folders: Sequence[RunFolder]) -> list[Path]:
    """The reports to write: those named, or the run's own if nothing else is requested."""
    if args.output or args.plots:
        return [absolute(expand(file)) for file in args.output]
    if len(folders) > 1:
        raise UsageError("a report on several runs needs a file to write to", hint="-o report.html")
    return [folders[0].path / f"report.{args.format or 'html'}"]


def _draw(out: Out, report: Report) -> None:
    from evalbench.tui.report.bars import bars

    width = shutil.get_terminal_size().columns - 1 if out.isatty() else _UNLIMITED
    ascii_only = not out.encoding.lower().startswith("utf")
    for chart in report.charts:
        for line in bars(chart, width, ascii_only=ascii_only):
            out.line(line)
        out.line()
