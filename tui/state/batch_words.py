"""Provider batches in words, from their entries in status files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalbench.tui.state import figures

FINAL = ("done", "cancelled", "expired", "failed")

_STAGES = {
    "collecting": "collecting",
    "prepared": "ready to send",
    "uploaded": "sent, not started",
    "submitting": "being made",
    "submitted": "accepted, queued",
    "running": "running",
    "ended": "ended, ready to fetch",
    "unfetched": "ended, results not fetched",
    "fetched": "fetched, reading",
    "done": "done",
    "cancelled": "cancelled",
    "expired": "expired before all were answered",
    "failed": "failed",
}


def is_open(batch: Mapping[str, Any]) -> bool:
    """Whether results are still expected."""
    return batch.get("stage") not in FINAL


def is_unfetched(batch: Mapping[str, Any]) -> bool:
    """Whether it has ended without its results being fetched."""
    return batch.get("stage") == "unfetched"


def unfetched_calls(batches: Sequence[Mapping[str, Any]]) -> int:
    """The number of calls in batches whose results could not be fetched."""
    return sum(_unread(batch) for batch in batches if is_unfetched(batch))


def _unread(batch: Mapping[str, Any]) -> int:
    read = sum(batch.get(name) or 0 for name in ("answered", "failed", "again"))
    return max(0, (batch.get("requests") or 0) - read)


def resend_words(batches: Sequence[Mapping[str, Any]]) -> str:
    """The number of calls whose results could not be fetched, and the cost of resending them."""
    unfetched = [batch for batch in batches if is_unfetched(batch)]
    if not unfetched:
        return ""
    costs = [batch.get("resend_cost") for batch in unfetched]
    worst = sum(float(cost) for cost in costs if cost)
    price = f"at most {figures.dollars(worst)}" if all(costs) else "an unknown price"
    return (
        f"{figures.counted(unfetched_calls(unfetched), 'call')}; sending them again costs {price}"
    )


def stage_words(batch: Mapping[str, Any]) -> str:
    """A batch's state."""
    stage = str(batch.get("stage", ""))
    words = _STAGES.get(stage, stage)
    return f"{words}, being cancelled" if batch.get("cancelling") else words


def count_words(batch: Mapping[str, Any]) -> str:
    """Its progress: results read if there are any, else the provider's counts."""
    total = figures.count(batch.get("requests") or 0)
    read = (batch.get("answered") or 0) + (batch.get("failed") or 0)
    if read:
        words = f"{figures.count(read)} of {total} read"
        if failed := batch.get("failed"):
            words += f", {figures.count(failed)} failed"
        if again := batch.get("again"):
            words += f", {figures.count(again)} sent again"
        return words
    there = (batch.get("succeeded") or 0) + (batch.get("failed_there") or 0)
    if there:
        return f"{figures.count(there)} of {total} at the provider"
    return figures.counted(batch.get("requests") or 0, "call")


def end_words(batch: Mapping[str, Any], now: float) -> str:
    """When the provider will expire it; empty if unknown or already ended.

    Args:
        batch: its entry in a status file.
        now: Unix seconds.
    """
    ends = batch.get("expires")
    if not ends or not is_open(batch):
        return ""
    left = float(ends) - now
    return f"within {figures.duration(left)}" if left > 0 else "overdue"


def age_words(batch: Mapping[str, Any], now: float) -> str:
    """How long ago it was created; empty if it has not been."""
    since = batch.get("since")
    return figures.age(max(0.0, now - float(since))) if since else ""


def saved(batches: Sequence[Mapping[str, Any]]) -> float:
    """US dollars saved over sending all calls of some batches in real time."""
    return sum(float(batch.get("saved") or 0) for batch in batches)
