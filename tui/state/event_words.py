"""Journal events in words."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from evalbench.engine.hardware.measures import Measures
from evalbench.engine.record_schemas import Gauges
from evalbench.engine.terminal_text import one_line
from evalbench.tui.state import figures
from evalbench.tui.state.speed_words import speed_words
from evalbench.tui.state.trace_words import trace_words

if TYPE_CHECKING:
    from evalbench.engine.journal import Event

_OF_WORKERS = ("worker-restarted", "worker-lost", "worker-given-up")

_SILENT = ("started", "ended", "problem", "command")
"""Reported elsewhere: by the start, the end, or the command's sender."""


def _usd(amount: Any) -> str:
    try:
        return figures.dollars(float(amount))
    except (TypeError, ValueError):
        return "an unknown amount"


_WORDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "wait": lambda body: (
        f"waiting: {body.get('what')}"
        + (f" (asked to wait {figures.duration(body['asked'])})" if body.get("asked") else "")
    ),
    "provider-down": lambda body: (
        f"the provider stopped responding: {body.get('reason')}: {body.get('what')}; calls wait"
        " while single probes are sent" + _until(body.get("until"))
    ),
    "server-unreached": lambda body: (
        f"{body.get('what')}"
        + (f" ({body['why']})" if body.get("why") else "")
        + "; trying again"
        + _until(body.get("until"), seconds=True)
    ),
    "provider-back": lambda body: (
        f"the provider responds again after {figures.duration(body.get('after_s') or 0)}"
    ),
    "model-loaded": lambda body: (
        ("model is still loaded" if body.get("kept") else "model loaded")
        + _where(body)
        + _unpacked(body)
    ),
    "model-kept": lambda body: (
        f"the model stays loaded for {figures.duration(body.get('seconds') or 0)}"
        f" ({figures.amount(body.get('memory') or 0, 'B')}); evalbench models unload frees it"
    ),
    "model-unloaded": lambda body: "; ".join(
        ["model done", *speed_words(Measures.from_json(body))[1:2]]
    ),
    "pilot-started": lambda body: (
        f"pilot: {figures.counted(body.get('samples') or 0, 'sample')} first, drawn at random"
    ),
    "budget-reached": lambda body: (
        f"the budget is reached: the next call may cost {_usd(body.get('next_call_usd'))}"
        f" and {_usd(body.get('left_usd'))} is left"
    ),
    "sample-failed": lambda body: f"sample failed: {body.get('error')}",
    "cut-off": lambda body: f"in flight when the engine last ended: {_calls(body)}",
    "worker-restarted": lambda body: (
        f"the local worker died ({_ending(body.get('exit'))}) and was started again"
        + (", with a smaller batch" if body.get("halved") else "")
    ),
    "worker-lost": lambda body: (
        f"worker at {body.get('worker')} lost, its calls go to others: {body.get('why', '')}"
    ),
    "worker-given-up": lambda body: (
        f"no worker at {body.get('worker')} any more: {body.get('why', '')}"
    ),
    "out-of-memory": lambda body: (
        f"a batch did not fit into memory; continuing with {body.get('budget')} tokens"
    ),
    "rollback-journal": lambda body: (
        f"on {body.get('file_system')}: using a rollback journal, which is slower"
    ),
    "changes-accepted": lambda body: (
        f"continuing with changes: {'; '.join(map(str, body.get('changes', [])))}"
    ),
    "price-changed": lambda body: (
        f"the price of the {body.get('role')} has changed since the run began, from"
        f" {_rates(body.get('before'))} to {_rates(body.get('now'))} US dollars per million tokens;"
        " spend and budget go by the first until --price says otherwise"
    ),
    "loss-accepted": lambda body: (
        f"continuing although replies are missing ({body.get('replies') or 'some'}); their calls"
        " are sent and paid for again"
    ),
    "batch-submitted": lambda body: (
        f"batch {body.get('batch')} sent: {_calls(body)} ({body.get('id')})"
    ),
    "batch-found": lambda body: (
        f"batch {body.get('batch')} had already been created ({body.get('id')});"
        " nothing is sent twice"
    ),
    "batch-uncertain": lambda body: (
        f"the response to creating batch {body.get('batch')} was lost; the provider has"
        f" {len(body.get('ids', []))} candidates; their results will show which"
    ),
    "batch-not-fetched": lambda body: (
        f"batch {body.get('batch')} has ended, but the results of {_calls(body)}"
        f" cannot be fetched: {body.get('why')}"
    ),
    "batch-resent": lambda body: (
        f"sent again, as the results of batch {body.get('batch')} cannot be fetched:"
        f" {_calls(body)}; at most {float(body.get('usd') or 0):.4f} US dollars"
    ),
    "batch-read": lambda body: (
        f"batch {body.get('batch')} read: {body.get('answered')} answered,"
        f" {body.get('failed')} failed, {body.get('again')} to be sent again"
    ),
    "batch-too-small": lambda body: (
        f"too few for a batch (the provider takes {body.get('least')} or more):"
        f" {_calls(body)} sent in real time"
    ),
    "batch-asks-again": lambda body: (
        f"without a reply in batch {body.get('batch')}, sent again: {_calls(body)}"
        + (f" ({body.get('why')})" if body.get("why") else "")
    ),
    "batch-missing": lambda body: (
        f"batch {body.get('batch')} returned no result for {_calls(body)}"
    ),
    "batch-odd-lines": lambda body: (
        f"batch {body.get('batch')} returned lines that match no call: {_facts(body)}"
    ),
    "batch-put-off": lambda body: (
        f"the provider does not take batch {body.get('batch')} yet: {body.get('why')}"
    ),
    "batch-cancelled": lambda body: (
        f"batch {body.get('batch')} is being cancelled ({body.get('why')})"
    ),
    "imported": lambda body: "; ".join(
        [f"imported from {body.get('source')}", *body.get("notes", [])]
    ),
    "traces": lambda body: "traces: " + trace_words(body),
    "results": lambda body: (
        f"its results are not written to {body.get('folder')}: {body['error']}; elsewhere:"
        " evalbench export RUN --short-names -o FOLDER"
        if body.get("error")
        else f"results: {figures.counted(body.get('files') or 0, 'file')} in {body.get('folder')}"
    ),
    "metrics": lambda body: f"some metrics are missing: {body.get('what')}",
    "reuse-found": lambda body: (
        f"earlier runs hold {figures.counted(body.get('replies') or 0, 'reply')} of these models;"
        " those to the very same calls are taken"
    ),
    "reuse-refused": lambda body: (
        f"nothing is taken from run {body.get('run')}: {body.get('model')} was loaded differently"
        " there"
    ),
    "rescored": lambda body: (
        f"re-scored: {body.get('scored')} scores, {body.get('changed')} of them changed"
    ),
}


def event_words(event: Event) -> str:
    """One line about an event; empty for those that are reported elsewhere."""
    if event.kind in _SILENT:
        return ""
    words = _WORDS.get(event.kind)
    try:
        text = words(event.body) if words else None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        text = None  # It lacks the facts that such an event has: the run was edited.
    if text is None:
        text = f"{event.kind}: {_facts(event.body)}"
    return one_line(text) + (f" ×{event.count}" if event.count > 1 else "")


def log_words(event: Event) -> str:
    """One line about any event, for a complete log."""
    body = event.body
    match event.kind:
        case "started":
            return one_line(f"engine started: process {body.get('pid')} on {body.get('host')}")
        case "ended":
            return one_line(f"{body.get('state')}, exit code {body.get('exit_code')}")
        case "problem":
            return one_line(f"problem: {body.get('what') or _facts(body)}")
        case "command":
            return one_line(_command_words(body))
    return event_words(event)


def full_words(event: Event) -> str:
    """One line about any event, with all its details."""
    words = log_words(event)
    if event.kind == "model-unloaded":
        return one_line("; ".join(["model done", *speed_words(Measures.from_json(event.body))]))
    facts = _facts(event.body) if event.kind == "model-loaded" else ""
    return words + (f" ({one_line(facts)})" if facts else "")


def _calls(body: Mapping[str, Any]) -> str:
    number = body.get("calls")
    return figures.counted(number, "call") if isinstance(number, int) else "some calls"


def _command_words(body: Mapping[str, Any]) -> str:
    value = body.get("value")
    match body.get("do"):
        case "pause" | "stop" as what:
            return f"asked to {what}"
        case "concurrency":
            calls = "set to adaptive" if value is None else f"set to {value}"
            return f"concurrency {calls}"
        case "budget":
            if isinstance(value, (int, float)) and value > 0:
                return f"budget set to {figures.dollars(value)}"
            return "budget removed"
    return _facts(body)


def event_tone(event: Event) -> str:
    """The tone of an event: ``bad``, ``warn``, ``dim`` or plain."""
    if event.kind in ("problem", "sample-failed", "out-of-memory", "command-refused"):
        return "bad"
    if event.kind in (
        "wait",
        "provider-down",
        "server-unreached",
        "budget-reached",
        "cut-off",
        "loss-accepted",
        *_OF_WORKERS,
        "changes-accepted",
        "price-changed",
    ):
        return "warn"
    return "dim" if event.kind in ("started", "ended", "command") else ""


def _rates(stored: Any) -> str:
    """``0.4 in and 1.6 out``, of rates as stored."""
    rates = stored if isinstance(stored, dict) else {}
    return f"{rates.get('input')} in and {rates.get('output')} out"


def _until(moment: Any, *, seconds: bool = False) -> str:
    """Until when something lasts, in the reader's local time."""
    if not isinstance(moment, int | float):
        return ""
    return time.strftime(f", until %H:%M{':%S' if seconds else ''}", time.localtime(moment))


def _where(body: Mapping[str, Any]) -> str:
    """Server, device and number format; everything else is in ``evalbench show``."""
    parts = [str(body[name]) for name in ("backend", "device", "dtype") if body.get(name)]
    if body.get("quantize") not in (None, "", "none"):
        parts.append(str(body["quantize"]))
    return f": {', '.join(parts)}" if parts else ""


def _unpacked(body: Mapping[str, Any]) -> str:
    """A note that a model runs every prompt separately, which takes several times as long."""
    return "" if body.get("packs", True) else ", not packed (every prompt runs alone: slow)"


def _facts(body: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {value}"
        for name, value in body.items()
        if isinstance(value, (str, int, float)) and value not in ("", False)
    )


def activity_words(progress: Mapping[str, Any] | None) -> str:
    """What a worker is doing before it answers: ``loading the model: 120.0 MB of 270.1 MB``."""
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


def limit_words(gauges: Gauges) -> str:
    """What keeps more calls from being in flight, if it is not the concurrency."""
    rate = figures.rate(gauges.get("rate_limit") or 0.0)
    match gauges.get("limited_by"):
        case "rate":
            return f"limited by the adaptive rate: {rate}"
        case "headroom":
            return "limited by requests or tokens left"
        case "qps" | "tpm" as option:
            return f"limited by --{option}: {rate}"
        case "budget":
            return f"limited by the budget: {figures.count(gauges.get('unfunded') or 0)} waiting"
    return ""


def holdup_words(gauges: Gauges) -> str:
    """Why calls are not being sent, or how many are waiting for a retry."""
    if scoring := gauges.get("scoring"):
        so_far = figures.duration(scoring["seconds"])
        return f"scoring sample {scoring['row']} has taken {so_far} so far"
    if gauges.get("short_of_budget"):
        return "budget reached: waiting for the other runs, or for a higher one"
    pause, why = gauges.get("paused_s"), one_line(gauges.get("paused_why") or "")
    if pause:
        return f"paused for {figures.duration(pause)}: {why}"
    if gauges.get("down"):
        return why
    if waiting := gauges.get("waiting"):
        return f"{figures.count(waiting)} waiting to be retried"
    return ""


def step_words(what: str, done: int, total: int | None, unit: str = "") -> str:
    """A preparation step, with its progress."""
    if not done and not total:
        return what
    if unit == "s":
        return f"{what}: {figures.duration(done) if done >= 60 else f'{done} s'}"
    text = f"{what}: {figures.amount(done, unit)}"
    return text + (f" of {figures.amount(total, unit)}" if total else "")


def _ending(exit_code: Any) -> str:
    """How a process ended."""
    signalled = isinstance(exit_code, int) and exit_code < 0
    return f"signal {-exit_code}" if signalled else f"exit {exit_code}"
