"""One measured figure, as every script of this folder tells it and the result table shows it.

A script measures, prints what a person wants to read, and calls ``tell``. With
``--figures FILE`` on its command line (``declare``) the figures are appended to
that file as lines of JSON, which is how ``python -m bench`` collects them.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """What was measured.

    Attributes:
        name: in words, with its conditions; unique in the whole table.
        value: the median of the rounds.
        unit: its unit.
        target: what we promise, in the same unit; None where nothing is promised.
        at_least: the value must not be below the target; else not above it.
        beside: what was measured beside it in the same run; empty where nothing was.
        beside_value: the median of that, in the same unit.
        note: a few words more.
    """

    name: str
    value: float
    unit: str
    target: float | None = None
    at_least: bool = False
    beside: str = ""
    beside_value: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """The value over the one beside it; None without one."""
        return self.value / self.beside_value if self.beside_value else None

    @property
    def miss(self) -> float | None:
        """How far the target is missed: 1 is just met, above is missed; None without one."""
        if not self.target or not self.value:
            return None
        return self.target / self.value if self.at_least else self.value / self.target


def median(values: Iterable[float]) -> float:
    """The median; 0 of nothing."""
    kept = list(values)
    return statistics.median(kept) if kept else 0.0


def declare(parser: argparse.ArgumentParser) -> None:
    """Give a script the option that ``tell`` reads."""
    parser.add_argument("--figures", type=Path, help="append what was measured to this file")


def tell(into: Path | None, figures: Sequence[Figure], *, skipped: Sequence[str] = ()) -> None:
    """Append the figures to a file, where one is wanted, and what could not be measured and why."""
    if into is None:
        return
    with into.open("a", encoding="utf-8") as lines:
        lines.writelines(json.dumps(asdict(figure)) + "\n" for figure in figures)
        lines.writelines(json.dumps({"skipped": words}) + "\n" for words in skipped)


def read(file: Path) -> tuple[list[Figure], list[str]]:
    """The figures that a script reported, and what it could not measure."""
    figures: list[Figure] = []
    skipped: list[str] = []
    for line in file.read_text("utf-8").splitlines() if file.exists() else ():
        fields = json.loads(line)
        if "skipped" in fields:
            skipped.append(fields["skipped"])
        else:
            figures.append(Figure(**fields))
    return figures, skipped
