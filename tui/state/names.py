"""Shortening names so that they remain distinguishable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

from evalbench.engine.terminal_text import cells_only, one_line

_HEADS = (1.0, 0.6, 0.4, 0.2)
"""Fractions of the width that a name's beginning gets; its end gets the rest."""


class Name(str):
    """One of several names, as made by :func:`apart`: one line that is safe to show.

    When cut, :meth:`fit` keeps the part that distinguishes it from the others.
    """

    __slots__ = ("_others",)
    _others: _Names

    def fit(self, width: int) -> str:
        """At most ``width`` terminal cells of it, with an ellipsis for the omitted part."""
        return self._others.at(width)[str(self)]


class _Names:
    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(dict.fromkeys(names))
        self._width = -1
        self._fitted: dict[str, str] = {}

    def at(self, width: int) -> dict[str, str]:
        if width != self._width:
            self._width, self._fitted = width, _fitted(self._names, width)
        return self._fitted


def apart(names: Sequence[str]) -> list[Name]:
    """Names that are shown together."""
    made = [Name(cells_only(one_line(name))) for name in names]
    others = _Names(made)
    for name in made:
        name._others = others
    return made


def _fitted(names: Sequence[str], width: int) -> dict[str, str]:
    from rich.cells import cell_len

    fitted = {name: name for name in names if cell_len(name) <= width}
    left = [name for name in names if name not in fitted]
    if not left:
        return fitted
    for way in _ways(width):
        tried = {name: way(name, left) for name in left}
        taken = set(fitted.values())
        counts = Counter(tried.values())
        fitted |= {n: tried[n] for n in left if counts[tried[n]] == 1 and tried[n] not in taken}
        left = [name for name in left if name not in fitted]
        if not left:
            return fitted
    return fitted | {name: _cut(name, width, 0.6) for name in left}


def _ways(width: int) -> Iterator[Callable[[str, Sequence[str]], str]]:
    """Ways of cutting a name among others: the usual one first."""
    for head in _HEADS:
        yield lambda name, _, head=head: _cut(name, width, head)  # type: ignore[misc]
    yield lambda name, others: _cut(_different(name, others), width, 1.0)


def _different(name: str, others: Sequence[str]) -> str:
    """A name without the prefix it shares with another."""
    alike = max((_alike(name, other) for other in others if other != name), default=0)
    return "…" + name[alike:]


def _alike(name: str, other: str) -> int:
    """Length of the common prefix of two names."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(name, other, strict=False))))


def _cut(name: str, width: int, head: float) -> str:
    from rich.cells import cell_len, set_cell_size

    if cell_len(name) <= width:
        return name
    if width <= 1:
        return "…"[:width]
    front = round((width - 1) * head)
    tail = ""
    for character in reversed(name):
        if cell_len(tail) + cell_len(character) > width - 1 - front:
            break
        tail = character + tail
    return set_cell_size(name, front).rstrip() + "…" + tail.lstrip()
