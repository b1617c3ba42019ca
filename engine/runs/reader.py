"""What a run holds, sample by sample."""

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
from evalbench.engine.runs.browse import headline
from evalbench.engine.runs.folder import RunFolder
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
        said: the newest call with an answer, by place; failed ones are left out.
        score: None while it has none.
    """

    row: int
    sample: Sample
    said: Mapping[Place, CallRow]
    score: ScoreRow | None

    def text(self, role: str, step: str, repeat: int = 0) -> str | None:
        """What was answered; None where nothing was."""
        call = self.said.get((role, step, repeat))
        return call.reply.text if call and call.reply else None


@dataclass(frozen=True, slots=True)
class SampleRecord:
    """A sample with everything that was asked, answered and scored.

    Attributes:
        row: its number in the run.
        calls: in the order of their slots, of all epochs, failed ones too.
        scores: by epoch; an epoch without one is missing.
    """

    row: int
    sample: Sample
    calls: Sequence[CallRow]
    scores: Mapping[int, ScoreRow]

    def answers(self, epoch: int) -> list[CallRow]:
        """The newest call of each place in an epoch that has an answer, in order."""
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
        id: of the run.
        spec, status: what was asked for, and what the run's status file says.
        created: seconds since the epoch.
        short_names: models are called without their provider.
        meta: the facts that the journal holds about the whole run, without where keys lay.
    """

    def __init__(self, folder: RunFolder, journal: Path | None = None) -> None:
        """``journal``: to be read in place of the run's own, which is damaged."""
        self.id = folder.id
        self.spec = folder.spec()
        self.status = folder.status()
        self.created = self.status.created
        self.short_names = False
        self._journal = JournalReader(journal or folder.journal)
        self._alone: dict[tuple[Any, ...], float | None] = {}
        facts = self._journal.query(_meta)
        facts.pop("keys", None)
        self.meta: dict[str, Any] = without_logins(facts)

    def __enter__(self) -> RunReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()

    @property
    def candidate(self) -> str:
        """The model's name, as users give it; of answers that were given, their model's."""
        return self.named(self.spec.model)

    def named(self, model: str) -> str:
        """A model as other systems name it; see ``short_names``."""
        name = model_name(model)
        head, slash, rest = name.partition("/")
        return rest if self.short_names and slash and head in provider_names() else name

    def batches(self) -> list[BatchRow]:
        """The provider batches that it sent, in order."""
        return self._journal.query(batches)

    @property
    def judges(self) -> list[str]:
        """The judges' roles."""
        return [role for role in self.spec.roles() if role.startswith(f"{JUDGE}/")]

    @property
    def origin(self) -> str:
        """The name of the data, without its ending."""
        record = self.record
        return Path(str(record.get("data", {}).get("origin") or "data")).stem

    @property
    def record(self) -> Mapping[str, Any]:
        """The reproducibility record; empty while there is none."""
        return self.meta.get("record") or {}

    @cached_property
    def metrics(self) -> Mapping[str, Mapping[str, Any]]:
        """All metrics by name, the headline first; of a run that goes on, those so far."""
        stored = self.meta.get("metrics")
        if stored is not None and self.status.at_rest:
            return dict(stored)
        tally = self._journal.query(_tally(self.spec.settings.epochs))
        return metrics_json(metrics_of(self._benchmark, tally))

    @cached_property
    def headline(self) -> str:
        """The name of the metric that the run is judged by; empty without one."""
        return next(iter(self.metrics), "")

    @cached_property
    def metrics_are_shares(self) -> bool:
        """Whether the headline is a proportion, so that a sample of value 1 is right."""
        return bool((self.metrics.get(self.headline) or {}).get("share"))

    def grade(self, score: ScoreRow | None, name: str) -> float | None:
        """The value that a score counts by; None for a failure.

        That is the value called as the headline; where the headline is made of several, as a
        mean of ratings is, what it would be with this sample alone.
        """
        if score is None or (score.outcome is Outcome.ERROR and not score.values):
            return None
        if name in score.values:
            return score.values[name]
        key = (score.outcome, tuple(sorted(score.values.items())))
        if key not in self._alone:
            tally = Tally()
            tally.add({}, score.outcome, score.values)
            self._alone[key] = self._only(tally, name)
        found = self._alone[key]
        return headline(score.values, name) if found is None else found

    def _only(self, tally: Tally, name: str) -> float | None:
        try:
            held = {metric.name: metric.value for metric in metrics_of(self._benchmark, tally)}
        except DataError:
            return None
        return held.get(name)

    @cached_property
    def _benchmark(self) -> Benchmark:
        return build_benchmark(self.spec, self.meta.get("shared"))

    def events(self) -> Iterator[Event]:
        """What happened to it, in order."""
        last = 0
        while page := self._journal.events(last):
            last = page[-1].id
            yield from (replace(event, body=without_logins(event.body)) for event in page)

    def scores(self) -> Iterator[ScoreRow]:
        """All scores, in order."""
        return self._journal.scores()

    def labels(self) -> Labels:
        """The names of all tags and values in the run, by scans of samples and scores."""
        return self._journal.query(_labels)

    @property
    def size(self) -> int:
        """How many samples there are."""
        return self._journal.size()

    @property
    def stamp(self) -> str:
        """When the run was made, as a folder's name."""
        return time.strftime("%Y%m%d_%H%M%S", time.gmtime(self.created))

    def notes(self) -> list[str]:
        """What is not written of a run that was asked more often than once."""
        epochs = self.spec.settings.epochs
        return [f"of {epochs} epochs the first was written"] if epochs > 1 else []

    def samples(self) -> Iterator[SampleSummary]:
        """All of them in their first epoch, in order."""
        for held in self.walk():
            said = {
                (role_of(call), call.key.step, call.key.repeat): call for call in held.answers(0)
            }
            yield SampleSummary(held.row, held.sample, said, held.scores.get(0))

    def scored_since(self, at_ms: int) -> list[tuple[int, int, int]]:
        """See :meth:`.JournalReader.scored_since`."""
        return self._journal.scored_since(at_ms)

    def at(self, row: int) -> SampleRecord | None:
        """One sample with all it has; None where there is none of that number."""
        found = next(self.walk(row, 1), None)
        return found if found and found.row == row else None

    def walk(self, first: int = 1, page_size: int = _PAGE) -> Iterator[SampleRecord]:
        """All from row ``first`` on with all they have, in order, a page at a time."""
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
            for held in page:
                sample = held.sample
                if holds_key([sample.inputs, sample.gold]):
                    inputs, gold = without_keys([sample.inputs, sample.gold])
                    sample = replace(sample, inputs=inputs, gold=gold)
                calls = [_keyless(call) for call in self._journal.calls(held.row)]
                yield SampleRecord(held.row, sample, calls, scores.get(held.row, {}))


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
    """The call without what has the form of a key; itself where there is none, as nearly always."""
    reply = call.reply
    told = [message.text for message in call.prompt.messages]
    if reply is not None:
        told += [reply.text, reply.reasoning, reply.error, reply.request_id]
    if not holds_key(told) and (reply is None or not holds_key(reply.raw)):
        return call
    return replace(call, prompt=_keyless_prompt(call.prompt), reply=_keyless_reply(call.reply))


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
    """The role of a call, with the name of the judge."""
    key = call.key
    return key.role if key.role == CANDIDATE else f"{key.role}/{key.model}"


def model_name(model: str) -> str:
    """A model as other systems name it: without what marks answers that were given."""
    return model.removeprefix(f"{ANSWERS}/")


def file_name(name: str) -> str:
    """A name as that of a file or folder: what would not do becomes a dash."""
    safe = _UNSAFE.sub("-", name).lstrip(".")[:_LONGEST_NAME]
    return safe or "unnamed"


def same_name(name: str) -> str:
    """A name that must stay as it is in that of a file.

    Raises:
        DataError: no file can have it.
    """
    if file_name(name) != name:
        raise DataError(f"{name!r} cannot be the name of a file", why="this format needs it to be")
    return name
