"""What is shown while the terminal is too small for any page."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from evalbench.tui.widgets.text import Plain


class TooSmall(ModalScreen[None]):
    """A notice over whatever is open; the app takes it away when there is room again."""

    DEFAULT_CSS = """
    TooSmall { background: $background; }
    TooSmall Plain { width: 1fr; }
    """
    BINDINGS = [Binding("q,ctrl+q", "app.leave", "Leave", show=False)]

    def __init__(self, smallest: tuple[int, int]) -> None:
        super().__init__()
        self._smallest = smallest

    def compose(self) -> ComposeResult:
        """Two short sentences."""
        columns, rows = self._smallest
        yield Plain(f"evalbench needs {columns}×{rows}. q leaves; runs go on.")
