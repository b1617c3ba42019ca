"""What models and data sets say reaches a real terminal as text only."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evalbench.engine.runs.status import State
from tests.nasty import STORABLE, nasty_run
from tests.terminal.screen import Terminal

pytestmark = pytest.mark.terminal

_PLANTED = (
    b"ZXZpbA==",  # a clipboard's new contents
    b"evil.example",  # a link's target
    b"]0;owned",  # a window's title
    b"\x1bPq",  # a picture
    b"\x1b[10A",  # a moved cursor
    b"\xc2\x9b",
    "\u202e".encode(),
)


def test_no_sequence_of_a_reply_reaches_the_terminal(
    terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    engine = asyncio.run(nasty_run())
    # At rest: what is left behind is ended after a test, and this process stands for the engine.
    engine.status(State.COMPLETE)
    window = terminal(columns=120, rows=40)
    raw = tmp_path / "raw"
    window.record(raw)
    window.type(f"evalbench attach {engine.folder.id}")
    window.wait_for("Samples")
    window.press("a")
    window.wait_for("✓ parsed")
    window.press("Enter")
    for number in range(1, len(STORABLE) + 1):
        window.wait_for(f"Sample {number} ")
        for key in ("f", "End", "n"):
            window.press(key)
    window.wait_for("No calls yet")
    window.press("C-q")
    window.wait_for("ready>")
    sent = raw.read_bytes()
    assert len(sent) > 10_000
    for planted in _PLANTED:
        assert planted not in sent, planted
    titles = re.findall(rb"\x1b\](?:0|2|52|8);[^\x07\x1b]*", sent)
    # The app's own titles name what is shown, without what a terminal would obey.
    assert all(title.startswith(b"\x1b]2;") for title in titles)
    assert all(title[4:].decode().isprintable() for title in titles)
