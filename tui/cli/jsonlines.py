"""JSON lines: one object per line on standard output, ``event`` first (docs/json-lines.md)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from evalbench.engine.compat import override
from evalbench.engine.journal import Event
from evalbench.engine.runs.status import Status
from evalbench.tui.cli.follow import View
from evalbench.tui.cli.output import Out
from evalbench.tui.state.run_follower import RunFollower, eta
from evalbench.tui.state.spending import forecast

_EVERY_S = 1.0
_METRIC_FIELDS = ("value", "low", "high", "k", "n", "bound_low", "bound_high")


def write(out: Out, /, event: str, **fields: Any) -> None:
    """Write one line and flush it."""
    out.line(orjson.dumps({"event": event, **fields}).decode())


def metrics_json(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Metrics with the fields guaranteed by the schema."""
    return {
        name: {field: metric.get(field) for field in _METRIC_FIELDS}
        for name, metric in metrics.items()
    }


class JsonLines(View):
    """A :class:`evalbench.tui.cli.follow.View` for programs."""

    def __init__(self, out: Out) -> None:
        self._out = out
        self._due: dict[str, float] = {}
        self._printed: dict[str, dict[str, Any]] = {}

    def _write(self, event: str, **fields: Any) -> None:
        write(self._out, event, **fields)

    @override
    def note(self, text: str) -> None:
        self._write("note", text=text)

    @override
    def preparing(self, what: str, done: int, total: int | None) -> None:
        if self._is_due(what):
            self._write("prepare", what=what, done=done, total=total)

    @override
    def begin(self, watches: Sequence[RunFollower]) -> None:
        for watch in watches:
            self._write(
                "start",
                run=watch.id,
                pid=watch.folder.live_pid(watch.status),
                folder=str(watch.folder.path),
                total=watch.status.total,
                spec=watch.spec,
            )

    @override
    def show(self, watch: RunFollower, events: Sequence[Event]) -> None:
        for event in events:
            self._write(
                event.kind,
                run=watch.id,
                at=round(watch.status.created + event.at_ms / 1000, 3),
                count=event.count,
                detail=event.body,
            )
        progress = _progress(watch.status)
        if watch.ended or progress == self._printed.get(watch.id):
            return
        if self._is_due(watch.id):
            self._printed[watch.id] = progress
            self._write("progress", run=watch.id, **progress)

    @override
    def ended(self, watch: RunFollower) -> None:
        status = watch.status
        self._write(
            "end",
            run=watch.id,
            state=watch.state,
            exit_code=watch.exit_code,
            seconds=status.seconds,
            metrics=metrics_json(status.metrics),
            outcomes=status.outcomes,
            spend_usd=status.spend_usd,
            possible_usd=status.possible_usd,
            budget_usd=status.budget_usd,
            done=status.done,
            total=status.total,
            failed=status.failed,
            reused=status.reused,
            mixed=status.mixed,
            problem=watch.problem() or None,
            traces=status.traces,
            hook_problem=status.hook_problem or None,
        )

    @override
    def detached(self, watches: Sequence[RunFollower]) -> None:
        for watch in watches:
            self._write("detached", run=watch.id, pid=watch.folder.live_pid(watch.status))

    @override
    def close(self) -> None:
        """Do nothing."""

    def _is_due(self, what: str) -> bool:
        now = time.monotonic()
        if now < self._due.get(what, 0.0):
            return False
        self._due[what] = now + _EVERY_S
        return True


def _progress(status: Status) -> dict[str, Any]:
    left = eta(status)
    return {
        "state": status.state.value,
        "done": status.done,
        "total": status.total,
        "failed": status.failed,
        "rate": status.rate,
        "eta_s": None if left is None else round(left, 1),
        "metrics": metrics_json(dict(list(status.metrics.items())[:1])),
        "outcomes": status.outcomes,
        "spend_usd": status.spend_usd,
        "possible_usd": status.possible_usd,
        "budget_usd": status.budget_usd,
        "forecast_usd": forecast(status),
        "activity": status.gauges.get("progress") or None,
    }
