"""Exports one run to one destination: what is finished now, and the rest at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from evalbench.engine.config.traces import GALILEO, Destination
from evalbench.engine.journal import JournalReader
from evalbench.engine.record_schemas import TraceStatus
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.telemetry.otlp import SendResult
from evalbench.engine.telemetry.outbox import Outbox, OutboxItem
from evalbench.engine.telemetry.spans import RunFacts, Span, Value, engine_span, sample_spans

_MOST_SPANS = 512
_MOST_BYTES = 1_000_000
_LONGEST_PAUSE_S = 60.0
_GIVE_UP_AFTER = 3
_TRIES_IN_TIME = 2
"""At the end of a run, a destination that failed before gets one attempt, others two."""


class SpanSender(Protocol):
    """Sends spans, see :class:`evalbench.engine.telemetry.otlp.OtlpSender`."""

    def send(self, spans: list[Span]) -> SendResult:
        """Post spans in one request."""
        ...


class Exporter:
    """Exports one run to one destination.

    Attributes:
        spans: number of call spans that were delivered.
        refused: number of spans rejected by the destination.
        why: the current problem with the destination; empty if there is none.
    """

    def __init__(
        self, folder: RunFolder, destination: Destination, sender: SpanSender, *, anew: str = ""
    ) -> None:
        """Open the run's journal.

        Args:
            folder: the run's folder.
            destination: where to send.
            sender: sends the spans there.
            anew: also resend what was sent (``all``) or rejected (``refused``).

        Raises:
            JournalError: it cannot be read, or nothing can be written next to it.
            RunNotFound: the folder is not a run.
        """
        self._folder = folder
        self._to = destination
        self._sender = sender
        self._spec = folder.spec()
        self._reader = JournalReader(folder.journal)
        self._outbox = Outbox(self._reader, destination.name, self._spec.get("epochs"))
        if anew:
            self._outbox.forget(all_of_it=anew == "all")
        self._engines: set[int] = set()
        self._failures = 0
        self._not_before = 0.0
        self.spans = 0
        self.refused = 0
        self.why = ""
        self._refusal = ""

    def export(self, *, everything: bool = False, deadline: float | None = None) -> None:
        """Send what is finished and has not been sent.

        Args:
            everything: include calls of samples without a score, and ignore the pause after a
                failure.
            deadline: on the monotonic clock; start no request after it.
        """
        if not everything and time.monotonic() < self._not_before:
            return
        run = self._run_facts()
        for batch in _batches(self._outbox.pending(everything=everything), self._spans_of(run)):
            if deadline is not None and time.monotonic() >= deadline:
                self.why = self.why or "the collector is too slow"
                return
            if not self._send(batch):
                return

    def finish(self, facts: dict[str, Any], deadline: float | None) -> None:
        """Send everything left, and the span of the engines' own work.

        A failing destination is tried a few times, fewer with a deadline.
        """
        self._not_before = 0.0
        while True:
            self.why = ""
            self.export(everything=True, deadline=deadline)
            most = _GIVE_UP_AFTER if deadline is None else _TRIES_IN_TIME
            late = deadline is not None and time.monotonic() >= deadline
            if not self.why or self._failures >= most or late:
                break
            time.sleep(self._pause())
        run = self._run_facts()
        engines = [_engine_span(run, engine, facts) for engine in sorted(self._engines)]
        in_time = deadline is None or time.monotonic() < deadline
        if engines and in_time and not self.why:
            self._send(engines)

    def report(self) -> TraceStatus:
        """The result: ``sent`` and ``left`` count calls, ``refused`` spans."""
        return {
            "to": self._to.endpoint,
            "service": self._to.kind,
            "content": self._to.content,
            "sent": self.spans,
            "left": self._outbox.left(),
            "refused": self.refused,
            "why": self.why or self._refusal,
        }

    def close(self) -> None:
        """Release the journal."""
        self._reader.close()

    def _run_facts(self) -> RunFacts:
        created = self._reader.meta("created") or self._folder.status().created
        engines = self._reader.query(
            lambda decoder, _: decoder.db.execute(
                "SELECT id, at FROM event WHERE kind = 'started' ORDER BY id"
            ).fetchall()
        )
        servers = {
            part.model: str(part.provider_options.get("base_url") or "")
            for part in self._spec.roles().values()
        }
        return RunFacts(self._folder.id, self._spec.benchmark, created, servers, engines)

    def _spans_of(self, run: RunFacts) -> Callable[[OutboxItem], list[Span]]:
        def spans(one: OutboxItem) -> list[Span]:
            return sample_spans(
                run,
                one.sample,
                one.epoch,
                one.calls,
                one.score,
                one.scored_ms,
                with_content=self._to.content,
                flat=self._to.kind == GALILEO,
            )

        return spans

    def _send(self, spans: list[Span]) -> bool:
        """Send, in smaller requests if necessary. False: not possible now."""
        sent = self._sender.send(spans)
        if sent.too_large and not sent.refused:
            half = len(spans) // 2
            return self._send(spans[:half]) and self._send(spans[half:])
        if not sent.taken and not sent.refused:
            self._failures += 1
            self.why = sent.why
            self._not_before = time.monotonic() + max(self._pause(), sent.retry_after)
            return False
        self._failures, self.why = 0, ""
        self.refused += sent.refused
        calls = [span.call for span in spans if span.call]
        if sent.taken:
            self.spans += len(calls)
        self._engines.update(span.engine for span in spans if span.engine)
        self._outbox.mark(calls, refused=not sent.taken)
        self._refusal = sent.why or self._refusal
        return True

    def _pause(self) -> float:
        return min(_LONGEST_PAUSE_S, 2.0 ** (self._failures - 1))


def _batches(
    found: Iterable[OutboxItem], spans_of: Callable[[OutboxItem], list[Span]]
) -> Iterator[list[Span]]:
    """Group spans into requests of a reasonable size; those of one sample stay together."""
    batch: list[Span] = []
    size = 0
    for one in found:
        spans = spans_of(one)
        weight = sum(_weight(span) for span in spans)
        if batch and (len(batch) + len(spans) > _MOST_SPANS or size + weight > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch += spans
        size += weight
    if batch:
        yield batch


def _weight(span: Span) -> int:
    return sum(len(name) + len(str(value)) for name, value in span.attributes.items())


def _engine_span(run: RunFacts, engine: int, facts: dict[str, Any]) -> Span:
    outbox: dict[str, Value] = {
        f"evalbench.run.{name}": value
        for name, value in facts.items()
        if name != "ended_ms" and value is not None
    }
    newest = run.engines[-1][0] if run.engines else 0
    ended = facts["ended_ms"] if engine == newest else _next_start(run, engine)
    error = "failed" if facts.get("state") == "failed" and engine == newest else ""
    return engine_span(run, engine, ended, outbox if engine == newest else {}, error)


def _next_start(run: RunFacts, engine: int) -> int:
    return next((at for number, at in run.engines if number > engine), 0)


def facts_of(folder: RunFolder) -> dict[str, Any]:
    """The facts in a run's span, as currently in its journal."""
    status = folder.status()
    with JournalReader(folder.journal) as journal:
        ended = journal.newest_event()
        metrics = journal.meta("metrics") or {}
        facts = {
            "state": journal.meta("state") or status.state.value,
            "samples": status.total,
            "done": status.done,
            "failed": status.failed,
            "cost_usd": status.spend_usd,
            "model": folder.spec().model,
            "ended_ms": ended.at_ms if ended else 0,
        }
    values = {
        f"metric.{name}": metric["value"]
        for name, metric in metrics.items()
        if not metric["group"] and metric["value"] is not None
    }
    return facts | values
