"""Probe: one short question to the chosen model, and its result."""

from __future__ import annotations

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Button

from evalbench.engine.errors import EvalbenchError
from evalbench.tui.screens.dialogs import Dialog
from evalbench.tui.state.cli_child import run_command
from evalbench.tui.state.probe_words import probe_facts
from evalbench.tui.widgets.focus import Scroll
from evalbench.tui.widgets.text import Plain


class Probe(Dialog[None]):
    """Sends the question at once. Escape cancels it, or closes the result."""

    BINDINGS = [Binding("enter,q,f7", "dismiss_it", "Close", show=False)]
    DEFAULT_CSS = """
    Probe #facts { height: auto; max-height: 14; margin-top: 1; }
    Probe .fact { height: auto; }
    Probe .name { width: 9; color: $text-muted; }
    Probe .words { width: 1fr; height: auto; }
    """

    def __init__(self, model: str, words: tuple[str, ...]) -> None:
        """``words``: the command line after ``evalbench probe``."""
        super().__init__()
        self._model, self._words = model, words

    def compose(self) -> ComposeResult:
        """Model, result, close hint."""
        with Vertical(id="box"):
            yield Plain(f"Probe of {self._model}", classes="title")
            with Scroll(id="facts"):
                yield Plain("sending one short prompt…", id="asking")
            with Horizontal(id="buttons"):
                yield Button("Close", id="close", variant="primary")

    def on_mount(self) -> None:
        """Send the question."""
        self.query_one("#close").focus()
        self._ask()

    @work
    async def _ask(self) -> None:
        try:
            (probe,) = await run_command("probe", *self._words)
        except EvalbenchError as error:
            facts = [("failed", error.what), ("why", error.why), ("try", error.hint)]
        else:
            facts = probe_facts(probe)
        await self.query_one("#asking").remove()
        await self.query_one("#facts").mount_all(
            Horizontal(Plain(name, classes="name"), Plain(words, classes="words"), classes="fact")
            for name, words in facts
            if words
        )

    @on(Button.Pressed)
    def _pressed(self) -> None:
        self.dismiss(None)
