"""The newest events of a run; errors that keep repeating take one line each half minute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalbench.engine.journal import Event

_MOST = 300
_TOGETHER_MS = 30_000
_REPEATED = ("wait", "sample-failed")

_Kind = tuple[str, ...]


class EventLog:
    """Events in order; equal errors within half a minute are one, at the time of the last.

    The journal merges only consecutive ones, and under a busy limit two or three kinds alternate.
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[_Kind, int], Event] = {}
        self._begun: dict[_Kind, int] = {}
        self.newest = 0
        self._counted = 0

    def __iter__(self) -> Iterator[Event]:
        return iter(self._lines.values())

    def add(self, events: Iterable[Event]) -> None:
        """Add events in order. The newest one known may be among them, with a higher count."""
        for event in events:
            more = event.count - (self._counted if event.id == self.newest else 0)
            if event.id < self.newest or more <= 0:
                continue
            self.newest, self._counted = event.id, event.count
            self._put(event, more)
        for line in list(self._lines)[:-_MOST]:
            del self._lines[line]
            if self._begun.get(line[0]) == line[1]:
                del self._begun[line[0]]

    def _put(self, event: Event, more: int) -> None:
        if event.kind not in _REPEATED:
            self._lines[(str(event.id),), event.at_ms] = event
            return
        kind = event.kind, *(f"{n}={v}" for n, v in event.body.items() if n != "asked")
        begun = self._begun.get(kind)
        if begun is None or event.at_ms - begun >= _TOGETHER_MS:
            begun = self._begun[kind] = event.at_ms
        earlier = self._lines.pop((kind, begun), None)
        self._lines[kind, begun] = replace(event, count=more + (earlier.count if earlier else 0))
