"""Command line parsing: argparse with our errors, and flags generated from Option declarations."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NoReturn

from evalbench.engine.calls.options import Option
from evalbench.engine.errors import UsageError, nearest
from evalbench.tui.cli.output import Out

_GIVEN = "given:"
"""Prefix of option flags' destinations, so that they cannot clash with a command's own."""


_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)")


class Parser(argparse.ArgumentParser):
    """The arguments of one command. A mistake raises :class:`UsageError` instead of exiting.

    Attributes:
        hint_for: what to do about an unknown flag; empty if there is nothing special about it.
    """

    def __init__(self, command: str, summary: str) -> None:
        super().__init__(
            prog=f"evalbench {command}",
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=_Help,
            allow_abbrev=False,
        )
        self._passes_on = False
        self.hint_for: Callable[[str], str] = lambda flag: ""

    def short_usage(self, words: str) -> None:
        """A usage line with the most important arguments instead of every flag."""
        self.usage = f"{self.prog} {words}"

    def passes_on(self) -> None:
        """Separate the words after ``--`` as ``passed_on``: they are for another program."""
        self._passes_on = True

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse ignores errors such as a full disk.
        Out(file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Raise the error that argparse found."""
        if found := _CHOICE.search(message):
            known = re.findall(r"'([^']*)'", found[2])
            if near := nearest(found[1], known):
                raise UsageError(f"{self.prog}: there is no {found[1]!r}", hint=near)
        raise UsageError(f"{self.prog}: {message}", hint=f"{self.prog} --help")

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse, suggesting the nearest known flag for every unknown one.

        Raises:
            UsageError: an argument is invalid.
        """
        passed_on: list[str] = []
        if self._passes_on and "--" in words:
            place = list(words).index("--")
            words, passed_on = words[:place], list(words[place + 1 :])
        args, rest = self.parse_known_args(words)
        for word in rest:
            flag = word.partition("=")[0]
            if flag.startswith("-"):
                raise UsageError(
                    f"{self.prog} has no flag {flag}",
                    hint=_known_elsewhere(flag)
                    or self.hint_for(flag)
                    or nearest(flag, self.flags())
                    or f"{self.prog} --help",
                )
        if rest and isinstance(getattr(args, "more", None), list):
            # argparse accepts such words only where the first of them is, not after a flag.
            args.more, rest = [*args.more, *rest], []
        if rest:
            raise UsageError(
                f"{self.prog}: {rest[0]!r} is one word too many", hint=f"{self.prog} --help"
            )
        if self._passes_on:
            args.passed_on = passed_on
        return args

    def flags(self) -> dict[str, argparse.Action]:
        """All flags declared so far."""
        return dict(self._option_string_actions)

    def sections(self) -> list[tuple[str, list[argparse.Action]]]:
        """The arguments in the help, by section title."""
        return [
            (group.title or "", list(group._group_actions))
            for group in self._action_groups
            if group._group_actions
        ]

    def examples(self, *lines: str) -> None:
        """End the help text with working commands."""
        self.epilog = "examples:\n" + "\n".join(f"  {line}" for line in lines)


def _known_elsewhere(flag: str) -> str:
    """Our equivalent for a flag of another tool; empty for any other."""
    from evalbench.engine.formats.command_lines import hint

    return hint(flag)


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help that keeps the line breaks of examples and leaves room for long flags."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)


def bare_words(parser: Parser, words: Sequence[str]) -> list[str]:
    """The words that are neither flags nor values of known flags, read before parsing.

    A word after an unknown flag may be its value, so such words come last.
    """
    flags = parser.flags()
    sure: list[str] = []
    unsure: list[str] = []
    after: list[str] | None = sure
    for word in words:
        if not word.startswith("-") or word == "-":
            if after is not None:
                after.append(word)
            after = sure
            continue
        action = flags.get(word)
        if "=" in word or (action is not None and action.nargs == 0):
            after = sure
        else:
            after = unsure if action is None else None
    return sure + unsure


def flag_values(words: Sequence[str], flag: str) -> list[str]:
    """The values of a repeatable flag, read before parsing."""
    values = [word.partition("=")[2] for word in words if word.startswith(f"{flag}=")]
    return values + [after for word, after in pairwise(words) if word == flag]


def add_options(
    parser: Parser, options: Iterable[Option], section: str | argparse._ArgumentGroup
) -> argparse._ArgumentGroup:
    """One flag per option, in a help section with this title, new or existing.

    A flag that already exists applies to both owners.
    """
    if isinstance(section, str):
        section = parser.add_argument_group(section)
    for option in options:
        if option.flag in parser.flags():
            continue
        settings: dict[str, Any] = {
            "dest": _GIVEN + option.name,
            "default": argparse.SUPPRESS,
            "help": _help(option),
        }
        if option.type is bool:
            settings["action"] = argparse.BooleanOptionalAction
        else:
            settings["metavar"] = _metavar(option)
            settings["action"] = "append" if option.many else "store"
        section.add_argument(option.flag, **settings)
    return section


class _Stands(argparse.Action):
    """A flag without a value that is short for a value of another flag, unless that is given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        if not hasattr(namespace, self.dest):
            setattr(namespace, self.dest, self.const)


def add_alias(parser: Parser, flag: str, option: Option, value: str | None = None) -> None:
    """Another flag for a declared option; one that is short for ``value`` takes none."""
    same = f"the same as {option.flag}"
    if value is None:
        parser.add_argument(
            flag,
            dest=_GIVEN + option.name,
            default=argparse.SUPPRESS,
            metavar=_metavar(option),
            help=same,
        )
        return
    parser.add_argument(
        flag,
        dest=_GIVEN + option.name,
        default=argparse.SUPPRESS,
        action=_Stands,
        nargs=0,
        const=value,
        help=f"{same} {value}, unless that is given",
    )


def filter_options(filters: Mapping[str, str]) -> list[Option]:
    """A benchmark's filters as repeatable options."""
    return [Option(tag, str, (), text, many=True) for tag, text in filters.items()]


def given(args: argparse.Namespace, options: Iterable[Option]) -> dict[str, Any]:
    """The raw values given for these options, by name."""
    values = vars(args)
    return {
        option.name: values[_GIVEN + option.name]
        for option in options
        if _GIVEN + option.name in values
    }


def give(args: argparse.Namespace, name: str, value: str) -> None:
    """Set an option as if its flag had been given, unless it was."""
    if not hasattr(args, _GIVEN + name):
        setattr(args, _GIVEN + name, value)


def put(args: argparse.Namespace, name: str, value: str) -> None:
    """Set an option as if its flag had been given, even if it was."""
    setattr(args, _GIVEN + name, value)


def take(args: argparse.Namespace, option: Option) -> Any:
    """Take an option's raw value, as if it had not been given; None: it was not."""
    value = vars(args).get(_GIVEN + option.name)
    vars(args).pop(_GIVEN + option.name, None)
    return value


_PATHS = {
    "file": "FILE",
    "folder": "FOLDER",
    "named": "[NAME=]PATH",
    "text": "FILE",
    "new": "FOLDER",
}


def _metavar(option: Option) -> str:
    if option.metavar:
        return option.metavar
    if option.choices and option.path:
        return "|".join([*option.choices, "FILE"])
    if option.choices:
        return "{" + ",".join(option.choices) + "}"
    if option.path:
        return _PATHS[option.path]
    return {int: "N", float: "X"}.get(option.type, option.name.upper().replace("_", "-"))


def default_words(option: Option) -> str:
    """An option's default in words; empty if there is none."""
    if option.type is bool:
        return "yes" if option.default else ""
    return "" if option.default in (None, "", ()) else str(option.default)


def _help(option: Option) -> str:
    notes = []
    if default := default_words(option):
        notes.append(f"default {default}")
    if option.minimum is not None and option.maximum is not None:
        notes.append(f"{option.minimum:g} to {option.maximum:g}")
    if option.many:
        notes.append("repeatable")
    text, more = option.help, "; ".join(notes)
    if more:
        text = f"{text[:-1]}; {more})" if text.endswith(")") else f"{text} ({more})"
    return text.replace("%", "%%")
