"""A leaderboard as Markdown, HTML, CSV and JSON."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.errors import UsageError
from evalbench.engine.paths import expand, write_file
from evalbench.engine.runs.sanitize import cell, without_keys
from evalbench.engine.terminal_text import one_line
from evalbench.tui.state import figures
from evalbench.tui.state.leaderboard import Leaderboard, cell_words, day, latency, total_cost
from evalbench.tui.state.markdown import markdown_text
from evalbench.tui.state.run_list import RunLine

_COLUMNS = (
    *("benchmark", "model", "rank_low", "rank_high", "metric", "value", "low", "high", "n"),
    *("samples", "failed", "cost_usd", "tokens", "latency_s", "date", "tags", "run", "title"),
)
_ABOUT = (
    "Each score is that of the newest complete run, with its 95 % interval and the places that "
    "the intervals allow. Latency is the median time to a reply."
)
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color: #222; background: #fff }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .3rem .7rem; border-bottom: 1px solid #ccc; text-align: right }
th:first-child, td:first-child { text-align: left }
small { color: #666 }
"""


def rows(board: Leaderboard) -> list[dict[str, Any]]:
    """One row per score, by benchmark and then best first; raw numbers."""
    found = []
    for benchmark in board.benchmarks:
        there = [model for model in board.models if board.run(model, benchmark)]
        there.sort(key=lambda model: -(board.runs[model, benchmark].value or 0.0))
        found += [_row(board, model, benchmark) for model in there]
    return found


def _row(board: Leaderboard, model: str, benchmark: str) -> dict[str, Any]:
    run = board.runs[model, benchmark]
    status = run.folder.status()
    low, high = board.ranks[model, benchmark]
    metric = run.metric
    return {
        "benchmark": benchmark,
        "model": model,
        "rank_low": low,
        "rank_high": high,
        "metric": next(iter(status.metrics), ""),
        **{name: metric.get(name) for name in ("value", "low", "high", "n")},
        "samples": status.done,
        "failed": run.failed,
        "cost_usd": run.cost,
        "tokens": run.tokens,
        "latency_s": latency(run),
        "date": day(run.created),
        "tags": list(run.tags),
        "run": run.folder.id,
        "title": status.title,
    }


def as_json(board: Leaderboard) -> str:
    """An object with the benchmarks, the models in their order, and every score."""
    body = {
        "benchmarks": board.benchmarks,
        "models": board.models,
        "ordered_by": board.by,
        "scores": rows(board),
    }
    return orjson.dumps(body, option=orjson.OPT_INDENT_2).decode() + "\n"


def as_csv(board: Leaderboard) -> str:
    """One line per score; no cell can act as a formula."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    for row in rows(board):
        values = ({**row, "tags": " ".join(row["tags"])}[name] for name in _COLUMNS)
        writer.writerow([cell(one) if isinstance(one, str) else one for one in values])
    return text.getvalue()


def matrix(board: Leaderboard) -> tuple[list[str], list[list[str]]]:
    """Header and rows for display: a column per benchmark, then the usage of the row's runs."""
    heads = ["model", *map(board.head, board.benchmarks), "cost", "tokens", "latency"]
    lines = []
    for model in board.models:
        runs = board.of_model(model)
        cost, latency = total_cost(runs), _latency_words(runs)
        lines.append(
            [
                model,
                *(cell_words(board, model, name) or "–" for name in board.benchmarks),
                "unknown" if cost is None else figures.dollars(cost),
                figures.count(sum(run.tokens for run in runs)),
                latency,
            ]
        )
    return heads, lines


def listing(board: Leaderboard) -> tuple[list[str], list[list[str]]]:
    """Header and rows for narrow screens: a row per score, by benchmark and then best first."""
    lines = []
    for row in rows(board):
        model, name, cost = row["model"], row["benchmark"], row["cost_usd"]
        metric = board.runs[model, name].metric
        lines.append(
            [
                model,
                board.head(name),
                figures.value(metric),
                figures.interval(metric),
                board.rank(model, name),
                "unknown" if cost is None else figures.dollars(cost),
            ]
        )
    return ["model", "benchmark", "score", "95 %", "places", "cost"], lines


def _latency_words(runs: Sequence[RunLine]) -> str:
    """The latencies of a row's runs: one value, or a range."""
    known = sorted(one for run in runs if (one := latency(run)) is not None)
    if not known:
        return "–"
    low, high = (figures.duration(one) for one in (known[0], known[-1]))
    return low if low == high else f"{low}–{high}"


def as_markdown(board: Leaderboard) -> str:
    """A Markdown table."""
    heads, lines = matrix(board)
    head, *body = ([markdown_text(cell) for cell in line] for line in (heads, *lines))
    table = [head, ["---", *["---:"] * (len(heads) - 1)], *body]
    text = "\n".join("| " + " | ".join(line) + " |" for line in table)
    return f"# Leaderboard\n\n{text}\n\n{_ABOUT}\n"


def as_html(board: Leaderboard) -> str:
    """A self-contained page."""
    heads, lines = matrix(board)

    def tr(tag: str, cells: Sequence[str]) -> str:
        tags = "".join(
            f"<{tag}>{html.escape(one_line(without_keys(one)))}</{tag}>" for one in cells
        )
        return f"<tr>{tags}</tr>"

    body = "\n".join(tr("td", line) for line in lines)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>Leaderboard</title><style>{_STYLE}</style></head><body>\n"
        f"<h1>Leaderboard</h1>\n<table>\n{tr('th', heads)}\n{body}\n</table>\n"
        f"<p><small>{html.escape(_ABOUT)}</small></p>\n</body></html>\n"
    )


FORMATS: Mapping[str, Callable[[Leaderboard], str]] = {
    "md": as_markdown,
    "html": as_html,
    "csv": as_csv,
    "json": as_json,
}
_ENDINGS = {".md": "md", ".markdown": "md", ".html": "html", ".csv": "csv", ".json": "json"}


def format_of(name: str) -> str:
    """The format that the ending of a file's name stands for; empty if none."""
    return _ENDINGS.get(Path(name).suffix.lower(), "")


def write(board: Leaderboard, kind: str, name: str) -> Path:
    """Write a board to a file, and return its path; latencies are read from the journals.

    Raises:
        UsageError: the file cannot be written.
    """
    path = expand(name)
    try:
        write_file(path, FORMATS[kind](board).encode())
    except OSError as error:
        raise UsageError(
            f"cannot write {path}", why=error.strerror or str(error), hint="name another file"
        ) from None
    return path
