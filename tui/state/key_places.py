"""Where providers' keys are, in words and as a list; from ``evalbench keys list --all``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalbench.engine.paths import config_dir
from evalbench.tui.state.cli_child import run_command
from evalbench.tui.state.session_keys import holds


@dataclass(slots=True)
class KeyPlaces:
    """Where one provider's keys are.

    Attributes:
        names: names of its keys in the keychain.
        set_variables: environment variables that hold one, or name a profile that has one.
        variable: a variable that could hold one.
        page: where to create keys, or empty.
        required: whether a key is required.
    """

    provider: str
    names: list[str] = field(default_factory=list)
    set_variables: list[str] = field(default_factory=list)
    variable: str = ""
    page: str = ""
    required: bool = True

    @property
    def found(self) -> bool:
        """Whether there is any key."""
        return bool(self.names or self.set_variables)

    @property
    def state(self) -> str:
        """At most eight letters, such as ``env var``, ``session``, ``keychain``, ``no key``."""
        if self.set_variables:
            return "session" if holds(self.set_variables[0]) else "env var"
        if self.names:
            return "keychain"
        return "no key" if self.required else "optional"

    def words(self) -> str:
        """Where the keys are, or how to add one."""
        places = [
            "this session" if holds(name) else f"environment, {name}" for name in self.set_variables
        ]
        if self.names:
            places.append(f"keychain, {', '.join(self.names)}")
        if places:
            return "key: " + "; ".join(places)
        lacking = "no key, and one is needed" if self.required else "no key; often not needed"
        return lacking + (f"; {self.variable} works too" if self.variable else "")


def key_places(lines: Sequence[dict[str, Any]]) -> dict[str, KeyPlaces]:
    """Key places by provider, from ``key`` lines."""
    found: dict[str, KeyPlaces] = {}
    for line in lines:
        if line["event"] != "key":
            continue
        places = found.setdefault(line["provider"], KeyPlaces(line["provider"]))
        places.page, places.required = line["page"], line["required"]
        if line["source"] == "keychain":
            places.names.append(line["name"])
        elif line["source"] in ("environment", "profile"):
            places.set_variables.append(line["variable"])
        else:
            places.variable = line["variable"]
    return found


def keys_stamp() -> int:
    """A counter of key changes; 0 before any key was set or removed."""
    try:
        return os.stat(config_dir() / "keys.json").st_mtime_ns
    except OSError:
        return 0


async def ask_key_places() -> dict[str, KeyPlaces]:
    """Current key places. Queries no keychain, so it never blocks.

    Raises:
        CommandFailed: the command failed.
    """
    return key_places(await run_command("keys", "list", "--all"))


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
        verdict = tried.get((one.provider, name), "")
        return KeyLine(
            one.provider, name, names, what, where, held, in_keychain, one.required, verdict
        )

    found = [
        line(
            variable,
            "set",
            "this session" if holds(variable) else f"env {variable}",
            held=True,
            in_keychain=False,
        )
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
            words.append(f"the variable {places.variable} works too")
        if places.page:
            words.append(f"keys are made at {places.page}")
        return "; ".join(words)
    if holds(line.name):
        return "held until the app closes; it comes before the keychain's default key"
    if not line.in_keychain:
        return f"set outside, in {line.name}; it comes before the keychain's default key"
    if places.set_variables and line.name == "default":
        return f"not used now: {places.set_variables[0]} is set and comes first"
    if line.name != "default":
        return f"used by runs that name it: --key {line.name}"
    return "used unless a run names another; t tries it"
