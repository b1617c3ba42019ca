"""The fields that the list of runs can be filtered by."""

from __future__ import annotations

import time

from evalbench.tui.state.query import Fields
from evalbench.tui.state.run_list import RunLine

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
