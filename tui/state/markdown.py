"""External text in Markdown."""

from __future__ import annotations

import re

from evalbench.engine.runs.sanitize import without_keys
from evalbench.engine.terminal_text import one_line

_MARKUP = re.compile(
    r"""
      [\\`*{}\[\]<>#|~$&@]                # wherever they stand
    | (?<![^\W_])_ | _(?![^\W_])          # but not within a word
    | ^[-+=]                              # lists and lines; see also below
    | :(?=//) | (?<=\bwww)\.              # addresses become links by themselves
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NUMBERED = re.compile(r"^(\d+)([.)])(?=\s)")


def markdown_text(text: str) -> str:
    """A text without keys in one line, escaped so that Markdown treats it as plain text."""
    escaped = _MARKUP.sub(r"\\\g<0>", one_line(without_keys(text)))
    return _NUMBERED.sub(r"\1\\\2", escaped)
