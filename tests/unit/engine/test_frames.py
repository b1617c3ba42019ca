"""Frames between engine and worker, read whole or not at all."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.calls import frames
from tests.unit.engine.properties import quickly

FRAME = {"type": "reply", "key": "1/0", "reply": {"text": "żółw\n\0 🐢"}}
BYTES = frames.encode(FRAME)


class Trickle(io.RawIOBase):
    """A pipe that gives one byte at a time."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self._data.read(min(size, 1))


async def read_all(data: bytes, *, ended: bool = True) -> list[Any]:
    """Every frame of a stream, up to and with the None at its end."""
    stream = asyncio.StreamReader()
    stream.feed_data(data)
    if ended:
        stream.feed_eof()
    found: list[Any] = []
    while not found or found[-1] is not None:
        found.append(await frames.read_frame(stream))
    return found


def test_a_frame_is_its_length_and_json() -> None:
    assert frames.encode({"type": "bye"}) == b'\0\0\0\x0e{"type":"bye"}'


async def test_frames_in_a_row_are_read_in_order_by_both_sides() -> None:
    other = {"type": "bye"}
    data = BYTES + frames.encode(other)
    stream = io.BytesIO(data)
    assert [frames.read_blocking(stream) for _ in range(3)] == [FRAME, other, None]
    assert await read_all(data) == [FRAME, other, None]


def test_a_frame_that_comes_in_pieces_is_put_together() -> None:
    assert frames.read_blocking(Trickle(BYTES)) == FRAME  # type: ignore[arg-type]


async def test_a_frame_that_comes_in_pieces_is_waited_for() -> None:
    stream = asyncio.StreamReader()
    reading = asyncio.create_task(frames.read_frame(stream))
    for byte in BYTES:
        assert not reading.done()
        stream.feed_data(bytes([byte]))
        await asyncio.sleep(0)
    assert await reading == FRAME


@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, len(BYTES) - 1])
async def test_a_stream_cut_anywhere_is_the_end(length: int) -> None:
    assert frames.read_blocking(io.BytesIO(BYTES[:length])) is None
    assert await read_all(BYTES[:length]) == [None]


async def test_a_reset_connection_is_the_end() -> None:
    stream = asyncio.StreamReader()
    stream.set_exception(ConnectionResetError())
    assert await frames.read_frame(stream) is None


async def test_an_absurd_length_is_refused_before_it_is_read() -> None:
    huge = (frames.MAX_FRAME + 1).to_bytes(4, "big")
    told = f"frame of {frames.MAX_FRAME + 1} bytes"
    with pytest.raises(ValueError, match=told):
        frames.read_blocking(io.BytesIO(huge))
    with pytest.raises(ValueError, match=told):
        await read_all(huge, ended=False)


async def test_what_is_not_json_is_refused() -> None:
    garbage = b"\0\0\0\x05hello"
    with pytest.raises(ValueError, match="unexpected character"):
        frames.read_blocking(io.BytesIO(garbage))
    with pytest.raises(ValueError, match="unexpected character"):
        await read_all(garbage)


@quickly
@given(st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=50)), max_size=5))
def test_any_frames_come_through_both_ways(sent: list[dict[str, Any]]) -> None:
    data = b"".join(map(frames.encode, sent))
    stream = io.BytesIO(data)
    assert [frames.read_blocking(stream) for _ in range(len(sent) + 1)] == [*sent, None]
    assert asyncio.run(read_all(data)) == [*sent, None]
