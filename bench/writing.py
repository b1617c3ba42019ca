"""Prompts of one's own as a benchmark: what local models are asked to write."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

TABLE = "writing.toml"

_TABLE = """\
[benchmark]
title = "writing"
data = "prompts.jsonl"

[prompt]
template = "{{ prompt }}"

[answer]
target = "target"
scorer = "contains"
"""


def write_benchmark(folder: Path, prompts: Iterable[str]) -> Path:
    """Lay out ``prompts``, to be asked as they are, in a folder; the benchmark's file."""
    rows = (json.dumps({"prompt": prompt, "target": "-"}) for prompt in prompts)
    (folder / "prompts.jsonl").write_text("".join(row + "\n" for row in rows))
    table = folder / TABLE
    table.write_text(_TABLE)
    return table
