"""The metrics of a run as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from evalbench.engine.errors import JournalError
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.terminal_text import one_line
from evalbench.tui.state import figures
from evalbench.tui.state.names import apart

Metrics = Mapping[str, Mapping[str, Any]]
"""Metrics by name, as in a status and in the journal's ``metrics``."""


class ScoreLine(NamedTuple):
    """One metric in words; without a ``value`` it is the title of a section.

    Titles of lines made together stay distinguishable when they have to be cut.
    """

    title: str
    value: str = ""
    interval: str = ""
    counts: str = ""
    bounds: str = ""


def final_metrics(folder: RunFolder, otherwise: Metrics) -> Metrics:
    """All metrics of a run at rest, including grouped ones."""
    try:
        with JournalReader(folder.journal) as journal:
            stored: Metrics | None = journal.meta("metrics")
    except JournalError:
        stored = None
    return stored or otherwise


def metric_lines(metrics: Metrics) -> list[ScoreLine]:
    """Metrics in words."""
    titles = apart([str(metric.get("title") or name) for name, metric in metrics.items()])
    return [
        ScoreLine(
            title,
            figures.value(metric),
            figures.interval(metric),
            figures.fraction(metric),
            figures.bounds(metric),
        )
        for title, metric in zip(titles, metrics.values(), strict=True)
    ]


def score_lines(metrics: Metrics) -> list[ScoreLine]:
    """All metrics by section, the ungrouped first; each group begins with its title."""
    sections: dict[str, list[ScoreLine]] = {"": []}
    for metric, line in zip(metrics.values(), metric_lines(metrics), strict=True):
        sections.setdefault(metric.get("group") or "", []).append(line)
    lines = sections.pop("")
    for group, members in sections.items():
        lines += [ScoreLine(one_line(group)), *members]
    return lines
