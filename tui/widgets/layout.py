"""Widgets that do not have the page laid out more often than it needs."""

from __future__ import annotations

from textual.containers import Vertical
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widget import Widget
from textual.widgets import Input


class LaidOutOnce(Widget):
    """Needs no further layout when it learns its size, or that of its text.

    Textual lays out the whole page again then, for scrollbars that these widgets do not have. List
    it as the second base class: style sheets are inherited from the first.
    """

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)
    """The size of its content."""


class LineInput(Input, LaidOutOnce):
    """A field for one line of text. What is typed is scrolled into view."""


class Column(Vertical, LaidOutOnce):
    """Widgets one below the other, which does not scroll."""
