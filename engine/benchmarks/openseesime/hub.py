"""Rows of OpenSeeSimE's public sets: drawn from the hub, without downloading the rest.

The sets have up to 102,678 rows and 1.1 TB, in many files (shards). Shards are
read one after the other, in an order drawn by the seed, each only as far as
rows are wanted of it. What was read is kept at once: a preparation that was cut
goes on with the shard that it was in.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import orjson

from evalbench.engine.benchmark import DataSource, Item
from evalbench.engine.data.hub import ANSWER_S, hub_trouble
from evalbench.engine.data.reading import Row
from evalbench.engine.errors import DataError
from evalbench.engine.installed import require
from evalbench.engine.paths import make_private, open_private, write_file

WINDOW = 1_000
"""Of at most so many rows more than are wanted the wanted ones are drawn. All are downloaded."""

_TIMES = 4
"""No more than so many times the wanted rows are read besides."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Which rows: ``count`` of a set at a commit, drawn by ``seed``."""

    name: str
    revision: str
    count: int
    seed: int

    @property
    def reads(self) -> int:
        """How many rows are read at most."""
        return self.count + min(WINDOW, _TIMES * self.count)

    def shards(self, number: int) -> list[int]:
        """The order in which shards are read."""
        return random.Random(self.seed).sample(range(number), number)  # noqa: S311

    def places(self) -> frozenset[int]:
        """Which of the rows that are read, from 0, are taken."""
        draw = random.Random(f"rows {self.seed}")  # noqa: S311
        return frozenset(draw.sample(range(self.reads), self.count))


def commit_of(source: DataSource, name: str, revision: str | None) -> str:
    """The commit that a branch or tag means now; without one, the newest.

    Raises:
        DataError: the hub cannot be reached, or has no such set or revision.
    """
    require("data", f"{name} of the Hugging Face hub", "datasets")
    if source.progress:
        source.progress(f"looking up {name} on the Hugging Face hub", 0, None)
    try:
        from huggingface_hub import HfApi

        found = HfApi().dataset_info(name, revision=revision, timeout=ANSWER_S).sha
    except Exception as error:  # the hub's client raises a dozen unrelated types
        raise unreachable(name, error) from error
    return found or revision or "main"


def unreachable(name: str, error: Exception) -> DataError:
    """The error for a set that cannot be read."""
    return DataError(
        f"{name} could not be streamed from the Hugging Face hub",
        why=hub_trouble(error),
        hint="start again, what was read is kept; check the network, --revision and `evalbench"
        " keys set huggingface`, or give --data PATH",
    )


class Place(NamedTuple):
    """Where a row was read.

    Attributes:
        number: among all rows that were read, from 0.
        shard: among the shards as they are read, from 0.
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
        source: tells of the progress.
        draw: which rows.
        made: makes an item of a row and its number, from 1.
        kept: a file for the items of a preparation that may be cut.

    Raises:
        DataError: the hub cannot be reached.
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
                held = [*place, item.inputs, item.gold, dict(item.tags)]
                file.write(orjson.dumps(held) + b"\n")
                file.flush()
            yield item
            if source.progress:
                source.progress(f"streaming rows of {draw.name}", count, draw.count)
            if count == draw.count:
                break
    kept.unlink(missing_ok=True)


def _read(kept: Path) -> list[tuple[Place, Item]]:
    """What an earlier preparation has kept; a last line that was cut does not count."""
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
    """The drawn rows behind a place; where the set is too small, those that were passed over."""
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
    """Rows behind a place; shards before its own are not opened."""
    try:
        import datasets

        datasets.disable_progress_bars()
        stream = datasets.load_dataset(
            draw.name, split="test", revision=draw.revision, streaming=True
        )
        # As tables rows keep their pictures and videos as they are stored, undecoded.
        stream = stream.with_format("arrow")
        number = last.number - last.row - 1
        shards = draw.shards(stream.num_shards)
        for at, shard in enumerate(shards[last.shard :], last.shard):
            for index, table in enumerate(stream.shard(stream.num_shards, shard)):
                number += 1
                if number > last.number:
                    yield Place(number, at, index), table.to_pylist()[0]
    except Exception as error:  # the hub's clients raise a dozen unrelated types
        raise unreachable(draw.name, error) from error
