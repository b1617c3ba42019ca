"""Speed and memory use of local models, in words."""

from __future__ import annotations

from evalbench.engine.hardware.measures import Measures
from evalbench.engine.terminal_text import one_line
from evalbench.tui.state import figures

_LAYOUTS = {"alone": "one call at a time"}


def speed_words(measures: Measures) -> list[str]:
    """Lines about one model: answers, speed, memory, numbers; unknown values are omitted."""
    lines = []
    if (mean := measures.seconds_per_answer) is not None:
        lines.append(
            f"{figures.counted(measures.answers, 'answer')}, {_seconds(mean)} each,"
            f" the slowest {_seconds(measures.slowest)}"
        )
    if (rate := measures.tokens_per_second) is not None:
        lines.append(f"{rate:.3g} tokens/s")
    if measures.peak:
        of = f" of {figures.amount(measures.total, 'B')}" if measures.total else ""
        where = f" ({one_line(measures.device)})" if measures.device else ""
        before = (
            f", estimated {figures.amount(measures.expected, 'B')}" if measures.expected else ""
        )
        lines.append(f"at most {figures.amount(measures.peak, 'B')}{of}{where}{before}")
    if measures.layout:
        lines.append(
            f"{one_line(measures.numbers)}, {_LAYOUTS.get(measures.layout, 'calls together')}"
        )
    return lines


def _seconds(number: float) -> str:
    return f"{number:.2g} s" if number < 10 else figures.duration(number)
