"""Reporting runs that finish, pause or stop while the user is elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from evalbench.engine.terminal_text import one_line
from evalbench.tui.state import figures
from evalbench.tui.state.run_list import RunLine

WORTH_S = 20.0
"""Seconds that a run must have been seen running for its end to be reported."""


class Ends:
    """Given all runs from time to time, reports which have ended since."""

    def __init__(self) -> None:
        self._since: dict[Path, float] = {}
        self._failed_hooks: dict[Path, str] | None = None

    def look(self, lines: Sequence[RunLine]) -> list[RunLine]:
        """Runs that were active long enough at the last call, and are now at rest."""
        now = time.monotonic()
        live = {line.folder.path for line in lines if line.live}
        ended = [
            line
            for line in lines
            if not line.live and now - self._since.get(line.folder.path, now) >= WORTH_S
        ]
        self._since = {path: self._since.get(path, now) for path in live}
        return ended

    def failed_hooks(self, lines: Sequence[RunLine]) -> list[RunLine]:
        """Runs whose command of ``--on-end`` has failed since the last call."""
        before = self._failed_hooks
        self._failed_hooks = {line.folder.path: line.hook_problem for line in lines}
        if before is None:
            return []
        return [
            line
            for line in lines
            if line.hook_problem and line.hook_problem != before.get(line.folder.path)
        ]


def end_words(line: RunLine) -> str:
    """The notification for a run that has ended."""
    parts = [f"{one_line(line.name)} × {one_line(line.model)}: {line.state}"]
    parts += [line.score] if line.score else []
    parts += [f"{figures.count(line.failed)} failed"] if line.failed else []
    return ", ".join(parts)


def title_words(lines: Sequence[RunLine], shown: Path | None) -> str:
    """The terminal's title: the progress of the run shown, or of the active ones.

    Args:
        lines: all runs.
        shown: folder of the run whose page is open, if any.
    """
    for line in lines:
        if line.folder.path == shown:
            far = figures.percent(line.share) if line.live else line.state
            return f"{far} · {one_line(line.name)} × {one_line(line.model)}"
    live = [line for line in lines if line.live]
    if not live:
        return "evalbench"
    share = sum(line.share for line in live) / len(live)
    return f"evalbench · {len(live)} running, {figures.percent(share)}"
