"""Keys that a file would send somewhere: nobody sends them there without being told.

A suite or a configuration may be somebody else's, and name the address that a key goes to.
What is typed as a flag is the user's own word.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from evalbench.engine.errors import SpecError
from evalbench.engine.run_keys import Bound, keys_bound
from evalbench.engine.settings import COMMON, RunSpec
from evalbench.tui.cli.confirm import Declined, can_ask, confirmed
from evalbench.tui.cli.parser import given
from evalbench.tui.cli.target import names_file
from evalbench.tui.state.clean import one_line


def declare(parser: argparse._ActionsContainer) -> None:
    """``--allow-host``."""
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="HOST",
        help="of a suite or a .yaml: keys may go to this host, which the file names",
    )


def not_allowed(args: argparse.Namespace, specs: Sequence[RunSpec]) -> list[Bound]:
    """Keys that the target's file alone sends to other machines; none where it is no file."""
    if not names_file(args.target):
        return []
    allowed = {host.strip().lower() for host in args.allow_host}
    found = keys_bound(specs, given(args, COMMON))
    return [one for one in found if one.host not in allowed]


def check(args: argparse.Namespace, specs: Sequence[RunSpec]) -> None:
    """Ask before such keys are sent; refuse where nobody can answer.

    Raises:
        SpecError: with the hosts, and the flag that allows them.
        Declined: the answer was no.
    """
    bound = not_allowed(args, specs)
    if not bound:
        return
    told = ", ".join(f"the key of {one.owner} to {one_line(one.host)}" for one in bound)
    if args.yes or not can_ask(json=args.json):
        raise SpecError(
            "base_url",
            f"{one_line(args.target)} would send {told}",
            why="the file names that address, and nobody has said that it is right",
            cure=" ".join(f"--allow-host {host}" for host in dict.fromkeys(b.host for b in bound)),
        )
    if not confirmed(f"{one_line(args.target)} sends {told}. Is that right?"):
        raise Declined("not started: no key was sent")
