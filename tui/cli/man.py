"""``evalbench man``: the manual page, generated from the commands' arguments."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from evalbench.engine.installed import version
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import Parser, add_options, filter_options

if TYPE_CHECKING:
    from evalbench.engine.calls.options import Option

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
    from evalbench.tui.cli.commands import COMMANDS, parser_of

    yield f'.TH EVALBENCH 1 "" "evalbench {_text(version())}" "User Commands"'
    yield from (".SH NAME", r"evalbench \- run LLM benchmarks against any model")
    yield ".SH SYNOPSIS"
    yield from (".B evalbench", r"[\fIflags of the app\fR]", ".br")
    yield from (".B evalbench", r"\fICOMMAND\fR [\fI...\fR]")
    yield from (".SH DESCRIPTION", _line(_DESCRIPTION))
    yield ".SH OPTIONS OF THE APP"
    for _, actions in parser_of("", ()).sections():
        yield from _arguments(actions)
    yield ".SH COMMANDS"
    for name in COMMANDS:
        yield from _command(name)
        if name == "models":
            yield from _command(name, "fit")
            yield from _command(name, "unload")
    yield ".SH SETTINGS OF BENCHMARKS"
    for name in registry.benchmark_names():
        benchmark = registry.benchmark_class(name)
        yield from _settings(name, [*benchmark.options, *filter_options(benchmark.filters)])
    yield ".SH SETTINGS OF PROVIDERS"
    for name in registry.provider_names():
        yield from _settings(name, registry.provider_class(name).options)
    yield from (".SH EXIT STATUS", _line("With several runs, the highest of theirs."))
    for code, meaning in EXIT_CODES.items():
        yield from _entry(str(code), meaning)
    yield ".SH ENVIRONMENT"
    for variables, meaning in _ENVIRONMENT.items():
        yield from _entry(variables, meaning)
    yield ".SH FILES"
    yield _line("evalbench doctor shows where runs, caches and settings are.")


def _command(*words: str) -> Iterator[str]:
    from evalbench.tui.cli.commands import parser_of

    parser = parser_of(words[0], words[1:])
    yield f".SS evalbench {_text(' '.join(words))}"
    yield _line(" ".join(parser.format_usage().removeprefix("usage: ").split()))
    yield ".PP"
    first, _, more = (parser.description or "").partition("\n\n")
    yield _line(first)
    yield from _as_it_is(more.splitlines())
    for title, actions in parser.sections():
        if title not in ("positional arguments", "options"):
            yield from (".PP", f".I {_text(title)}")
        yield from _arguments(actions)
    if parser.epilog:
        yield ".PP"
        yield from _as_it_is(parser.epilog.strip().splitlines())


def _settings(name: str, options: Sequence[Option]) -> Iterator[str]:
    if options:
        parser = Parser("", name)
        add_options(parser, options, name)
        yield f".SS {_text(name)}"
        yield from _arguments(parser.sections()[-1][1])


def _arguments(actions: Iterable[argparse.Action]) -> Iterator[str]:
    for action in actions:
        if "--help" not in action.option_strings:
            value = f" \\fI{_text(metavar_of(action))}\\fR" if action.nargs != 0 else ""
            flags = ", ".join(rf"\fB{_text(flag)}\fR" for flag in action.option_strings)
            yield from (".TP", f"{flags}{value}".strip(), _line(help_of(action)))


def metavar_of(action: argparse.Action) -> str:
    """The placeholder for the value of an argument."""
    if isinstance(action.metavar, str):
        return action.metavar
    return "{" + ",".join(map(str, action.choices or ())) + "}"


def help_of(action: argparse.Action) -> str:
    """What an argument does, with its defaults filled in."""
    return (action.help or "") % vars(action)


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
