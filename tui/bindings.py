"""Textual bindings, from the commands and the user's keys."""

from __future__ import annotations

from collections.abc import Mapping

from textual.binding import Binding, BindingType

from evalbench.tui.commands import COMMANDS, commands
from evalbench.tui.state.user_keys import LEAVE, keys

_NO_KEY = "no-key."
"""Prefix of a placeholder key that cannot be pressed; every command has one.

Textual finds the bindings that a keymap changes by the keys that a command currently has: without
one it could be given no key, and while a field being edited holds the command's letters, no other
key of it would work.
"""


def bindings(scope: str) -> list[BindingType]:
    """Bindings of a scope's commands; keymaps use their ids."""
    made: list[BindingType] = []
    for command in commands(scope):
        if command.keys:
            made.append(
                Binding(
                    command.keys,
                    command.action,
                    command.title,
                    show=command.footer,
                    tooltip=command.help,
                    # Quitting must work even with a dialog open.
                    priority=command.id == LEAVE,
                    id=command.id,
                )
            )
        made.append(Binding(_NO_KEY + command.id, command.action, show=False, id=command.id))
    return made


def textual_keymap(keymap: Mapping[str, str]) -> dict[str, str]:
    """The user's keys in Textual's notation."""
    return {
        command.id: ",".join(keys(command, keymap)) or _NO_KEY + command.id
        for command in COMMANDS
        if command.id in keymap
    }


def is_no_key(key: str) -> bool:
    """Whether a binding's key cannot be pressed."""
    return key.startswith(_NO_KEY)
