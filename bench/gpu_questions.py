"""What the models of ``gpu.py`` are asked: made up, so that no data has to be carried.

``exam`` is laid out as MMLU's files are (``test.parquet``, ``dev.parquet``), so that both
``evalbench run mmlu --data`` and ``lm_eval_side.py`` read it.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pandas as pd

SUBJECT = "anatomy"
SHOTS = 5
TABLE = "writing.toml"

_WORDS = """\
the of and to in is that for with as by from at which this be are on it an was one all
heart muscle nerve bone vessel tissue gland artery signal blood membrane fibre joint skin
carries forms covers joins moves holds protects follows crosses divides supplies reaches
upper lower inner outer anterior small large long thin deep single paired common main
"""

_WRITING = """\
[benchmark]
title = "writing"
data = "prompts.jsonl"

[prompt]
template = "{{ prompt }}"

[answer]
target = "target"
scorer = "contains"
"""


def writing(folder: Path, count: int, words: int) -> None:
    """A benchmark of ``count`` prompts, all of ``words`` words, which ask for long texts."""
    draw = random.Random(1)
    rows = (
        {"prompt": f"Tell a very long story about this. {_text(draw, words)}", "target": "-"}
        for _ in range(count)
    )
    (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / TABLE).write_text(_WRITING)


def exam(folder: Path, count: int) -> None:
    """A folder of ``count`` questions of four choices, and of solved examples."""
    draw = random.Random(2)
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("dev", SHOTS), ("test", count)):
        pd.DataFrame([_question(draw) for _ in range(rows)]).to_parquet(folder / f"{name}.parquet")


def _question(draw: random.Random) -> dict[str, object]:
    return {
        "question": _text(draw, 60).capitalize() + "?",
        "subject": SUBJECT,
        "choices": [_text(draw, 5) for _ in range(4)],
        "answer": draw.randrange(4),
    }


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(_WORDS.split(), k=words))
