"""A way to the simulator that breaks in the middle, by halves, as only a raw socket can.

Everything that is asked crosses it and is answered by the simulator; questions
meet trouble when told so. One direction of a connection can be shut while the
other stays open, which no HTTP server does on purpose but proxies, load
balancers and dying machines do.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from typing import Literal, Self
from urllib.parse import urlsplit

import psutil

Trouble = Literal["half", "head", "deaf", "endless", "gone", "shut-after", "deaf-after"]
"""What happens to a question:

``half``: half of the answer's body, then nothing can come any more; ``head``: half of its
head; ``deaf``: nobody reads any longer, and nobody says so; ``endless``: an answer whose end
never comes; ``gone``: the connection is closed just as the question arrives; ``shut-after``:
answered, then nothing more can come, but the connection stays; ``deaf-after``: answered, then
nobody reads any longer.
"""

_LENGTH = re.compile(rb"(?im)^content-length: *(\d+)\r$")


class Crossing:
    """Listens on the loopback interface while entered.

    Args:
        url: the simulator's address.

    Attributes:
        part: questions are the requests whose path contains this; others cross unharmed.
        troubles: what the next questions meet, the first of them first.
        questions: the connection, by number, over which each question came.
    """

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self.part = ""
        self._connections = 0
        self._open: set[asyncio.Task[None]] = set()
        self.troubles: list[Trouble] = []
        self.questions: list[int] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def to(self, base_url: str) -> str:
        """A base URL of the simulator, by this way."""
        return urlsplit(base_url)._replace(netloc=f"127.0.0.1:{self.port}").geturl()

    def held(self) -> list[str]:
        """The states of the connections that the client has not closed, by the system's names."""
        mine = psutil.Process().net_connections("tcp")
        return [one.status for one in mine if one.raddr and one.raddr.port == self.port]

    async def _serve(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._open.add(task)
        self._connections += 1
        number = self._connections
        there, onward = await asyncio.open_connection(self._target.hostname, self._target.port)
        try:
            while request := await _message(client):
                trouble: Trouble | None = None
                if self.part.encode() in request.partition(b"\r\n")[0]:
                    self.questions.append(number)
                    trouble = self.troubles.pop(0) if self.troubles else None
                onward.write(request)
                answer = await _message(there)
                if not await _answered(answer, trouble, client, back):
                    return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return
        finally:
            self._open.discard(task)
            onward.close()
            back.close()


async def _message(stream: asyncio.StreamReader) -> bytes:
    """One whole request or answer; empty at the end of the stream."""
    try:
        head = await stream.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""
    length = _LENGTH.search(head)
    return head + (await stream.readexactly(int(length[1])) if length else b"")


async def _answered(
    answer: bytes,
    trouble: Trouble | None,
    client: asyncio.StreamReader,
    back: asyncio.StreamWriter,
) -> bool:
    """Give the answer back, as whole as ``trouble`` leaves it. Whether the connection goes on."""
    head, _, body = answer.partition(b"\r\n\r\n")
    match trouble:
        case None | "shut-after" | "deaf-after":
            back.write(answer)
        case "half":
            back.write(answer[: -len(body) // 2])
        case "head":
            back.write(head[: len(head) // 2])
        case "endless":
            back.write(_LENGTH.sub(b"Connection: close\r", head + b"\r\n") + b"\r\n" + body)
        case "gone":
            return False
    with contextlib.suppress(ConnectionError):
        await back.drain()
    if trouble is None:
        return True
    if trouble in ("half", "head", "shut-after"):
        back.write_eof()
    if trouble in ("deaf", "deaf-after"):
        back.get_extra_info("socket").shutdown(socket.SHUT_RD)
        # Nothing can be read any more, not even that the client has left.
        await asyncio.Event().wait()
    await client.read()
    return False
