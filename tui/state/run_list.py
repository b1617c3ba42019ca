"""The runs on this machine, as shown in a list."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from evalbench.engine.runs.folder import INTERRUPTED, RunFolder
from evalbench.engine.runs.status import Status
from evalbench.tui.state import figures
from evalbench.tui.state.query import Fields, parse_query
from evalbench.tui.state.run_folders import RunFolders, stamp_of
from evalbench.tui.state.spending import is_free, spent_alone

LIVE = ("created", "running", "pausing", "stopping")
RESUMABLE = (INTERRUPTED, "paused", "stopped", "waiting", "failed", "budget")
"""States in which an engine drives a run, and states from which one can resume it."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run in a list: in words, and in the numbers used for filtering and sorting.

    Attributes:
        words: text that a filter's plain words are searched in.
        value: the first metric, a fraction in percent; None without one.
        share: fraction of its samples that are done, from 0 to 1.
        failed: number of failed samples.
        cost: US dollars spent; None if unknown.
        metric: the first one, as in the status file; empty without one.
        tokens: tokens of prompts and replies together.
        source: the user's own file or folder that the benchmark is from, if any.
        name: the benchmark's title, if it is the user's own, and name.
        hook_problem: how the run's end hook failed; empty if it did not.
    """

    folder: RunFolder
    state: str
    benchmark: str
    source: str
    model: str
    score: str
    done: str
    spent: str
    created: float
    words: str
    tags: tuple[str, ...]
    value: float | None
    share: float
    failed: int
    cost: float | None
    metric: Mapping[str, Any]
    tokens: int
    name: str
    hook_problem: str

    @property
    def age(self) -> str:
        """The run's age."""
        return figures.age(time.time() - self.created) if self.created else ""

    @property
    def live(self) -> bool:
        """Whether an engine drives it."""
        return self.state in LIVE

    @property
    def resumable(self) -> bool:
        """Whether there is anything to resume."""
        return self.state in RESUMABLE


class _Seen(NamedTuple):
    stamp: tuple[int, int]
    line: RunLine


class RunList:
    """All runs below a folder. :meth:`look` reads only what may have changed."""

    def __init__(self, parent: Path | None = None) -> None:
        self._folders = RunFolders(parent)
        self._seen: dict[Path, _Seen] = {}

    def look(self) -> list[RunLine]:
        """The runs, newest first."""
        return [self._line(folder) for folder in self._folders.look()]

    def _line(self, folder: RunFolder) -> RunLine:
        seen = self._seen.get(folder.path)
        stamp = stamp_of(folder.path / "status.json")
        if seen and seen.stamp == stamp and not seen.line.live:
            return seen.line
        status = folder.status()
        line = run_line(folder, status)
        self._seen[folder.path] = _Seen(stamp, line)
        return line


def run_line(folder: RunFolder, status: Status) -> RunLine:
    """A run as a line of the list."""
    done = f"{figures.count(status.done)}/{figures.count(status.total)}"
    if status.failed:
        done += f" ✗{figures.count(status.failed)}"
    state = folder.shown_state(status)
    searched = [folder.id, state, status.name, status.model, status.desc, *status.tags]
    return RunLine(
        folder,
        state,
        status.benchmark,
        status.source,
        status.model,
        _headline(status),
        done,
        "" if is_free(status) else _spent(status),
        status.created,
        " ".join(searched).lower(),
        tuple(status.tags),
        _value(status),
        status.done / status.total if status.total else 0.0,
        status.failed,
        status.spend_usd,
        next(iter(status.metrics.values()), {}),
        status.input_tokens + status.output_tokens,
        status.name,
        status.hook_problem,
    )


ORDERS: Mapping[str, tuple[Callable[[RunLine], Any], bool]] = {
    "state": (lambda line: line.state, False),
    "benchmark": (lambda line: line.benchmark, False),
    "model": (lambda line: line.model, False),
    "score": (lambda line: line.value, True),
    "done": (lambda line: line.share, True),
    "spent": (lambda line: line.cost, True),
    "age": (lambda line: line.created, True),
}
"""Sort keys by column, and whether the greatest comes first by default."""


def ordered(lines: Sequence[RunLine], by: str, *, turned: bool = False) -> list[RunLine]:
    """Runs sorted by a column, those without a value last; equal ones newest first."""
    key, descending = ORDERS[by]
    known = [line for line in lines if key(line) is not None]
    unknown = [line for line in lines if key(line) is None]
    return sorted(known, key=key, reverse=descending is not turned) + unknown


def _spent(status: Status) -> str:
    """``$0.12 24 %``: with the share of the budget that is gone, if there is one."""
    words = spent_alone(status)
    if status.spend_usd is None or not status.budget_usd:
        return words
    return f"{words} {figures.percent(status.spend_usd / status.budget_usd)}"


def _headline(status: Status) -> str:
    for metric in status.metrics.values():
        return "" if metric.get("value") is None else figures.score(metric)
    return ""


def _value(status: Status) -> float | None:
    for metric in status.metrics.values():
        if metric.get("value") is not None:
            return float(100 * metric["value"] if figures.is_share(metric) else metric["value"])
        break
    return None


RUN_FIELDS: Fields[RunLine] = Fields(
    words=lambda line: line.words,
    texts={
        "state": lambda line: (line.state.lower(),),
        "benchmark": lambda line: (line.benchmark.lower(),),
        "model": lambda line: (line.model.lower(),),
        "tag": lambda line: [tag.lower() for tag in line.tags],
        "id": lambda line: (line.folder.id.lower(),),
    },
    numbers={
        "score": lambda line: line.value,
        "done": lambda line: 100 * line.share,
        "failed": lambda line: line.failed,
        "cost": lambda line: line.cost,
        "age": lambda line: time.time() - line.created if line.created else None,
    },
)
"""Scores and progress are in percent, costs in US dollars, ages in seconds."""


def matching(lines: Sequence[RunLine], text: str) -> tuple[list[RunLine], str]:
    """The runs that a filter matches, and what is wrong with it; with a fault it matches all."""
    query = parse_query(text, RUN_FIELDS)
    return query.among(lines), f"✗ {query.problem}" if query.problem else ""


STATE_MARKS: Mapping[str, tuple[str, str]] = {
    "running": ("▸", "good"),
    "complete": ("✓", "good"),
    "failed": ("✗", "bad"),
    "interrupted": ("!", "bad"),
    "unreadable": ("!", "bad"),
    "created": ("·", "dim"),
}
"""A state's glyph and tone; unknown states get ``–`` and ``warn``."""
