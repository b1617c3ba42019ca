"""Follows a tutorial as it is written: its commands in a shell, what they print against the page.

In a tutorial's blocks, lines with ``$`` before them are commands, and the lines below one show
parts of what it prints, in order; ``…`` is any text. Every command ends well, or the page prints
its exit code. A command goes on in indented lines, and with ``<<'END'`` to its ``END``; what a
reader types when asked stands after ``(type)``.

Nothing else differs from a reader's machine but this: hosted models are those of the simulator,
and models of this machine may be stood in for (see :mod:`tests.stranger.door`).
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE_S = 240


@dataclass
class Step:
    """A command with what the page shows of its output, and what is typed when it asks."""

    line: int
    command: str
    shown: list[str] = field(default_factory=list)
    typed: str = ""


def steps(page: Path) -> Iterator[Step]:
    """The commands of a tutorial, in order."""
    step: Step | None = None
    until = ""
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        text = line.removeprefix("    ")
        if step and until:
            step.command += "\n" + text
            until = "" if text == until else until
        elif step and step.command.endswith("\\"):
            step.command += "\n" + text
        elif not line.startswith("    "):
            if step:
                yield step
            step = None
        elif text.startswith("$ "):
            if step:
                yield step
            step = Step(number, text[2:])
            here = re.search(r"<<'(\w+)'", text)
            until = here[1] if here else ""
        elif step and not step.shown and text.startswith("  "):
            step.command += "\n" + text.strip()
        elif step and text.startswith("(type) "):
            step.typed = text.removeprefix("(type) ") + "\n"
        elif step:
            step.shown.append(text.strip())
    if step:
        yield step


def missing(shown: list[str], printed: str) -> str:
    """The first line of the page that was not printed after those before it; empty if none."""
    rest = " ".join(printed.split())
    for line in shown:
        parts = [re.escape(" ".join(part.split())) for part in line.split("…")]
        found = re.search(".*?".join(parts), rest)
        if not found:
            return line
        rest = rest[found.end() :]
    return ""


def walk(
    page: Path, folder: Path, env: dict[str, str], before: Callable[[str], None] = lambda _: None
) -> None:
    """Do all that a tutorial says, in ``folder``; ``before`` is told each command first.

    Raises:
        AssertionError: something is not as the page has it.
    """
    for step in steps(page):
        before(step.command)
        done = subprocess.run(
            ["bash", "-c", step.command],
            cwd=folder,
            env=env,
            input=step.typed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        place = f"{page.name}:{step.line}: {step.command}\n{done.stdout}"
        # Nobody can type as fast as a test: here a run may be complete before it is stopped.
        over = step.command == "evalbench stop last" and "it is complete" in done.stdout
        assert done.returncode == 0 or over, f"{place}\nended with {done.returncode}"
        lost = missing(step.shown, done.stdout)
        assert not lost, f"{place}\ndid not print: {lost}"


def with_command(folder: Path, python: str, env: dict[str, str]) -> dict[str, str]:
    """An environment in which ``evalbench`` is the door of :mod:`tests.stranger.door`."""
    folder.mkdir(exist_ok=True)
    command = folder / "evalbench"
    door = Path(__file__).with_name("door.py")
    command.write_text(f'#!/bin/sh\nexec "{python}" "{door}" "$@"\n')
    command.chmod(0o755)
    return env | {"PATH": f"{folder}{os.pathsep}{env['PATH']}"}
