"""``evalbench export``: export runs for other tools."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from evalbench.engine.errors import UsageError
from evalbench.engine.paths import expand
from evalbench.engine.runs.folder import RunFolder, find_run
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.output import stderr, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.state import figures

_BINARY = (".parquet", ".eval")


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    from evalbench.engine.formats import FORMATS

    lines = [f"  {name:<17}{one.summary}" for name, one in FORMATS.items()]
    parser.description = "\n".join([f"{parser.description}", "", *lines])
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="run ID, part of an ID, folder, or last; one or more"
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        help="output format (default: from the extension of -o, else the benchmark's own, "
        "else json)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        type=Path,
        required=True,
        help="folder to write to; a file, for the formats that make one; or - for standard output",
    )
    parser.add_argument(
        "--short-names",
        action="store_true",
        help="in other systems' own formats: models without their provider, gpt-4.1 for"
        " openai/gpt-4.1",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.examples(
        "evalbench export last -o run.json",
        "evalbench export last --format inspect -o logs",
        "evalbench export last --format jsonl -o - | jq .score",
        "evalbench export 7854 91c2 --format mt-bench-json -o ranking.json",
        "evalbench export last --format speceval -o specs_out",
    )


def execute(args: argparse.Namespace) -> int:
    """Write the files and list them."""
    from evalbench.engine.formats import export_runs

    folders = [find_run(name) for name in dict.fromkeys(args.runs)]
    if str(args.output) == "-":
        return _to_standard_output(args, folders)
    done = export_runs(folders, args.format, expand(args.output), short_names=args.short_names)
    out = stdout()
    if args.json:
        from evalbench.tui.cli import jsonlines

        files = [str(path) for path in done.files]
        jsonlines.write(
            out,
            "exported",
            run=folders[0].id,
            runs=[folder.id for folder in folders],
            format=done.format,
            files=files,
            notes=done.notes,
        )
        return 0
    written = figures.counted(len(done.files), "file")
    of = folders[0].id if len(folders) == 1 else figures.counted(len(folders), "run")
    out.line(f"{written} of {of} written to {one_line(str(args.output))} ({done.format})")
    for note in done.notes:
        out.line(f"  note: {one_line(note)}")
    return 0


def _to_standard_output(args: argparse.Namespace, folders: Sequence[RunFolder]) -> int:
    """Write the format's only file; messages go to standard error."""
    from evalbench.engine.formats import FORMATS, export_runs

    name = args.format or "json"
    if args.json:
        raise UsageError("--json and -o - both want standard output", hint="leave one of them out")
    ending = FORMATS[name].suffix if name in FORMATS else ".json"
    if not ending:
        raise UsageError(f"{name} makes several files", hint="name a folder with -o")
    if ending in _BINARY and stdout().isatty():
        raise UsageError(
            f"{name} is no text that a terminal could show", hint=f"name a file: -o run{ending}"
        )
    with TemporaryDirectory(prefix="evalbench-") as scratch:
        place = Path(scratch) / f"run{ending}"
        done = export_runs(folders, name, place, short_names=args.short_names)
        for note in done.notes:
            stderr().line(f"note: {one_line(note)}")
        if any(name.startswith("last") for name in args.runs):
            stderr().line(f"run {', '.join(folder.id for folder in folders)}")
        [file] = done.files
        stdout().send(file)
    return 0
