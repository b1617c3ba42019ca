"""Captures the next key press, for binding it to a command."""

from __future__ import annotations

from collections.abc import Mapping

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button

from evalbench.tui.commands import SCOPES, Command
from evalbench.tui.screens.dialogs import Dialog
from evalbench.tui.state.keymap import advice, canonical, key_words, keys_words, refusal
from evalbench.tui.widgets.text import Plain


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
        said = self.query_one("#said", Plain)
        said.add_class("warn")
        said.show(words)
