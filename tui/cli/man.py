"""``evalbench man``: the manual page, generated from the commands' arguments."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from evalbench.engine.installed import version
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import Parser

if TYPE_CHECKING:
    from evalbench.engine.calls.options import Option
    from evalbench.tui.cli.grammar import Argument, Grammar

EXIT_CODES = {
    0: "complete, or left running as asked",
    1: "wrong usage or configuration; nothing was asked",
    2: "finished with failed samples",
    3: "the budget was reached",
    4: "stopped or paused by the user",
    5: "cannot go on: key, credit, model, journal",
    6: "crash, or the engine disappeared",
    7: "batches are still pending",
    8: "complete, but a score is below --fail-under",
}

_ENVIRONMENT = {
    "EVALBENCH_HOME": "the folder below which everything is written, instead of the platform's"
    " usual places",
    "ANTHROPIC_API_KEY, OPENAI_API_KEY, …": "keys of providers; evalbench doctor names them all",
    "EVALBENCH_KEEP_LOADED": "how long local models stay loaded after a run, such as 30m; 0: not at"
    " all",
    "HF_TOKEN": "for gated models and data sets of the Hugging Face hub",
    "NO_COLOR": "no colours",
}

_DESCRIPTION = """\
Runs LLM benchmarks against any model, local or hosted. Every call is written down before it \
leaves and every reply before it is used, so a run that was cut off goes on where it was. A run \
is a process of its own: close the terminal and it goes on. Without a command, the full-screen \
app opens."""


def declare(parser: Parser, words: Sequence[str]) -> None:
    """No arguments."""
    parser.examples(
        "evalbench man | man -l -",
        "evalbench man > ~/.local/share/man/man1/evalbench.1",
    )


def execute(args: argparse.Namespace) -> int:
    """Print the page."""
    stdout().write("\n".join(page()) + "\n")
    return 0


def page() -> Iterator[str]:
    """The lines of the page, using roff's man macros."""
    from evalbench.engine.config import registry
    from evalbench.tui.cli import grammar as known
    from evalbench.tui.cli.commands import COMMANDS

    yield f'.TH EVALBENCH 1 "" "evalbench {_text(version())}" "User Commands"'
    yield from (".SH NAME", r"evalbench \- run LLM benchmarks against any model")
    yield ".SH SYNOPSIS"
    yield from (".B evalbench", r"[\fIflags of the app\fR]", ".br")
    yield from (".B evalbench", r"\fICOMMAND\fR [\fI...\fR]")
    yield from (".SH DESCRIPTION", _line(_DESCRIPTION))
    yield ".SH OPTIONS OF THE APP"
    yield from _arguments(known.grammar("").arguments)
    yield ".SH COMMANDS"
    for name in COMMANDS:
        yield from _command(known.grammar(name))
        if name == "models":
            for word in ("fit", "unload"):
                yield from _command(known.grammar(name, [word]), f"models {word}")
    yield ".SH SETTINGS OF BENCHMARKS"
    for name in registry.benchmark_names():
        yield from _settings(name, known.benchmark_options(name))
    yield ".SH SETTINGS OF PROVIDERS"
    for name in registry.provider_names():
        yield from _settings(name, known.provider_options(name))
    yield from (".SH EXIT STATUS", _line("With several runs, the highest of theirs."))
    for code, meaning in EXIT_CODES.items():
        yield from _entry(str(code), meaning)
    yield ".SH ENVIRONMENT"
    for variables, meaning in _ENVIRONMENT.items():
        yield from _entry(variables, meaning)
    yield ".SH FILES"
    yield _line("evalbench doctor shows where runs, caches and settings are.")


def _command(found: Grammar, name: str = "") -> Iterator[str]:
    yield f".SS evalbench {_text(name or found.name)}"
    yield _line(found.usage)
    yield ".PP"
    first, _, more = found.description.partition("\n\n")
    yield _line(first)
    yield from _as_it_is(more.splitlines())
    for title, arguments in found.sections:
        if title not in ("positional arguments", "options"):
            yield from (".PP", f".I {_text(title)}")
        yield from _arguments(one for one in arguments if "--help" not in one.flags)
    if found.epilog:
        yield ".PP"
        yield from _as_it_is(found.epilog.splitlines())


def _settings(name: str, options: Sequence[Option]) -> Iterator[str]:
    from evalbench.tui.cli.grammar import options_grammar

    if options:
        yield f".SS {_text(name)}"
        (*_, (_, arguments)) = options_grammar(name, options).sections
        yield from _arguments(arguments)


def _arguments(arguments: Iterable[Argument]) -> Iterator[str]:
    for one in arguments:
        value = f" \\fI{_text(one.metavar)}\\fR" if one.metavar else ""
        flags = ", ".join(rf"\fB{_text(flag)}\fR" for flag in one.flags)
        yield from (".TP", f"{flags}{value}".strip(), _line(one.help))


def _entry(name: str, text: str) -> tuple[str, ...]:
    return ".TP", rf"\fB{_text(name)}\fR", _line(text)


def _as_it_is(lines: Sequence[str]) -> Iterator[str]:
    """Lines that keep their breaks."""
    if lines:
        yield from (".nf", *map(_line, lines), ".fi")


def _line(text: str) -> str:
    """A line of text, escaped so that it is never a request."""
    return rf"\&{_text(text)}" if text.startswith((".", "'")) else _text(text)


def _text(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-").replace("\n", " ")
