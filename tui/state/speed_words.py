"""Speed and memory use of local models, in words."""

from __future__ import annotations

from evalbench.engine.hardware.measures import Measures
from evalbench.engine.terminal_text import one_line
from evalbench.tui.state import figures

_LAYOUTS = {"alone": "one call at a time"}


def speed_words(held: Measures) -> list[str]:
    """Lines about one model: answers, speed, memory, numbers; unknown values are omitted."""
    lines = []
    if (mean := held.seconds_per_answer) is not None:
        lines.append(
            f"{figures.counted(held.answers, 'answer')}, {_seconds(mean)} each,"
            f" the slowest {_seconds(held.slowest)}"
        )
    if (rate := held.tokens_per_second) is not None:
        lines.append(f"{rate:.3g} tokens/s")
    if held.peak:
        of = f" of {figures.amount(held.total, 'B')}" if held.total else ""
        where = f" ({one_line(held.device)})" if held.device else ""
        before = f", estimated {figures.amount(held.expected, 'B')}" if held.expected else ""
        lines.append(f"at most {figures.amount(held.peak, 'B')}{of}{where}{before}")
    if held.layout:
        lines.append(f"{one_line(held.numbers)}, {_LAYOUTS.get(held.layout, 'calls together')}")
    return lines


def _seconds(number: float) -> str:
    return f"{number:.2g} s" if number < 10 else figures.duration(number)
