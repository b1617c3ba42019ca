"""The benchmark interface: a data set, how to ask, how to score.

A benchmark is a class found through the entry point group ``evalbench.benchmarks``. Importing its
module must be cheap (no pandas, no datasets): data is read in :meth:`Benchmark.prepare`, which
runs in a short-lived child process, so heavy imports inside it cost the engine nothing.

``solve`` is the core: a plain async function over one sample that reaches models only through
``ask``. It uses no clock and no unseeded randomness, so that running it again with a journal
behind ``ask`` makes the same calls::

    async def solve(self, sample, ask):
        reply = await ask("candidate", generate(self.question(sample), max_tokens=16))
        return self.grade(sample, reply)
"""

from __future__ import annotations

import hashlib
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol
from urllib.parse import parse_qsl

import orjson

from evalbench.engine.calls import Capabilities, Outcome, Prompt, Reply
from evalbench.engine.calls.options import (
    Option,
    declare_options,
    option_values,
    values_of,
    with_defaults,
)
from evalbench.engine.calls.templates import Template, prompt_set_name, template_file
from evalbench.engine.calls.values import value_object
from evalbench.engine.errors import DataError, EvalbenchError, SpecError
from evalbench.engine.files import read_plain
from evalbench.engine.scoring.tally import Metric, Tally


@value_object
class Sample:
    """One item of a data set.

    Attributes:
        id: content hash and occurrence number, see :func:`sample_ids`.
        inputs: the data needed to ask, as JSON values.
        gold: the data needed to score, as a JSON value.
        tags: labels for grouping and filtering scores, such as ``subject``.
    """

    id: str
    inputs: Mapping[str, Any]
    gold: Any
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Item:
    """A sample without an id yet, as yielded by :meth:`Benchmark.prepare`."""

    inputs: Mapping[str, Any]
    gold: Any
    tags: Mapping[str, str] = field(default_factory=dict)


@value_object
class Score:
    """The result of one sample in one epoch.

    Attributes:
        outcome: ``ok`` if the answer was parsed; else why it was not. ``error`` only if some
            judge calls failed (see :func:`ask_judges`): the sample counts as failed and is asked
            again, ``values`` has the other judges' results, ``note`` names those that failed.
        values: the numbers that metrics are computed from, by name; few distinct values per
            name keep journals small and aggregation fast.
        parsed: the result of each parser, by parser name; for display.
        note: one line on how the score was determined, for display.
    """

    outcome: Outcome
    values: Mapping[str, float]
    parsed: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        """Reject values that cannot be averaged.

        Raises:
            ValueError: a value is not a finite number.
        """
        for name, value in self.values.items():
            if not math.isfinite(value):
                raise ValueError(f"the score {name!r} is {value}, not a finite number")

    def stored_detail(self) -> dict[str, Any]:
        """What is stored for display besides the values: parsed results, and the note, if any."""
        parts = (("parsed", self.parsed), ("note", self.note))
        return {name: value for name, value in parts if value}


class CallFailed(Exception):
    """A call of this sample could not be answered; the sample counts as failed.

    Attributes:
        reply: the call's reply, with the error.
        replies: replies to all calls that were asked together, in order.
    """

    def __init__(self, reply: Reply, replies: Sequence[Reply] = ()) -> None:
        super().__init__(reply.error)
        self.reply = reply
        self.replies = list(replies)


Asked = tuple[str, Prompt, str] | tuple[str, Prompt, str, int]
"""One of several questions: role, prompt, step and, unless it is 0, repeat."""


def repeat_of(asked: Asked) -> int:
    """The repeat number of a question of :meth:`Ask.many`."""
    return asked[3] if len(asked) == 4 else 0


class Ask(Protocol):
    """The only way for a benchmark to reach a model."""

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        """Ask the model in ``role`` and return its reply.

        ``(role, step, repeat)`` names the call within its sample and must be unique there. The
        reply's outcome is ok, truncated, refused or filtered; a call that failed raises and the
        sample counts as failed.
        """
        ...

    async def many(self, asks: Sequence[Asked]) -> list[Reply]:
        """Ask independent questions concurrently; replies in order."""
        ...


async def ask_judges(ask: Ask, asks: Sequence[Asked], *, at_least_one: bool = True) -> list[Reply]:
    """Ask independent questions concurrently, so that a failed call does not lose the others.

    Failed calls are replies of outcome ``error``; the score must have that outcome too, so that
    the sample is asked again.

    Raises:
        CallFailed: all of them failed, and one is needed (``at_least_one``).
    """
    try:
        return await ask.many(asks)
    except CallFailed as failed:
        if at_least_one and all(reply.outcome is Outcome.ERROR for reply in failed.replies):
            raise
        return failed.replies


def judge_name(role: str) -> str:
    """The name of a judge for display: its role without the word in front of the model."""
    return role.partition("/")[2] or role


_CALL_FAILED = ": its call failed: "


def error_kind(error: str) -> str:
    """The kind of error that a sample failed with: of a judgement, that of the judge's call."""
    _, judged, reason = error.partition(_CALL_FAILED)
    return (reason if judged else error).partition(":")[0]


def failed_judgements(asks: Sequence[Asked], replies: Sequence[Reply]) -> list[str]:
    """The judges whose calls failed, with the reason, as text."""
    reasons = [
        f"{judge_name(asked[0])}{_CALL_FAILED}{reply.error}"
        for asked, reply in zip(asks, replies, strict=True)
        if reply.outcome is Outcome.ERROR
    ]
    return list(dict.fromkeys(reasons))


def unread_judgements(
    asks: Sequence[Asked], replies: Sequence[Reply], problem: Callable[[str], str]
) -> tuple[Outcome, list[str]]:
    """The outcome that judgements give a sample, and which could not be read, as text.

    A judgement without a decision makes the sample unparsed, or truncated if it was cut off.

    Args:
        asks: the questions to the judges.
        replies: their replies; failed calls are ignored, see :func:`failed_judgements`.
        problem: why nothing can be read in a judge's text; empty if it is read.
    """
    outcome, reasons = Outcome.OK, []
    for asked, reply in zip(asks, replies, strict=True):
        if reply.outcome is Outcome.ERROR or not (why := problem(reply.text)):
            continue
        if reply.outcome is Outcome.TRUNCATED:
            why = "the judgement was cut off before its end"
        if outcome is not Outcome.TRUNCATED:
            cut = reply.outcome is Outcome.TRUNCATED
            outcome = Outcome.TRUNCATED if cut else Outcome.UNPARSED
        reasons.append(f"{judge_name(asked[0])}: {why}")
    return outcome, list(dict.fromkeys(reasons))


class SequentialAsk:
    """An ``ask`` that answers immediately, so that questions can just be asked one by one."""

    async def many(self: Ask, asks: Sequence[Asked]) -> list[Reply]:
        """Ask one question after another; replies in order."""
        return [await self(*one[:2], step=one[2], repeat=repeat_of(one)) for one in asks]


_HUB_PREFIX = "hf:"
_HUB_FORM = "hf:OWNER/NAME@REVISION?config=NAME&split=NAME; all after OWNER/NAME may be left out"
_HUB_NAME = re.compile(r"(?P<name>[\w.-]+/[\w.-]+)(?:@(?P<revision>[^?]+))?(?:\?(?P<more>.*))?")


class HubSet(NamedTuple):
    """One split of a data set on the Hugging Face Hub. Empty strings: the newest commit, the only
    configuration, and ``test`` or else the first split."""

    name: str
    revision: str = ""
    config: str = ""
    split: str = ""


def hub_set(data: str | None) -> HubSet | None:
    """The data set on the Hub that ``--data`` refers to; None for a path.

    Raises:
        SpecError: it starts like one but is invalid.
    """
    if not data or not data.startswith(_HUB_PREFIX):
        return None
    found = _HUB_NAME.fullmatch(data.removeprefix(_HUB_PREFIX))
    more = dict(parse_qsl(found["more"] or "", keep_blank_values=True)) if found else {}
    if found is None or not set(more) <= {"config", "split"}:
        raise SpecError("data", f"--data cannot be {data!r}", why=f"the form is {_HUB_FORM}")
    return HubSet(
        found["name"], found["revision"] or "", more.get("config", ""), more.get("split", "")
    )


MISSING = -1
"""The size recorded for a file that a row refers to and that cannot be read."""


@dataclass(frozen=True, slots=True)
class DataSource:
    """Where :meth:`Benchmark.prepare` reads from.

    Attributes:
        path: file or folder given by ``--data``; None for the benchmark's own source.
        cache: folder for downloads.
        progress: called with (what, done, total or None).
        media: what :meth:`read` has read: size, modification time and SHA-256 by path.
        hub: the data set on the Hugging Face Hub given by ``--data``; ``path`` is then its rows,
            or None for a benchmark that ``streams_hub``.
    """

    path: Path | None
    cache: Path
    progress: Any = None
    media: dict[str, list[Any]] = field(default_factory=dict)
    hub: HubSet | None = None

    def read(self, path: Path) -> bytes:
        """The bytes of a file that a row refers to, such as an image.

        If its content changes, the prepared copy is stale, even if the table has not changed.

        Raises:
            OSError: it cannot be read.
        """
        name = str(path.absolute())
        self.media[name] = [MISSING, 0, ""]
        stat, data = path.stat(), read_plain(path)
        digest = hashlib.sha256(data).hexdigest()
        self.media[name] = [stat.st_size, stat.st_mtime_ns, digest]
        return data


FirstScore = tuple[Sample, Mapping[str, float], Mapping[str, Any]]
"""A sample with the values of its first score, and what they were read from."""


def metrics_of(
    benchmark: Benchmark,
    tally: Tally,
    scored: Iterable[FirstScore] | None = None,
) -> list[Metric]:
    """The metrics of stored scores, which may have been edited.

    With ``scored``, those of a complete run, see :meth:`Benchmark.final_metrics`.

    Raises:
        DataError: the benchmark cannot compute them.
    """
    try:
        if scored is not None:
            return benchmark.final_metrics(tally, scored)
        return benchmark.metrics(tally)
    except EvalbenchError:
        raise
    except Exception as error:  # from a plug-in, or on scores that no benchmark ever produced
        raise DataError(
            f"the metrics of {benchmark.name} cannot be made of these scores",
            why=f"{type(error).__name__}: {error}",
            hint="if the run was not edited: a fault of the benchmark, to be reported",
        ) from error


@dataclass(frozen=True, slots=True)
class DataSet:
    """The result of :meth:`Benchmark.prepare`.

    Attributes:
        items: in file order; may be a generator, read once.
        shared: JSON value available to every sample (few-shot examples); passed back to the
            benchmark as ``self.shared``.
        origin: its source, for the record (Hub id, file name).
        revision: pinned revision of the source, or empty.
    """

    items: Iterator[Item]
    shared: Any = None
    origin: str = ""
    revision: str = ""


class Benchmark(ABC):
    """Base class of all benchmarks. Subclasses set the class attributes.

    Attributes:
        name: the name that users type.
        version: increased whenever prompts or scoring change their meaning.
        title, summary: one line each, shown in lists.
        licence: the data's licence.
        opt: its own settings, a record (see :func:`setting`): the class's has the defaults, an
            instance's the values of the run.
        options: the same settings as a table; follows from ``opt``.
        roles: the roles that ``solve`` asks, ``candidate`` first; ``judge`` stands for every
            judge of the run.
        spread_by: tag by which ``--limit`` is spread evenly, or empty.
        spread_within: further tags for spreading within those groups, in order.
        filters: tags that users can filter by (``--subject``), with help text.
        filter_values: the values of those tags that are known without the data.
        data_source: the source of its questions, in one line for display (default: the
            benchmark's own).
        results_format: the format of the results that a complete run writes to the folder of
            the option ``results_dir``, if there is one.
        takes_data: whether ``--data`` may replace the benchmark's own source.
        streams_hub: whether it reads Hub data sets itself, because they are too large to download.
        seeded_data: whether :meth:`prepare` samples data with the run's seed.
        scoring_seconds: how long ``solve`` may compute between two awaits before its sample
            fails. Longer work belongs in a thread (``asyncio.to_thread``).
        prompt_templates: its own prompts by name, if ``--prompt FILE`` may replace them.
        judges: the role names of this run's judges, to be asked one by one.
        rehearsal: only calls are wanted: replies are made up, and scores are thrown away. Where
            scoring is slow, ``solve`` may leave it out after its last call.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    licence: ClassVar[str] = ""
    opt: Any = None
    options: ClassVar[tuple[Option, ...]] = ()
    roles: ClassVar[tuple[str, ...]] = ("candidate",)
    spread_by: ClassVar[str] = ""
    spread_within: ClassVar[tuple[str, ...]] = ()
    results_format: ClassVar[str] = ""
    filters: ClassVar[Mapping[str, str]] = {}
    filter_values: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    data_source: ClassVar[str] = ""
    takes_data: ClassVar[bool] = True
    streams_hub: ClassVar[bool] = False
    seeded_data: ClassVar[bool] = False
    scoring_seconds: ClassVar[int] = 30
    prompt_templates: ClassVar[Mapping[str, Template]] = {}
    judges: tuple[str, ...] = ()
    rehearsal: bool = False

    def __init_subclass__(cls) -> None:
        declare_options(cls, "opt")

    def __init__(self, options: Mapping[str, Any], *, seed: int = 0, shared: Any = None) -> None:
        """``options`` has validated values by option name; ``seed`` is the run's."""
        self.opt = option_values(type(self).opt, with_defaults(self.options, options))
        self.seed = seed
        self.shared = shared

    @classmethod
    def named(cls, task: str) -> type[Benchmark]:
        """The benchmark of one task, for families with names such as ``lm-eval/gsm8k``.

        Raises:
            SpecError: it is no family.
        """
        raise SpecError("benchmark", f"{cls.name} has no tasks of its own, such as {task!r}")

    @classmethod
    def default_model(cls, options: Any) -> str:
        """The model of a run that names none; empty for the usual default.

        For benchmarks with options that supply existing answers. ``options`` has the form of
        ``opt``.
        """
        return ""

    async def check(self) -> None:
        """Check for what scoring needs besides the data, before anything is asked.

        Raises:
            EvalbenchError: something is missing on this machine.
        """
        return

    @classmethod
    def adapted(cls, options: Any, given: Iterable[str], able: Callable[[], Capabilities]) -> Any:
        """The options of a run, with unset ones adapted to what its model supports.

        Args:
            options: validated values of all options, in the form of ``opt``.
            given: names of the options set by the user.
            able: returns what the candidate supports.
        """
        return options

    @classmethod
    def prompt_file(cls) -> str:
        """Its own prompts as a file for ``--prompt``; empty if no file may replace them."""
        return template_file(cls.prompt_templates)

    @abstractmethod
    def prepare(self, source: DataSource) -> DataSet:
        """Read the data set. Runs in a child process; may import heavy packages.

        Raises:
            DataError: names file and row of anything malformed.
        """

    def data_files(self, path: Path) -> list[Path]:
        """All files that :meth:`prepare` may read for ``--data path``.

        A change in one of them makes the prepared copy stale.
        """
        return sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]

    def own_title(self) -> str:
        """The title of a user-written benchmark; empty for all others."""
        return ""

    def further_files(self) -> list[Path]:
        """Further files read by :meth:`prepare` because a file named by an option refers to them.

        A change in one of them makes the prepared copy stale.
        """
        return []

    @abstractmethod
    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """Ask and score one sample. See the module docstring for the rules."""

    @abstractmethod
    def metrics(self, tally: Tally) -> list[Metric]:
        """The run's metrics; the first is the headline. ``tally`` is additive over samples."""

    def final_metrics(self, tally: Tally, scored: Iterable[FirstScore]) -> list[Metric]:
        """The metrics of a complete run: those of :meth:`metrics`, unless some need all samples.

        Args:
            tally: as for :meth:`metrics`.
            scored: every sample with its first score, in order; read only if asked for.
        """
        return self.metrics(tally)

    def needs(self) -> frozenset[str]:
        """Call kinds that ``solve`` uses with these options: ``generate``, ``choose``."""
        return frozenset({"generate"})

    @classmethod
    def answerable(cls, able: Capabilities) -> str:
        """What a model can answer that supports less than these settings need, and how to find it.

        For the error message; empty if there is nothing of the kind.
        """
        return ""

    def needs_judge(self) -> bool:
        """Whether ``solve`` asks judges with these options."""
        return "judge" in self.roles

    def templates(self) -> Any:
        """All fixed texts that go into prompts, as a JSON value; its hash is recorded."""
        return None

    def prompt_set(self) -> str:
        """The name of the prompts in use, for the record: other prompts give other scores."""
        return prompt_set_name(values_of(self.opt).get("prompt"))

    def remarks(self, path: Path | None) -> list[str]:
        """Remarks to show before a run with these options and ``--data path``."""
        return []

    def template_hash(self) -> str:
        """Hash over :meth:`templates` and the options."""
        values = values_of(self.opt)
        declared = {option.name: values[option.name] for option in self.options}
        options = {n: v for n, v in declared.items() if n not in _LATER or v is not None}
        body = orjson.dumps([self.templates(), options, self.seed], option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(body).hexdigest()[:16]


_LATER = ("prompt", "spec_name", "alternatives")
"""Options that benchmarks got later: where they are not set, runs hash as before."""


class ScoringTimeout(Exception):
    """Scoring a sample exceeded its time or memory limit."""


def sample_ids(items: Iterator[Item]) -> Iterator[Sample]:
    """Give every item an id: 16 hex digits of its content hash, ``.``, occurrence number from 1.

    Equal content (inputs, gold and tags) occurs more than once in real data sets, so the occurrence
    number keeps ids unique while remaining independent of the position in the file.
    """
    seen: dict[bytes, int] = {}
    for item in items:
        body = orjson.dumps([item.inputs, item.gold, item.tags], option=orjson.OPT_SORT_KEYS)
        digest = hashlib.sha256(body).digest()[:8]
        seen[digest] = number = seen.get(digest, 0) + 1
        yield Sample(f"{digest.hex()}.{number}", item.inputs, item.gold, item.tags)


def answer_outcome(reply: Reply, parsed: Any) -> Outcome:
    """The outcome of a sample with a single reply.

    A refused or filtered reply keeps its outcome. A truncated reply that could still be parsed is
    ok; otherwise it stays truncated. A complete reply that no parser could read is unparsed.
    """
    if reply.outcome.declined:
        return reply.outcome
    if parsed is not None:
        return Outcome.OK
    return Outcome.TRUNCATED if reply.outcome is Outcome.TRUNCATED else Outcome.UNPARSED
