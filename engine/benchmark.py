"""What a benchmark is: a data set, how to ask, how to score.

A benchmark is a class found through the entry point group
``evalbench.benchmarks``. Importing its module must be cheap (no pandas, no
datasets): reading data happens in :meth:`Benchmark.prepare`, which runs in a
short-lived child process, so heavy imports inside it cost the engine nothing.

``solve`` is the heart. It is a plain async function over one sample whose only
way to a model is ``ask``; it uses no clock and no unseeded randomness, so that
running it again with a journal behind ``ask`` gives the same calls::

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
from evalbench.engine.calls.options import Option
from evalbench.engine.calls.templates import Template, prompt_set_name
from evalbench.engine.errors import DataError, EvalbenchError, SpecError
from evalbench.engine.files import read_plain
from evalbench.engine.scoring.tally import Metric, Tally


@dataclass(frozen=True, slots=True)
class Sample:
    """One item of a data set.

    Attributes:
        id: content hash and occurrence number, see :func:`sample_ids`.
        inputs: what the benchmark needs to ask, as JSON values.
        gold: what it needs to score, as a JSON value.
        tags: labels that scores are grouped and filtered by, e.g. ``subject``.
    """

    id: str
    inputs: Mapping[str, Any]
    gold: Any
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Item:
    """A sample before it has an id: what :meth:`Benchmark.prepare` yields."""

    inputs: Mapping[str, Any]
    gold: Any
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Score:
    """The result of one sample in one epoch.

    Attributes:
        outcome: ``ok`` when the answer was read; else why it was not. ``error`` only where
            some judgements failed (see :func:`ask_judges`): the sample counts as failed and is
            asked again, ``values`` has what the others say, ``note`` names those that failed.
        values: numbers that metrics are made of, by name; few distinct values
            per name keep journals small and aggregation fast.
        parsed: what each parser read, by parser name; for people.
        note: one line on how the score came about, for people.
    """

    outcome: Outcome
    values: Mapping[str, float]
    parsed: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse what no mean could be made of.

        Raises:
            ValueError: a value is not a finite number.
        """
        for name, value in self.values.items():
            if not math.isfinite(value):
                raise ValueError(f"the score {name!r} is {value}, not a finite number")

    def told(self) -> dict[str, Any]:
        """What is stored for people beside the values: what was parsed, and the note, if any."""
        told = (("parsed", self.parsed), ("note", self.note))
        return {name: value for name, value in told if value}


class CallFailed(Exception):
    """A call of this sample could not be answered; the sample counts as failed.

    Attributes:
        reply: of the call, with the error.
        replies: of all calls that were asked together, in order.
    """

    def __init__(self, reply: Reply, replies: Sequence[Reply] = ()) -> None:
        super().__init__(reply.error)
        self.reply = reply
        self.replies = list(replies)


Asked = tuple[str, Prompt, str] | tuple[str, Prompt, str, int]
"""One of several questions: role, prompt, step and, unless it is 0, repeat."""


def repeat_of(asked: Asked) -> int:
    """Which repeat a question of :meth:`Ask.many` is."""
    return asked[3] if len(asked) == 4 else 0


class Ask(Protocol):
    """The only way from a benchmark to a model."""

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        """Ask the model in ``role`` and return its reply.

        ``(role, step, repeat)`` names the call within its sample and must be
        unique there. The reply's outcome is ok, truncated, refused or
        filtered; a call that failed raises and the sample counts as failed.
        """

    async def many(self, asks: Sequence[Asked]) -> list[Reply]:
        """Ask independent questions at once; replies in order."""


async def ask_judges(ask: Ask, asks: Sequence[Asked], *, at_least_one: bool = True) -> list[Reply]:
    """Ask independent questions at once, so that one failed call loses none of the others.

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


def failed_judgements(asks: Sequence[Asked], replies: Sequence[Reply]) -> list[str]:
    """The judges whose calls failed, with the reason, in words."""
    told = [
        f"{asked[0].partition('/')[2] or asked[0]}: its call failed: {reply.error}"
        for asked, reply in zip(asks, replies, strict=True)
        if reply.outcome is Outcome.ERROR
    ]
    return list(dict.fromkeys(told))


class SequentialAsk:
    """An ``ask`` that answers at once, so that many questions can as well be asked in turn."""

    async def many(self: Ask, asks: Sequence[Asked]) -> list[Reply]:
        """Ask them one after the other; replies in order."""
        return [await self(*one[:2], step=one[2], repeat=repeat_of(one)) for one in asks]


_HUB_PREFIX = "hf:"
_HUB_FORM = "hf:OWNER/NAME@REVISION?config=NAME&split=NAME; all after OWNER/NAME may be left out"
_HUB_NAME = re.compile(r"(?P<name>[\w.-]+/[\w.-]+)(?:@(?P<revision>[^?]+))?(?:\?(?P<more>.*))?")


class HubSet(NamedTuple):
    """One split of a data set on the hub; empty texts: the newest commit, the only configuration,
    ``test`` or else the first split."""

    name: str
    revision: str = ""
    config: str = ""
    split: str = ""


def hub_set(data: str | None) -> HubSet | None:
    """What ``--data`` names on the hub; None for a path.

    Raises:
        SpecError: it begins as one and is none.
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
"""The size of a file that a row names and that cannot be read."""


@dataclass(frozen=True, slots=True)
class DataSource:
    """Where :meth:`Benchmark.prepare` reads from.

    Attributes:
        path: file or folder given by ``--data``; None means the benchmark's own source.
        cache: folder for downloads.
        progress: called with (what, done, total or None).
        media: what :meth:`read` has read: size, time of change and SHA-256 by path.
        hub: the set on the Hugging Face hub that ``--data`` names; ``path`` is then its
            rows, or None for a benchmark that ``streams_hub``.
    """

    path: Path | None
    cache: Path
    progress: Any = None
    media: dict[str, list[Any]] = field(default_factory=dict)
    hub: HubSet | None = None

    def read(self, path: Path) -> bytes:
        """The bytes of a file that a row names, such as a picture.

        When its content changes, the prepared copy is stale, though the table
        is as it was.

        Raises:
            OSError: it cannot be read.
        """
        name = str(path.absolute())
        self.media[name] = [MISSING, 0, ""]
        stat, data = path.stat(), read_plain(path)
        digest = hashlib.sha256(data).hexdigest()
        self.media[name] = [stat.st_size, stat.st_mtime_ns, digest]
        return data


def metrics_of(benchmark: Benchmark, tally: Tally) -> list[Metric]:
    """The metrics of scores that are stored, which may have been edited.

    Raises:
        DataError: the benchmark cannot make any of them.
    """
    try:
        return benchmark.metrics(tally)
    except EvalbenchError:
        raise
    except Exception as error:  # of a plug-in, or on scores that no benchmark ever gave
        raise DataError(
            f"the metrics of {benchmark.name} cannot be made of these scores",
            why=f"{type(error).__name__}: {error}",
            hint="if the run was not edited: a fault of the benchmark, to be reported",
        ) from error


@dataclass(frozen=True, slots=True)
class DataSet:
    """What :meth:`Benchmark.prepare` returns.

    Attributes:
        items: in file order; may be a generator, read once.
        shared: JSON value that every sample may use (few-shot examples);
            handed back to the benchmark as ``self.shared``.
        origin: where it came from, for the record (hub id, file name).
        revision: pinned revision of the source, or empty.
    """

    items: Iterator[Item]
    shared: Any = None
    origin: str = ""
    revision: str = ""


class Benchmark(ABC):
    """Base class of every benchmark. Subclasses fill in the class attributes.

    Attributes:
        name: as typed by users.
        version: changes whenever prompts or scoring change meaning.
        title, summary: one line each, shown in lists.
        licence: of the data.
        options: settings beyond the common ones, validated before construction.
        roles: the roles that ``solve`` asks, ``candidate`` first; ``judge`` stands
            for every judge of the run.
        spread_by: tag over which ``--limit`` is spread evenly, or empty.
        spread_within: further tags that it is spread over within those groups, in order.
        filters: tags that users may filter by (``--subject``), with help text.
        filter_values: of those the tags whose values are known without the data, with them.
        data_source: where its questions come from, in one line for people; left out, it
            has its own.
        results_format: the format in which the results of a complete run are written to the
            folder of its option ``results_dir``, if it has one.
        takes_data: whether ``--data`` may replace the benchmark's own source.
        streams_hub: whether it reads sets of the hub itself, as they are too large to download.
        seeded_data: whether :meth:`prepare` draws by the run's seed.
        scoring_seconds: how long ``solve`` may compute between two waits; after that its
            sample fails. Longer work belongs into a thread (``asyncio.to_thread``).
        prompt_templates: its own prompts by name, for those that ``--prompt FILE`` may replace.
        judges: the role names of this run's judges, to be asked one by one.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    licence: ClassVar[str] = ""
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

    def __init__(self, options: Mapping[str, Any], *, seed: int = 0, shared: Any = None) -> None:
        """``options`` are validated values for every declared option; ``seed`` is the run's."""
        self.opt = options
        self.seed = seed
        self.shared = shared

    @classmethod
    def default_model(cls, options: Mapping[str, Any]) -> str:
        """The model of a run for which none is named; empty: as usual.

        For benchmarks whose options can bring answers that exist already.
        """
        return ""

    async def check(self) -> None:
        """Look for what scoring needs besides the data, before anything is asked.

        Raises:
            EvalbenchError: this machine lacks it.
        """
        return

    @classmethod
    def adapted(
        cls, options: Mapping[str, Any], given: Iterable[str], able: Callable[[], Capabilities]
    ) -> Mapping[str, Any]:
        """The options of a run, those that nobody gave chosen by what its model can do.

        Args:
            options: validated values of all options.
            given: the names of those that the user set.
            able: tells what the candidate can be asked for.
        """
        return options

    @abstractmethod
    def prepare(self, source: DataSource) -> DataSet:
        """Read the data set. Runs in a child process; may import heavy packages.

        Raises:
            DataError: naming file and row for anything malformed.
        """

    def data_files(self, path: Path) -> list[Path]:
        """Every file that :meth:`prepare` may read for ``--data path``.

        A change in one of them makes the prepared copy stale.
        """
        return sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]

    def own_title(self) -> str:
        """What a benchmark that its user wrote calls itself; empty for all others."""
        return ""

    def further_files(self) -> list[Path]:
        """Files that :meth:`prepare` reads because a file that an option names says so.

        A change in one of them makes the prepared copy stale.
        """
        return []

    @abstractmethod
    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """Ask and score one sample. See the module's text for the rules."""

    @abstractmethod
    def metrics(self, tally: Tally) -> list[Metric]:
        """The run's metrics; the first is the headline. ``tally`` is additive over samples."""

    def needs(self) -> frozenset[str]:
        """Call kinds that ``solve`` uses with these options: ``generate``, ``choose``."""
        return frozenset({"generate"})

    def needs_judge(self) -> bool:
        """Whether ``solve`` asks judges with these options."""
        return "judge" in self.roles

    def templates(self) -> Any:
        """Every fixed text that goes into a prompt, as a JSON value; its hash is recorded."""
        return None

    def prompt_set(self) -> str:
        """The name of the prompts in use, for the record: scores by different ones differ."""
        return prompt_set_name(self.opt.get("prompt"))

    def remarks(self, path: Path | None) -> list[str]:
        """What to tell before a run with these options and with ``--data path``."""
        return []

    def template_hash(self) -> str:
        """Hash over :meth:`templates` and the options."""
        # Own wording is what there was before it could be replaced.
        options = {n: v for n, v in self.opt.items() if n != "prompt" or v is not None}
        body = orjson.dumps([self.templates(), options, self.seed], option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(body).hexdigest()[:16]


class ScoringTimeout(Exception):
    """A sample could not be scored within the time, or the memory, that there is for one."""


def sample_ids(items: Iterator[Item]) -> Iterator[Sample]:
    """Give every item an id: 16 hex digits of its content hash, ``.``, occurrence number from 1.

    Equal content (inputs, gold and tags) occurs more than once in real data
    sets, so the occurrence number keeps ids unique while staying independent
    of position in the file.
    """
    seen: dict[bytes, int] = {}
    for item in items:
        body = orjson.dumps([item.inputs, item.gold, item.tags], option=orjson.OPT_SORT_KEYS)
        digest = hashlib.sha256(body).digest()[:8]
        seen[digest] = number = seen.get(digest, 0) + 1
        yield Sample(f"{digest.hex()}.{number}", item.inputs, item.gold, item.tags)


def answer_outcome(reply: Reply, parsed: Any) -> Outcome:
    """The outcome of a sample that rests on one reply.

    A refused or filtered reply stays what it is. A truncated reply that could
    still be read counts as ok; otherwise it is truncated. A whole reply that
    no parser could read is unparsed.
    """
    if reply.outcome in (Outcome.REFUSED, Outcome.FILTERED):
        return reply.outcome
    if parsed is not None:
        return Outcome.OK
    return Outcome.TRUNCATED if reply.outcome is Outcome.TRUNCATED else Outcome.UNPARSED
