"""boto3 calls in flight: cancelled when no longer needed, and computing one at a time.

boto3 blocks a thread until the answer arrives, and has no way to cancel a call. Here every call
records its connection; cancelling the call shuts down that connection's socket, which wakes the
thread at once.

Many threads computing at once would make the event loop wait for the interpreter, each for its time
slice. So a call holds a gate while it computes (before it is sent, and after its answer arrives),
and releases it while it waits.

Imports botocore, so it is only for threads that have to load that anyway.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)

from evalbench.providers.wire.reached import connected

_here = threading.local()


class CutOff(Exception):
    """The call was cancelled before it was sent."""


@dataclass(eq=False)
class Line:
    """One call in flight.

    Attributes:
        gate: held while the call computes; shared by all calls.
        response: the response as botocore read it, whatever its status.
        seconds: time from sending the request to the last byte of its response.
    """

    gate: threading.Lock
    response: dict[str, Any] | None = None
    seconds: float = 0.0
    _computing: bool = False
    _started: float = 0.0
    _cut: bool = False
    _connection: Any = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Line:
        _here.line = self
        self.compute()
        return self

    def __exit__(self, *_: object) -> None:
        _here.line = None
        self.wait()
        with self._lock:
            self._connection = None

    def compute(self) -> None:
        """Acquire the gate."""
        if not self._computing:
            self.gate.acquire()
            self._computing = True

    def wait(self) -> None:
        """Release the gate."""
        if self._computing:
            self._computing = False
            self.gate.release()

    def check(self) -> None:
        """Stop a call that was cancelled."""
        if self._cut:
            raise CutOff

    def take(self, connection: Any) -> None:
        """The call is sent on this connection, which may be a reused one."""
        with self._lock:
            self.check()
            self._connection = connection
            connection.line = self
        self._started = time.perf_counter()

    def answered(self, response: dict[str, Any]) -> None:
        """The response is complete."""
        self.response = response
        self.seconds = time.perf_counter() - self._started

    def cut(self) -> None:
        """Cancel the call; from any thread."""
        with self._lock:
            self._cut = True
            connection = self._connection
            # A connection that another call has since taken over is left alone.
            if connection is None or connection.line is not self:
                return
            if connection.wire is not None:
                with contextlib.suppress(OSError):
                    connection.wire.shutdown(socket.SHUT_RDWR)


def note_request(**_: object) -> None:
    """For botocore's ``before-send`` event: from here on the call waits."""
    line: Line | None = getattr(_here, "line", None)
    if line is not None:
        line.wait()


def note_response(response_dict: dict[str, Any], **_: object) -> None:
    """For botocore's ``before-parse`` event: the whole response has arrived."""
    line: Line | None = getattr(_here, "line", None)
    if line is not None:
        line.answered(response_dict)
        line.compute()


class _Noted:
    """A connection that registers itself with its call's line."""

    line: Line | None = None
    wire: Any = None
    """Its socket. The connection itself drops it while reading its last response."""

    def request(self, *args: Any, **kwargs: Any) -> Any:
        line: Line | None = getattr(_here, "line", None)
        if line is not None:
            line.take(self)
            if self.sock is not None:  # type: ignore[attr-defined]
                connected()
        return super().request(*args, **kwargs)  # type: ignore[misc]

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        self.wire = self.sock  # type: ignore[attr-defined]
        connected()
        if self.line is not None:
            self.line.check()


class _Connection(_Noted, AWSHTTPConnection):  # type: ignore[misc]
    pass


class _SafeConnection(_Noted, AWSHTTPSConnection):  # type: ignore[misc]
    pass


class _Pool(AWSHTTPConnectionPool):  # type: ignore[misc]
    ConnectionCls = _Connection


class _SafePool(AWSHTTPSConnectionPool):  # type: ignore[misc]
    ConnectionCls = _SafeConnection


def watch(client: Any) -> bool:
    """Make a client's calls record their connections and responses, and compute one at a time.

    botocore has no public access to its connections. If this private one disappeared, calls could
    be cancelled only at their read timeout.

    Returns:
        Whether calls record their connections.
    """
    client.meta.events.register("before-send", note_request)
    client.meta.events.register("before-parse", note_response)
    with contextlib.suppress(AttributeError):
        client._endpoint.http_session._pool_classes_by_scheme.update(http=_Pool, https=_SafePool)
        return True
    return False


def let_go(client: Any) -> None:
    """Close a client's pooled connections; its ``close`` leaves them to the garbage collector."""
    with contextlib.suppress(AttributeError):
        pools = client._endpoint.http_session._manager.pools
        for key in pools.keys():  # noqa: SIM118 - urllib3's own container, which cannot be iterated
            pools.get(key).close()
