"""Reads a run sample by sample."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from evalbench.engine.benchmark import Benchmark, Sample, metrics_of
from evalbench.engine.calls import Outcome, Prompt, Reply, TextPart
from evalbench.engine.config.registry import provider_names
from evalbench.engine.config.roles import ANSWERS, CANDIDATE, JUDGE
from evalbench.engine.config.spec import build_benchmark
from evalbench.engine.errors import DataError
from evalbench.engine.journal import CallRow, Event, JournalReader, ScoreRow
from evalbench.engine.journal.batches import batches
from evalbench.engine.journal.reader import RowDecoder, tally_of
from evalbench.engine.journal.records import BatchRow
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.headline import Headline
from evalbench.engine.runs.sanitize import (
    holds_key,
    without_keys,
    without_logins,
)
from evalbench.engine.runs.status import metrics_json
from evalbench.engine.scoring.tally import Tally

Place = tuple[str, str, int]
"""Role, step and repeat of a call."""

_PAGE = 256
_UNSAFE = re.compile(r"[^\w.+@=-]")
_LONGEST_NAME = 150


@dataclass(frozen=True, slots=True)
class SampleSummary:
    """A sample in its first epoch.

    Attributes:
        row: its number in the run.
        calls: the newest answered call per place; failed calls are left out.
        score: None if it has none yet.
    """

    row: int
    sample: Sample
    calls: Mapping[Place, CallRow]
    score: ScoreRow | None

    def text(self, role: str, step: str, repeat: int = 0) -> str | None:
        """The answer's text; None if there is none."""
        call = self.calls.get((role, step, repeat))
        return call.reply.text if call and call.reply else None


@dataclass(frozen=True, slots=True)
class SampleRecord:
    """A sample with all its calls, replies and scores.

    Attributes:
        row: its number in the run.
        calls: in slot order, for all epochs, including failed ones.
        scores: by epoch; epochs without a score are missing.
    """

    row: int
    sample: Sample
    calls: Sequence[CallRow]
    scores: Mapping[int, ScoreRow]

    def answers(self, epoch: int) -> list[CallRow]:
        """The newest answered call of each place in an epoch, in order."""
        newest: dict[Place, CallRow] = {}
        for call in self.calls:
            if call.key.epoch == epoch and call.reply and call.reply.outcome is not Outcome.ERROR:
                newest[role_of(call), call.key.step, call.key.repeat] = call
        return list(newest.values())


class Labels(NamedTuple):
    """Names of tags and values, sorted."""

    tags: list[str]
    values: list[str]


class RunReader:
    """A run opened for reading.

    Attributes:
        id: the run's id.
        spec, status: the run's spec, and its status file.
        created: seconds since the epoch.
        short_names: whether models are named without their provider.
        meta: the journal's facts about the whole run, without the sources of keys.
    """

    def __init__(self, folder: RunFolder, journal: Path | None = None) -> None:
        """``journal``: a journal to read instead of the run's own, if that is damaged."""
        self.id = folder.id
        self.spec = folder.spec()
        self.status = folder.status()
        self.created = self.status.created
        self.short_names = False
        self._journal = JournalReader(journal or folder.journal)
        self._headlines: dict[str, Headline] = {}
        facts = self._journal.query(_meta)
        facts.pop("keys", None)
        self.meta: dict[str, Any] = without_logins(facts)

    def __enter__(self) -> RunReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()

    @property
    def candidate(self) -> str:
        """The model's name as users write it; for existing answers, the model that gave them."""
        return self.named(self.spec.model)

    def named(self, model: str) -> str:
        """A model's name in exports; see ``short_names``."""
        name = model_name(model)
        head, slash, rest = name.partition("/")
        return rest if self.short_names and slash and head in provider_names() else name

    def batches(self) -> list[BatchRow]:
        """The run's provider batches, in order."""
        return self._journal.query(batches)

    @property
    def judges(self) -> list[str]:
        """The judges' roles."""
        return [role for role in self.spec.roles() if role.startswith(f"{JUDGE}/")]

    @property
    def origin(self) -> str:
        """The name of the data, without its extension."""
        record = self.record
        return Path(str(record.get("data", {}).get("origin") or "data")).stem

    @property
    def record(self) -> Mapping[str, Any]:
        """The reproducibility record; empty if there is none yet."""
        return self.meta.get("record") or {}

    @cached_property
    def metrics(self) -> Mapping[str, Mapping[str, Any]]:
        """All metrics by name, the headline first; those so far if the run is unfinished."""
        stored = self.meta.get("metrics")
        if stored is not None and self.status.at_rest:
            return dict(stored)
        tally = self._journal.query(_tally(self.spec.settings.epochs))
        return metrics_json(metrics_of(self._benchmark, tally))

    @cached_property
    def headline(self) -> str:
        """The name of the headline metric; empty if there is none."""
        return next(iter(self.metrics), "")

    @cached_property
    def metrics_are_shares(self) -> bool:
        """Whether the headline is a proportion, so that a value of 1 means right."""
        return bool((self.metrics.get(self.headline) or {}).get("share"))

    def grade(self, score: ScoreRow | None, name: str) -> float | None:
        """The value that a score counts as; None for a failure.

        See :class:`Headline`.
        """
        if score is None or (score.outcome is Outcome.ERROR and not score.values):
            return None
        if name not in self._headlines:
            self._headlines[name] = Headline(name, lambda: self._benchmark)
        return self._headlines[name](score.values, score.outcome)

    @cached_property
    def _benchmark(self) -> Benchmark:
        return build_benchmark(self.spec, self.meta.get("shared"))

    def events(self) -> Iterator[Event]:
        """The run's events, in order."""
        last = 0
        while page := self._journal.events(last):
            last = page[-1].id
            yield from (replace(event, body=without_logins(event.body)) for event in page)

    def scores(self) -> Iterator[ScoreRow]:
        """All scores, in order."""
        return self._journal.scores()

    def labels(self) -> Labels:
        """The names of all tags and values in the run, from scans of samples and scores."""
        return self._journal.query(_labels)

    @property
    def size(self) -> int:
        """Number of samples."""
        return self._journal.size()

    @property
    def stamp(self) -> str:
        """When the run was created, in folder-name format."""
        return time.strftime("%Y%m%d_%H%M%S", time.gmtime(self.created))

    def notes(self) -> list[str]:
        """What exports leave out if samples were asked more than once."""
        epochs = self.spec.settings.epochs
        return [f"of {epochs} epochs the first was written"] if epochs > 1 else []

    def samples(self) -> Iterator[SampleSummary]:
        """All samples in their first epoch, in order."""
        for record in self.walk():
            answers = {
                (role_of(call), call.key.step, call.key.repeat): call for call in record.answers(0)
            }
            yield SampleSummary(record.row, record.sample, answers, record.scores.get(0))

    def scored_since(self, at_ms: int) -> list[tuple[int, int, int]]:
        """See :meth:`.JournalReader.scored_since`."""
        return self._journal.scored_since(at_ms)

    def at(self, row: int) -> SampleRecord | None:
        """One sample with everything it has; None if it does not exist."""
        found = next(self.walk(row, 1), None)
        return found if found and found.row == row else None

    def walk(self, first: int = 1, page_size: int = _PAGE) -> Iterator[SampleRecord]:
        """All samples from row ``first`` on, with everything they have, in order, page by page."""
        last = first - 1
        while page := list(self._journal.samples(last + 1, page_size)):
            first, last = page[0].row, page[-1].row
            scores: dict[int, dict[int, ScoreRow]] = {}
            for score in self._journal.scores(first):
                if score.row > last:
                    break
                if holds_key(score.detail):
                    score = replace(score, detail=without_keys(score.detail))
                scores.setdefault(score.row, {})[score.epoch] = score
            for row in page:
                sample = row.sample
                if holds_key([sample.inputs, sample.gold]):
                    inputs, gold = without_keys([sample.inputs, sample.gold])
                    sample = replace(sample, inputs=inputs, gold=gold)
                calls = [_keyless(call) for call in self._journal.calls(row.row)]
                yield SampleRecord(row.row, sample, calls, scores.get(row.row, {}))


def _meta(decoder: RowDecoder, _: Path) -> dict[str, Any]:
    return decoder.meta()


def _labels(decoder: RowDecoder, _: Path) -> Labels:
    tags = decoder.db.execute("SELECT DISTINCT tags FROM sample").fetchall()
    values = decoder.db.execute("SELECT DISTINCT vals FROM score").fetchall()
    return Labels(
        sorted({name for (ident,) in tags for name in decoder.tags(ident)}),
        sorted({name for (ident,) in values for name in decoder.values(ident)}),
    )


def _tally(epochs: int) -> Callable[[RowDecoder, Path], Tally]:
    return lambda decoder, path: tally_of(decoder, path, epochs)


def _keyless(call: CallRow) -> CallRow:
    """The call with key-like texts replaced; the same object if there are none, the usual case."""
    reply = call.reply
    texts = [message.text for message in call.prompt.messages]
    if reply is not None:
        texts += [reply.text, reply.reasoning, reply.error, reply.request_id]
    if not holds_key(texts) and (reply is None or not holds_key(reply.raw)):
        return call
    return call._replace(prompt=_keyless_prompt(call.prompt), reply=_keyless_reply(call.reply))


def _keyless_prompt(prompt: Prompt) -> Prompt:
    messages = tuple(
        replace(
            message,
            parts=tuple(
                replace(part, text=without_keys(part.text)) if isinstance(part, TextPart) else part
                for part in message.parts
            ),
        )
        for message in prompt.messages
    )
    return replace(prompt, messages=messages)


def _keyless_reply(reply: Reply | None) -> Reply | None:
    if reply is None:
        return None
    return replace(
        reply,
        text=without_keys(reply.text),
        reasoning=without_keys(reply.reasoning),
        error=without_keys(reply.error),
        request_id=without_keys(reply.request_id),
        raw=without_keys(reply.raw),
    )


def role_of(call: CallRow) -> str:
    """The role of a call, including the name of the judge."""
    key = call.key
    return key.role if key.role == CANDIDATE else f"{key.role}/{key.model}"


def model_name(model: str) -> str:
    """A model's name in exports: without the marker of existing answers."""
    return model.removeprefix(f"{ANSWERS}/")


def file_name(name: str) -> str:
    """A name made safe for a file or folder: unsuitable characters become a dash."""
    safe = _UNSAFE.sub("-", name).lstrip(".")[:_LONGEST_NAME]
    return safe or "unnamed"


def same_name(name: str) -> str:
    """A name for a file that must not be altered.

    Raises:
        DataError: it is not a valid file name.
    """
    if file_name(name) != name:
        raise DataError(f"{name!r} cannot be the name of a file", why="this format needs it to be")
    return name
