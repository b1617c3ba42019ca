"""A field for one line of text."""

from __future__ import annotations

from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input


class LineInput(Input):
    """A field whose place and width do not depend on its text.

    Textual's own has the whole page laid out again for every letter.
    """

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)
    """The size of the whole text; the end that is being typed is scrolled into view."""
