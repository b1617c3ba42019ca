"""``evalbench batches``: list the provider batches of all runs, show one, or cancel one."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalbench.engine.errors import RunNotFound
from evalbench.engine.record_schemas import BatchStatus
from evalbench.engine.runs.folder import RunFolder, all_runs
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli import key_hosts
from evalbench.tui.cli.launch import declare_run_dir
from evalbench.tui.cli.output import Out, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.state import figures
from evalbench.tui.state.batch_words import (
    age_words,
    count_words,
    end_words,
    is_open,
    is_unfetched,
    resend_words,
    saved,
    stage_words,
)

_WIDE = 110


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.add_argument(
        "do", nargs="?", choices=("list", "show", "cancel"), default="list", help="default: list"
    )
    parser.add_argument(
        "batch", nargs="?", metavar="BATCH", help="batch name, or the provider's batch ID"
    )
    parser.add_argument("--all", action="store_true", help="include finished batches")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    key_hosts.declare(parser, "a run")
    declare_run_dir(parser)
    parser.examples(
        "evalbench batches",
        "evalbench batches --all --json | jq .id",
        "evalbench batches show 3f9c2a71be",
        "evalbench batches cancel 3f9c2a71be    finished requests are kept and billed",
    )


def execute(args: argparse.Namespace) -> int:
    """List them, show one, or cancel one."""
    out = stdout()
    if args.do == "list":
        return _list(out, args)
    if not args.batch:
        raise RunNotFound(f"evalbench batches {args.do} needs a batch", hint="evalbench batches")
    folder, batch = _find(args.batch, args.run_dir)
    if args.do == "show":
        _show(out, folder, batch, json=args.json)
        return 0
    if not is_open(batch):
        out.line(f"batch {batch['name']} is over: {stage_words(batch)}")
        return 0
    if is_unfetched(batch):
        out.line(f"batch {batch['name']} has ended; its results were not fetched")
        out.line(f"fetch them: evalbench collect {folder.id}")
        return 0
    from evalbench.tui.cli.collect import collected

    collected(folder, args, cancel=[batch["name"]])
    return 0


def _every(run_dir: Path | None) -> Iterator[tuple[RunFolder, BatchStatus]]:
    for folder in all_runs(run_dir):
        for batch in folder.status().batches:
            yield folder, batch


def _find(name: str, run_dir: Path | None) -> tuple[RunFolder, BatchStatus]:
    for folder, batch in _every(run_dir):
        if name in (batch.get("name"), batch.get("id")):
            return folder, batch
    raise RunNotFound(f"there is no batch {name}", hint="see evalbench batches --all")


def _list(out: Out, args: argparse.Namespace) -> int:
    found = [(run, one) for run, one in _every(args.run_dir) if args.all or is_open(one)]
    if args.json:
        from evalbench.tui.cli import jsonlines

        for folder, batch in found:
            fields: dict[str, Any] = {**batch, "run": folder.id, "event": "batch"}
            jsonlines.write(out, **fields)
    elif found:
        _print(out, found)
    else:
        out.line("no pending batches" if not args.all else "no run has sent a batch")
        out.line("send some: evalbench run BENCHMARK --model PROVIDER/NAME --mode batch")
    return 0


def _print(out: Out, found: Sequence[tuple[RunFolder, Mapping[str, Any]]]) -> None:
    from evalbench.tui.cli.table import print_columns

    now = time.time()
    wide = out.console().width >= _WIDE
    columns = ["batch", *(["run", "model"] if wide else []), "state", "progress", "age", "ends"]
    rows = []
    for folder, batch in found:
        cells = {
            "batch": batch["name"],
            "run": folder.id,
            "model": str(batch.get("model", "")),
            "state": stage_words(batch),
            "progress": count_words(batch),
            "age": age_words(batch, now),
            "ends": end_words(batch, now),
        }
        rows.append([cells[name] for name in columns])
    print_columns(out, columns, rows)


def _show(out: Out, folder: RunFolder, batch: Mapping[str, Any], *, json: bool) -> None:
    name, files = batch["name"], folder.batches
    kept = {
        kind: str(path)
        for kind in ("requests", "results")
        if (path := files / f"{name}.{kind}.jsonl").exists()
    }
    if json:
        from evalbench.tui.cli import jsonlines

        jsonlines.write(out, "batch", run=folder.id, **batch, files=kept)
        return
    now = time.time()
    rows = {
        "batch": name,
        "run": folder.id,
        "role": one_line(str(batch.get("role", ""))),
        "model": one_line(str(batch.get("model", ""))),
        "state": stage_words(batch),
        "progress": count_words(batch),
        "provider id": one_line(str(batch.get("id") or "none yet")),
        "made": f"{age} ago" if (age := age_words(batch, now)) else "not yet",
        "ends": end_words(batch, now),
        "size": figures.amount(batch.get("bytes") or 0, "B"),
        "cost": figures.dollars(float(batch.get("cost") or 0)),
        "saved": figures.dollars(less) if (less := saved([batch])) else "",
        "why": one_line(str(batch.get("why", ""))),
        "not fetched": resend_words([batch]),
        **kept,
    }
    for key, value in rows.items():
        if value:
            out.line(f"{key:<12}{value}")
