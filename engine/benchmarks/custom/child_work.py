"""The work of a custom file's patterns and templates, for a child process with limits.

See :mod:`evalbench.engine.limited_process`. A piece of work is created by :func:`search`,
:func:`template` or :func:`same_math`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from evalbench.engine.limited_process import LimitedProcess, serve

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

LONGEST = 10_000_000
"""Maximum characters of a rendered text; no model reads more."""

TOO_DEEP = "its brackets or blocks are nested too deeply"

_SELF = "column_self"

Piece = tuple[str, str, Any]


def process() -> LimitedProcess:
    """A child process for this work."""
    return LimitedProcess(__name__)


def search(pattern: str, text: str) -> Piece:
    """The first group of ``pattern`` in ``text``, without surrounding whitespace, or None."""
    return "search", pattern, text


def template(source: str, fields: Mapping[str, Any]) -> Piece:
    """A Jinja template, rendered with these names.

    A name that is not a valid identifier is available as ``row["its name"]``.
    """
    return "template", source, dict(fields)


def same_math(right: str, text: str) -> Piece:
    """Whether the mathematical answer of ``text`` is ``right``; see :func:`_compared`."""
    return "math", right, text


def check(source: str) -> Piece:
    """Whether a template compiles: the result is an empty text."""
    return "check", source, None


def environment() -> SandboxedEnvironment:
    """The environment for rendering templates: no access to anything but the columns.

    A name without a column is an error.
    """
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # Prompts are text, not HTML: nothing in them is escaped.
    return ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, finalize=_shown
    )


def _shown(value: Any) -> Any:
    """A value as rendered; null is not the word "None".

    Raises:
        ValueError: it is null.
    """
    if value is None:
        raise ValueError("a value that it shows is null; {{ name or '' }} would show nothing")
    return value


def _compared(right: str, text: str) -> list[Any]:
    """What math-verify finds in a text (None: nothing), and whether it equals ``right``."""
    from math_verify import parse, verify

    # Without time limits: its alarms would cancel this process's own.
    answer = parse(text, parsing_timeout=0)
    if not answer:
        return [None, False]
    wanted = parse(right if "$" in right else f"${right}$", parsing_timeout=0)
    return [str(answer[-1])[:200], bool(verify(wanted, answer, timeout_seconds=None))]


@lru_cache(1)
def _load_mathematics() -> None:
    """Import what reads mathematics, and have it build its patterns."""
    _compared("1", "$1$")


def _load(piece: Piece) -> None:
    if piece[0] == "math":
        _load_mathematics()


def _done(piece: Piece) -> Any:
    kind, source, given = piece
    if kind == "math":
        return _compared(source, given)
    if kind == "search":
        found = re.search(source, given)
        return found[1].strip() if found and found[1] is not None else None
    if kind == "check":
        _compiled(source)
        return ""
    parts: list[str] = []
    length = 0
    named = {_SELF if name == "self" else name: value for name, value in given.items()}
    for part in _compiled(source).generate({"row": given, **named}):
        length += len(part)
        if length > LONGEST:
            raise ValueError(f"it has more than {LONGEST:,} characters")
        parts.append(part)
    return "".join(parts)


@lru_cache
def _compiled(source: str) -> Any:
    from jinja2 import nodes

    jinja = environment()
    try:
        tree = jinja.parse(source)
        # Jinja uses this one name for the template itself; here it is a column like any other.
        for name in tree.find_all(nodes.Name):
            if name.name == "self":
                name.name = _SELF
        return jinja.from_string(tree)
    except (RecursionError, SyntaxError):
        # Python's message about Jinja's generated code would not help the user.
        raise ValueError(TOO_DEEP) from None


if __name__ == "__main__":
    serve(_done, _load)
