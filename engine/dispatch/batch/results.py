"""Reads the results of a batch line by line; order, duplicates and odd lines do not matter."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from evalbench.engine.calls import BatchApi, ResultLine
from evalbench.engine.dispatch.batch.state import NAME_LENGTH, Batch

_MOST_BYTES = 1_000_000
_AT_ONCE = 256
"""Lines read before yielding to other tasks."""
_BUFFER = 1 << 18
"""With the usual one there would be a system call for every few lines."""


@dataclass(frozen=True, slots=True)
class Survey:
    """An overview of a results file.

    Attributes:
        lines: number of lines.
        owner: the batch named by the first readable line; None if none can be read.
        ours: whether any line answers a call of this batch.
        cut: whether its last line is unreadable and calls have no line.
    """

    lines: int
    owner: str | None
    ours: bool
    cut: bool


@dataclass(slots=True)
class Results:
    """Reads the results file of one batch.

    Attributes:
        seen: lines of the batch that have a result, good or bad.
        odd: result lines that answer nothing, by what is wrong with them.
    """

    api: BatchApi
    batch: Batch
    path: Path
    seen: set[int] = field(default_factory=set)
    odd: dict[str, int] = field(default_factory=dict)

    async def survey(self) -> Survey:
        """Scan the whole file without marking anything as read."""
        count, owner, ours, last = 0, None, False, b""
        for last in self._lines():
            count += 1
            if not ours and (result := self._parsed(last)):
                owner = result.item[:NAME_LENGTH] if owner is None else owner
                ours = self.batch.line(result.item) is not None
            if count % _AT_ONCE == 0:
                await asyncio.sleep(0)
        cut = count > 0 and self._parsed(last) is None and self._answered() < self.batch.requests
        return Survey(count, owner, ours, cut)

    def _answered(self) -> int:
        """How many calls of the batch have a line."""
        results = map(self._parsed, self._lines())
        return len({one.item for one in results if one and self.batch.line(one.item) is not None})

    def _parsed(self, line: bytes) -> ResultLine | None:
        try:
            return self.api.parse(line)
        except ValueError:
            return None

    def pages(self) -> Iterator[list[tuple[int, ResultLine]]]:
        """Results with the call each answers, some at a time: 256, or a megabyte of lines."""
        page: list[tuple[int, ResultLine]] = []
        size = 0
        for line in self._lines():
            result = self._parsed(line)
            if result is None:
                self._odd("unreadable")
            elif call := self._call(result.item):
                page.append((call, result))
                size += len(line)
            if len(page) == _AT_ONCE or size >= _MOST_BYTES:
                yield page
                page, size = [], 0
        yield page

    def missing(self) -> list[int]:
        """Calls that no line answers."""
        calls = self.batch.calls
        return [call for line, call in enumerate(calls) if call and line not in self.seen]

    def _call(self, item: str) -> int:
        """The call that an item refers to; 0 if none."""
        number = self.batch.line(item)
        if number is None:
            return self._odd("unknown")
        if number in self.seen:
            return self._odd("double")
        self.seen.add(number)
        return self.batch.calls[number]

    def _odd(self, what: str) -> int:
        self.odd[what] = self.odd.get(what, 0) + 1
        return 0

    def _lines(self) -> Iterator[bytes]:
        with self.path.open("rb", buffering=_BUFFER) as file:
            for line in file:
                if bare := line.strip():
                    yield bare
