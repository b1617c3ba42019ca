"""A loopback server that answers every request with one chat completion, or message, after a pause.

It does as little as a server in Python can, so that a client is what is
measured. Run it in a process of its own; it prints its port. ``GET /asked``
tells how many requests it has seen.
"""

from __future__ import annotations

import asyncio
import sys

_BODY = (
    b'{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,'
    b'"message":{"role":"assistant","content":"The answer is B."},"logprobs":null,'
    b'"finish_reason":"stop"}],"usage":{"prompt_tokens":150,"completion_tokens":5,'
    b'"total_tokens":155}}'
)
_MESSAGE = (
    b'{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text",'
    b'"text":"The answer is B."}],"stop_reason":"end_turn","stop_sequence":null,'
    b'"usage":{"input_tokens":150,"output_tokens":5}}'
)
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
_ANSWER = _HEAD % len(_BODY) + _BODY
_MESSAGE_ANSWER = _HEAD % len(_MESSAGE) + _MESSAGE


class Connection(asyncio.Protocol):
    """Reads requests by their content length and answers in order."""

    asked = 0

    def __init__(self, pause: float, loop: asyncio.AbstractEventLoop) -> None:
        self._pause = pause
        self._loop = loop
        self._held = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._held += data
        while (end := self._held.find(b"\r\n\r\n")) >= 0:
            head = self._held[:end].lower()
            at = head.find(b"content-length:")
            size = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._held) < end + 4 + size:
                return
            self._held = self._held[end + 4 + size :]
            if head.startswith(b"get /asked"):
                self._tell()
                continue
            Connection.asked += 1
            answer = _MESSAGE_ANSWER if head.startswith(b"post /v1/messages") else _ANSWER
            if self._pause:
                self._loop.call_later(self._pause, self._answer, answer)
            else:
                self._answer(answer)

    def _tell(self) -> None:
        body = str(Connection.asked).encode()
        if self._transport is not None:
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body))
            self._transport.write(body)

    def _answer(self, answer: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(answer)


async def main(pause: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(pause, loop), "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
