"""The commands that README and docs show, as a reader would type them.

Our pages show commands in indented blocks. Beside a command may stand what it does: after
``#``, or three blanks away. A *synopsis* holds brackets or alternatives and stands for several
commands; an *example* is typed as it is, but for names in capitals and ``…``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])

_COMMAND = re.compile(r"(?:^|[|;&(]\s*|(?<!from)\s)(?:\.venv/bin/)?evalbench(?=\s|$)(.*)")
_INLINE = re.compile(r"`(evalbench(?: [^`]+)?)`")
_ENDS = re.compile(r"\s(?:\||>|>>|<|2>&1|&&|&|;)(?=\s|$)|\s#\s|\s{3,}\S|;")
_ELSEWHERE = re.compile(r"(?:docker|podman)\s(?!(?:run|exec)\s)|(?:apptainer|singularity)\s")
"""Where ``evalbench`` is the name of an image; in ``docker run`` our words follow it."""

_SYNOPSIS = re.compile(r"[\[\]]|\.\.\.|\w\|\w")
_CODE = re.compile(r"`([^`]+)`")
_LONG_FLAG = re.compile(r"(?<![\w-])--[a-zA-Z][\w-]*")
_OTHERS = re.compile(
    r"(?:^|[\s|])"
    r"(?:pip|python3?|uv|pipx|ssh|git|make|docker|podman|jq|lm_eval|mypy|tmux|vllm|sbatch|srun)\b"
)
"""Programs that have flags of their own."""

_THEIRS = frozenset(
    [
        "--add-host",
        "--build-arg",
        "--cap-drop",
        "--cpus-per-task",
        "--df-path",
        "--gpus",
        "--gpus-per-node",
        "--init",
        "--network",
        "--read-only",
        "--secret",
        "--security-opt",
        "--stop-timeout",
        "--tmpfs",
        "--user",
    ]
)
"""Flags of Docker, Podman and Slurm that our pages name alone."""


@dataclass(frozen=True)
class Command:
    """One command line of a page.

    Attributes:
        page: the file, seen from the root of the repository.
        line: the line that it begins in, from 1.
        words: what follows ``evalbench``.
        synopsis: it shows a form, not an example.
        mention: it stands within a sentence.
    """

    page: str
    line: int
    words: tuple[str, ...] = field(default=())
    synopsis: bool = False
    mention: bool = False

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: evalbench {' '.join(self.words)}"


def commands(page: Path) -> Iterator[Command]:
    """Every command of a page: those in blocks first by line, those within sentences too."""
    name = str(page.relative_to(ROOT))
    for number, line in _joined(page.read_text("utf-8").splitlines()):
        if line.startswith("    "):
            for part in _parts(line.strip()):
                yield _command(name, number, part)
        else:
            for inline in _INLINE.findall(line):
                for part in _parts(inline):
                    yield replace(_command(name, number, part), mention=True)


def _joined(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; a command that goes on in the next line is one."""
    kept, begun = "", 0
    for number, line in enumerate(lines, 1):
        begun = begun if kept else number
        whole = kept + (line.strip() if kept else line.rstrip())
        if whole.endswith("\\") and whole.startswith("    "):
            kept = whole[:-1].rstrip() + " "
            continue
        # Within a sentence a command may be broken between lines.
        if not whole.startswith("    ") and whole.count("`") % 2 and line.strip():
            kept = whole + " "
            continue
        kept = ""
        yield begun, whole


def _parts(line: str) -> Iterator[str]:
    """What follows each ``evalbench`` of a line of a block, up to its explanation."""
    at = len(line) if _ELSEWHERE.match(line) else 0
    while found := _COMMAND.search(line, at):
        rest = found[1]
        end = _ENDS.search(rest)
        yield rest[: end.start()] if end else rest
        at = found.start(1) + (end.start() if end else len(rest))


def _command(page: str, line: int, text: str) -> Command:
    synopsis = bool(_SYNOPSIS.search(text))
    words = text.split() if synopsis else shlex.split(text.replace("…", " … "))
    return Command(page, line, tuple(words), synopsis)


def spoken_flags(page: Path) -> Iterator[tuple[int, str]]:
    """The long flags that a page names within sentences, with their lines."""
    theirs = page.parent.name == "coming-from"
    for number, line in _joined(page.read_text("utf-8").splitlines()):
        if line.startswith("    "):
            continue
        if line.startswith("## ") and "feature by feature" in line:
            theirs = True
        # There the first column is what one types elsewhere.
        if theirs and line.startswith("|"):
            line = line.split("|", 2)[2]
        for code in _CODE.findall(line):
            if not _OTHERS.search(code):
                for flag in _LONG_FLAG.findall(code.partition(" -- ")[0]):
                    if flag not in _THEIRS:
                        yield number, flag
