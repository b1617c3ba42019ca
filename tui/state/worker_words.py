"""What each of several workers of a local model is doing, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalbench.engine.terminal_text import one_line
from evalbench.tui.state import figures
from evalbench.tui.state.event_words import activity_words


def workers_words(workers: Sequence[Mapping[str, Any]], most: int) -> list[str]:
    """One line per worker; if there are very many, only the first ones."""
    lines = [worker_words(one) for one in workers[:most]]
    more = figures.counted(len(workers) - most, "more worker")
    return lines + ([f"… and {more}"] if len(workers) > most else [])


def worker_words(one: Mapping[str, Any]) -> str:
    """One of several workers: ``gpu 0: 64 in work, 512 answers, 5 % idle``."""
    return f"{one_line(str(one.get('worker') or ''))}: {doing_words(one)}"


def doing_words(one: Mapping[str, Any]) -> str:
    """What a worker is currently doing."""
    memory = one.get("memory") or {}
    parts = [f"{figures.count(one.get('in_flight') or 0)} in flight"]
    if answers := one.get("answers"):
        parts.append(figures.counted(answers, "answer"))
    if rate := one.get("tokens_per_second"):
        parts.append(f"{rate:.3g} tokens/s")
    if used := memory.get("used"):
        parts.append(figures.amount(used, "B"))
    if (cache := memory.get("kv_cache")) is not None:
        parts.append(f"cache {100 * cache:.0f} % full")
    if (idle := one.get("idle")) is not None:
        parts.append(f"{100 * idle:.0f} % idle")
    if activity := activity_words(one.get("progress")):
        return activity
    return ", ".join(parts)
