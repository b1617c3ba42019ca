"""``evalbench export``: runs as files for other tools."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from evalbench.engine.errors import UsageError
from evalbench.engine.paths import expand
from evalbench.engine.runs.folder import RunFolder, find_run
from evalbench.tui.cli.output import stderr, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.state import figures
from evalbench.tui.state.clean import one_line


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    from evalbench.engine.formats import FORMATS

    lines = [f"  {name:<17}{one.summary}" for name, one in FORMATS.items()]
    parser.description = "\n".join([f"{parser.description}", "", *lines])
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="id, part of it, folder, or: last; one or several"
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        help="one of those above; left out: by the ending of -o, else the benchmark's own, or json",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        type=Path,
        required=True,
        help="folder to write to; or a file, for the formats that make one; - for standard output",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.examples(
        "evalbench export last -o run.json",
        "evalbench export last --format inspect -o logs",
        "evalbench export last --format jsonl -o - | jq .score",
        "evalbench export 7854 91c2 --format mt-bench-json -o ranking.json",
        "evalbench export last --format speceval -o specs_out",
    )


def execute(args: argparse.Namespace) -> int:
    """Write the files and say which."""
    from evalbench.engine.formats import export_runs

    folders = [find_run(name) for name in dict.fromkeys(args.runs)]
    if str(args.output) == "-":
        return _to_stdout(folders, args.format)
    done = export_runs(folders, args.format, expand(args.output))
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
    number = len(done.files)
    files_words = "1 file" if number == 1 else f"{figures.count(number)} files"
    out.line(f"{files_words} written to {one_line(str(args.output))} ({done.format})")
    for note in done.notes:
        out.line(f"  note: {one_line(note)}")
    return 0


def _to_stdout(folders: Sequence[RunFolder], name: str | None) -> int:
    """Write the one file of a format to standard output, and notes to standard error."""
    from evalbench.engine.formats import FORMATS, export_runs

    name = name or "json"
    chosen = FORMATS.get(name)
    if chosen and not chosen.suffix:
        raise UsageError(f"{name} makes a folder, not one file", cure="name a folder with -o")
    with tempfile.TemporaryDirectory(prefix="evalbench-") as scratch:
        place = Path(scratch) / f"out{chosen.suffix if chosen else ''}"
        done = export_runs(folders, name, place)
        (file,) = done.files
        stdout().raw(file.read_bytes())
    for note in done.notes:
        stderr().line(f"note: {one_line(note)}")
    return 0
