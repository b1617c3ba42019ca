"""``evalbench completion``: print a shell completion script."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import Parser

_SHELLS = ("bash", "zsh", "fish")


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.description = f"""\
{parser.description} Save it where your
shell looks for completions:

  bash  ~/.local/share/bash-completion/completions/evalbench, or source it in ~/.bashrc
  zsh   a file _evalbench in a folder of $fpath, before compinit
  fish  ~/.config/fish/completions/evalbench.fish"""
    parser.add_argument("shell", choices=_SHELLS, help="shell")
    parser.examples(
        "evalbench completion bash > ~/.local/share/bash-completion/completions/evalbench",
        "evalbench completion zsh > ~/.zfunc/_evalbench",
        "evalbench completion fish > ~/.config/fish/completions/evalbench.fish",
    )


def execute(args: argparse.Namespace) -> int:
    """Print the script."""
    from evalbench.tui.cli.completing import script

    stdout().write(script(args.shell))
    return 0
