"""Journal events in words for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.journal import Event
from evalbench.tui.state import figures
from evalbench.tui.state.clean import one_line

_SILENT = ("started", "ended", "problem", "command")
"""Said elsewhere: by the start, the end and whoever gave the command."""


def event_words(event: Event) -> str:
    """One line about an event; empty for those that are said elsewhere."""
    if event.kind in _SILENT:
        return ""
    body = event.body
    match event.kind:
        case "wait":
            asked = body.get("asked")
            text = f"waiting: {body.get('reason')}: {body.get('what')}"
            text += f" (asked to wait {figures.duration(asked)})" if asked else ""
        case "model-loaded":
            text = "model loaded: " + _facts(body)
        case "pilot-started":
            text = f"pilot: {body.get('samples')} samples first, drawn at random"
        case "budget-reached":
            text = (
                f"the budget is reached: the next call may cost {body.get('next_call_usd')}"
                f" US dollars and {body.get('left_usd')} are left"
            )
        case "sample-failed":
            text = f"sample failed: {body.get('error')}"
        case "cut-off":
            text = f"{body.get('calls')} calls were in flight when the engine last ended"
        case "worker-restarted":
            text = f"the local worker died (exit {body.get('exit')}) and was started again"
        case "out-of-memory":
            text = f"a batch did not fit into memory; going on with {body.get('budget')} tokens"
        case "rollback-journal":
            text = f"on {body.get('file_system')}: using a rollback journal, which is slower"
        case "changes-accepted":
            text = f"going on with changes: {'; '.join(map(str, body.get('changes', [])))}"
        case _:
            text = f"{event.kind}: {_facts(body)}"
    return one_line(text) + (f" ×{event.count}" if event.count > 1 else "")


def _facts(body: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {value}"
        for name, value in body.items()
        if isinstance(value, (str, int, float)) and value not in ("", False)
    )


def activity_words(progress: Mapping[str, Any] | None) -> str:
    """What a worker is busy with before it answers: ``loading the model: 120.0 MB of 270.1 MB``."""
    if not progress or not progress.get("what"):
        return ""
    return one_line(
        step_words(
            progress["what"],
            progress.get("done") or 0,
            progress.get("total"),
            progress.get("unit") or "",
        )
    )


def holdup_words(gauges: Mapping[str, Any]) -> str:
    """Why calls are not sent just now, or how many wait to be sent again."""
    if pause := gauges.get("paused_s"):
        return one_line(
            f"sending pauses for {figures.duration(pause)}: {gauges.get('paused_why', '')}"
        )
    if waiting := gauges.get("waiting"):
        return f"{figures.count(waiting)} wait to be sent again"
    return ""


def step_words(what: str, done: int, total: int | None, unit: str = "") -> str:
    """A step of getting ready, with how far it is."""
    if not done and not total:
        return what
    text = f"{what}: {figures.amount(done, unit)}"
    return text + (f" of {figures.amount(total, unit)}" if total else "")
