"""Named run set-ups: ``setups.toml`` in the config folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalbench.engine.errors import UsageError
from evalbench.engine.files import edited_toml, own_toml, why_unread
from evalbench.engine.keys import looks_like_key
from evalbench.engine.paths import config_dir

FILE = "setups.toml"
MOST_LETTERS = 60


@dataclass(frozen=True, slots=True)
class Setup:
    """Initial values for a new run.

    Attributes:
        name: the user's name for it.
        model: in ``--model`` form; empty if none is called.
        typed: text of the settings fields, by name.
    """

    name: str
    benchmark: str
    model: str
    typed: Mapping[str, str]


def load_setups() -> list[Setup]:
    """Saved set-ups by name.

    Raises:
        UsageError: the file cannot be read.
    """
    file = config_dir() / FILE
    try:
        body = own_toml(file)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read", why=why_unread(error)) from None
    found = []
    for name, table in sorted(body.items()):
        settings = table.get("settings", {}) if isinstance(table, dict) else None
        if not isinstance(settings, dict):
            raise UsageError(f"{file} cannot be read", why=f"{name!r} is no set-up")
        typed = {str(key): str(value) for key, value in settings.items()}
        benchmark, model = str(table.get("benchmark", "")), str(table.get("model", ""))
        found.append(Setup(name, benchmark, model, typed))
    return found


def check_name(name: str) -> str:
    """Normalize a name.

    Raises:
        ValueError: the name is invalid.
    """
    name = " ".join(name.split())
    if not name or len(name) > MOST_LETTERS or not name.isprintable():
        raise ValueError(f"give a name of at most {MOST_LETTERS} letters")
    if looks_like_key(name):
        raise ValueError("that is a key, not a name")
    return name


def save_setup(setup: Setup) -> None:
    """Save a set-up, replacing one with the same name. Anything that looks like a key is left out.

    Raises:
        UsageError: the file cannot be written.
    """
    typed = {name: text for name, text in setup.typed.items() if text and not _is_key(text)}
    _write(setup.name, {"benchmark": setup.benchmark, "model": setup.model, "settings": typed})


def _is_key(text: str) -> bool:
    return looks_like_key(text.strip())


def delete_setup(name: str) -> None:
    """Delete a set-up.

    Raises:
        UsageError: the file cannot be written.
    """
    _write(name, None)


def rename_setup(name: str, new: str) -> None:
    """Give a set-up another name, replacing one that has it.

    Raises:
        UsageError: the file cannot be written.
    """
    with edited_toml(config_dir() / FILE) as document:
        if new != name:
            document[new] = document.pop(name)


def _write(name: str, table: Mapping[str, Any] | None) -> None:
    with edited_toml(config_dir() / FILE) as document:
        document.pop(name, None)
        if table is not None:
            document[name] = table
