"""Confirmation before keys are sent to hosts that a file names.

A suite, a configuration or a run's folder may come from someone else, and contain the address that
a key is sent to. Flags are the user's own choice, and hosts where a key has been used before need
no second confirmation; see :mod:`evalbench.engine.process.run_keys`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from evalbench.engine.calls import NETWORK_OPTIONS
from evalbench.engine.config.spec import COMMON, RunSpec
from evalbench.engine.process.run_keys import (
    AskHosts,
    KeyDestination,
    bound_words,
    check_hosts,
    environment_variables,
    environment_words,
    unknown_hosts,
)
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.confirm import Declined, can_ask, confirmed
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import given
from evalbench.tui.cli.target import names_file


def declare(parser: argparse._ActionsContainer, of: str = "a suite or a .yaml") -> None:
    """``--allow-host``; ``of`` is what names the hosts."""
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="HOST",
        help=f"allow keys to be sent to this host, named by {of}; remembered for the key",
    )


def not_allowed(args: argparse.Namespace, specs: Sequence[RunSpec]) -> list[KeyDestination]:
    """Keys that only the target's file would send to new hosts; none if there is no file."""
    flags = typed(args)
    allowed = {host.strip().lower() for host in args.allow_host}
    found = unknown_hosts(specs, flags, environment=not names_file(args.target))
    return [one for one in found if one.host not in allowed]


def check(args: argparse.Namespace, specs: Sequence[RunSpec]) -> None:
    """Ask before keys are sent where a file says; refuse if not interactive.

    Raises:
        SpecError: with the hosts, and the flag that allows them.
        Declined: the answer was no.
    """
    flags = typed(args)
    if variables := environment_variables(specs, flags):
        check_hosts(
            specs,
            variables,
            typed=flags,
            allow=args.allow_host,
            ask=asks(args, variables),
            environment=True,
        )
    if not names_file(args.target):
        return
    who = one_line(args.target)
    check_hosts(specs, who, typed=flags, allow=args.allow_host, ask=asks(args, who))


def remarks(args: argparse.Namespace, specs: Sequence[RunSpec]) -> tuple[str, ...]:
    """Notes on models whose address comes from the environment."""
    return tuple(map(one_line, environment_words(specs, typed(args))))


def typed(args: argparse.Namespace) -> list[str]:
    """Names of settings given as flags."""
    address = given(args, [option for option in NETWORK_OPTIONS if option.name == "base_url"])
    return [*given(args, COMMON), *address]


def asks(args: argparse.Namespace, who: str) -> AskHosts | None:
    """How to ask whether keys may be sent to hosts named by ``who``; None: not interactive.

    Programs get a JSON line that says what to allow.
    """
    if args.json:
        return lambda bound: _tell(who, bound)
    if getattr(args, "yes", False) or not can_ask(json=False):
        return None
    return lambda bound: ask(who, bound)


def ask(who: str, bound: Sequence[KeyDestination]) -> bool:
    """Ask whether keys may be sent to hosts named by ``who``.

    Raises:
        Declined: the answer was no.
    """
    if not confirmed(f"{who} sends {one_line(bound_words(bound))}. Is that right?"):
        raise Declined("not started: no key was sent")
    return True


def _tell(who: str, bound: Sequence[KeyDestination]) -> bool:
    from evalbench.tui.cli import jsonlines

    hosts = list(dict.fromkeys(one.host for one in bound))
    jsonlines.write(
        stdout(), "key-hosts", text=f"{who} sends {one_line(bound_words(bound))}", hosts=hosts
    )
    return False
