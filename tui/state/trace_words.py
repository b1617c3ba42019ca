"""Delivery of a run's traces, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from evalbench.engine.terminal_text import one_line
from evalbench.tui.state import figures


def trace_words(report: Mapping[str, Any]) -> str:
    """One line on what one destination accepted, see :meth:`.Exporter.report`."""
    place = "Galileo" if report["service"] == "galileo" else urlsplit(report["to"]).netloc
    parts = [f"{figures.counted(report['sent'], 'call')} sent to {place}"]
    if report.get("project"):
        parts[0] += f" ({report['project']} / {report['log_stream']})"
    if report["left"]:
        parts.append(f"{figures.count(report['left'])} not sent")
    if report["refused"]:
        parts.append(f"{figures.counted(report['refused'], 'span')} refused")
    if report["why"]:
        parts.append(report["why"])
    return one_line("; ".join(parts))


def trace_pairs(run: str, reports: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Lines on all destinations: each one's label (or empty), and its text."""
    pairs = []
    for report in reports:
        pairs.append(("traces", trace_words(report)))
        links = report.get("links", {})
        known = [name for name in ("project", "log_stream") if name in links]
        for name in known or links:
            pairs.append(("", f"{name.replace('_', ' ')}: {one_line(links[name])}"))
    if any(report["left"] or report["refused"] or report["left"] is None for report in reports):
        pairs.append(("", f"send the rest: evalbench trace {run}"))
    return pairs
