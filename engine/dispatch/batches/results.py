"""The results of a batch, line by line; order, doubles and strange lines do not matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from evalbench.engine.calls import BatchProvider
from evalbench.engine.dispatch.batches.state import Batch


@dataclass(slots=True)
class Results:
    """Reads the results file of one batch.

    Attributes:
        seen: lines of the batch that have a result, good or bad.
        odd: result lines that answer nothing, by what is wrong with them.
    """

    provider: BatchProvider
    batch: Batch
    path: Path
    seen: set[int] = field(default_factory=set)
    odd: dict[str, int] = field(default_factory=dict)

    def belong(self) -> bool:
        """Whether these are results of this batch at all, by the first line that can be read."""
        for line in self._lines():
            try:
                return self.batch.line(self.provider.batch_item(line)) is not None
            except ValueError:
                continue
        return False

    def pages(self, size: int) -> Iterator[list[tuple[int, bytes]]]:
        """Result lines with the call that each answers, so many at a time."""
        page: list[tuple[int, bytes]] = []
        for line in self._lines():
            if call := self._call(line):
                page.append((call, line))
            if len(page) == size:
                yield page
                page = []
        yield page

    def missing(self) -> list[int]:
        """Calls that no line answers."""
        calls = self.batch.calls
        return [call for line, call in enumerate(calls) if call and line not in self.seen]

    def _call(self, line: bytes) -> int:
        """The call that a line answers; 0 for none."""
        try:
            number = self.batch.line(self.provider.batch_item(line))
        except ValueError:
            return self._odd("unreadable")
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
        with self.path.open("rb") as file:
            for line in file:
                if bare := line.strip():
                    yield bare
