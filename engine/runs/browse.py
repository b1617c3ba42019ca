"""Browses the samples of a run: pages, filters and text search.

Every query opens the journal only briefly, so that the engine can turn it into a single file
when it finishes. The scans take tens of milliseconds at 100,000 samples and may run in a
thread; :class:`TextSearch` works in small steps.
"""

from __future__ import annotations

import sqlite3
import time
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import orjson

from evalbench.engine.benchmark import Sample, error_kind
from evalbench.engine.calls import Outcome
from evalbench.engine.errors import JournalError
from evalbench.engine.journal import CallRow, ScoreRow
from evalbench.engine.journal.reader import RowDecoder, calls_of, damaged
from evalbench.engine.journal.records import OUTCOME_CODE, OUTCOMES, dollars
from evalbench.engine.journal.schema import EPOCH_BITS, SLOT_BITS, connect, understand
from evalbench.engine.record_schemas import MOST_ROWS
from evalbench.engine.runs.headline import Headline

WAITING = "waiting"
"""Shown as the outcome while a sample has no score."""

_EPOCH = (1 << EPOCH_BITS) - 1


@dataclass(frozen=True, slots=True)
class SampleLine:
    """One sample of a run, with its progress so far.

    Attributes:
        row: its number in the run, from 1.
        scores: its scores so far, by epoch.
        asked: whether any of its calls was sent.
    """

    row: int
    sample: Sample
    scores: tuple[ScoreRow, ...]
    asked: bool


@dataclass(frozen=True, slots=True)
class Filter:
    """Which samples to show; all conditions must hold.

    With several epochs a sample is shown if any of its scores matches.

    Attributes:
        outcome: name of an outcome, or ``waiting``; empty: any.
        right: right or wrong by the run's headline value; None for either.
        tag: name and value of a tag.
        texts: texts in the question, gold answer or replies; all of them, case-insensitive.
        error: kind of error that a sample failed with, as in ``Status.errors``; used with
            the outcome ``error``.
    """

    outcome: str = ""
    right: bool | None = None
    tag: tuple[str, str] | None = None
    texts: tuple[str, ...] = ()
    error: str = ""

    @property
    def by_record(self) -> bool:
        """Whether any condition other than text is set."""
        return bool(self.outcome) or self.right is not None or self.tag is not None


class Took(NamedTuple):
    """Time, tokens and cost of all calls of a sample.

    Attributes:
        seconds: total time from sending each call to its reply.
        input_tokens, output_tokens: those of the replies.
        cost: US dollars, as far as prices are known.
    """

    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


class SampleFacts(NamedTuple):
    """What is known of a sample without reading its content.

    Attributes:
        row: its number in the run, from 1.
        tags: its tags.
        outcomes: those of its scores; empty while there are none.
        errors: kinds of errors that it failed with.
        values: its scores' values by name, the mean over epochs.
        score: its headline value, the mean over epochs; None if it has none.
        took: see :meth:`SampleBrowser.took`.
    """

    row: int
    tags: Mapping[str, str]
    outcomes: Collection[str]
    errors: Collection[str]
    values: Mapping[str, float]
    score: float | None
    took: Took


ORDERS = ("score", "seconds", "input_tokens", "output_tokens", "cost")
"""Measures that samples can be sorted by."""

VALUE = "value:"
"""Before the name of a score's value, such as a judge's rating, where it is a measure as well."""


@dataclass(frozen=True, slots=True)
class Facets:
    """The values available for filtering.

    Attributes:
        outcomes: number of scores by outcome name, in the usual order; samples by ``waiting``.
        tags: number of samples by value, by tag name.
        graded: whether the headline value is a grade above 1 rather than right or wrong.
    """

    outcomes: Mapping[str, int]
    tags: Mapping[str, Mapping[str, int]]
    graded: bool


class SampleBrowser:
    """The samples of one journal. Raises ``JournalError`` if it cannot be read."""

    def __init__(self, journal: Path, value: str = "") -> None:
        """``value``: name of the run's headline metric."""
        self.journal = journal
        self.headline = Headline.of_journal(journal, value)

    def rows(self) -> Sequence[int]:
        """The numbers of all samples; a range if there are no gaps."""
        with opened(self.journal) as decoder:
            return range(1, _last_row(decoder) + 1)

    def lines(self, rows: Sequence[int]) -> dict[int, SampleLine]:
        """Samples by number; those removed from the run are missing."""
        with opened(self.journal) as decoder:
            return _lines(decoder, rows)

    def sample(self, row: int) -> tuple[SampleLine, list[CallRow]] | None:
        """One sample with all its calls and replies; None if it does not exist."""
        with opened(self.journal) as decoder:
            if (line := _lines(decoder, [row]).get(row)) is None:
                return None
            return line, calls_of(decoder, self.journal, {row: line.sample}).get(row, [])

    def value_names(self) -> list[str]:
        """The names of all values that scores have, sorted; from one scan of scores."""
        with opened(self.journal) as decoder:
            used = _column(decoder, "SELECT DISTINCT vals FROM score")
            return sorted({name for ident in used for name in decoder.values(ident)})

    def facets(self) -> Facets:
        """The values available for filtering, from one scan of samples and one of scores."""
        with opened(self.journal) as decoder:
            tags: dict[str, dict[str, int]] = {}
            # Counted here because SQLite would sort them first.
            counts = Counter(_column(decoder, "SELECT tags FROM sample"))
            for ident, count in counts.items():
                for name, value in decoder.tags(ident).items():
                    by_value = tags.setdefault(name, {})
                    by_value[value] = by_value.get(value, 0) + count
            found: Counter[int] = Counter()
            scored = last = 0
            for ident, both in decoder.db.execute("SELECT id, vals << 4 | outcome FROM score"):
                found[both] += 1
                scored += ident >> EPOCH_BITS != last
                last = ident >> EPOCH_BITS
            outcomes = {
                outcome.value: number
                for code, outcome in enumerate(OUTCOMES)
                if (number := sum(n for both, n in found.items() if both & 15 == code))
            }
            if scored < counts.total():
                outcomes[WAITING] = counts.total() - scored
            values = (self.headline(decoder.values(both >> 4)) for both in found)
            graded = any(value is not None and value > 1 for value in values)
        return Facets(
            outcomes, {name: dict(sorted(tags[name].items())) for name in sorted(tags)}, graded
        )

    def matching(self, wanted: Filter) -> Sequence[int]:
        """Numbers of the samples that match all conditions except the text, in order; one scan."""
        if not wanted.by_record:
            return self.rows()
        if wanted.outcome == WAITING and wanted.right is not None:
            return ()
        with opened(self.journal) as decoder:
            limits: list[str] = []
            given: list[str] = []
            if wanted.tag is not None:
                limits.append("tags IN (SELECT value FROM json_each(?))")
                name, value = wanted.tag
                tagged = [ident for ident, tags in _names(decoder) if tags.get(name) == value]
                given.append(str(tagged))
            if wanted.outcome == WAITING or (not wanted.outcome and wanted.right is None):
                if wanted.outcome:
                    limits.append(_NO_SCORE)
                sql = f"SELECT row FROM sample WHERE {' AND '.join(limits)}"  # noqa: S608
                rows = _column(decoder, sql, given)
            else:
                if wanted.outcome:
                    code = next(OUTCOME_CODE[o] for o in OUTCOMES if o.value == wanted.outcome)
                    limits.append(f"outcome = {code}")
                if wanted.error:
                    limits.append("id IN (SELECT value FROM json_each(?))")
                    given.append(str(_failed_with(decoder, wanted.error)))
                if wanted.right is not None:
                    limits.append("vals IN (SELECT value FROM json_each(?))")
                    given.append(str(self._judged(decoder, right=wanted.right)))
                sql = f"SELECT id >> {EPOCH_BITS} FROM score WHERE {' AND '.join(limits)}"  # noqa: S608
                rows = (row for row, _ in groupby(_column(decoder, sql, given)))
            return array("Q", rows)

    def records(self, *, took: bool) -> Iterator[SampleFacts]:
        """All samples, in order, from one scan of samples and scores.

        Args:
            took: whether to scan all replies as well; without it, nothing took any time.
        """
        with opened(self.journal) as decoder:
            times = _took(decoder, f"{_TOOK} GROUP BY 1", ()) if took else {}
            scores: dict[int, list[tuple[int, int, str]]] = {}
            error_code = OUTCOME_CODE[Outcome.ERROR]
            for ident, outcome, values, detail in decoder.db.execute(
                "SELECT id, outcome, vals, CASE outcome WHEN ? THEN detail END FROM score",
                (error_code,),
            ):
                error = "" if detail is None else _error_kind(decoder, detail)
                scores.setdefault(ident >> EPOCH_BITS, []).append((outcome, values, error))
            known: dict[tuple[int, ...], tuple[Mapping[str, float], float | None]] = {}
            tags: dict[int, Mapping[str, str]] = {}
            nothing = Took()
            for row, ident in decoder.db.execute("SELECT row, tags FROM sample ORDER BY row"):
                own = scores.get(row, ())
                answered = tuple(values for outcome, values, _ in own if outcome != error_code)
                if answered not in known:
                    known[answered] = self._means([decoder.values(one) for one in answered])
                if ident not in tags:
                    tags[ident] = decoder.tags(ident)
                yield SampleFacts(
                    row,
                    tags[ident],
                    [OUTCOMES[outcome].value for outcome, *_ in own],
                    [error for *_, error in own if error],
                    *known[answered],
                    times.get(row, nothing),
                )

    def _means(
        self, scores: Sequence[Mapping[str, float]]
    ) -> tuple[Mapping[str, float], float | None]:
        """Each value's mean over a sample's scores, and that of the headline value."""
        names = dict.fromkeys(name for values in scores for name in values)
        means = {name: fmean([v[name] for v in scores if name in v]) for name in names}
        heads = [one for values in scores if (one := self.headline(values)) is not None]
        return means, fmean(heads) if heads else None

    def took(self, rows: Sequence[int]) -> dict[int, Took]:
        """Time, tokens and cost of these samples, by number; those without a reply are missing."""
        with opened(self.journal) as decoder:
            wanted = orjson.dumps(list(rows)).decode()
            some = "JOIN json_each(?) j ON r.id BETWEEN j.value << ? AND (j.value + 1 << ?) - 1"
            sql = f"{_TOOK} {some} GROUP BY 1"
            return _took(decoder, sql, (wanted, SLOT_BITS, SLOT_BITS))

    def ordered(self, rows: Sequence[int], by: str, *, descending: bool = False) -> Sequence[int]:
        """Sort samples by a measure; those without it come last, ties are sorted by number.

        One scan of all scores or replies.

        Args:
            rows: sample numbers, in order.
            by: one of :data:`ORDERS`, or :data:`VALUE` and the name of a score's value.
            descending: largest first.
        """
        values: dict[int, float] = {}
        with opened(self.journal) as decoder:
            if by == "score" or by.startswith(VALUE):
                name = by.removeprefix(VALUE)
                scores: dict[int, list[float]] = {}
                headlines: dict[int, float | None] = {}
                sql = f"SELECT id >> {EPOCH_BITS}, vals FROM score WHERE outcome <> ?"  # noqa: S608
                for row, ident in decoder.db.execute(sql, (OUTCOME_CODE[Outcome.ERROR],)):
                    if ident not in headlines:
                        held_values = decoder.values(ident)
                        headlines[ident] = (
                            self.headline(held_values) if by == "score" else held_values.get(name)
                        )
                    if (value := headlines[ident]) is not None:
                        scores.setdefault(row, []).append(value)
                values = {row: sum(means) / len(means) for row, means in scores.items()}
            else:
                found = _took(decoder, f"{_TOOK} GROUP BY 1", ())
                values = {row: float(getattr(one, by)) for row, one in found.items()}
        known = [row for row in rows if row in values]
        known.sort(key=values.__getitem__, reverse=descending)
        return array("Q", [*known, *(row for row in rows if row not in values)])

    def answers(self) -> bytes:
        """By sample number, one more than its number of answers, up to 255.

        Answers are scores that are not errors: a failed sample may be asked again.
        """
        with opened(self.journal) as decoder:
            last = _last_row(decoder)
            found = bytearray(b"\1" * (last + 1))
            sql = f"SELECT id >> {EPOCH_BITS} FROM score WHERE outcome <> ?"  # noqa: S608
            for row in _column(decoder, sql, (str(OUTCOME_CODE[Outcome.ERROR]),)):
                if row <= last and found[row] < 255:
                    found[row] += 1
            return bytes(found)

    def _judged(self, decoder: RowDecoder, *, right: bool) -> list[int]:
        """Ids of the interned values that count as right, or of those that do not."""
        found = []
        for ident, values in _names(decoder):
            # Tags are interned as well.
            if not all(isinstance(value, (int, float)) for value in values.values()):
                continue
            value = self.headline(values)
            if value is not None and (value >= 1) is right:
                found.append(ident)
        return found


_FIRST = f"row << {EPOCH_BITS}"
_NO_SCORE = f"NOT EXISTS (SELECT 1 FROM score WHERE id BETWEEN {_FIRST} AND ({_FIRST}) + {_EPOCH})"  # noqa: S608


_TOOK = (
    f"SELECT r.id >> {SLOT_BITS}, sum(max(0, r.at - coalesce(c.sent, r.at))),"  # noqa: S608
    " coalesce(sum(r.input), 0), coalesce(sum(r.output), 0), coalesce(sum(r.cost), 0)"
    " FROM reply r JOIN call c ON c.id = r.id"
)


def _took(decoder: RowDecoder, sql: str, given: Sequence[Any]) -> dict[int, Took]:
    return {
        row: Took(ms / 1000, into, out, float(dollars(cost)))
        for row, ms, into, out, cost in decoder.db.execute(sql, given)
    }


def _failed_with(decoder: RowDecoder, kind: str) -> list[int]:
    """Ids of the scores with this kind of error."""
    sql = "SELECT id, detail FROM score WHERE outcome = ?"
    found = []
    known: dict[int | bytes, bool] = {}
    for ident, detail in decoder.db.execute(sql, (OUTCOME_CODE[Outcome.ERROR],)):
        if detail not in known:
            known[detail] = _error_kind(decoder, detail) == kind
        if known[detail]:
            found.append(ident)
    return found


def _error_kind(decoder: RowDecoder, detail: int | bytes) -> str:
    """The kind of error in the detail of a failed score, as in ``Status.errors``."""
    return error_kind(str(decoder.detail(detail).get("error", "")))


@contextmanager
def opened(path: Path) -> Iterator[RowDecoder]:
    """Open a journal for one query, then close it. Raises ``JournalError``."""
    connection = connect(path, readonly=True)
    try:
        yield RowDecoder(connection)
    except sqlite3.Error as error:
        raise understand(error, path) from error
    finally:
        connection.close()


def _last_row(decoder: RowDecoder) -> int:
    (last,) = decoder.db.execute("SELECT coalesce(max(row), 0) FROM sample").fetchone()
    if not 0 <= last <= MOST_ROWS:
        raise JournalError("the journal is damaged", why=f"a sample is numbered {last}")
    return int(last)


def _column(decoder: RowDecoder, sql: str, given: Sequence[str] = ()) -> Iterator[int]:
    """The only column of a query."""
    return (value for (value,) in decoder.db.execute(sql, given))


def _names(decoder: RowDecoder) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """All interned texts that may be tags or values."""
    for ident, text in decoder.db.execute("SELECT id, text FROM name"):
        try:
            values = orjson.loads(text)
        except ValueError as error:
            raise damaged("a name", error) from error
        if isinstance(values, dict):
            yield ident, values


def _lines(decoder: RowDecoder, rows: Sequence[int]) -> dict[int, SampleLine]:
    wanted = orjson.dumps(list(rows)).decode()
    scores: dict[int, list[ScoreRow]] = {}
    for ident, outcome, values, detail in decoder.db.execute(
        "SELECT k.id, k.outcome, k.vals, k.detail FROM json_each(?) j"
        " JOIN score k ON k.id BETWEEN j.value << ? AND (j.value << ?) + ?",
        (wanted, EPOCH_BITS, EPOCH_BITS, _EPOCH),
    ):
        row, epoch = ident >> EPOCH_BITS, ident & _EPOCH
        score = decoder.outcome(outcome), decoder.values(values), decoder.detail(detail)
        scores.setdefault(row, []).append(ScoreRow(row, epoch, *score))
    found = {}
    for row, *columns in decoder.db.execute(
        "SELECT s.row, s.hash, s.occurrence, s.tags, s.body FROM json_each(?) j"
        " JOIN sample s ON s.row = j.value",
        (wanted,),
    ).fetchall():
        own = tuple(scores.get(row, ()))
        asked = bool(own) or _asked(decoder, row)
        found[row] = SampleLine(row, decoder.sample(*columns), own, asked)
    return found


def _asked(decoder: RowDecoder, row: int) -> bool:
    found = decoder.db.execute("SELECT 1 FROM call WHERE id BETWEEN ? AND ? LIMIT 1", _calls(row))
    return found.fetchone() is not None


def _calls(row: int) -> tuple[int, int]:
    """The first and the last possible call id of a sample."""
    return row << SLOT_BITS, (row + 1 << SLOT_BITS) - 1


class TextSearch:
    """Searches question, gold answer and replies of samples for texts, in small steps.

    A sample matches if each of the texts is in it, wherever.

    It can be restarted while a run continues: it then searches only samples that are new or
    have been answered since.

    Attributes:
        rows: the samples to search this time.
        searched: how many of them have been searched.
        found: numbers of all matching samples so far.
    """

    def __init__(self, samples: SampleBrowser, *texts: str) -> None:
        needles = dict.fromkeys(text.casefold() for text in texts)
        # In its JSON form too, so that raw records can be searched before decoding them.
        self._needles = [(needle, orjson.dumps(needle).decode()[1:-1]) for needle in needles]
        self.rows: Sequence[int] = ()
        self.searched = 0
        self.found: set[int] = set()
        self._samples = samples
        self._answers = b""
        self._looked = bytearray()

    @property
    def done(self) -> bool:
        """Whether every sample has been searched."""
        return self.searched >= len(self.rows)

    def due(self, rows: Sequence[int]) -> tuple[Sequence[int], bytes]:
        """Those of ``rows`` worth searching, for :meth:`begin`; one scan, may run in a thread."""
        answers = self._samples.answers()
        looked = self._looked.ljust(len(answers), b"\0")
        return [row for row in rows if looked[row] != answers[row]], answers

    def begin(self, due: tuple[Sequence[int], bytes]) -> None:
        """Start searching these."""
        self.rows, self._answers = due
        self._looked = self._looked.ljust(len(self._answers), b"\0")
        self.searched = 0

    def among(self, rows: Sequence[int]) -> array[int]:
        """The matches among these samples, in their order."""
        if isinstance(rows, range):
            return array("Q", sorted(self.found))
        return array("Q", (row for row in rows if row in self.found))

    def go_on(self, seconds: float) -> None:
        """Search more samples for about this long, but at least a few."""
        end = time.monotonic() + seconds
        with opened(self._samples.journal) as decoder:
            while not self.done:
                rows = self.rows[self.searched : self.searched + _AT_A_TIME]
                self.found.difference_update(rows)
                matched: dict[int, set[str]] = {}
                for row, kind, body in _bodies(decoder, rows):
                    folded = body.casefold()
                    matched.setdefault(row, set()).update(
                        needle
                        for needle, quick in self._needles
                        if quick in folded and _says(kind, body, needle)
                    )
                every = len(self._needles)
                self.found.update(row for row, needles in matched.items() if len(needles) == every)
                for row in rows:
                    self._looked[row] = self._answers[row]
                self.searched += len(rows)
                if time.monotonic() > end:
                    return


_AT_A_TIME = 32


def _bodies(decoder: RowDecoder, rows: Sequence[int]) -> Iterator[tuple[int, str, str]]:
    """The searchable content of samples, as (row, kind of record, JSON)."""
    wanted = orjson.dumps(list(rows)).decode()
    for row, frame in decoder.db.execute(
        "SELECT s.row, s.body FROM json_each(?) j JOIN sample s ON s.row = j.value", (wanted,)
    ):
        yield row, "sample", decoder.unpack("sample", frame).decode()
    for row, frame in decoder.db.execute(
        "SELECT j.value, r.body FROM json_each(?) j"
        " JOIN reply r ON r.id BETWEEN j.value << ? AND (j.value + 1 << ?) - 1",
        (wanted, SLOT_BITS, SLOT_BITS),
    ):
        yield row, "reply", decoder.unpack("reply", frame).decode()


def _says(kind: str, body: str, needle: str) -> bool:
    texts = orjson.loads(body)
    if kind == "reply":
        texts = [texts.get(name, "") for name in _SEARCHED]
    return any(needle in text.casefold() for text in _texts(texts))


_SEARCHED = ("text", "reasoning", "error")


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value; numbers in their JSON form."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, Collection):
        for part in value:
            yield from _texts(part)
    elif value is not None:
        yield str(value)
