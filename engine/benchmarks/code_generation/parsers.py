"""Finds the program in a reply: in a fenced block, or in text that is code itself."""

from __future__ import annotations

import re

from evalbench.engine.scoring.reply_text import spoken

PROGRAM = "program-v1"
"""Name and version of :func:`read_program`."""

_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[ \t]*([\w+.-]*)[^\n]*$", re.MULTILINE)
_CALLED = re.compile(
    r"assert[\s(]+(?:not[\s(]+)?(?:(?:set|abs|round|sorted|len|tuple|math\.isclose)\()*(\w+)\("
)
_PYTHON = frozenset(["", "python", "python3", "py", "py3", "python-repl", "pycon"])
_BEGINS = re.compile(r"^(?:def |async def |class |from \w|import \w|@\w)", re.MULTILINE)
_INDENTED = re.compile(r"^(?: {2,}|\t)\S", re.MULTILINE)


def read_program(reply: str, name: str = "") -> str | None:
    """The program in a reply; None if there is none.

    Of several fenced blocks the last that defines ``name`` counts; without one, the longest in
    Python. A block that is never closed extends to the end. Without fences, the text from the first
    line that starts a program; or the whole text if it is indented like a function body.

    Args:
        reply: the raw reply.
        name: a function that the program must define, if known.
    """
    text = spoken(reply)
    blocks = [code for language, code in _blocks(text) if language in _PYTHON and code.strip()]
    if blocks:
        defining = [place for place, code in enumerate(blocks) if _defines(code, name)]
        if not defining:
            return max(blocks, key=len)
        return blocks[defining[-1]]
    if _FENCE.search(text):
        return None  # in another language, or empty
    if begun := _BEGINS.search(text):
        return text[begun.start() :]
    first = next((line for line in text.splitlines() if line.strip()), "")
    return text.strip("\n") if _INDENTED.match(first) else None


def called_function(tests: str) -> str:
    """The function that the first assertion calls; empty if none does."""
    found = _CALLED.search(tests)
    return found[1] if found else ""


def _defines(code: str, name: str) -> bool:
    return bool(
        re.search(rf"^(?:async\s+)?(?:def|class)\s+{re.escape(name)}\b", code, re.MULTILINE)
    )


def _blocks(text: str) -> list[tuple[str, str]]:
    """Language and text of every fenced block."""
    found: list[tuple[str, str]] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and not fence[2]:
            found.append((opened[2].lower(), text[opened.end() + 1 : fence.start()]))
            opened = None
    if opened is not None:
        found.append((opened[2].lower(), text[opened.end() + 1 :]))
    return found
