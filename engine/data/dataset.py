"""Prepared data sets: the cached sample file between a benchmark's source and a run.

A child process (the preflight) turns whatever the benchmark reads (Parquet, Hub data set, CSV)
into ``KEY.jsonl`` with one sample per line, for large sets ``KEY.dict`` with a compression
dictionary trained on a representative selection, and, last, ``KEY.json`` with the header whose
presence means that everything is complete. The engine reads only these, so it never imports
pandas, pyarrow or datasets.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import tee
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.benchmark import (
    MISSING,
    Benchmark,
    DataSource,
    Item,
    Sample,
    hub_set,
    sample_ids,
)
from evalbench.engine.calls.options import values_of
from evalbench.engine.config.spec import RunSpec, build_benchmark
from evalbench.engine.data.hub_set import fetch
from evalbench.engine.errors import DataError, SpecError, nearest
from evalbench.engine.field_checks import anything, list_of, record, table_of, text, whole
from evalbench.engine.files import parse_json, read_plain
from evalbench.engine.journal import codec
from evalbench.engine.journal.codec import sample_body
from evalbench.engine.paths import make_private, open_private, write_file

ProgressCallback = Callable[[str, int, int | None], None]
"""Called with what is being prepared, how much is done, and the total, if known."""

_FORMAT = 2
_EXAMPLES = 1000


@dataclass(frozen=True, slots=True)
class DataHeader:
    """Facts about a prepared data set.

    Attributes:
        count: samples in the file, before any selection.
        data_hash: over all sample ids in order and the shared value.
        origin, revision: its source.
        shared: see :class:`evalbench.engine.benchmark.DataSet`.
        media: files that rows refer to, see :class:`evalbench.engine.benchmark.DataSource`.
    """

    count: int
    data_hash: str
    origin: str
    revision: str
    shared: Any
    media: dict[str, list[Any]] = field(default_factory=dict)


def prepared_path(spec: RunSpec, cache: Path) -> Path:
    """The sample file (``.jsonl``) for a spec; it may not exist yet.

    The name depends on the benchmark and its version, the options that affect data, the seed if
    rows are drawn with it, and the path, size and modification time of every file that ``--data``
    or an option refers to. Media that rows refer to are checked through the header, which lists
    them.
    """
    bench = build_benchmark(spec)
    values = values_of(bench.opt)
    relevant = {o.name: values[o.name] for o in bench.options if o.affects_data}
    body = [_FORMAT, bench.name, bench.version, relevant, _fingerprint(bench, spec)]
    if bench.seeded_data:
        body.append(spec.settings.seed)
    key = hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()[:24]
    return cache / "data" / f"{bench.name.replace('/', '-')}-{key}.jsonl"


def _fingerprint(bench: Benchmark, spec: RunSpec) -> list[Any]:
    data = spec.settings.data
    hub = hub_set(data)
    named = [*(bench.data_files(Path(data)) if data and not hub else ()), *spec.option_files()]
    named += [file for file in bench.further_files() if file.is_file()]
    files = [(file, file.stat()) for file in named]
    found: list[Any] = [[str(file), stat.st_size, stat.st_mtime_ns] for file, stat in files]
    return [data, *found] if hub else found


def is_prepared(spec: RunSpec, cache: Path) -> bool:
    """Whether the sample file of a spec exists, so that nothing heavy is needed."""
    return _is_fresh(prepared_path(spec, cache))


def _is_fresh(path: Path) -> bool:
    """Whether a sample file is complete, and the media that its rows refer to are unchanged."""
    if not path.exists() or not path.with_suffix(".json").exists():
        return False
    return all(_is_same(Path(name), *stamp) for name, stamp in read_header(path).media.items())


def _is_same(file: Path, size: int, changed_ns: int, digest: str) -> bool:
    try:
        stat = file.stat()
        if (stat.st_size, stat.st_mtime_ns) == (size, changed_ns):
            return True
        return stat.st_size == size and hashlib.sha256(read_plain(file)).hexdigest() == digest
    except OSError:
        return size == MISSING


def prepare(spec: RunSpec, cache: Path, progress: ProgressCallback | None = None) -> Path:
    """Make sure the sample file of a spec exists; returns its path.

    Raises:
        DataError: the source is missing or malformed.
    """
    path = prepared_path(spec, cache)
    if _is_fresh(path):
        return path
    make_private(path.parent)
    bench = build_benchmark(spec)
    data, downloads = spec.settings.data, cache / "downloads"
    hub = hub_set(data)
    if hub is None:
        source = DataSource(Path(data) if data else None, downloads, progress)
        return _write(bench, source, path, progress)
    if bench.streams_hub:
        return _write(bench, DataSource(None, downloads, progress, hub=hub), path, progress)
    rows, commit = fetch(hub, downloads, progress)
    source = DataSource(rows, downloads, progress, hub=hub)
    return _write(bench, source, path, progress, (hub.name, commit))


def _write(
    bench: Benchmark,
    source: DataSource,
    path: Path,
    progress: ProgressCallback | None,
    hub: tuple[str, str] | None = None,
) -> Path:
    data = bench.prepare(source)
    if hub is not None:
        data = replace(data, origin=hub[0], revision=hub[1])
    digest = hashlib.sha256()
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    examples: list[bytes] = []
    draw = random.Random(0)  # noqa: S311
    count = 0
    where = str(source.path or data.origin)
    try:
        with open_private(partial) as file:
            for sample in sample_ids(data.items):
                file.write(sample_line(sample) + b"\n")
                digest.update(sample.id.encode())
                count += 1
                if count <= _EXAMPLES:
                    examples.append(sample_body(sample))
                elif (place := draw.randrange(count)) < _EXAMPLES:
                    examples[place] = sample_body(sample)
                if progress and count % 20_000 == 0:
                    progress("preparing samples", count, None)
        if not count:
            raise DataError("the data set is empty", path=where)
        digest.update(orjson.dumps(data.shared, option=orjson.OPT_SORT_KEYS))
        header = DataHeader(
            count,
            digest.hexdigest()[:32],
            data.origin,
            data.revision,
            data.shared,
            source.media,
        )
        partial.replace(path)
        if count >= _EXAMPLES:
            write_file(path.with_suffix(".dict"), codec.train(examples))
        write_file(path.with_suffix(".json"), orjson.dumps(asdict(header)))
    except orjson.JSONEncodeError as error:
        raise DataError(
            "the row cannot be written as JSON", path=where, line=count + 1, why=str(error)
        ) from None
    finally:
        partial.unlink(missing_ok=True)
    return path


def read_header(path: Path) -> DataHeader:
    """The header of a prepared sample file.

    Raises:
        DataError: it is damaged.
    """
    file = path.with_suffix(".json")
    try:
        header = parse_json(read_plain(file))
        _HEADER(header)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        hint = f"delete {file}; the data is prepared again"
        raise DataError("it is no header", path=str(file), why=str(error), hint=hint) from None
    return DataHeader(**header)


_HEADER = record(
    {"count": whole(), "data_hash": text, "origin": text, "revision": text, "shared": anything},
    {"media": table_of(list_of(anything, 3, 3))},
    closed=True,
)


def verify_prepared(path: Path) -> int:
    """Check a prepared sample file against its own ids and its header; returns its count.

    Raises:
        DataError: names the first row that differs, or the file if it differs as a whole.
    """
    header = read_header(path)
    digest = hashlib.sha256()
    hint = f"delete {path} and fetch it again"

    def items(lines: Iterator[bytes]) -> Iterator[tuple[str, Item]]:
        for number, line in enumerate(lines, 1):
            try:
                ident, tags, inputs, gold = orjson.loads(line)
            except (ValueError, TypeError):
                raise DataError("not a sample", path=str(path), line=number, hint=hint) from None
            yield ident, Item(inputs, gold, tags)

    count = 0
    with path.open("rb") as file:
        stored, again = tee(items(iter(file)))
        for (ident, _), sample in zip(stored, sample_ids(item for _, item in again), strict=True):
            count += 1
            if ident != sample.id:
                raise DataError(
                    "the sample does not belong to its id", path=str(path), line=count, hint=hint
                )
            digest.update(ident.encode())
    digest.update(orjson.dumps(header.shared, option=orjson.OPT_SORT_KEYS))
    if count != header.count or digest.hexdigest()[:32] != header.data_hash:
        raise DataError("the file differs from its header", path=str(path), hint=hint)
    return count


def read_dictionary(path: Path) -> bytes:
    """The compression dictionary next to a prepared sample file; empty for a small set."""
    with contextlib.suppress(FileNotFoundError):
        return read_plain(path.with_suffix(".dict"))
    return b""


def sample_line(sample: Sample) -> bytes:
    """One sample as stored in the sample file: ``[id, tags, inputs, gold]``."""
    return orjson.dumps([sample.id, sample.tags, sample.inputs, sample.gold])


def read_samples(path: Path, spec: RunSpec, bench: type[Benchmark]) -> Iterator[Sample]:
    """The samples selected by a spec, in file order.

    Filters first, then ``--limit``: spread evenly over the benchmark's ``spread_by`` tag (a group
    with too few samples leaves its share to the others), within its groups over each tag of
    ``spread_within``, and from the top of each group or, with ``--shuffle``, at random by
    ``--seed``. A smaller limit selects a subset of a larger one, so that replies can be reused.

    Raises:
        SpecError: a filter names a value that the data does not have.
    """
    chosen = _choose(path, spec, bench)
    with path.open("rb") as file:
        for index, line in enumerate(file):
            if chosen is None or index in chosen:
                ident, tags, inputs, gold = orjson.loads(line)
                yield Sample(ident, inputs, gold, tags)


def _choose(path: Path, spec: RunSpec, bench: type[Benchmark]) -> set[int] | None:
    limit = spec.settings.limit
    if limit is None and not spec.filters:
        return None
    kept: dict[tuple[str, ...], list[int]] = {}
    spread_tags = (bench.spread_by, *bench.spread_within)
    seen: dict[str, set[str]] = {tag: set() for tag in spec.filters}
    with path.open("rb") as file:
        for index, line in enumerate(file):
            tags = orjson.loads(line)[1]
            keep = True
            for tag, allowed in spec.filters.items():
                seen[tag].add(tags.get(tag, ""))
                keep = keep and tags.get(tag, "") in allowed
            if keep:
                kept.setdefault(tuple(tags.get(tag, "") for tag in spread_tags), []).append(index)
    for tag, allowed in spec.filters.items():
        for value in allowed:
            if value not in seen[tag]:
                raise SpecError(
                    tag,
                    f"the data has no {tag} {value!r}",
                    hint=nearest(value, seen[tag]),
                )
    if limit is None:
        return {index for members in kept.values() for index in members}
    seed = str(spec.settings.seed) if spec.settings.shuffle else None
    return set(spread_over(kept, limit, seed))


_Groups = dict[tuple[str, ...], list[int]]
"""Positions in the file by the values of the tags that a limit is spread over."""


def spread_over(groups: _Groups, total: int, seed: str | None = None) -> Iterator[int]:
    """The first ``total`` positions of an order in which every prefix is evenly spread.

    So a smaller limit selects a subset of a larger one. Values of the first tag take turns as long
    as they have positions left; within them come the values of the next tag that had the fewest
    turns there, and then those that had the fewest overall, so that with few samples the groups do
    not all start with the same one. A group is read from the top or, with a ``seed``, at random;
    lists are shuffled in place.
    """
    if seed is not None:
        for key, places in groups.items():
            random.Random("/".join((seed, *key))).shuffle(places)  # noqa: S311
    root = _Spread(groups, 0)
    turns: Counter[tuple[int, str]] = Counter()
    waiting = deque(root.parts)
    for _ in range(min(total, root.left)):
        value = waiting.popleft()
        yield root.take(value, turns)
        if root.parts[value].left:
            waiting.append(value)


class _Spread:
    """Groups that share the tags before ``level``, split by their value of that tag."""

    def __init__(self, groups: _Groups, level: int) -> None:
        self.left = sum(map(len, groups.values()))
        self.parts: dict[str, _Spread] = {}
        self._level = level
        self._taken: Counter[str] = Counter()
        self._places: Iterator[int] = iter(())
        if level == len(next(iter(groups), ())):
            self._places = iter([place for places in groups.values() for place in places])
            return
        below: dict[str, _Groups] = {}
        for key, places in groups.items():
            below.setdefault(key[level], {})[key] = places
        self.parts = {value: _Spread(part, level + 1) for value, part in below.items()}

    def take(self, value: str, turns: Counter[tuple[int, str]]) -> int:
        """The next position for this value; ``turns`` counts all values at all levels."""
        self.left -= 1
        self._taken[value] += 1
        turns[self._level, value] += 1
        return self.parts[value]._next(turns)

    def _next(self, turns: Counter[tuple[int, str]]) -> int:
        if not self.parts:
            self.left -= 1
            return next(self._places)
        open_parts = [value for value, part in self.parts.items() if part.left]
        return self.take(
            min(open_parts, key=lambda v: (self._taken[v], turns[self._level, v])), turns
        )


def selected_count(path: Path, spec: RunSpec, bench: type[Benchmark]) -> int:
    """How many samples a spec selects from its prepared file.

    Raises:
        SpecError: the filters leave nothing, or name a value that does not exist.
    """
    chosen = _choose(path, spec, bench)
    count = read_header(path).count if chosen is None else len(chosen)
    if not count:
        raise SpecError("limit", "no sample is left after the filters", hint="widen the filters")
    return count
