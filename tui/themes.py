"""Colour themes: bundled TOML files, and the user's own, validated before use.

Textual validates nothing when a theme is registered; a bad colour ends the app when the theme is
applied. So everything is tested here first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache

from textual.color import Color, ColorParseError
from textual.css.errors import UnresolvedVariableError
from textual.css.stylesheet import Stylesheet, StylesheetParseError
from textual.css.tokenizer import TokenError
from textual.theme import BUILTIN_THEMES, Theme

from evalbench.engine.errors import nearest
from evalbench.engine.terminal_text import one_line
from evalbench.tui.state.theme_files import ThemeFile, shipped_file, theme_files

DEFAULT = "evalbench-dark"

_COLOURS = (
    "primary",
    "secondary",
    "warning",
    "error",
    "success",
    "accent",
    "foreground",
    "background",
    "surface",
    "panel",
    "boost",
)
_OF_TEXT_ONLY = ("foreground", "text", "text-muted", "text-disabled", "color", "color-hover")
_SWITCHES = ("dark", "ansi")
_SHARES = ("luminosity_spread", "text_alpha")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


def load_shipped(name: str) -> Theme | None:
    """Only the theme with this name, if it is a bundled one."""
    file = shipped_file(name)
    return _made(file) if file else None


def load_themes() -> tuple[list[Theme], list[str]]:
    """All usable themes, and the problems of the others, in words.

    Bundled themes are known to be valid.
    """
    themes: dict[str, Theme] = {}
    problems: list[str] = []
    for file in theme_files():
        faults = (
            [file.problem]
            if file.problem
            else (list(theme_faults(file, themes)) if file.own else [])
        )
        if faults:
            problems.append(one_line(f"theme {file.file} is not used: {'; '.join(faults[:3])}"))
        else:
            theme = _made(file)
            themes[theme.name] = theme
    return list(themes.values()), problems


def _made(file: ThemeFile) -> Theme:
    return Theme(**file.body)  # type: ignore[arg-type]


def theme_faults(file: ThemeFile, taken: Mapping[str, Theme]) -> Iterator[str]:
    """All problems of one theme; ``taken`` are the others' names."""
    body = file.body
    known = {field.name for field in fields(Theme)}
    for field in body.keys() - known:
        yield f"there is no field {field!r}, {nearest(field, known)}"
    name = body.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield "its name must be letters, digits, dots and hyphens"
    elif name in taken or name in BUILTIN_THEMES:
        yield f"there is a theme {name!r} already"
    if "primary" not in body:
        yield "it has no primary colour"
    for field, value in body.items():
        if (field in _COLOURS and not _is_colour(value)) or (
            field in _SWITCHES and not isinstance(value, bool)
        ):
            yield f"{field} cannot be {value!r}"
        elif field in _SHARES and not _is_share(value):
            yield f"{field} must be between 0 and 1, not {value!r}"
    yield from _variable_faults(body.get("variables", {}))


def _variable_faults(variables: object) -> Iterator[str]:
    if not isinstance(variables, dict):
        yield "variables is not a table"
        return
    for name, value in variables.items():
        if name not in _variables():
            yield f"there is no variable {name!r}, {nearest(name, _variables())}"
        elif not isinstance(value, str) or not _fits(name, value):
            yield f"the variable {name} cannot be {value!r}"


def _fits(name: str, value: str) -> bool:
    """Whether Textual accepts this value wherever its style sheets use the variable."""
    if name.split("-")[0] in _COLOURS and not name.endswith("muted"):
        # Textual uses some of these directly, and its style sheets fade others.
        return _is_colour(value) and value == value.lower()
    if "style" in name.split("-"):
        use = "text-style: $it"
    elif name.endswith(_OF_TEXT_ONLY):
        use = "color: $it"
    else:
        use = "background: $it; border: round $it; keyline: thin $it"
    if not re.fullmatch(r"[#\w(), .%]+", value):
        return False
    sheet = Stylesheet(variables={"it": value})
    sheet.add_source(f"Widget {{ {use}; }}")
    try:
        sheet.parse()
    except (StylesheetParseError, TokenError, UnresolvedVariableError):
        return False
    return True


def _is_colour(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        Color.parse(value)
    except ColorParseError:
        return False
    return True


def _is_share(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 0 <= value <= 1


@cache
def _variables() -> frozenset[str]:
    """Names of all variables that Textual's widgets know."""
    systems = (Theme("any", "red"), Theme("any", "ansi_red", ansi=True))
    return frozenset(name for theme in systems for name in theme.to_color_system().generate())
