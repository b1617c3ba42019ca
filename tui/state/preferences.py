"""User preferences of the app, stored in ``config.toml`` in the config folder.

Written on every change, atomically; comments and unknown entries in the file are preserved.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from evalbench.engine.field_checks import short
from evalbench.engine.files import edited_toml, own_toml, why_unread
from evalbench.engine.paths import config_dir
from evalbench.tui.state.user_keys import check_keymap

FILE = "config.toml"

BANDWIDTHS = ("auto", "low", "full")


@dataclass(slots=True)
class Preferences:
    """The file's contents, with defaults for missing entries.

    Attributes:
        theme: name of a theme.
        bandwidth: ``low`` redraws half as often and more simply; ``auto`` is low over SSH.
        mouse: whether the app captures the mouse.
        welcomed: whether the welcome page was seen.
        benchmark, model: last chosen.
        columns: additional columns of the sample list, separated by spaces.
        keymap: keys by command id, overriding the defaults.
        problems: unusable entries in the file, in words.
    """

    theme: str = "evalbench-dark"
    bandwidth: str = "auto"
    mouse: bool = True
    welcomed: bool = False
    benchmark: str = ""
    model: str = ""
    columns: str = ""
    keymap: Mapping[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


_KINDS: Mapping[str, type] = {
    "theme": str,
    "bandwidth": str,
    "mouse": bool,
    "welcomed": bool,
    "benchmark": str,
    "model": str,
    "columns": str,
}


def preferences_file() -> Path:
    """The preferences file."""
    return config_dir() / FILE


def is_low_bandwidth(preferences: Preferences) -> bool:
    """Whether to draw less: by preference, and by default over SSH."""
    if preferences.bandwidth == "auto":
        return bool(os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"))
    return preferences.bandwidth == "low"


def load_preferences() -> Preferences:
    """Read the file. Invalid entries are omitted and reported in ``problems``."""
    file, found = preferences_file(), Preferences()
    try:
        body = dict(own_toml(file))
    except FileNotFoundError:
        return found
    except (OSError, ValueError) as error:
        why = why_unread(error)
        found.problems.append(f"{file} cannot be read: {why}")
        return found
    keymap = body.pop("keys", {})
    for name, value in body.items():
        kind = _KINDS.get(name)
        if kind is None:
            found.problems.append(f"{file}: there is no setting {name!r}")
        elif not isinstance(value, kind) or (name == "bandwidth" and value not in BANDWIDTHS):
            found.problems.append(f"{file}: {name} cannot be {short(value)}")
        else:
            setattr(found, name, value)
    if isinstance(keymap, dict):
        found.keymap, problems = check_keymap(_flat(keymap))
        found.problems += [f"{file}: {problem}" for problem in problems]
    else:
        found.problems.append(f"{file}: keys is not a table of command = keys")
    return found


def _replace_keys(document: MutableMapping[str, Any], keymap: Mapping[str, str]) -> None:
    """Change only what differs, so that comments next to the other keys are preserved."""
    table = document.get("keys")
    if not isinstance(table, dict) or any(isinstance(keys, dict) for keys in table.values()):
        document["keys"] = {}
        table = document["keys"]
    for ident in [ident for ident in table if ident not in keymap]:
        del table[ident]
    for ident, keys in keymap.items():
        if table.get(ident) != keys:
            table[ident] = keys
    if not table:
        del document["keys"]


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten a table of keys whose ids were written without quotes, which nests them."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": keys for inner, keys in value.items()}
        else:
            flat[name] = value
    return flat


def save_preferences(**changed: Any) -> None:
    """Update settings in the file; ``keymap`` replaces its table of keys.

    Raises:
        UsageError: the file cannot be written.
    """
    assert set(changed) <= {f.name for f in fields(Preferences)}
    with edited_toml(preferences_file(), replace_broken=True) as document:
        for name, value in changed.items():
            if name == "keymap":
                _replace_keys(document, value)
            else:
                document[name] = value
