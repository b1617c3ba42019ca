"""Help: what the page is for, and every command available there, with its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from evalbench.tui.commands import SCOPES, commands
from evalbench.tui.screens.filtered import FilteredPage
from evalbench.tui.state.user_keys import keys_words
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.table import Cell, Column, ListRows, Table
from evalbench.tui.widgets.text import Plain
from evalbench.tui.widgets.topline import TopLine

_ABOUT: Mapping[str, str] = {
    "home": "All runs on this machine, newest first, with score and cost. Runs are separate "
    "processes: they keep going when the app is closed.",
    "compare": "Differences between runs of one benchmark over the samples they share: size, "
    "significance, what else differs, and the samples that flip.",
    "side": "What the runs replied to one question. Words that the first run's reply does not have "
    "are bold and underlined; in the first reply, those that the second does not have.",
    "new": "Choose a benchmark, provider and model, check the estimate, and start. The "
    "equivalent command is shown below, ready to copy.",
    "run": "Progress, scores with intervals, spend and waits of a run. Pause, stop or change "
    "it here; leaving the page does not affect it.",
    "charts": "How a run went so far: its score with the interval that narrows, speed, "
    "latency, spend, failures, and groups.",
    "leaderboard": "Models against benchmarks over all runs of this machine, each score with "
    "its interval.",
    "raw": "Requests and replies of one sample as they went over the wire, with characters that "
    "show nothing written out.",
    "samples": "All samples of a run with their outcomes. Filter by outcome, score, group or "
    "text; open one to see everything.",
    "sample": "One sample: the prompts as sent, the replies as received, and how they were "
    "parsed and scored.",
    "batches": (
        "Provider batches of all runs or of one: state, progress and deadline. Fetching "
        "polls a run's batches and continues the run."
    ),
    "machine": "Cards, processors and memory of this machine while runs are at work, and the "
    "processes that hold them. It is read only while this page is open.",
    "models": "Models that providers offer today, with prices and retirement dates, and "
    "which local models fit this machine.",
    "keys": "Where each provider's key was found. Keys you enter go to the system keychain "
    "and are never shown again.",
    "providers": "Who can be asked: address, key, limits, prices and batches of every provider, "
    "and servers of your own, which are kept in providers.toml.",
    "server": "A server that speaks OpenAI's protocol: where it is, how it takes its key, what it "
    "allows and costs. It is written to providers.toml.",
    "own": "The first prompts of a benchmark file of your own, and the score of a reply that you "
    "paste. The file is read again whenever it is saved.",
    "settings": "Theme, bandwidth, mouse and key bindings. Changes take effect at once and "
    "are saved in config.toml.",
}

_COLUMNS = (Column("keys", 18), Column("command", 14), Column("description"))


class HelpPage(FilteredPage):
    """Commands of one page, of lists and of the whole app, from the registry and the keymap."""

    SCOPE: ClassVar[str] = "help"
    FILTER = "Type to filter"
    DEFAULT_CSS = """
    HelpPage #about { padding: 0 1 1 1; }
    HelpPage Table { margin-left: 1; }
    """

    def __init__(self, scope: str) -> None:
        """``scope``: the page it describes; empty for none."""
        super().__init__()
        self._scope = scope

    def compose(self) -> ComposeResult:
        """Top line, page description, commands, footer."""
        name = SCOPES.get(self._scope, "")
        yield TopLine(f"Help · {name}" if name else "Help")
        if about := _ABOUT.get(self._scope):
            yield Plain(about, id="about")
        yield Table(
            _COLUMNS, empty="No matching commands. Press escape to show all.", id="commands"
        )
        yield Footer()

    def on_mount(self) -> None:
        """Focus the list."""
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
