"""Locations of themes: the bundled ones, and the user's own in the config folder."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import evalbench.themes
from evalbench.engine.files import read_toml
from evalbench.engine.paths import config_dir

_SHIPPED = Path(evalbench.themes.__path__[0])
_LARGEST = 100_000
"""Maximum size of a theme file in bytes."""


class ThemeFile(NamedTuple):
    """One file and its parsed TOML; ``problem`` says why nothing could be read."""

    file: str
    body: dict[str, object]
    own: bool
    problem: str = ""


def themes_dir() -> Path:
    """The folder of the user's own themes."""
    return config_dir() / "themes"


def shipped_file(name: str) -> ThemeFile | None:
    """The file of the theme with this name, which for bundled themes is the file's name too."""
    path = _SHIPPED / f"{name}.toml"
    if path.parent != _SHIPPED or not path.is_file():
        return None
    return ThemeFile(path.name, tomllib.loads(path.read_text("utf-8")), own=False)


def theme_files() -> Iterator[ThemeFile]:
    """All theme files, the bundled ones first."""
    for path in sorted(_SHIPPED.glob("*.toml")):
        yield ThemeFile(path.name, tomllib.loads(path.read_text("utf-8")), own=False)
    folder = themes_dir()
    for path in sorted(folder.glob("*.toml")) if folder.is_dir() else []:
        yield _own(path)


def _own(path: Path) -> ThemeFile:
    try:
        if path.stat().st_size > _LARGEST:
            return ThemeFile(path.name, {}, own=True, problem="it is too large for a theme")
        return ThemeFile(path.name, read_toml(path), own=True)
    except OSError as error:
        return ThemeFile(path.name, {}, own=True, problem=error.strerror or str(error))
    except UnicodeDecodeError:
        return ThemeFile(path.name, {}, own=True, problem="it is not text in UTF-8")
    except ValueError as error:
        return ThemeFile(path.name, {}, own=True, problem=f"it is not TOML: {error}")


def theme_names() -> list[str]:
    """Names declared in themes, whether or not the themes are usable."""
    return [name for file in theme_files() if isinstance(name := file.body.get("name"), str)]
