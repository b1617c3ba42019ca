"""A picture in the terminal: with terminal graphics if supported, else in half cells.

Needs the package ``textual-image``; without it, and for invalid or broken pictures, a line says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import io
import os
import struct
import sys
import termios
import warnings
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from evalbench.engine.calls import MediaPart
from evalbench.engine.installed import install_command
from evalbench.tui.widgets.text import Plain

_MOST_PIXELS = (1600, 1200)
"""Larger pictures are scaled down before they are drawn; no terminal shows more."""


_MOST_ROWS, _MOST_COLUMNS, _LEAST_COLUMNS = 20, 80, 24
_CELL_PIXELS = 10


class Picture(Vertical):
    """One picture of a prompt, at most 20 rows high. Drawn after the page."""

    DEFAULT_CSS = """
    Picture { height: auto; }
    Picture .pixels { height: auto; max-width: 100%; }
    """

    def __init__(self, part: MediaPart) -> None:
        super().__init__()
        self._part = part

    def compose(self) -> ComposeResult:
        """A placeholder line until it is drawn."""
        yield Plain(self._wanting(), classes="dim")

    def _wanting(self) -> str:
        """Why it cannot be drawn; empty if it may be."""
        if not self._part.media_type.startswith("image/"):
            return "not a picture: nothing to show"
        if not self._part.data:
            return "its bytes are not in the journal"
        return (
            ""
            if find_spec("textual_image")
            else f"to see pictures here: {install_command('images')}"
        )

    def on_mount(self) -> None:
        """Schedule drawing."""
        if self._wanting():
            return
        self._draw()

    @work
    async def _draw(self) -> None:
        try:
            image = await asyncio.to_thread(_decoded, self._part.data)
            pixels = _widget(image)
        except Exception as error:
            # Whatever a decoder does with untrusted bytes, the page must survive.
            self.query_one(Plain).show(f"cannot be shown: {type(error).__name__}")
            return
        pixels.add_class("pixels")
        pixels.styles.width = columns(*image.size)
        await self.query_one(Plain).remove()
        await self.mount(pixels)


def columns(width: int, height: int) -> int:
    """The width in columns for a picture of the given size; a cell is twice as high as wide."""
    by_height = 2 * _MOST_ROWS * width // max(1, height)
    return max(1, min(by_height, _MOST_COLUMNS, max(_LEAST_COLUMNS, width // _CELL_PIXELS)))


def _decoded(data: bytes) -> Any:
    """The decoded picture, no larger than a terminal shows."""
    from PIL import Image

    with warnings.catch_warnings():
        # A decompression bomb is an error, not a warning.
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        image = Image.open(io.BytesIO(data))
        image.thumbnail(_MOST_PIXELS)
        return image.convert("RGBA" if "A" in image.getbands() else "RGB")


def _widget(image: Any) -> Widget:
    with _unasked():
        from textual_image.widget import HalfcellImage, SixelImage, TGPImage
    kinds: Mapping[str, Any] = {"kitty": TGPImage, "sixel": SixelImage, "": HalfcellImage}
    widget: Widget = kinds[graphics(os.environ)](image)
    return widget


def graphics(environment: Mapping[str, str]) -> str:
    """The terminal's known graphics protocol: ``kitty``, ``sixel`` or none.

    Terminals are recognized by their environment variables: a query would be answered on standard
    input, which the running app reads.
    """
    # A multiplexer or a remote shell may be in between.
    if any(environment.get(name) for name in ("TMUX", "STY", "TEXTUAL_DRIVER", "NO_COLOR")):
        return ""
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    if "kitty" in term or "ghostty" in term or environment.get("KITTY_WINDOW_ID"):
        return "kitty"
    if term.startswith(("foot", "mlterm", "contour")) or program in ("WezTerm", "iTerm.app"):
        return "sixel"
    return ""


@contextlib.contextmanager
def _unasked() -> Iterator[None]:
    """Prevent the package from querying the terminal on import."""
    real, size = sys.__stdout__, _cell_size()
    sizes = {"TEXTUAL_CELL_WIDTH": str(size[0]), "TEXTUAL_CELL_HEIGHT": str(size[1])}
    before = {name: os.environ.get(name) for name in sizes}
    if all(size):
        os.environ.update(sizes)
    sys.__stdout__ = io.StringIO()  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        sys.__stdout__ = real  # type: ignore[misc]
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _cell_size() -> tuple[int, int]:
    """The size of a cell in pixels, from the terminal driver; zeros if unknown."""
    try:
        asked = fcntl.ioctl(sys.__stdout__.fileno(), termios.TIOCGWINSZ, bytes(8))  # type: ignore[union-attr]
    except (OSError, ValueError, AttributeError):
        return 0, 0
    rows, columns, width, height = struct.unpack("HHHH", asked)
    return (width // columns, height // rows) if rows and columns else (0, 0)
