"""Streaming files to and from a provider: they may be larger than memory."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from evalbench.engine.errors import CallRejected, DeadlineExceeded, RunFatal, system_limit
from evalbench.engine.paths import open_private
from evalbench.providers.wire.exchange import Answered

FORM_TYPE = "application/jsonl"
_PIECE = 1 << 18
_WRITE = 1 << 20


@dataclass(frozen=True, slots=True)
class ListBody:
    """A JSON body with the lines of a file as the items of a list, streamed.

    Attributes:
        file: the file of lines.
        head, tail: what comes before and after them.
    """

    file: Path
    head: bytes
    tail: bytes

    def size(self) -> int:
        """Size of the whole body in bytes; a final line feed in the file is not sent."""
        with self.file.open("rb") as source:
            length = source.seek(0, 2)
            source.seek(max(0, length - 1))
            length -= source.read(1) == b"\n"
        return len(self.head) + length + len(self.tail)

    async def pieces(self, size: int, moved: Callable[[], None]) -> AsyncIterator[bytes]:
        """Generate the body; ``moved`` is called after each chunk is sent.

        Raises:
            CallRejected: the file has shrunk meanwhile.
        """
        yield self.head
        left = size - len(self.head) - len(self.tail)
        source = await asyncio.to_thread(self.file.open, "rb")
        try:
            while left > 0:
                piece = await asyncio.to_thread(source.read, min(left, _PIECE))
                if not piece:
                    raise CallRejected(f"{self.file.name} became shorter while it was sent")
                left -= len(piece)
                yield piece.replace(b"\n", b",")
                moved()
        finally:
            source.close()
        yield self.tail


class Watched(io.FileIO):
    """A file that an HTTP client reads while sending it; every read counts as progress."""

    def __init__(self, file: Path, moved: Callable[[], None]) -> None:
        super().__init__(file)
        self._moved = moved

    def read(self, size: int | None = -1, /) -> bytes:
        """As for any file."""
        self._moved()
        return super().read(-1 if size is None else size) or b""


class FileCarrier(Protocol):
    """Sends and fetches files. Gives up after ``idle_s`` seconds without progress."""

    async def upload(
        self, path: str, file: Path, name: str, fields: Mapping[str, str], idle_s: float
    ) -> Answered:
        """POST a form: plain fields, and a file called ``name`` in the field ``file``.

        Raises:
            ProviderError: no complete response arrived.
        """
        ...

    async def download(self, path: str, into: Path, idle_s: float) -> Answered:
        """Append the content of a path to a file; the response is returned without its body.

        An unsuccessful response leaves the file alone and is returned with its body. Raises as
        :meth:`upload`, and RunFatal if the file cannot be written.
        """
        ...


@contextlib.asynccontextmanager
async def while_it_moves(idle_s: float, title: str) -> AsyncIterator[Callable[[], None]]:
    """Limit a transfer of any length by the time without progress.

    Yields:
        A function to call, from any thread, on progress.

    Raises:
        DeadlineExceeded: after ``idle_s`` seconds without progress.
    """
    loop = asyncio.get_running_loop()
    deadline = asyncio.timeout(idle_s)
    over = False

    def put_off() -> None:
        if not over and not deadline.expired():
            deadline.reschedule(loop.time() + idle_s)

    def moved() -> None:
        loop.call_soon_threadsafe(put_off)

    try:
        async with deadline:
            try:
                yield moved
            finally:
                over = True
    except TimeoutError:
        if not deadline.expired():
            raise
        raise DeadlineExceeded(
            f"nothing came from or went to {title} for {idle_s:g} s",
            hint="raise --timeout, or look at the network",
            possibly_billed=True,
        ) from None


async def write_all(pieces: AsyncIterator[bytes], into: Path, moved: Callable[[], None]) -> None:
    """Append a response's chunks to a file, off the event loop.

    Raises:
        RunFatal: the file cannot be written.
    """
    pending = bytearray()
    async for piece in pieces:
        moved()
        pending += piece
        if len(pending) >= _WRITE:
            await asyncio.to_thread(add_to, into, pending)
            pending = bytearray()
    await asyncio.to_thread(add_to, into, pending)


def add_to(into: Path, piece: bytes | bytearray) -> None:
    """Append a chunk of a response to a file.

    Raises:
        RunFatal: the file cannot be written.
    """
    try:
        with open_private(into, "ab") as target:
            target.write(piece)
    except OSError as error:
        raise cannot_write(into, error) from None


def cannot_write(into: Path, error: OSError) -> RunFatal:
    """A file of results cannot be written."""
    limit = system_limit(error)
    return RunFatal(
        f"{into.name} cannot be written",
        why=limit.why if limit else error.strerror or str(error),
        hint="free some space, then resume the run; the results stay at the provider",
    )
