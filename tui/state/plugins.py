"""Installed benchmarks and providers, with their settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from evalbench.engine.benchmark import Benchmark
from evalbench.engine.benchmarks.lm_eval.index import LM_EVAL, Index, known_tasks, needs_of
from evalbench.engine.calls import Capabilities, WorkerProvider
from evalbench.engine.calls.options import Option, option_values, parse_options, values_of
from evalbench.engine.config import registry
from evalbench.engine.errors import EvalbenchError

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class KnownBenchmark:
    """A benchmark, as shown in a picker."""

    name: str
    title: str
    summary: str
    options: tuple[Option, ...]
    filters: Mapping[str, str]
    takes_data: bool
    data_source: str
    make: type[Benchmark]

    def needs(self, given: Mapping[str, Any]) -> frozenset[str]:
        """Kinds of calls it makes with these settings; none for invalid settings.

        For settings chosen by what the model supports, the least demanding.
        """
        try:
            options = option_values(self.make.opt, parse_options(self.options, given, self.name))
            adapted = self.make.adapted(options, given, Capabilities)
            return self.make(values_of(adapted)).needs()
        except EvalbenchError:
            return frozenset()

    def needs_judge(self, given: Mapping[str, Any]) -> bool:
        """Whether it uses judges with these settings; False for invalid settings."""
        try:
            return self.make(parse_options(self.options, given, self.name)).needs_judge()
        except EvalbenchError:
            return False

    def stand_in(self, given: Mapping[str, Any]) -> str:
        """What replaces the model if these settings give answers; empty: a model is called."""
        try:
            options = parse_options(self.options, given, self.name)
            return self.make.default_model(option_values(self.make.opt, options))
        except EvalbenchError:
            return ""


@dataclass(frozen=True, slots=True)
class KnownTask(KnownBenchmark):
    """A task of lm-evaluation-harness."""

    def needs(self, given: Mapping[str, Any]) -> frozenset[str]:
        """From the index alone; none for task files of the user's own, or without an index."""
        task, tasks = self.name.partition("/")[2], known_tasks() or {}
        if task not in tasks or given.get("include_path"):
            return frozenset()
        return needs_of(tasks, task)


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """A provider, as shown in a picker.

    Attributes:
        takes_key: whether it accepts a key.
        local: whether its models run in a worker on this machine.
        address: its API's address; empty if the user has to give one, or it is irrelevant.
        needs_address: whether an address is required.
    """

    name: str
    title: str
    options: tuple[Option, ...]
    takes_key: bool
    local: bool
    address: str = ""
    needs_address: bool = False

    @property
    def mode(self) -> str:
        """How its models are called by default."""
        return "local" if self.local else "realtime"

    @property
    def about(self) -> str:
        """What it is, and where its models are called, in words."""
        if self.needs_address:
            return "Your own server, or any other with OpenAI's chat completions API"
        where = "runs models on this machine" if self.local else "called over the network"
        return f"{self.title[:1].upper()}{self.title[1:]}, {where}"


@dataclass(frozen=True, slots=True)
class Known:
    """Everything installed.

    Attributes:
        broken: plug-ins that could not be loaded, in words.
        tasks: those of lm-evaluation-harness, if its index has been made.
    """

    benchmarks: Mapping[str, KnownBenchmark] = field(default_factory=dict)
    providers: Mapping[str, KnownProvider] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    tasks: Index = field(default_factory=dict)

    def benchmark(self, name: str) -> KnownBenchmark | None:
        """A benchmark, or a task of lm-evaluation-harness; None if there is none."""
        if name.startswith(f"{LM_EVAL}/") and LM_EVAL in self.benchmarks:
            return _benchmark(name, KnownTask)
        return self.benchmarks.get(name)


def load_known() -> Known:
    """Load what is installed. Imports plug-ins: do not call it on the UI thread."""
    broken: list[str] = []
    return Known(
        _loaded(registry.benchmark_names(), _benchmark, broken),
        _loaded(registry.provider_names(), _provider, broken),
        tuple(broken),
        known_tasks() or {},
    )


def _loaded(
    names: Sequence[str], load: Callable[[str], Made], broken: list[str]
) -> dict[str, Made]:
    found = {}
    for name in names:
        try:
            found[name] = load(name)
        except EvalbenchError as error:
            broken.append(error.summary)
    return found


def _benchmark(name: str, kind: type[KnownBenchmark] = KnownBenchmark) -> KnownBenchmark:
    cls = registry.benchmark_class(name)
    return kind(
        name,
        cls.title,
        cls.summary,
        cls.options,
        dict(cls.filters),
        takes_data=cls.takes_data,
        data_source=cls.data_source,
        make=cls,
    )


def _provider(name: str) -> KnownProvider:
    cls = registry.provider_class(name)
    need = cls.key
    address = cls.own_address
    return KnownProvider(
        name,
        cls.title,
        cls.options,
        takes_key=need is not None,
        local=issubclass(cls, WorkerProvider),
        address=address or "",
        needs_address=address == "",
    )
