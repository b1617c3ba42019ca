"""The form for a user-defined server: its fields, and the resulting command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalbench.engine.calls.options import Option
from evalbench.engine.calls.own_servers import SERVER_SETTINGS
from evalbench.engine.calls.secrets import variables_in
from evalbench.tui.state.draft import FIRST_TITLE, Section

NAME = Option("name", str, None, "its name in models: NAME/MODEL; small letters, digits, dashes")
_FIELDS = tuple(
    replace(one.option, many=False, help=f"{one.option.help}; several separated by ;")
    if one.sign
    else one.option
    for one in SERVER_SETTINGS.values()
)
_HINTS = {"name": "my-gateway"} | {one.option.name: one.unset for one in SERVER_SETTINGS.values()}


def sections(*, new: bool) -> list[Section]:
    """The fields; an existing server keeps its name."""
    return [Section(FIRST_TITLE, (NAME, *_FIELDS) if new else _FIELDS, _HINTS)]


def typed_of(description: Mapping[str, Any]) -> dict[str, str]:
    """The text to type for a description from the file."""
    found: dict[str, str] = {}
    for field, typed in SERVER_SETTINGS.items():
        value = description.get(field)
        if value is None:
            continue
        if typed.sign:
            text = "; ".join(f"{name}{typed.sign}{one}" for name, one in value.items())
        else:
            text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
        found[typed.option.name] = text
    return found


def command_words(typed: Mapping[str, str], before: Mapping[str, str]) -> list[str]:
    """Flags of ``evalbench providers`` for what was typed; empty values for removed entries.

    Args:
        typed: values by field.
        before: values in the file.
    """
    words: list[str] = []
    for one in SERVER_SETTINGS.values():
        option = one.option
        now, then = typed.get(option.name, "").strip(), before.get(option.name, "")
        if now == then:
            continue
        several = [part.strip() for part in now.split(";")] if one.sign else [now]
        for value in several:
            words.append(f"{option.flag}={value}")
    return words


def header_variables(typed: Mapping[str, str]) -> list[str]:
    """The variables that headers and parameters refer to; their values are secrets."""
    return variables_in([typed.get("header", ""), typed.get("query", "")])
