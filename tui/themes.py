"""Colour themes: TOML files that ship, and the user's own, checked before they are used."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from textual.theme import Theme

from evalbench.engine.paths import config_dir

DEFAULT = "evalbench-dark"


def load_themes() -> tuple[list[Theme], list[str]]:
    """Every usable theme, and what is wrong with those that are not, in words."""
    themes: list[Theme] = []
    problems: list[str] = []
    for name, text in _texts():
        try:
            themes.append(Theme(**tomllib.loads(text)))
        except (tomllib.TOMLDecodeError, TypeError) as error:
            problems.append(f"theme {name}: {error}")
    return themes, problems


def _texts() -> Iterator[tuple[str, str]]:
    for entry in sorted(files("evalbench.themes").iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".toml"):
            yield entry.name, entry.read_text("utf-8")
    own = config_dir() / "themes"
    for path in sorted(own.glob("*.toml")) if own.is_dir() else []:
        yield path.name, Path(path).read_text("utf-8")
