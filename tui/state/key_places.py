"""Where providers' keys are, in words; from the lines of ``evalbench keys list --all``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from evalbench.engine.paths import config_dir
from evalbench.tui.state.cli_child import run_command


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
        """At most eight letters: ``env var``, ``keychain``, ``no key``, ``optional``."""
        if self.set_variables:
            return "env var"
        if self.names:
            return "keychain"
        return "no key" if self.required else "optional"

    def words(self) -> str:
        """Where the keys are, or how to add one."""
        places = [f"environment, {name}" for name in self.set_variables]
        if self.names:
            places.append(f"keychain, {', '.join(self.names)}")
        if places:
            return "key: " + "; ".join(places)
        lacking = "no key, and one is needed" if self.required else "no key; often not needed"
        return lacking + (f"; {self.variable} would do too" if self.variable else "")


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
