"""Rows of OpenSeeSimE's public data sets: sampled from the Hub without downloading everything.

The data sets have up to 102,678 rows and 1.1 TB, in many files (shards). Shards are read one after
another, in an order drawn with the seed, each only as far as its rows are needed. Results are
stored immediately: an interrupted preparation continues with the shard it was in.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalbench.engine.benchmark import DataSource, Item
from evalbench.engine.data.hub import ANSWER_S, hub_trouble
from evalbench.engine.data.reading import Row
from evalbench.engine.errors import DataError
from evalbench.engine.installed import require
from evalbench.engine.paths import make_private, open_private, write_file

WINDOW = 1_000
"""Rows are drawn from at most this many more than are wanted. All of these are downloaded."""

_TIMES = 4
"""At most this many times the wanted rows are read in addition."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Which rows to take: ``count`` of a data set at a commit, drawn with ``seed``."""

    name: str
    revision: str
    count: int
    seed: int

    @property
    def reads(self) -> int:
        """Maximum number of rows to read."""
        return self.count + min(WINDOW, _TIMES * self.count)

    def shards(self, number: int) -> list[int]:
        """The order in which to read shards."""
        return random.Random(self.seed).sample(range(number), number)  # noqa: S311

    def places(self) -> frozenset[int]:
        """Which of the rows read, from 0, are taken."""
        draw = random.Random(f"rows {self.seed}")  # noqa: S311
        return frozenset(draw.sample(range(self.reads), self.count))


def commit_of(source: DataSource, name: str, revision: str | None) -> str:
    """The commit that a branch or tag currently refers to; without one, the newest.

    Raises:
        DataError: the Hub cannot be reached, or has no such data set or revision.
    """
    require("data", f"{name} of the Hugging Face hub", "datasets")
    if source.progress:
        source.progress(f"looking up {name} on the Hugging Face hub", 0, None)
    try:
        from huggingface_hub import HfApi

        found = HfApi().dataset_info(name, revision=revision, timeout=ANSWER_S).sha
    except Exception as error:  # the Hub's client raises a dozen unrelated types
        raise unreachable(name, error) from error
    return found or revision or "main"


def unreachable(name: str, error: Exception) -> DataError:
    """The error for a data set that cannot be read."""
    return DataError(
        f"{name} could not be streamed from the Hugging Face hub",
        why=hub_trouble(error),
        hint="start again, what was read is kept; check the network, --revision and `evalbench"
        " keys set huggingface`, or give --data PATH",
    )


class Place(NamedTuple):
    """The position at which a row was read.

    Attributes:
        number: among all rows read, from 0.
        shard: among the shards in reading order, from 0.
        row: in its shard, from 0.
    """

    number: int
    shard: int
    row: int


_BEFORE_ALL = Place(-1, 0, -1)


def drawn_items(
    source: DataSource, draw: Draw, made: Callable[[Row, int], Item], kept: Path
) -> Iterator[Item]:
    """The drawn rows as items.

    Args:
        source: receives the progress.
        draw: which rows.
        made: makes an item from a row and its number, from 1.
        kept: a file for the items of a preparation that may be interrupted.

    Raises:
        DataError: the Hub cannot be reached.
    """
    done = _read(kept)
    yield from (item for _, item in done)
    last = done[-1][0] if done else _BEFORE_ALL
    make_private(kept.parent)
    with open_private(kept, "ab") as file:
        rows = _rows(draw, last) if len(done) < draw.count else iter(())
        for count, (place, row) in enumerate(rows, len(done) + 1):
            item = made(row, count)
            if place:
                line = [*place, item.inputs, item.gold, dict(item.tags)]
                file.write(orjson.dumps(line) + b"\n")
                file.flush()
            yield item
            if source.progress:
                source.progress(f"streaming rows of {draw.name}", count, draw.count)
            if count == draw.count:
                break
    kept.unlink(missing_ok=True)


def _read(kept: Path) -> list[tuple[Place, Item]]:
    """The items stored by an earlier preparation; a truncated last line is ignored."""
    done: list[tuple[Place, Item]] = []
    try:
        lines = kept.read_bytes().splitlines(keepends=True)
    except OSError:
        return done
    for line in lines:
        if line.endswith(b"\n"):
            number, shard, row, inputs, gold, tags = orjson.loads(line)
            done.append((Place(number, shard, row), Item(inputs, gold, tags)))
    if lines and not lines[-1].endswith(b"\n"):
        write_file(kept, b"".join(lines[:-1]))
    return done


def _rows(draw: Draw, last: Place) -> Iterator[tuple[Place | None, Row]]:
    """The drawn rows after a position; if the data set is too small, also the skipped ones."""
    wanted = draw.places()
    for place, row in _stream(draw, last):
        if place.number in wanted:
            yield place, row
        if place.number + 1 == draw.reads:
            return
    for place, row in _stream(draw, _BEFORE_ALL):
        if place.number not in wanted:
            yield None, row


def _stream(draw: Draw, last: Place) -> Iterator[tuple[Place, Row]]:
    """Rows after a position; earlier shards are not opened."""
    try:
        import datasets

        datasets.disable_progress_bars()
        stream: Any = datasets.load_dataset(
            draw.name, split="test", revision=draw.revision, streaming=True
        )
        # As tables, rows keep their images and videos as stored, undecoded.
        stream = stream.with_format("arrow")
        number = last.number - last.row - 1
        shards = draw.shards(stream.num_shards)
        for at, shard in enumerate(shards[last.shard :], last.shard):
            for index, table in enumerate(stream.shard(stream.num_shards, shard)):
                number += 1
                if number > last.number:
                    yield Place(number, at, index), table.to_pylist()[0]
    except Exception as error:  # the Hub's clients raise a dozen unrelated types
        raise unreachable(draw.name, error) from error
