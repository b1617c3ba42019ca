"""Calls of boto3 in flight: cut when nobody waits for them any more, and computing in turn.

boto3 blocks a thread until the answer is there, and knows no way to give a
call up. Here every call notes the connection that it goes out on; cutting it
shuts that connection's socket down, which wakes the thread at once.

Many threads that compute at once would keep the event loop waiting for the
interpreter, each for its slice. So a call holds a gate while it computes (before
it is sent, and when its answer is there), and gives it up while it waits.

Imports botocore: for threads that have to load it anyway.
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
    """The call was given up before it went out."""


@dataclass(eq=False)
class Line:
    """One call in flight.

    Attributes:
        gate: held while the call computes; shared by all calls.
        response: what came back, as botocore read it from the wire, whatever its status.
        seconds: from sending the request to the last byte of its response.
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
        """Take the gate."""
        if not self._computing:
            self.gate.acquire()
            self._computing = True

    def wait(self) -> None:
        """Give the gate up."""
        if self._computing:
            self._computing = False
            self.gate.release()

    def check(self) -> None:
        """Go no further with a call that was cut."""
        if self._cut:
            raise CutOff

    def take(self, connection: Any) -> None:
        """The call goes out on this connection, which has carried others."""
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
        """Give the call up; from any thread."""
        with self._lock:
            self._cut = True
            connection = self._connection
            # One that another call took over since is not touched.
            if connection is None or connection.line is not self:
                return
            if connection.wire is not None:
                with contextlib.suppress(OSError):
                    connection.wire.shutdown(socket.SHUT_RDWR)


def note_request(**_: object) -> None:
    """For botocore's event ``before-send``: from here on a call waits."""
    line: Line | None = getattr(_here, "line", None)
    if line is not None:
        line.wait()


def note_response(response_dict: dict[str, Any], **_: object) -> None:
    """For botocore's event ``before-parse``: the whole response is there."""
    line: Line | None = getattr(_here, "line", None)
    if line is not None:
        line.answered(response_dict)
        line.compute()


class _Noted:
    """A connection that tells its call's line of itself."""

    line: Line | None = None
    wire: Any = None
    """Its socket. The connection itself forgets it while an answer comes that is to be the last."""

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
    """Let a client's calls note their connections and responses, and compute in turn.

    botocore has no public door to its connections. Were this one to close, calls
    would only be given up later, at their read time-out.

    Returns:
        Whether they note their connections.
    """
    client.meta.events.register("before-send", note_request)
    client.meta.events.register("before-parse", note_response)
    with contextlib.suppress(AttributeError):
        client._endpoint.http_session._pool_classes_by_scheme.update(http=_Pool, https=_SafePool)
        return True
    return False


def let_go(client: Any) -> None:
    """Close the connections that a client keeps; its own ``close`` leaves them to the collector."""
    with contextlib.suppress(AttributeError):
        pools = client._endpoint.http_session._manager.pools
        for key in pools.keys():  # noqa: SIM118 - urllib3's own container, which cannot be walked
            pools.get(key).close()
