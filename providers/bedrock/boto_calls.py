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
from urllib.parse import urlsplit

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
    AWSResponse,
)
from botocore.httpsession import ProxyConfiguration, get_cert_path
from urllib3 import PoolManager, ProxyManager, Retry, Timeout
from urllib3.connection import HTTPConnection

from evalbench.providers.wire.connection_made import (
    CONNECT_S,
    KEEPALIVE,
    about_to_send,
    connected,
)

_here = threading.local()


class CutOff(Exception):
    """The call was cancelled before it was sent."""


@dataclass(eq=False)
class PendingCall:
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

    def __enter__(self) -> PendingCall:
        _here.pending = self
        self.compute()
        return self

    def __exit__(self, *_: object) -> None:
        _here.pending = None
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
            connection.pending = self
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
            if connection is None or connection.pending is not self:
                return
            if connection.wire is not None:
                with contextlib.suppress(OSError):
                    connection.wire.shutdown(socket.SHUT_RDWR)


def note_response(response_dict: dict[str, Any], **_: object) -> None:
    """For botocore's ``before-parse`` event: the whole response has arrived."""
    pending: PendingCall | None = getattr(_here, "pending", None)
    if pending is not None:
        pending.answered(response_dict)
        pending.compute()


class _Noted:
    """A connection that registers itself with its call."""

    pending: PendingCall | None = None
    wire: Any = None
    """Its socket. The connection itself drops it while reading its last response."""

    def request(self, *args: Any, **kwargs: Any) -> Any:
        pending: PendingCall | None = getattr(_here, "pending", None)
        if pending is not None:
            pending.take(self)
            if self.sock is not None:  # type: ignore[attr-defined]
                connected()
        return super().request(*args, **kwargs)  # type: ignore[misc]

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        self.wire = self.sock  # type: ignore[attr-defined]
        connected()
        if self.pending is not None:
            self.pending.check()


class _Connection(_Noted, AWSHTTPConnection):  # type: ignore[misc]
    pass


class _SafeConnection(_Noted, AWSHTTPSConnection):  # type: ignore[misc]
    pass


class _Pool(AWSHTTPConnectionPool):  # type: ignore[misc]
    ConnectionCls = _Connection


class _SafePool(AWSHTTPSConnectionPool):  # type: ignore[misc]
    ConnectionCls = _SafeConnection


class Sender:
    """Sends botocore's requests over connections that their calls can cut.

    botocore has no public access to its connections, but lets a handler of its ``before-send``
    event send a request in its place. This one does what its own session does.
    """

    def __init__(
        self, *, verify: str | bool, proxies: dict[str, str], read_s: float, most: int
    ) -> None:
        """Set up.

        Args:
            verify: file with CA certificates; True for the usual ones.
            proxies: addresses by scheme.
            read_s: maximum seconds of silence on a connection.
            most: maximum connections kept open to a host.
        """
        self._proxies = ProxyConfiguration(proxies)
        self._settings: dict[str, Any] = {
            "timeout": Timeout(connect=CONNECT_S, read=read_s),
            "maxsize": most,
            "cert_reqs": "CERT_REQUIRED",
            "ca_certs": get_cert_path(verify),
            "socket_options": [*HTTPConnection.default_socket_options, *KEEPALIVE],
        }
        self._managers: dict[str | None, PoolManager] = {}
        self._making = threading.Lock()

    def watch(self, client: Any) -> None:
        """Send a client's requests; its calls compute one at a time and keep their responses."""
        client.meta.events.register("before-send", self.send)
        client.meta.events.register("before-parse", note_response)

    def send(self, request: Any, **_: object) -> Any:
        """Send a request; its call waits from here on. Raises urllib3's errors."""
        pending: PendingCall | None = getattr(_here, "pending", None)
        if pending is not None:
            pending.wait()
        about_to_send()
        proxy = self._proxies.proxy_url_for(request.url)
        parts = urlsplit(request.url)
        # As signed: urllib3 would normalize a whole URL. Proxies for plain HTTP want one.
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        raw = (
            self._manager(proxy)
            .connection_from_url(request.url)
            .urlopen(
                method=request.method,
                url=request.url if proxy and parts.scheme == "http" else path,
                body=request.body,
                headers=request.headers,
                retries=Retry(False),
                assert_same_host=False,
                preload_content=False,
                decode_content=False,
                chunked=request.headers.get("Transfer-Encoding") == "chunked",
                enforce_content_length=False,
            )
        )
        response = AWSResponse(request.url, raw.status, raw.headers, raw)
        if not request.stream_output:
            # Reads the whole body.
            _ = response.content
        return response

    def _manager(self, proxy: str | None) -> PoolManager:
        with self._making:
            if proxy not in self._managers:
                made = PoolManager(**self._settings)
                if proxy:
                    headers = self._proxies.proxy_headers_for(proxy)
                    made = ProxyManager(proxy, proxy_headers=headers, **self._settings)
                made.pool_classes_by_scheme = {"http": _Pool, "https": _SafePool}
                self._managers[proxy] = made
            return self._managers[proxy]

    def close(self) -> None:
        """Close the connections that no call uses."""
        for manager in self._managers.values():
            for key in manager.pools.keys():  # noqa: SIM118 - a container that cannot be iterated
                if pool := manager.pools.get(key):
                    pool.close()
            manager.clear()
