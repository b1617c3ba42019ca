"""Keys that a file would send somewhere: nobody sends them there without being told.

A suite, a configuration or a run's folder may be somebody else's, and name the address that a
key goes to. What is typed as a flag is the user's own word, and where a key has been used
before needs no second one; see :mod:`evalbench.engine.process.run_keys`.
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
from evalbench.tui.cli.confirm import Declined, can_ask, confirmed
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import given
from evalbench.tui.cli.target import names_file
from evalbench.tui.state.clean import one_line


def declare(parser: argparse._ActionsContainer, of: str = "a suite or a .yaml") -> None:
    """``--allow-host``; ``of`` is what names hosts."""
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="HOST",
        help=f"allow keys to be sent to this host, named by {of}; remembered for the key",
    )


def not_allowed(args: argparse.Namespace, specs: Sequence[RunSpec]) -> list[KeyDestination]:
    """Keys that the target's file alone sends where they have never been; none for no file."""
    flags = typed(args)
    allowed = {host.strip().lower() for host in args.allow_host}
    found = unknown_hosts(specs, flags, environment=not names_file(args.target))
    return [one for one in found if one.host not in allowed]


def check(args: argparse.Namespace, specs: Sequence[RunSpec]) -> None:
    """Ask before keys go where a file says; refuse where nobody can answer.

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


def told(args: argparse.Namespace, specs: Sequence[RunSpec]) -> tuple[str, ...]:
    """Remarks on where models are asked because the environment says so."""
    return tuple(map(one_line, environment_words(specs, typed(args))))


def typed(args: argparse.Namespace) -> list[str]:
    """Names of settings that were given as flags."""
    address = given(args, [option for option in NETWORK_OPTIONS if option.name == "base_url"])
    return [*given(args, COMMON), *address]


def asks(args: argparse.Namespace, who: str) -> AskHosts | None:
    """How it is asked whether keys may go to hosts that ``who`` names; None: nobody is there.

    Programs are told by a line of JSON what to allow.
    """
    if args.json:
        return lambda bound: _tell(who, bound)
    if getattr(args, "yes", False) or not can_ask(json=False):
        return None
    return lambda bound: ask(who, bound)


def ask(who: str, bound: Sequence[KeyDestination]) -> bool:
    """Ask whether keys may go to hosts that ``who`` names.

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
