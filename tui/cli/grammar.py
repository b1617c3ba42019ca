"""Every command's arguments, read from its parser: for shell completion and the manual."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from evalbench.engine.calls.options import Option
from evalbench.engine.config import registry
from evalbench.tui.cli.commands import COMMANDS
from evalbench.tui.cli.parser import Parser, add_options, filter_options

FILES, FOLDERS, RUNS = "@files", "@folders", "@runs"
"""Values that only the shell can determine, at completion time."""

MODELS = "@models"
"""``PROVIDER/``, which the user completes."""

_KINDS = {
    "FILE": FILES,
    "PATH": FILES,
    "MODEL": FILES,
    "DIR": FOLDERS,
    "FOLDER": FOLDERS,
    "RUN": RUNS,
    "PROVIDER/NAME": MODELS,
    "JUDGE": MODELS,
}


class Argument(NamedTuple):
    """A flag, or a positional argument of a command.

    Attributes:
        flags: its names; none: a positional argument.
        metavar: placeholder for its value; empty for a flag without a value.
        help: what it does.
        values: possible values: words, and the kinds above.
        many: whether a positional argument can be repeated.
    """

    flags: tuple[str, ...]
    metavar: str
    help: str
    values: tuple[str, ...]
    many: bool = False


class Grammar(NamedTuple):
    """A command: name, summary, usage and description, its sections, and its epilog."""

    name: str
    summary: str
    usage: str
    description: str
    sections: tuple[tuple[str, tuple[Argument, ...]], ...]
    epilog: str

    @property
    def arguments(self) -> list[Argument]:
        """The arguments of all sections."""
        return [argument for _, arguments in self.sections for argument in arguments]


def grammar(name: str, words: Sequence[str] = ()) -> Grammar:
    """The grammar of a command, given ``words`` typed so far; "" is evalbench without a command."""
    summary, module = COMMANDS[name] if name else ("open the full-screen app", "app")
    parser = Parser(name, summary)
    import_module(f"evalbench.tui.cli.{module}").declare(parser, list(words))
    return _read(name, summary, parser)


def options_grammar(title: str, options: Sequence[Option]) -> Grammar:
    """The flags of some options."""
    parser = Parser("", title)
    add_options(parser, options, title)
    return _read("", title, parser)


def benchmark_options(name: str) -> Sequence[Option]:
    """The settings and filters of a benchmark."""
    found = registry.benchmark_class(name)
    return [*found.options, *filter_options(found.filters)]


def provider_options(name: str) -> Sequence[Option]:
    """The settings of a provider."""
    return registry.provider_class(name).options


def _read(name: str, summary: str, parser: Parser) -> Grammar:
    sections = tuple(
        (title, tuple(_argument(name, action) for action in actions))
        for title, actions in parser.sections()
    )
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    return Grammar(
        name, summary, usage, parser.description or "", sections, (parser.epilog or "").strip()
    )


def _argument(command: str, action: argparse.Action) -> Argument:
    text = (action.help or "") % {**vars(action), "prog": command}
    choices = tuple(map(str, action.choices or ()))
    if action.nargs == 0:
        return Argument(tuple(action.option_strings), "", text, ())
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    metavar = metavar or "{" + ",".join(choices) + "}"
    values = choices or _own_values(command, action.dest) or _values(metavar)
    return Argument(
        tuple(action.option_strings), metavar, text, values, many=action.nargs in ("*", "+")
    )


def _own_values(command: str, dest: str) -> tuple[str, ...]:
    """Values that a command lists in its description or looks up elsewhere."""
    if (command, dest) == ("export", "format"):
        from evalbench.engine.formats import FORMATS

        return tuple(FORMATS)
    if (command, dest) == ("parse", "name"):
        from evalbench.engine.benchmarks.parsers import KINDS

        return tuple(KINDS)
    if (command, dest) == ("", "theme"):
        shipped = (Path(file.name) for file in files("evalbench.themes").iterdir())
        return tuple(sorted(file.stem for file in shipped if file.suffix == ".toml"))
    if (command, dest) == ("benchmarks", "target"):
        return (*registry.benchmark_names(), FILES)
    return ()


def _values(metavar: str) -> tuple[str, ...]:
    """The values that a metavar such as ``BENCHMARK|FILE.toml`` or ``list|set`` implies."""
    found: list[str] = []
    for part in metavar.strip("{}").replace(",", "|").split("|"):
        kind: Any = _KINDS.get(part.split(".")[0])
        if kind:
            found.append(kind)
        elif part == "BENCHMARK":
            found += registry.benchmark_names()
        elif part == "PROVIDER":
            found += registry.provider_names()
        elif part.islower():
            found.append(part)
    return tuple(found)
