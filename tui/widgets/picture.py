"""A picture in the terminal: by its graphics where it has them, else in half cells.

Needs the package ``textual-image``; without it, and for what is no picture or
a broken one, a line says so.
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
"""Greater pictures are made smaller before they are drawn; no terminal shows more."""


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
        """A line that stands for it until it is drawn."""
        yield Plain(self._wanting(), classes="dim")

    def _wanting(self) -> str:
        """Why it cannot be drawn; empty when it may be."""
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
        """Draw it soon."""
        if self._wanting():
            return
        self._draw()

    @work
    async def _draw(self) -> None:
        try:
            image = await asyncio.to_thread(_decoded, self._part.data)
            pixels = _widget(image)
        except Exception as error:
            # Whatever a decoder makes of bytes from anywhere, the page goes on.
            self.query_one(Plain).show(f"cannot be shown: {type(error).__name__}")
            return
        pixels.add_class("pixels")
        pixels.styles.width = columns(*image.size)
        await self.query_one(Plain).remove()
        await self.mount(pixels)


def columns(width: int, height: int) -> int:
    """How many columns a picture of so many pixels gets; a cell is twice as high as it is wide."""
    by_height = 2 * _MOST_ROWS * width // max(1, height)
    return max(1, min(by_height, _MOST_COLUMNS, max(_LEAST_COLUMNS, width // _CELL_PIXELS)))


def _decoded(data: bytes) -> Any:
    """The picture in memory, no greater than a terminal shows."""
    from PIL import Image

    with warnings.catch_warnings():
        # A bomb is an error, not a warning.
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
    """Which graphics the terminal is known for: ``kitty``, ``sixel`` or none.

    Terminals are known by what they put into the environment: asking them takes
    an answer from the keyboard's line, which the running app reads.
    """
    # A multiplexer or another machine's shell may stand between.
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
    """Keep the package from asking the terminal when it is imported."""
    real, size = sys.__stdout__, _cell_size()
    told = {"TEXTUAL_CELL_WIDTH": str(size[0]), "TEXTUAL_CELL_HEIGHT": str(size[1])}
    before = {name: os.environ.get(name) for name in told}
    if all(size):
        os.environ.update(told)
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
    """Pixels of one cell as the terminal's driver knows them; zeros when it does not."""
    try:
        asked = fcntl.ioctl(sys.__stdout__.fileno(), termios.TIOCGWINSZ, bytes(8))  # type: ignore[union-attr]
    except (OSError, ValueError, AttributeError):
        return 0, 0
    rows, columns, width, height = struct.unpack("HHHH", asked)
    return (width // columns, height // rows) if rows and columns else (0, 0)
