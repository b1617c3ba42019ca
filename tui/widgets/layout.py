"""Widgets that do not have the page laid out or restyled more often than it needs."""

from __future__ import annotations

from textual.containers import Vertical
from textual.events import Paste
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widget import Widget
from textual.widgets import Input

from evalbench.engine.terminal_text import clean, one_line
from evalbench.tui.widgets.focus import PaintsFocus


class LaidOutOnce(Widget):
    """Needs no further layout when it learns its size, or that of its text.

    Textual lays out the whole page again then, for scrollbars that these widgets do not have. List
    it as the second base class: style sheets are inherited from the first.
    """

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)
    """The size of its content."""


class LineInput(Input, LaidOutOnce):
    """A field for one line of text. What is typed is scrolled into view.

    Attributes:
        between: what several pasted lines are joined by; that they were is said.
    """

    between: str = " "

    def action_paste(self) -> None:
        """Insert what was copied in this app."""
        self._on_paste(Paste(self.app.clipboard))

    def _on_paste(self, event: Paste) -> None:
        """Insert all that is pasted. Textual's method would keep the first line only."""
        event.prevent_default()
        event.stop()
        lines = [line for text in event.text.splitlines() if (line := one_line(text))]
        if not lines:
            return
        # A space at the end of what was copied within a line may be meant.
        alone = clean(event.text) if event.text.isprintable() else lines[0]
        text = self.between.join(lines) if len(lines) > 1 else alone
        self.replace(text, *sorted(self.selection))
        if len(lines) > 1:
            self.notify(f"{len(lines)} pasted lines were joined into one", markup=False)


class PlainInput(LineInput, PaintsFocus):
    """A field in one line of the screen, without a frame. One key moves between many of them."""

    DEFAULT_CSS = """
    PlainInput {
        width: 1fr; height: 1; border: none; padding: 0 1; background: $surface;
        & > .input--placeholder { color: $text-muted; }
    }
    """

    def light(self, lit: bool) -> None:
        """See the base class."""
        self.styles.background = self.app.theme_variables["panel"] if lit else None
        super().notify_style_update()

    def notify_style_update(self) -> None:
        """Another theme has another colour."""
        super().notify_style_update()
        if self.has_focus:
            self.light(True)


class Column(Vertical, LaidOutOnce):
    """Widgets one below the other, which does not scroll."""
