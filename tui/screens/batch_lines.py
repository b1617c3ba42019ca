"""A sample's entries in provider batches: the request lines sent, and the result lines returned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.app import ComposeResult
from textual.widget import Widget

from evalbench.engine.runs.batch_lines import BatchedCall
from evalbench.tui.screens.dialogs import Dialog
from evalbench.tui.widgets.focus import Scroll
from evalbench.tui.widgets.text import Plain


class BatchLines(Dialog[None]):
    """Request and result of each call, as stored in the run's folder. Escape closes it."""

    DEFAULT_CSS = """
    BatchLines > #box { width: 96%; height: 90%; }
    BatchLines .title { text-style: bold; margin-top: 1; }
    BatchLines .what { color: $text-muted; }
    """

    def __init__(self, calls: Sequence[BatchedCall]) -> None:
        super().__init__()
        self._calls = calls

    def compose(self) -> ComposeResult:
        """All of them, one below the other."""
        with Scroll(id="box"):
            if not self._calls:
                yield Plain("No call of this sample was sent in a batch.")
            for call in self._calls:
                yield from _told(call)

    def on_mount(self) -> None:
        """Focus the text, so that it can be scrolled at once."""
        self.query_one("#box").focus()


def _told(call: BatchedCall) -> Iterator[Widget]:
    where = f"batch {call.batch}, line {call.line}" + (f" ({call.job})" if call.job else "")
    yield Plain(f"{call.role} {call.model} · {call.step} · {where}", classes="title")
    yield Plain("sent", classes="what")
    yield Plain(call.request.strip() or "its file is missing from the run's folder")
    yield Plain("received", classes="what")
    yield Plain(call.result.strip() or "nothing yet")
