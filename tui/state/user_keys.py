"""User key bindings: the ``[keys]`` table of config.toml, validated before use.

A keymap maps command ids (see ``commands.py``) to keys and overrides the defaults. Whatever it
contains, ctrl+q quits the app and escape closes a dialog.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Iterator, Mapping

from evalbench.engine.errors import nearest
from evalbench.engine.field_checks import short
from evalbench.tui.commands import COMMANDS, SCOPES, Command, keys_of

ALWAYS_LEAVES = "ctrl+q"
"""The key that always quits the app."""

LEAVE = "app.leave"

_MODIFIERS = ("ctrl", "alt", "shift", "super", "hyper", "meta")
_FRIENDLY = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""Names that Textual prefers to those of Unicode."""


def _name(character: str) -> str:
    if character.isalnum():
        return character
    name = unicodedata.name(character, "").lower().replace("-", "_").replace(" ", "_")
    return _FRIENDLY.get(name, name)


_CHARACTERS = {_name(character): character for character in string.punctuation}
_NAMED = {
    "escape": "esc",
    "enter": "enter",
    "tab": "tab",
    "space": "space",
    "backspace": "backspace",
    "delete": "del",
    "insert": "ins",
    "home": "home",
    "end": "end",
    "pageup": "page up",
    "pagedown": "page down",
    "up": "up",
    "down": "down",
    "left": "left",
    "right": "right",
    **{f"f{number}": f"F{number}" for number in range(1, 25)},
}

_TAKEN = {
    ALWAYS_LEAVES: "ctrl+q always leaves the app",
    "ctrl+c": "ctrl+c copies what is selected",
    "ctrl+z": "ctrl+z suspends the app, as terminals do",
    "tab": "tab moves between the parts of a page",
    "shift+tab": "shift+tab moves between the parts of a page",
    "escape": "escape always goes back",
}

_SWALLOWED = {
    "ctrl+h": "terminals send it as backspace",
    "ctrl+i": "terminals send it as tab",
    "ctrl+m": "terminals send it as enter",
    "ctrl+j": "terminals send it as enter",
    "ctrl+left_square_bracket": "terminals send it as escape",
    "ctrl+s": "many terminals stop the screen on it",
    "ctrl+b": "tmux keeps it for itself",
    "ctrl+a": "screen, and many a tmux, keeps it for itself",
    "ctrl+at": "input methods and editors keep it for themselves",
    "ctrl+space": "input methods and editors keep it for themselves",
    "ctrl+enter": "most terminals send it as enter",
    "alt+enter": "most terminals send it as enter",
    "shift+enter": "most terminals send it as enter",
    "ctrl+comma": "terminals send nothing for it",
    "f11": "many terminals make their window full-screen on it",
}


def canonical(key: str) -> str | None:
    """A key by its Textual name (``?`` is ``question_mark``); None if there is no such key."""
    key = key.strip()
    if key != "+" and "+" in key:
        head, _, base = key.rpartition("+")
        if not base and head.endswith("+"):
            head, base = head[:-1], "plus"
        modifiers = head.lower().split("+")
    else:
        modifiers, base = [], key
    if any(modifier not in _MODIFIERS for modifier in modifiers):
        return None
    base = _base(base)
    if not base:
        return None
    if modifiers == ["shift"] and len(base) == 1 and base.isalpha():
        return base.upper()
    if modifiers and len(base) == 1:
        base = base.lower()
    return "+".join([*sorted(set(modifiers), key=_MODIFIERS.index), base])


def _base(base: str) -> str:
    if base.lower() in _NAMED:
        return base.lower()
    if len(base) == 1:
        return _name(base) if base.isprintable() and not base.isspace() else ""
    if base.lower() in _CHARACTERS:
        return base.lower()
    try:
        return _name(unicodedata.lookup(base.replace("_", " ").upper()))
    except KeyError:
        return ""


def key_words(key: str) -> str:
    """A key's display name: ``?`` for ``question_mark``, ``F1`` for ``f1``."""
    head, plus, base = key.rpartition("+")
    if base in _NAMED:
        base = _NAMED[base]
    elif base in _CHARACTERS:
        base = _CHARACTERS[base]
    elif len(base) > 1:
        try:
            base = unicodedata.lookup(base.replace("_", " ").upper())
        except KeyError:
            base = base.replace("_", " ")
    return head + plus + base


def keys_words(command: Command, keymap: Mapping[str, str]) -> str:
    """The display names of a command's keys; empty if it has none."""
    return " ".join(key_words(key) for key in keys_of(command, keymap))


def is_typed(key: str) -> bool:
    """Whether the key types something into a field with focus."""
    return "+" not in key and (key not in _NAMED or key == "space")


def refusal(command: Command, key: str, keymap: Mapping[str, str]) -> str:
    """Why a command cannot have a key; empty if it can."""
    own = {ALWAYS_LEAVES: LEAVE, "escape": "app.back"}.get(key)
    if key in _TAKEN and command.id != own:
        return _TAKEN[key]
    if command.id == LEAVE and is_typed(key):
        return "leaving must work while you type, so it cannot be a key that writes something"
    for other in COMMANDS:
        if other.scope == command.scope and other is not command and key in keys(other, keymap):
            place = SCOPES.get(command.scope, command.scope)
            return f"{key_words(key)} is {other.title!r} already ({place}); change that first"
    return ""


def advice(key: str) -> str:
    """Why terminals may not deliver a key; empty if no problem is known."""
    return _SWALLOWED.get(key, "")


def hidden(command: Command, key: str, keymap: Mapping[str, str]) -> str:
    """The key's other uses on the same page, in words: the innermost wins. Mostly empty."""
    general = ("list", "app")
    if command.scope in general:
        others = [other for other in COMMANDS if other.scope != command.scope]
    else:
        others = [other for other in COMMANDS if other.scope in general]
    clashing = [other for other in others if key in keys(other, keymap)]
    if not clashing:
        return ""
    names = ", ".join(
        f"{other.title!r} ({SCOPES.get(other.scope, other.scope)})" for other in clashing[:3]
    )
    return f"{key_words(key)} is also {names}; the nearer one wins"


def keys(command: Command, keymap: Mapping[str, str]) -> tuple[str, ...]:
    """A command's keys by their Textual names; quitting always keeps its own."""
    found = tuple(filter(None, (canonical(key) for key in keys_of(command, keymap))))
    if command.id == LEAVE and ALWAYS_LEAVES not in found:
        return (*found, ALWAYS_LEAVES)
    return found


def check_keymap(table: Mapping[str, object]) -> tuple[dict[str, str], list[str]]:
    """The usable part of a table of keys, and the problems with the rest, in words."""
    by_id = {command.id: command for command in COMMANDS}
    keymap: dict[str, str] = {}
    problems: list[str] = []
    for ident, value in table.items():
        command = by_id.get(ident)
        if command is None:
            problems.append(f"there is no command {ident!r}; {nearest(ident, by_id)}")
        elif not isinstance(value, str):
            problems.append(f"the keys of {ident} are a text such as 'f7,x', not {short(value)}")
        else:
            usable = []
            for name in _names(value):
                key = canonical(name)
                why = "no key is called so" if key is None else _unusable(command, key)
                if key is None or why:
                    problems.append(f"{ident} cannot have the key {name!r}: {why}")
                else:
                    usable.append(key)
            if usable or not value.strip():
                keymap[ident] = ",".join(usable)
    problems += _part(keymap, by_id)
    return keymap, problems


def _names(value: str) -> Iterator[str]:
    return (name.strip() for name in value.split(",") if name.strip())


def _unusable(command: Command, key: str) -> str:
    """Like :func:`refusal`, without checking other commands."""
    own = {ALWAYS_LEAVES: LEAVE, "escape": "app.back"}.get(key)
    if key in _TAKEN and command.id != own:
        return _TAKEN[key]
    if command.id == LEAVE and is_typed(key):
        return "leaving must work while you type"
    return ""


def _part(keymap: dict[str, str], by_id: Mapping[str, Command]) -> list[str]:
    """Remove a key from the later of two commands in one scope that both have it."""
    problems = []
    for ident in list(keymap):
        command = by_id[ident]
        kept = []
        for key in _names(keymap[ident]):
            if why := refusal(command, key, {**keymap, ident: ""}):
                problems.append(f"{ident} cannot have the key {key!r}: {why}")
            else:
                kept.append(key)
        if kept or not keymap[ident]:
            keymap[ident] = ",".join(kept)
        else:
            del keymap[ident]
    return problems
