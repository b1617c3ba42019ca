"""Sends spans over OTLP/HTTP with OpenTelemetry's exporter. The only module that imports it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.util.re import parse_env_headers

from evalbench.engine.installed import version
from evalbench.engine.telemetry.spans import Span

ATTEMPT_S = 5.0
"""Maximum duration of a request, including the exporter's own retries."""

_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_REFUSED = (400, 413, 422)
"""Statuses that would be the same on a retry."""


class _Session(requests.Session):  # type: ignore[misc]
    """Records the response to the last request; the exporter only reports success or failure."""

    status = 0
    body = b""
    retry_after = 0.0

    def request(self, *args: Any, **kwargs: Any) -> requests.Response:
        """Send, and record the response."""
        self.status, self.body, self.retry_after = 0, b"", 0.0
        # If the collector has moved, the headers would be sent elsewhere.
        kwargs["allow_redirects"] = False
        response = super().request(*args, **kwargs)
        self.status, self.body = response.status_code, response.content[:65_536]
        value = response.headers.get("Retry-After", "")
        self.retry_after = float(value) if value.isdecimal() else 0.0
        return response


@dataclass(frozen=True, slots=True)
class SendResult:
    """The result of one request.

    Attributes:
        taken: whether it was accepted.
        refused: number of its spans that the collector rejects permanently.
        too_large: whether it would be accepted in smaller pieces.
        why: a description of any problem.
        retry_after: seconds that the collector asks to wait.
    """

    taken: bool
    refused: int = 0
    too_large: bool = False
    why: str = ""
    retry_after: float = 0.0


class OtlpSender:
    """Posts spans to one address."""

    def __init__(self, endpoint: str, headers: str, more: dict[str, str], resource: dict[str, str]):
        """Set up; nothing is sent yet.

        Args:
            endpoint: address of the signal.
            headers: see OTEL_EXPORTER_OTLP_HEADERS.
            more: further headers.
            resource: attributes of the resource.
        """
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._session = _Session()
        self._exporter = OTLPSpanExporter(
            endpoint,
            headers={**parse_env_headers(headers, liberal=True), **more},
            timeout=ATTEMPT_S,
            session=self._session,
        )
        self._resource = Resource(
            {"service.name": "evalbench", "service.version": version(), **resource}
        )
        self._scope = InstrumentationScope("evalbench", version())

    def send(self, spans: Sequence[Span]) -> SendResult:
        """Post spans in one request."""
        session = self._session
        session.status = 0
        result = self._exporter.export([self._readable(span) for span in spans])
        if result is SpanExportResult.SUCCESS and session.status < 300:
            return self._partly(session.body)
        why = f"the collector answers with HTTP {session.status}"
        if not session.status:
            return SendResult(
                False, why="the collector cannot be reached, or does not answer in time"
            )
        if session.status in _REFUSED:
            alone = len(spans) == 1 or session.status != 413
            return SendResult(False, len(spans) if alone else 0, session.status == 413, why)
        if 300 <= session.status < 400:
            why += ", which leads elsewhere"
        elif session.status in (401, 403):
            why += ": it does not accept the key"
        return SendResult(False, why=why, retry_after=session.retry_after)

    def _partly(self, body: bytes) -> SendResult:
        """A success, unless the response says that some spans were rejected."""
        try:
            outcome = ExportTraceServiceResponse.FromString(body).partial_success
        except Exception:
            return SendResult(True)  # some answer in JSON, or with nothing
        if not outcome.rejected_spans:
            return SendResult(True)
        return SendResult(True, int(outcome.rejected_spans), why="the collector rejects some spans")

    def _readable(self, span: Span) -> ReadableSpan:
        code = StatusCode.ERROR if span.error else StatusCode.UNSET
        return ReadableSpan(
            span.name,
            _context(span.trace, span.id),
            parent=_context(span.trace, span.parent) if span.parent else None,
            resource=self._resource,
            attributes=span.attributes,
            kind=SpanKind.CLIENT if span.client else SpanKind.INTERNAL,
            status=Status(code, span.error or None),
            start_time=span.start,
            end_time=span.end,
            instrumentation_scope=self._scope,
            links=[Link(_context(*link)) for link in span.links],
            events=[
                Event(name, attributes, timestamp=span.end) for name, attributes in span.events
            ],
        )

    def close(self) -> None:
        """Close the connection."""
        self._exporter.shutdown()


def _context(trace: int, span: int) -> SpanContext:
    return SpanContext(trace, span, is_remote=False, trace_flags=_SAMPLED)
