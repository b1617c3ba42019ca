"""The key list: one line for each key, and for each provider without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evalbench.tui.state.key_places import KeyPlaces


@dataclass(frozen=True, slots=True)
class KeyLine:
    """One key, or a provider's missing key.

    Attributes:
        name: the key's name in the keychain; the variable's in the environment; or empty.
        names: all of the provider's keys in the keychain, in words.
        what, where: display text.
        tried: result of testing it, after a mark; empty if not tested.
    """

    provider: str
    name: str
    names: str
    what: str
    where: str
    held: bool
    in_keychain: bool
    required: bool
    tried: str = ""


def key_lines(
    places: Mapping[str, KeyPlaces], tried: Mapping[tuple[str, str], str]
) -> list[KeyLine]:
    """Existing keys first, then providers that need one, then those for which it is optional."""
    lines = [line for one in places.values() for line in _lines(one, tried)]
    return sorted(lines, key=lambda line: (not line.held, not line.required, line.provider))


def _lines(one: KeyPlaces, tried: Mapping[tuple[str, str], str]) -> list[KeyLine]:
    names = ", ".join(one.names)

    def line(name: str, what: str, where: str, *, held: bool, in_keychain: bool) -> KeyLine:
        said = tried.get((one.provider, name), "")
        return KeyLine(
            one.provider, name, names, what, where, held, in_keychain, one.required, said
        )

    found = [
        line(variable, "set", f"env {variable}", held=True, in_keychain=False)
        for variable in one.set_variables
    ]
    found += [line(name, name, "keychain", held=True, in_keychain=True) for name in one.names]
    lacking = "none; needed" if one.required else "none; optional"
    return found or [line("", lacking, "", held=False, in_keychain=False)]


def about_key(line: KeyLine, places: KeyPlaces) -> str:
    """What can be done about a line, and which key is used if there are several."""
    if line.tried:
        return line.tried
    if not line.held:
        words = [f"s puts a key of {line.provider} into the keychain"]
        if places.variable:
            words.append(f"the variable {places.variable} would do too")
        if places.page:
            words.append(f"keys are made at {places.page}")
        return "; ".join(words)
    if not line.in_keychain:
        return f"set outside, in {line.name}; it comes before the keychain's default key"
    if places.set_variables and line.name == "default":
        return f"not used now: {places.set_variables[0]} is set and comes first"
    if line.name != "default":
        return f"used by runs that name it: --key {line.name}"
    return "used unless a run names another; t tries it"
