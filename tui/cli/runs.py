"""``evalbench runs``: all runs, one line each, from their status files alone."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import Any

from evalbench.engine.paths import runs_dir
from evalbench.engine.runs.folder import RunFolder, all_runs, short_ids
from evalbench.engine.runs.status import Status
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.launch import declare_run_dir
from evalbench.tui.cli.output import Out, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.state import figures
from evalbench.tui.state.batch_words import unfetched_calls
from evalbench.tui.state.spending import is_free, spent_words

_WIDE = 120
_MIDDLING = 90
_LEAST_NAME = 12
"""From this many screen columns on, more is shown."""


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    declare_run_dir(parser)
    parser.add_argument("--tag", metavar="TAG", help="list only runs with this tag")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.examples(
        "evalbench runs",
        "evalbench runs --tag nightly",
        "evalbench runs --json | jq -r 'select(.state == \"interrupted\").id'",
    )


def execute(args: argparse.Namespace) -> int:
    """Print the list, newest first."""
    out = stdout()
    found = [
        (folder, status)
        for folder in all_runs(args.run_dir)
        if (status := folder.status()) and (args.tag is None or args.tag in status.tags)
    ]
    if args.json:
        from evalbench.tui.cli import jsonlines

        for folder, status in found:
            jsonlines.write(out, "run", **summary(folder, status))
    elif found:
        _print(out, found, all_runs(args.run_dir))
        for folder, status in found:
            if why := folder.unreadable(status):
                out.line(f"{folder.id} cannot be read: {one_line(why)}")
                out.line(f"  try: {one_line(folder.how_to_remove)}")
    else:
        tagged = f" tagged {args.tag}" if args.tag else ""
        out.line(f"no run{tagged} in {args.run_dir or runs_dir()}")
        out.line("start one: evalbench run quickstart")
    return 0


def summary(folder: RunFolder, status: Status) -> dict[str, Any]:
    """A run in the JSON form of ``runs`` and ``show``."""
    from evalbench.tui.cli.jsonlines import metrics_json

    return {
        "id": folder.id,
        "state": folder.shown_state(status),
        "pid": folder.live_pid(status),
        "exit_code": status.exit_code,
        "folder": str(folder.path),
        "benchmark": status.benchmark,
        "title": status.title,
        "model": status.model,
        "desc": status.desc,
        "tags": status.tags,
        "created": status.created,
        "updated": status.updated,
        "host": status.host,
        "total": status.total,
        "done": status.done,
        "failed": status.failed,
        "sent": status.sent,
        "from_journal": status.from_journal,
        "reused": status.reused,
        "unfetched": unfetched_calls(status.batches),
        "input_tokens": status.input_tokens,
        "output_tokens": status.output_tokens,
        "rate": status.rate,
        "seconds": status.seconds,
        "spend_usd": status.spend_usd,
        "possible_usd": status.possible_usd,
        "budget_usd": status.budget_usd,
        "mixed": status.mixed,
        "problem": status.problem or folder.unreadable(status) or None,
        "errors": status.errors,
        "params": status.params,
        "metrics": metrics_json(status.metrics),
        "outcomes": status.outcomes,
    }


def _print(out: Out, found: Sequence[tuple[RunFolder, Status]], shown: Sequence[RunFolder]) -> None:
    from rich.text import Text

    from evalbench.tui.cli.table import plain_table, print_table, printable

    width = out.console().width
    short = short_ids(shown) if width < _WIDE else {}
    money = ["spent"] if any(status.spend_usd for _, status in found) else []
    columns = ["id", "state", "benchmark", "model", "score", "done", *money, "age"]
    rows: list[dict[str, str]] = []
    for folder, status in found:
        done = f"{figures.count(status.done)}/{figures.count(status.total)}"
        if status.failed:
            done += f", {figures.count(status.failed)} failed"
        cells = {
            "id": short.get(folder.id, folder.id),
            "state": folder.shown_state(status),
            "benchmark": printable(out, status.name if width >= _WIDE else status.benchmark),
            "model": printable(out, status.model),
            "score": _headline(status.metrics, with_interval=width >= _MIDDLING),
            "done": done,
            "spent": "" if is_free(status) else spent_words(status),
            "age": figures.age(time.time() - status.created) if status.created else "",
        }
        rows.append(cells)
    columns = _fitted(columns, rows, width)
    table = plain_table(*columns, right=frozenset(range(columns.index("score"), len(columns))))
    for cells in rows:
        table.add_row(*(Text(cells[name], no_wrap=True) for name in columns))
    print_table(out, table)


def _fitted(columns: list[str], rows: Sequence[dict[str, str]], width: int) -> list[str]:
    """The columns that fit on a screen; long names are cut so that nothing wraps.

    Columns available elsewhere are dropped first: ages, then cost, then progress.
    """
    from evalbench.tui.cli.table import cut_names, width_of
    from evalbench.tui.state.cells import widest

    def taken() -> int:
        return width_of(columns, [[row[name] for name in columns] for row in rows])

    for name, least in (("model", _LEAST_NAME), ("benchmark", _LEAST_NAME)):
        over = taken() - width
        if over > 0:
            names = [row[name] for row in rows]
            keep = max(least, widest(names) - over)
            for row, cut in zip(rows, cut_names(names, keep), strict=True):
                row[name] = cut
    columns = list(columns)
    for name in ("age", "spent", "done", "benchmark"):
        if taken() > width and name in columns:
            columns.remove(name)
    return columns


def _headline(metrics: Mapping[str, Mapping[str, Any]], *, with_interval: bool) -> str:
    for metric in metrics.values():
        if metric.get("value") is None:
            return ""
        return figures.score(metric) if with_interval else figures.value(metric)
    return ""
