"""A server on this machine that answers every question with the bytes it was given."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass

_LENGTH = re.compile(rb"^content-length: *(\d+)", re.IGNORECASE | re.MULTILINE)
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True)
class Response:
    """One response.

    Attributes:
        body: its bytes, before they are packed.
        status: of HTTP.
        headers: beyond those that frame the body.
        framing: how the body comes: with its ``length``, in ``chunks``, packed with ``gzip``,
            or with the promise of more than comes (``cut``).
    """

    body: bytes
    status: int = 200
    headers: Sequence[tuple[str, str]] = (("Content-Type", "application/json"),)
    framing: str = "length"

    def wire(self) -> bytes:
        """The whole response as it goes over the wire."""
        body, own = self.body, [("Connection", "close")]
        if self.framing == "gzip":
            body = gzip.compress(body, 1)
            own.append(("Content-Encoding", "gzip"))
        if self.framing == "chunks":
            own.append(("Transfer-Encoding", "chunked"))
            body = (
                b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in _halves(body)) + b"0\r\n\r\n"
            )
        else:
            own.append(("Content-Length", str(len(body) + 9 * (self.framing == "cut"))))
        lines = [f"HTTP/1.1 {self.status} Said", *(f"{n}: {v}" for n, v in (*self.headers, *own))]
        head = "\r\n".join(lines).encode("latin-1", "replace")
        return head + b"\r\n\r\n" + body


def _halves(body: bytes) -> list[bytes]:
    middle = len(body) // 2
    return [one for one in (body[:middle], body[middle:]) if one]


class Server:
    """Answers every POST with :attr:`response`, and nothing else.

    Attributes:
        response: what is answered.
        later: what is answered from the second question on; None for the same.
        asked: how many questions came since it was set to 0.
    """

    def __init__(self) -> None:
        self.response = Response(b"")
        self.later: Response | None = None
        self.asked = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Server:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server
        self._server.close()

    @property
    def url(self) -> str:
        """Its address."""
        assert self._server
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            if found := _LENGTH.search(head):
                await reader.readexactly(int(found[1]))
            if head.startswith(b"POST"):
                self.asked += 1
                response = self.later if self.later and self.asked > 1 else self.response
                writer.write(response.wire())
            else:
                writer.write(_NOT_FOUND)
            await writer.drain()
        writer.close()
