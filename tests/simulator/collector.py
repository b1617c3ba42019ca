"""A collector of traces on loopback: takes OTLP over HTTP, and knows Galileo's projects.

It keeps every span it took, decoded, with the headers of the request that brought it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from tests.simulator.loopback import serving

CLIENT = WireSpan.SPAN_KIND_CLIENT
INTERNAL = WireSpan.SPAN_KIND_INTERNAL


@dataclass(frozen=True)
class Taken:
    """One span as it came."""

    trace: str
    id: str
    parent: str
    name: str
    kind: int
    start: int
    end: int
    error: bool
    attributes: Mapping[str, Any]
    resource: Mapping[str, Any]
    headers: Mapping[str, str]
    links: tuple[tuple[str, str], ...]
    events: tuple[tuple[str, Mapping[str, Any]], ...]


@dataclass
class Collector:
    """What was taken, and how the collector behaves.

    Attributes:
        spans: in the order in which they came.
        bodies: of all requests, as they came, whatever became of them.
        status: of every answer; anything but 200 keeps nothing.
        hold: requests wait for it, until it is set.
        most_spans: a request with more of them gets 413; 0: no limit.
        reject: spans of each request that the answer says are rejected.
        headers: further headers of an answer.
        galileo: whether Galileo's API is there at all.
        api_status: the status of its good answers.
    """

    address: str = ""
    spans: list[Taken] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    seen: list[tuple[str, str, Mapping[str, str]]] = field(default_factory=list)
    status: int = 200
    most_spans: int = 0
    reject: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    projects: dict[str, str] = field(default_factory=dict)
    streams: dict[str, str] = field(default_factory=dict)
    galileo: bool = True
    api_status: int = 200
    hold: threading.Event = field(default_factory=threading.Event)

    def calls(self) -> list[Taken]:
        """The spans of calls."""
        return [span for span in self.spans if span.kind == CLIENT]

    def roots(self) -> list[Taken]:
        """The spans of samples."""
        return [
            span
            for span in self.spans
            if span.kind == INTERNAL and "evalbench.sample.id" in span.attributes
        ]

    def everything(self) -> bytes:
        """Every byte that came: bodies, paths and headers."""
        told = "\n".join(f"{method} {path} {dict(heads)}" for method, path, heads in self.seen)
        return b"\n".join([told.encode(), *self.bodies])

    def take(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        """Answer one export."""
        request = ExportTraceServiceRequest.FromString(body)
        found = [
            _taken(span, _values(part.resource.attributes), headers)
            for part in request.resource_spans
            for scope in part.scope_spans
            for span in scope.spans
        ]
        if self.status != 200:
            return self.status, b"no"
        if self.most_spans and len(found) > self.most_spans:
            return 413, b"too large"
        self.spans += found
        answer = ExportTraceServiceResponse()
        if self.reject:
            answer.partial_success.rejected_spans = self.reject
        return 200, answer.SerializeToString()

    def api(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """Answer one request of Galileo's API."""
        if not self.galileo:
            return 500, {}
        return self.api_status, self._api(method, path, body)

    def _api(self, method: str, path: str, body: bytes) -> Any:
        asked = json.loads(body) if body else {}
        if (method, path) == ("POST", "/projects/paginated"):
            wanted = asked["filters"][0]["value"]
            found = [{"name": name, "id": ident} for name, ident in self.projects.items()]
            return {"projects": [one for one in found if one["name"] == wanted]}
        if (method, path) == ("POST", "/projects"):
            self.projects[asked["name"]] = ident = f"p-{len(self.projects)}"
            return {"name": asked["name"], "id": ident}
        if method == "POST":
            self.streams[asked["name"]] = ident = f"s-{len(self.streams)}"
            return {"name": asked["name"], "id": ident}
        return [{"name": name, "id": ident} for name, ident in self.streams.items()]


def _taken(span: WireSpan, resource: Mapping[str, Any], headers: Mapping[str, str]) -> Taken:
    return Taken(
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.name,
        span.kind,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        span.status.code == Status.STATUS_CODE_ERROR,
        _values(span.attributes),
        resource,
        headers,
        tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
        tuple((event.name, _values(event.attributes)) for event in span.events),
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: _value(one.value) for one in attributes}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind or "string_value")


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a free port, for as long as the block lasts."""
    collector = Collector()
    collector.hold.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            collector.bodies.append(body)
            collector.seen.append((self.command, self.path, dict(self.headers.items())))
            collector.hold.wait(60)
            if self.path.endswith("/traces"):
                heads = {name.lower(): text for name, text in self.headers.items()}
                status, told = collector.take(self.path, heads, body)
            else:
                status, found = collector.api(self.command, self.path, body)
                told = json.dumps(found).encode()
            self.send_response(status)
            for name, text in collector.headers.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        do_GET = do_POST = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with serving(Handler) as port:
        collector.address = f"http://127.0.0.1:{port}"
        try:
            yield collector
        finally:
            collector.hold.set()
