"""Completion candidates for a command line, as tables that a shell can read without starting us.

A table has a key and candidates, each with a description:

    ""              the first word
    COMMAND         the flags of a command
    COMMAND N       its word at place N;  COMMAND +  any further word
    KEY --flag      the values of a flag; none: it takes a value that nobody can guess
    b:NAME  p:NAME  flags that a benchmark and a provider among the words add
    v:COMMAND WORD  flags that this word of a command adds
"""

from __future__ import annotations

from collections.abc import Iterable

from evalbench.engine.config import registry
from evalbench.engine.errors import SpecError
from evalbench.tui.cli.commands import COMMANDS
from evalbench.tui.cli.grammar import (
    MODELS,
    Argument,
    benchmark_options,
    grammar,
    options_grammar,
    provider_options,
)

Tables = dict[str, list[tuple[str, str]]]

WITH_BENCHMARKS = ("run", "estimate")
WITH_PROVIDERS = ("run", "estimate", "probe")
"""Commands whose flags depend on the benchmark and models among their words."""

_ADDING = (("models", "fit"), ("benchmarks", "--prompts"))
_LONGEST = 72


def tables() -> Tables:
    """All tables, for the current installation."""
    app = grammar("")
    found: Tables = {"": [(name, command.summary) for name, command in COMMANDS.items()]}
    _add(found, "", app.arguments)
    found[""].append(("--version", "show the version and exit"))
    for name in COMMANDS:
        _add(found, name, grammar(name).arguments)
    for name, word in _ADDING:
        known = {flag for flag, _ in found[name]}
        more = grammar(name, [word]).arguments
        _add(found, f"v:{name} {word}", [one for one in more if not known & set(one.flags)])
    for name in registry.benchmark_names():
        try:
            _add(found, f"b:{name}", options_grammar(name, benchmark_options(name)).arguments)
        except SpecError:
            continue  # a plug-in that cannot be loaded has no flags
    for name in registry.provider_names():
        try:
            _add(found, f"p:{name}", options_grammar(name, provider_options(name)).arguments)
        except SpecError:
            continue
    return found


def _add(found: Tables, key: str, arguments: Iterable[Argument]) -> None:
    flags = found.setdefault(key, [])
    place = 0
    for one in arguments:
        values = [pair for value in one.values for pair in _spread(value)]
        if not one.flags:
            place += 1
            found[f"{key} {'+' if one.many else place}"] = values
        elif one.flags != ("-h", "--help") or not key.startswith(("b:", "p:", "v:")):
            flags += [(flag, _short(one.help)) for flag in one.flags]
            if one.metavar:
                found |= {f"{key} {flag}": values for flag in one.flags}


def _spread(value: str) -> list[tuple[str, str]]:
    if value == MODELS:
        return [(f"{name}/", "") for name in registry.provider_names()]
    return [(value, "")]


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1].rstrip() + "…"
