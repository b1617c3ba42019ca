"""Jump: puts a letter on every focusable widget; pressing it moves the focus there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual import events
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Static

from evalbench.tui.screens.dialogs import Dialog

LETTERS = "asdfjklghqwertyuiopzxcvbnm1234567890ASDFJKLGHQWERTYUIOPZXCVBNM"
"""In the order in which they are assigned, home row first."""
_AGAIN_S = 0.2
"""Seconds between looks at whether the page has moved what the letters stand on."""


def targets(screen: Widget, chain: Sequence[Widget]) -> dict[str, Widget]:
    """Jump targets by letter: everything focusable and visible."""
    seen = [one for one in chain if one.region and one.region.overlaps(screen.region)]
    # A letter is placed at the upper left of each.
    seen = [one for one in seen if screen.region.contains(*place(one))]
    return dict(zip(LETTERS, seen, strict=False))


def place(widget: Widget) -> tuple[int, int]:
    """Column and row for a widget's letter: its first cell that is not scrolled away."""
    region = widget.region
    for parent in widget.ancestors:
        if isinstance(parent, Widget):
            region = region.intersection(parent.content_region)
    return (region.x, region.y) if region else (-1, -1)


class Jump(Dialog[Widget]):
    """Returns the widget whose letter was pressed, or None for any other key."""

    DEFAULT_CSS = """
    Jump { align: left top; }
    Jump > .letter {
        position: absolute; width: 3; height: 1;
        background: $accent; color: $background; text-style: bold;
    }
    """
    AUTO_FOCUS = ""

    def __init__(self, letters: Mapping[str, Widget]) -> None:
        """``letters``: the targets by letter, as returned by :func:`targets`."""
        super().__init__()
        self._letters = letters
        self._places: dict[Widget, tuple[int, int]] = {}

    def compose(self) -> ComposeResult:
        """The letters."""
        for letter in self._letters:
            yield Static(f" {letter} ", markup=False, classes="letter")

    def on_mount(self) -> None:
        """Put each letter on its target, and again when the page below moves it."""
        self._put()
        self.set_interval(_AGAIN_S, self._put)

    def _put(self) -> None:
        for mark, widget in zip(self.query(".letter"), self._letters.values(), strict=True):
            if (at := place(widget)) != self._places.get(widget):
                self._places[widget] = at
                mark.styles.offset = at

    def on_key(self, event: events.Key) -> None:
        """Jump, or close."""
        event.stop()
        self.dismiss(self._letters.get(event.character or ""))

    def on_click(self) -> None:
        """A click closes it."""
        self.dismiss(None)
