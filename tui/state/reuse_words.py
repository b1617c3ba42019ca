"""Replies reused from earlier runs, in words."""

from __future__ import annotations

from collections.abc import Mapping

from evalbench.engine.calls import Reused
from evalbench.tui.state import figures

_MOST_RUNS = 3


def reused_words(replies: int, by_run: Mapping[str, int] | None = None) -> str:
    """``40 replies of earlier runs, for nothing``, with the runs if given."""
    text = f"{figures.counted(replies, 'reply')} of earlier runs"
    if by_run:
        named = [
            f"{figures.count(count)} of {run}"
            for run, count in sorted(by_run.items(), key=lambda item: (-item[1], item[0]))
        ]
        more = len(named) - _MOST_RUNS
        text += " (" + ", ".join(named[:_MOST_RUNS]) + (f", and of {more} more" if more > 0 else "")
        text += ")"
    return text + ", which cost nothing here"


def taken_words(reused: Reused) -> str:
    """Where a reply was taken from: the run, and the time of the reply."""
    return f"taken from run {reused.run}, given on {reused.at[:10]} at {reused.at[11:19]} UTC"
