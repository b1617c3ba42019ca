"""Help: what the page is for, and every command that can be given there, with its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from evalbench.tui.commands import SCOPES, commands
from evalbench.tui.screens.filtered import FilteredPage
from evalbench.tui.state.keymap import keys_words
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.table import Cell, Column, ListRows, Table
from evalbench.tui.widgets.text import Plain
from evalbench.tui.widgets.topline import TopLine

_ABOUT: Mapping[str, str] = {
    "home": "Every run on this machine, newest first, with its score and what it cost. "
    "Runs are processes of their own: they go on when the app is closed.",
    "compare": "How far runs of one benchmark are apart over the samples that all of them have "
    "scored, whether that is more than chance, what differs besides the model, and on which "
    "samples they part.",
    "new": "Choose a benchmark, a provider and a model, see what it will take and cost, "
    "and start. The command line that does the same stands below, to be copied.",
    "run": "How far a run is, what it scored so far and how sure that is, what it spent "
    "and why it waits. Pause, stop and change it here; leaving it changes nothing.",
    "charts": "How a run went so far: its score with the interval that narrows, speed, "
    "latency, spend, failures, and groups.",
    "leaderboard": "Models against benchmarks over all runs of this machine, each score with "
    "its interval.",
    "raw": "Requests and replies of one sample as they went over the wire, with characters that "
    "show nothing written out.",
    "samples": "Every question of a run and what came of it. Narrow the list by outcome, "
    "score, group or text; open one to read all of it.",
    "sample": "One question as it was sent, the answer as it came, and how it was read and scored.",
    "batches": (
        "What providers are working off, over all runs or of one: where each batch stands,"
        " how far it is, and until when. Fetching looks at a run's batches and goes on with it."
    ),
    "models": "What the providers offer today, with prices and the day a model is retired, "
    "and which models fit this machine.",
    "keys": "Where each provider's key was found. A key that you put in goes to the system's "
    "keychain and is never shown again.",
    "own": "The first prompts of a benchmark file of your own, and the score of a reply that you "
    "paste. The file is read again whenever it is saved.",
    "settings": "Colours, drawing over thin lines, the mouse and every key. "
    "Changes hold at once and are kept in config.toml.",
}

_COLUMNS = (Column("keys", 18), Column("command", 14), Column("what it does"))


class HelpPage(FilteredPage):
    """Commands of one page, of lists and of the whole app, from the registry and the keymap."""

    SCOPE: ClassVar[str] = "help"
    FILTER = "words of a command, or a key"
    DEFAULT_CSS = """
    HelpPage #about { padding: 0 1 1 1; }
    HelpPage Table { margin-left: 1; }
    """

    def __init__(self, scope: str) -> None:
        """``scope``: the page it is about; empty for none."""
        super().__init__()
        self._scope = scope

    def compose(self) -> ComposeResult:
        """Top line, what the page is, commands, footer."""
        name = SCOPES.get(self._scope, "")
        yield TopLine(f"Help · {name}" if name else "Help")
        if about := _ABOUT.get(self._scope):
            yield Plain(about, id="about")
        yield Table(_COLUMNS, empty="No command has these words. escape shows all.", id="commands")
        yield Footer()

    def on_mount(self) -> None:
        """The list has the keyboard."""
        self._show()
        self.set_focus(self.query_one(Table))

    @on(Input.Changed, "#filter")
    def _show(self) -> None:
        words = self.narrowed_by.lower().split()
        rows: list[tuple[Cell, ...]] = []
        for scope in dict.fromkeys((self._scope, "list", "app")):
            group = [
                row
                for row in self._rows(scope)
                if all(word in " ".join(row).lower() for word in words)
            ]
            if group:
                rows += [("", "", "")] if rows else []
                rows.append(((SCOPES.get(scope, scope), "strong"), "", ""))
                rows += group
        self.query_one(Table).show(ListRows(rows))

    def _rows(self, scope: str) -> list[tuple[str, str, str]]:
        keymap = self.the_app.preferences.keymap
        return [
            (keys_words(command, keymap) or "–", command.title, command.help)
            for command in commands(scope)
        ]

    # -- filter ------------------------------------------------------------------
