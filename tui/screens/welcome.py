"""The first start: a short introduction, and three ways to begin."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Button

from evalbench.tui.screens.dialogs import Dialog
from evalbench.tui.widgets.text import Plain, plain

_WHAT = (
    "evalbench runs a benchmark against a model and reports its score, the score's "
    "interval and the cost. Runs keep going when this window closes. No telemetry is "
    "sent."
)

_CHOICES = (
    ("demo", "Try it: ten questions with a small local model (t)"),
    ("keys", "Set an API key (k)"),
    ("new", "Set up a run (n)"),
)


class Welcome(Dialog[str]):
    """Shown once. Returns ``demo``, ``keys`` or ``new``; None if it was skipped."""

    DEFAULT_CSS = """
    Welcome Button { width: 100%; margin: 0; margin-top: 1; }
    Welcome #hint { margin-top: 1; }
    """
    BINDINGS = [
        Binding("t", "answer('demo')", show=False),
        Binding("k", "answer('keys')", show=False),
        Binding("n", "answer('new')", show=False),
        Binding("down,j", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
        Binding("q", "dismiss_it", show=False),
    ]

    def compose(self) -> ComposeResult:
        """Two sentences and three buttons."""
        with Vertical(id="box"):
            yield Plain("Welcome to evalbench", classes="title")
            yield Plain(_WHAT)
            for name, words in _CHOICES:
                first = name == "demo"
                yield Button(
                    plain(words), id=name, variant="primary" if first else "default", compact=True
                )
            yield Plain(
                "enter: choose · escape: close",
                classes="dim",
                id="hint",
            )

    def on_mount(self) -> None:
        """The demo is preselected: it needs neither a key nor an account."""
        self.query_one("#demo").focus()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id)

    def action_answer(self, choice: str) -> None:
        """Answer with a key."""
        self.dismiss(choice)
