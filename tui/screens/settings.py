"""Settings: theme, bandwidth, mouse, key bindings, and file locations."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button

from evalbench.engine.installed import version
from evalbench.engine.paths import cache_dir, runs_dir
from evalbench.tui.commands import COMMANDS, SCOPES, Command, commands
from evalbench.tui.screens.dialogs import Confirm, Dialog
from evalbench.tui.screens.page import Page
from evalbench.tui.state.preferences import BANDWIDTHS, is_low_bandwidth, preferences_file
from evalbench.tui.state.theme_files import themes_dir
from evalbench.tui.state.user_keys import (
    advice,
    canonical,
    hidden,
    key_words,
    keys,
    keys_words,
    refusal,
)
from evalbench.tui.widgets.focus import Scroll
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.table import Cell, Column, ListRows, Table
from evalbench.tui.widgets.text import Plain
from evalbench.tui.widgets.theme_sample import ThemeSample
from evalbench.tui.widgets.topline import TopLine

_KEY_COLUMNS = (
    Column("", 1),
    Column("keys", 16),
    Column("command", 14),
    Column("description", least=44, drop=1),
)


class SettingsPage(Page):
    """User preferences. Changes take effect and are saved at once."""

    SCOPE: ClassVar[str] = "settings"
    DEFAULT_CSS = """
    SettingsPage #left { width: 34; }
    SettingsPage.-wide #left { width: 50; }
    SettingsPage #look { height: 1fr; }
    SettingsPage #screen { height: 5; }
    SettingsPage #keys-panel { width: 1fr; height: 1fr; }
    SettingsPage #lowest { height: 7; }
    SettingsPage.-tall #lowest { height: 9; }
    SettingsPage #sample { width: 34; }
    SettingsPage.-wide #sample { width: 50; }
    SettingsPage #places { width: 1fr; height: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._commands: list[Command | None] = []

    def compose(self) -> ComposeResult:
        """Themes and switches on the left, keys on the right, locations below."""
        yield TopLine("Settings")
        with Horizontal():
            with Vertical(id="left"):
                with Vertical(id="look", classes="panel"):
                    yield Table((Column("", 1), Column("theme"), Column("", 8)), id="themes")
                with Vertical(id="screen", classes="panel"):
                    yield Table((Column("setting", 10), Column("value")), id="values")
            with Vertical(id="keys-panel", classes="panel"):
                yield Table(_KEY_COLUMNS, id="keys")
        with Horizontal(id="lowest"):
            with Vertical(id="sample", classes="panel"):
                yield ThemeSample()
            with Scroll(id="places", classes="panel"):
                yield Plain(self._places())
        yield Footer()

    def on_mount(self) -> None:
        """Focus the themes."""
        for panel, title in (
            ("look", "Theme"),
            ("screen", "Screen"),
            ("keys-panel", "Keys"),
            ("sample", "Preview"),
            ("places", "Places"),
        ):
            self.query_one(f"#{panel}").border_title = title
        themes = self.query_one("#themes", Table)
        themes.focus()
        self._show()
        themes.cursor = self._kept()
        sample = self.query_one(ThemeSample)
        sample.show(self.app.current_theme)
        self.app.theme_changed_signal.subscribe(sample, sample.show)

    # -- showing -----------------------------------------------------------------

    def tick(self) -> None:
        """Nothing here changes by itself; changes made elsewhere are shown on return."""

    def on_screen_resume(self) -> None:
        """Show what was changed meanwhile."""
        if self.is_mounted:
            self._show()

    def _show(self) -> None:
        self.query_one("#themes", Table).show(ListRows(self._theme_rows()))
        self.query_one("#values", Table).show(ListRows(self._value_rows()))
        self.query_one("#keys", Table).show(ListRows(self._key_rows()))

    def _kept(self) -> int:
        wanted = self.the_app.preferences.theme
        names = self.the_app.own_themes
        return names.index(wanted) if wanted in names else names.index(self.the_app.theme)

    def _theme_rows(self) -> list[Sequence[Cell]]:
        rows: list[Sequence[Cell]] = []
        for index, name in enumerate(self.the_app.own_themes):
            theme = self.the_app.available_themes[name]
            kind = "terminal" if theme.ansi else "dark" if theme.dark else "light"
            rows.append((("✓" if index == self._kept() else "", "good"), name, (kind, "dim")))
        return rows

    def _value_rows(self) -> list[Sequence[Cell]]:
        preferences = self.the_app.preferences
        bandwidth = preferences.bandwidth
        if bandwidth == "auto":
            bandwidth += " (low here)" if is_low_bandwidth(preferences) else " (full here)"
        mouse = "on" if preferences.mouse else "off"
        return [("bandwidth", bandwidth), ("mouse", f"{mouse} (next start)")]

    def _key_rows(self) -> list[Sequence[Cell]]:
        keymap = self.the_app.preferences.keymap
        self._commands = []
        rows: list[Sequence[Cell]] = []
        for scope, title in SCOPES.items():
            rows.append(("", (title, "strong"), "", ""))
            self._commands.append(None)
            for command in commands(scope):
                mark = ("*" if command.id in keymap else "", "warn")
                shown = keys_words(command, keymap) or "–"
                rows.append((mark, shown, command.title, (command.help, "dim")))
                self._commands.append(command)
        return rows

    def _places(self) -> str:
        lines = [
            f"version   evalbench {version()}",
            f"settings  {_short(preferences_file())}",
            f"themes    {_short(themes_dir())}",
            f"runs      {_short(runs_dir())}",
            f"cache     {_short(cache_dir())}",
        ]
        problems = [*self.the_app.preferences.problems, *self.the_app.theme_problems]
        return "\n".join([*(f"problem   {problem}" for problem in problems), *lines])

    # -- themes ------------------------------------------------------------------

    @on(Table.Moved, "#themes")
    def _preview(self, event: Table.Moved) -> None:
        theme = self.the_app.available_themes[self.the_app.own_themes[event.index]]
        self.query_one(ThemeSample).show(theme)

    # -- changing ----------------------------------------------------------------

    @on(Table.Opened)
    def _opened(self) -> None:
        self.action_change()

    def action_change(self) -> None:
        """See ``commands.py``."""
        match self._place():
            case ("themes", index):
                self.the_app.prefer(theme=self.the_app.own_themes[index])
            case ("values", 0):
                now = BANDWIDTHS.index(self.the_app.preferences.bandwidth)
                self.the_app.prefer(bandwidth=BANDWIDTHS[(now + 1) % len(BANDWIDTHS)])
            case ("values", _):
                self.the_app.prefer(mouse=not self.the_app.preferences.mouse)
            case ("keys", _):
                self._press(add=False)
        self._show()

    def action_add_key(self) -> None:
        """See ``commands.py``."""
        self._press(add=True)

    def action_no_key(self) -> None:
        """See ``commands.py``."""
        if command := self._command():
            self._keep(command, "")

    def action_reset(self) -> None:
        """See ``commands.py``."""
        if command := self._command():
            self._keep(command, command.keys)

    @work
    async def action_reset_all(self) -> None:
        """See ``commands.py``."""
        if await self.app.push_screen_wait(Confirm("Reset all keys to the defaults?", yes="Reset")):
            self.the_app.prefer(keymap={})
            self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys can be changed only in the list of keys."""
        if action in ("add_key", "no_key", "reset"):
            return self._command() is not None or None
        return True

    def on_descendant_focus(self) -> None:
        """The available commands change."""
        self.refresh_bindings()

    def _place(self) -> tuple[str, int] | None:
        table = self.focused
        return (table.id or "", table.cursor) if isinstance(table, Table) else None

    def _command(self) -> Command | None:
        place = self._place()
        return self._commands[place[1]] if place and place[0] == "keys" else None

    @work
    async def _press(self, *, add: bool) -> None:
        command = self._command()
        if command is None:
            return
        keymap = self.the_app.preferences.keymap
        key = await self.app.push_screen_wait(PressKey(command, keymap, add=add))
        if key is None:
            return
        before = keys(command, keymap) if add else ()
        self._keep(command, ",".join(dict.fromkeys((*before, key))))
        if also := hidden(command, key, self.the_app.preferences.keymap):
            self.notify(also, markup=False)

    def _keep(self, command: Command, chosen: str) -> None:
        keymap = {**self.the_app.preferences.keymap, command.id: chosen}
        if chosen == command.keys:
            del keymap[command.id]
        in_order = {known.id: keymap[known.id] for known in COMMANDS if known.id in keymap}
        self.the_app.prefer(keymap=in_order)
        self._show()


def _short(path: Path) -> str:
    home = os.path.expanduser("~")
    text = str(path)
    return "~" + text[len(home) :] if text.startswith(home + os.sep) else text


class PressKey(Dialog[str]):
    """Returns the key's Textual name, or None.

    An unusable key is rejected with the reason; one that many terminals swallow has to be pressed
    twice.
    """

    def __init__(self, command: Command, keymap: Mapping[str, str], *, add: bool) -> None:
        """``add``: in addition to the command's other keys, instead of replacing them."""
        super().__init__()
        self._command, self._keymap, self._add = command, keymap, add
        self._doubted = ""

    def compose(self) -> ComposeResult:
        """The command, its current keys, and any problem with the pressed one."""
        place = SCOPES.get(self._command.scope, self._command.scope)
        now = keys_words(self._command, self._keymap) or "none"
        with Vertical(id="box"):
            yield Plain(f"{self._command.title} ({place})", classes="title")
            yield Plain(self._command.help)
            yield Plain(f"keys now: {now}", classes="dim")
            more = "one more key" if self._add else "the new key"
            yield Plain(f"Press {more}. escape: leave it as it is", id="said")
            with Horizontal(id="buttons"):
                cancel = Button("Cancel", id="cancel")
                # Every key is for the command; the button is for the mouse.
                cancel.can_focus = False
                yield cancel

    @on(Button.Pressed)
    def _pressed(self) -> None:
        self.dismiss(None)

    def on_key(self, event: events.Key) -> None:
        """Accept it, reject it, or ask for it again."""
        if event.key == "escape":
            return
        event.stop()
        event.prevent_default()
        key = canonical(event.key)
        if key is None:
            self._say(f"{event.key} cannot be used; press another")
        elif why := refusal(self._command, key, self._keymap):
            self._say(f"No: {why}.")
        elif (against := advice(key)) and key != self._doubted:
            self._doubted = key
            self._say(f"{key_words(key)}: {against}. Press it again to use it anyway.")
        else:
            self.dismiss(key)

    def _say(self, words: str) -> None:
        line = self.query_one("#said", Plain)
        line.add_class("warn")
        line.show(words)
