"""What the models of ``gpu.py`` are asked: made up, so that no data has to be carried.

``exam`` is laid out as MMLU's files are (``test.parquet``, ``dev.parquet``), so that both
``evalbench run mmlu --data`` and ``lm_eval_side.py`` read it.
"""

from __future__ import annotations

import random
from pathlib import Path

from bench.writing import write_benchmark

SUBJECT = "anatomy"
SHOTS = 5

_WORDS = """\
the of and to in is that for with as by from at which this be are on it an was one all
heart muscle nerve bone vessel tissue gland artery signal blood membrane fibre joint skin
carries forms covers joins moves holds protects follows crosses divides supplies reaches
upper lower inner outer anterior small large long thin deep single paired common main
"""


def writing(folder: Path, count: int, words: int) -> None:
    """A benchmark of ``count`` prompts, all of ``words`` words, which ask for long texts."""
    draw = random.Random(1)
    texts = (_text(draw, words) for _ in range(count))
    write_benchmark(folder, (f"Tell a very long story about this. {text}" for text in texts))


def exam(folder: Path, count: int) -> None:
    """A folder of ``count`` questions of four choices, and of solved examples."""
    import pandas as pd  # takes longer to load than most of what imports this

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
