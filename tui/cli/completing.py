"""What the Tab key offers. A shell asks ``evalbench`` itself, with argcomplete's protocol."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import PurePath

from argcomplete.completers import SuppressCompleter
from argcomplete.finders import CompletionFinder
from argcomplete.lexers import split_line
from argcomplete.shell_integration import shellcode

from evalbench.engine.config import registry
from evalbench.engine.errors import EvalbenchError
from evalbench.engine.paths import runs_dir
from evalbench.tui.cli.commands import COMMANDS, parser_of
from evalbench.tui.cli.parser import Parser

_FILES = ("FILE", "PATH", "MODEL")
_FOLDERS = ("DIR", "FOLDER")
_MODELS = ("PROVIDER/NAME", "JUDGE")


class _Finder(CompletionFinder):
    """Completion that says nothing about a candidate that has no description."""

    def quote_completions(
        self, completions: list[str], cword_prequote: str, last_wordbreak_pos: int | None
    ) -> list[str]:
        quoted = super().quote_completions(completions, cword_prequote, last_wordbreak_pos)
        for one in quoted:
            self._display_completions.setdefault(one, "")  # zsh would show "None"
        return quoted


def script(shell: str) -> str:
    """What lets a shell ask; it stays the same when the commands change."""
    return shellcode(["evalbench"], shell=shell, complete_arguments=["-o", "nospace"])


def answer() -> None:
    """Answer the shell, which describes the line in environment variables, and exit."""
    line, point = os.environ["COMP_LINE"], int(os.environ["COMP_POINT"])
    *_, words, _ = split_line(line, point)
    # zsh passes the whole line, with what stands before the command.
    start = max((at for at, word in enumerate(words) if _is_us(word)), default=0)
    typed = words[start + 1 :]
    if "--" in typed:
        return  # the rest is for another program
    name = typed[0] if typed and typed[0] in COMMANDS else ""
    # The word that the parser takes for the program's name, counted from 1.
    os.environ["_ARGCOMPLETE"] = str(start + (2 if name else 1))
    with contextlib.suppress(EvalbenchError):
        _Finder()(
            with_values(name, typed),
            exit_method=sys.exit,
            always_complete_options=False,
            default_completer=SuppressCompleter(),
        )


def _is_us(word: str) -> bool:
    return PurePath(word).name == "evalbench"


def with_values(name: str, typed: Sequence[str]) -> Parser:
    """The parser of a command, or of the app, with a completer for each argument's values."""
    parser = parser_of(name, typed[1:] if name else typed)
    if not name:
        parser.add_argument("--version", action="store_true", help="show the version and exit")
    if not typed:
        parser.add_argument("command", choices=COMMANDS)
    for _, actions in parser.sections():
        for action in actions:
            if action.nargs != 0:
                action.completer = _Values(name, action)  # type: ignore[attr-defined]
    return parser


class _Values:
    """The values that an argument can have."""

    def __init__(self, command: str, action: argparse.Action) -> None:
        self._command = command
        self._action = action

    def __call__(self, prefix: str, **_: object) -> dict[str, str]:
        choices = self._action.choices
        if choices is COMMANDS:
            return {name: command.summary for name, command in COMMANDS.items()}
        found = choices or self._listed() or self._implied(prefix)
        return dict.fromkeys(map(str, found), "")

    def _listed(self) -> Iterable[str]:
        """Values that a command lists in its description or looks up elsewhere."""
        match self._command, self._action.dest:
            case "export", "format":
                from evalbench.engine.formats import FORMATS

                return FORMATS
            case "parse", "name":
                from evalbench.engine.benchmarks.parsers import KINDS

                return KINDS
            case "", "theme":
                shipped = (PurePath(file.name) for file in files("evalbench.themes").iterdir())
                return [file.stem for file in shipped if file.suffix == ".toml"]
        return ()

    def _implied(self, prefix: str) -> Iterable[str]:
        """The values that a metavar such as ``BENCHMARK|FILE.toml`` or ``list|set`` implies."""
        metavar = self._action.metavar if isinstance(self._action.metavar, str) else ""
        for part in metavar.strip("{}").replace(",", "|").split("|"):
            kind = part.split(".")[0]
            if kind in _FILES:
                yield from _paths(prefix)
            elif kind in _FOLDERS:
                yield from (path for path in _paths(prefix) if path.endswith("/"))
            elif kind in _MODELS:
                yield from (f"{name}/" for name in registry.provider_names())
            elif kind == "RUN":
                yield from ("last", *_runs())
            elif kind == "BENCHMARK":
                yield from registry.benchmark_names()
            elif kind == "PROVIDER":
                yield from registry.provider_names()
            elif part.islower():
                yield part


def _paths(prefix: str) -> Iterator[str]:
    """Files and folders whose path begins so, folders with a slash.

    argcomplete asks bash for them, and fails where a name is not text or there is no bash.
    """
    folder, slash, begun = prefix.rpartition("/")
    try:
        names = sorted(os.listdir(os.path.expanduser(folder + slash) or "."))
    except OSError:
        return
    for name in names:
        hidden = name.startswith(".") and not begun
        if name.startswith(begun) and name.isprintable() and not hidden:
            path = f"{folder}{slash}{name}"
            yield f"{path}/" if os.path.isdir(os.path.expanduser(path)) else path


def _runs() -> list[str]:
    """Names of runs, the newest first."""
    try:
        return sorted(os.listdir(runs_dir()), reverse=True)
    except OSError:
        return []
