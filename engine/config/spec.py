"""The spec of a run: the RunSpec, its validation, and suite files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import Benchmark, hub_set
from evalbench.engine.calls import BaseProvider, Capabilities, ModelRef, WorkerProvider
from evalbench.engine.calls.options import (
    Option,
    option_values,
    options_of,
    parse_options,
    record_of,
    seconds_of,
    setting,
    split_name,
    values_of,
)
from evalbench.engine.config import registry
from evalbench.engine.config.env_file import variables_of
from evalbench.engine.config.roles import (
    ANSWERS,
    CANDIDATE,
    JUDGE,
    PARAMS,
    ROLE_OPTIONS,
    RoleSettings,
    RoleSpec,
    make_provider,
    parse_judge,
    standing,
    with_address,
)
from evalbench.engine.config.roles import parse_model as parse_model
from evalbench.engine.config.traces import TraceSettings, completed
from evalbench.engine.errors import EvalbenchError, SpecError, nearest
from evalbench.engine.field_checks import Misfit
from evalbench.engine.files import files_below, read_toml
from evalbench.engine.paths import expand
from evalbench.engine.record_schemas import SPEC


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """Settings of every run, whatever the benchmark and provider.

    ``candidate`` has the settings of the model under test, ``traces`` those of its traces; on the
    command line, in files and in a stored run their names appear among the others.
    """

    data: str | None = setting(
        None,
        "file or folder to read the data set from, or from the Hugging Face hub:"
        " hf:OWNER/NAME@REVISION?config=NAME&split=NAME",
        metavar="PATH",
        affects_data=True,
    )
    limit: int | None = setting(
        None, "number of samples to use, spread evenly over groups", minimum=1
    )
    shuffle: bool = setting(
        False, "with --limit, draw samples at random (see --seed) instead of taking the first"
    )
    seed: int = setting(
        0, "random seed for subsets and permutations and, unless 0, for the model's sampling"
    )
    epochs: int = setting(1, "number of times to ask each sample", minimum=1, maximum=1000)
    candidate: RoleSettings = field(default_factory=RoleSettings)
    budget: Decimal | None = setting(  # noqa: RUF009 - a field
        None, "maximum spend in US dollars", minimum=0, metavar="USD"
    )
    price: tuple[str, ...] = setting(
        (),
        "price in US dollars per million tokens, IN/OUT or PROVIDER/MODEL=IN/OUT; overrides "
        "the known price",
    )
    judge: tuple[str, ...] = setting(
        (),
        "judge model, with settings of its own: PROVIDER/NAME[,temperature=0,qps=10,…]",
    )
    batch_poll: float = setting(
        10.0, "seconds between the first polls of a batch", minimum=0.01, metavar="SECONDS"
    )
    batch_fallback: str | None = setting(
        None,
        "send calls in real time if a batch has not answered them after this long, e.g. 6h or 30m",
        metavar="DURATION",
    )
    wait_for_server: str | None = setting(
        None,
        "how long to keep trying a server that cannot be reached, e.g. 10m (default: a few"
        " seconds)",
        metavar="DURATION",
    )
    traces: TraceSettings = field(default_factory=TraceSettings)
    reuse: bool = setting(False, "reuse replies of earlier runs to identical calls; each is marked")
    reuse_across_modes: bool = setting(
        False, "with --reuse, also reuse batch replies for real-time calls and vice versa"
    )
    address: str = setting(
        "auto",
        "with --mode cluster: address of the Ray head node, or auto for this machine's cluster",
        metavar="HOST:PORT",
    )
    env_file: str | None = setting(
        None,
        "look in this .env file first for keys and other variables",
        metavar="FILE",
    )
    desc: str = setting("", "description of the run", metavar="TEXT")
    tag: tuple[str, ...] = setting((), "tag to find the run by")


COMMON = options_of(RunSettings)
"""The settings of every run as options."""
(BUDGET,) = (option for option in COMMON if option.name == "budget")


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One benchmark, one candidate model and the settings, as requested by the user.

    Attributes:
        benchmark: its registered name.
        model: the candidate, ``provider/name[@revision]``.
        settings: the settings common to all runs.
        options: the benchmark's own options by name.
        provider_options: the provider's own options by name.
        filters: allowed values by tag; empty means all.
    """

    benchmark: str
    model: str
    settings: RunSettings = field(default_factory=RunSettings)
    options: Mapping[str, Any] = field(default_factory=dict)
    provider_options: Mapping[str, Any] = field(default_factory=dict)
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def candidate(self) -> ModelRef:
        """The candidate as a reference."""
        return ModelRef.parse(self.model)

    def roles(self) -> dict[str, RoleSpec]:
        """Every model of the run by its role; the candidate comes first."""
        own, seed = self.settings.candidate, self.settings.seed
        candidate = RoleSpec(CANDIDATE, self.model, own, self.provider_options, seed)
        judges = [_in_mode_of(own, parse_judge(text)) for text in self.settings.judge]
        if any(judge.batched for judge in judges):
            candidate = _batched_where_it_can(candidate)
        return {part.role: part for part in (candidate, *judges)}

    def get(self, name: str) -> Any:
        """The value of a common setting, by option name."""
        return values_of(self.settings)[name]

    def changed(self, **settings: Any) -> RunSpec:
        """A copy with other settings, by option name; their values are not checked."""
        return replace(self, settings=record_of(RunSettings, values_of(self.settings) | settings))

    def to_json(self) -> dict[str, Any]:
        """A JSON form that :meth:`from_json` reads back."""
        return {
            "benchmark": self.benchmark,
            "model": self.model,
            "common": _plain(values_of(self.settings)),
            "options": _plain(self.options),
            "provider_options": _plain(self.provider_options),
            "filters": _plain(self.filters),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RunSpec:
        """Read a stored spec, which may have been edited.

        Raises:
            Misfit: a field, a common setting or a model has the wrong type.
        """
        SPEC(value)
        # A run of an older evalbench lacks later settings.
        settings = record_of(RunSettings, _exact(_tuples(value["common"])))
        given = values_of(settings)
        for option in COMMON:
            if why := option.unfit(stored := given[option.name]):
                raise Misfit(why, stored).inside(option.name).inside("common")
        judges = (text.partition(",")[0].strip() for text in settings.judge)
        for model in (value["model"], *judges):
            try:
                ModelRef.parse(model)
            except ValueError:
                wanted = "a model, written provider/name"
                raise Misfit(wanted, model).inside("model") from None
        return cls(
            value["benchmark"],
            value["model"],
            settings,
            _tuples(value["options"]),
            _tuples(value["provider_options"]),
            _tuples(value["filters"]),
        )

    @property
    def label(self) -> str:
        """The display name of what is run; custom files and imported tasks have their own."""
        if self.benchmark == "custom" and (file := self.options.get("file")):
            # A file may be called like another benchmark, and its results are not that one's.
            path = Path(file)
            return path.name if registry.is_benchmark(path.stem) else path.stem
        return str(self.options.get("task") or "") or self.benchmark

    @property
    def source(self) -> str:
        """The user's own file or folder that says what is run; empty if it comes with evalbench.

        Two of them may have the same label.
        """
        return str(self.options.get("file") or self.options.get("include_path") or "")

    def option_files(self) -> list[Path]:
        """The files that the benchmark's options refer to, directly or in folders."""
        declared = registry.benchmark_class(self.benchmark).options
        files: list[Path] = []
        for option in (one for one in declared if one.path not in ("", "text", "new")):
            value = self.options.get(option.name)
            given = (value or ()) if option.many else [value]
            named = [one for one in given if one is not None and one not in option.choices]
            paths = [Path(split_name(one)[1]) for one in named]
            files += [path for path in paths if not path.is_dir()]
            files += [file for path in paths if path.is_dir() for file in files_below(path)]
        return files

    def identity(self) -> dict[str, Any]:
        """Everything that affects answers and scores; resume refuses if this has changed."""
        judges = {
            part.model: _deciding(values_of(part.settings))
            | {"provider options": deciding_options(part.model, part.provider_options)}
            for part in self.roles().values()
            if part.role != CANDIDATE
        }
        return {
            "benchmark": self.benchmark,
            "model": self.model,
            "limit": self.settings.limit,
            "shuffle": self.settings.shuffle,
            "seed": self.settings.seed,
            "epochs": self.settings.epochs,
            **_deciding(values_of(self.settings.candidate)),
            "judges": judges,
            "options": _plain(self.options),
            "provider options": deciding_options(self.model, self.provider_options),
            "filters": _plain(self.filters),
        }


def _deciding(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a model's settings that affects its answers."""
    return {name: _plain(settings[name]) for name in ("thinking_room", *PARAMS)}


def _in_mode_of(candidate: RoleSettings, judge: RoleSpec) -> RoleSpec:
    """A judge in its run's mode, unless it sets its own or its provider does not support it."""
    settings, mode = judge.settings, candidate.mode
    if settings.batch_size is None:
        settings = replace(settings, batch_size=candidate.batch_size)
    if settings.mode in (None, "auto"):
        fits = mode != "batch" or judge.batch_terms() is not None
        if mode == "cluster":
            fits = isinstance(judge.provider(), WorkerProvider)
        settings = replace(settings, mode=mode if fits else "realtime")
    return replace(judge, settings=settings)


def _batched_where_it_can(candidate: RoleSpec) -> RoleSpec:
    """The candidate of a run whose judges are asked in batches.

    It runs in realtime if its provider has no batches, as for existing answers and models on
    this machine.
    """
    if not candidate.batched or candidate.batch_terms() is not None:
        return candidate
    return replace(candidate, settings=replace(candidate.settings, mode="realtime"))


def deciding_options(model: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A provider's options that affect its model's answers, where they differ from the default."""
    declared = registry.provider_class(ModelRef.parse(model).provider).options
    return {
        option.name: _plain(given[option.name])
        for option in declared
        if option.affects_answers and given.get(option.name, option.default) != option.default
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Decimal):
        return float(value)
    return list(value) if isinstance(value, tuple) else value


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}


def _exact(values: Mapping[str, Any]) -> dict[str, Any]:
    """Stored settings with amounts of money as the decimals that were given."""
    budget = values.get("budget")
    exact = type(budget) in (int, float)
    return {**values, "budget": Decimal(str(budget))} if exact else dict(values)


def make_spec(
    benchmark: str,
    model: str,
    *,
    options: Mapping[str, Any] | None = None,
    provider_options: Mapping[str, Any] | None = None,
    filters: Mapping[str, Any] | None = None,
    **common: Any,
) -> RunSpec:
    """Build a validated spec from raw values.

    Args:
        benchmark: name of an installed benchmark.
        model: ``provider/name`` or ``provider/name@revision``.
        options: values for the benchmark's options.
        provider_options: values for the provider's options.
        filters: one or more values by tag.
        **common: values for :data:`COMMON`.

    Raises:
        SpecError: names the field, the problem and the fix.
    """
    bench = registry.benchmark_class(benchmark)
    ref = parse_model(model)
    provider = registry.provider_class(ref.provider)
    elsewhere = (provider_options or {}).get("base_url")
    common = {**standing(provider, ROLE_OPTIONS, elsewhere), **common}
    chosen = record_of(RunSettings, parse_options(COMMON, common, "run"))
    chosen = replace(chosen, traces=completed(chosen.traces, chosen.env_file))
    if chosen.data is not None:
        if not bench.takes_data:
            raise SpecError(
                "data",
                f"{benchmark} has its own questions; --data does not apply",
                hint="omit --data",
            )
        chosen = replace(chosen, data=existing_data(chosen.data))
    _check_judges(bench, chosen.judge)
    environ = variables_of(chosen.env_file)
    judges = tuple(_completed_judge(judge, environ) for judge in chosen.judge)
    chosen = replace(chosen, judge=judges)
    seconds_of("batch_fallback", chosen.batch_fallback)
    seconds_of("wait_for_server", chosen.wait_for_server)
    if chosen.candidate.mode == "cluster":
        check_cluster_address(chosen.address)
    owner = f"provider {ref.provider}"
    with_own = {**standing(provider, provider.options), **(provider_options or {})}
    theirs = with_address(ref.provider, parse_options(provider.options, with_own, owner, environ))
    own = parse_options(bench.options, options or {}, f"benchmark {benchmark}")
    able = partial(_abilities, provider, theirs, ref.name)
    given = {name for name, value in (options or {}).items() if value is not None}
    own = values_of(bench.adapted(option_values(bench.opt, own), given, able))
    return RunSpec(benchmark, model, chosen, own, theirs, _filters(bench, filters or {}))


def _abilities(
    provider: type[BaseProvider], options: Mapping[str, Any], model: str
) -> Capabilities:
    """What a model supports; everything, if its provider cannot be created, which is reported
    when the spec is checked."""
    try:
        return make_provider(provider, options).capabilities(model)
    except EvalbenchError:
        return Capabilities(choose=True, images=True, video=True)


def _completed_judge(judge: str, environ: Mapping[str, str]) -> str:
    """A judge with the address and settings from environment variables, where it sets none.

    They are stored with the run, so that a resume anywhere asks it the same way.
    """
    given = {part.partition("=")[0].strip().replace("-", "_") for part in judge.split(",")[1:]}
    for option in registry.provider_class(parse_judge(judge).ref.provider).options:
        set_values = (environ.get(variable, "").strip() for variable in option.variables)
        value = next(filter(None, set_values), "")
        if value and option.name not in given and "," not in value:
            judge += f",{option.name}={value}"
    part = parse_judge(judge)
    address = with_address(part.ref.provider, part.provider_options).get("base_url")
    known = part.provider_options.get("base_url")
    return f"{judge},base_url={address}" if address and not known else judge


def _check_judges(bench: type[Benchmark], judges: tuple[str, ...]) -> None:
    if judges and JUDGE not in bench.roles:
        raise SpecError(JUDGE, f"{bench.name} asks no judge", hint="omit --judge")
    models = [parse_judge(text).model for text in judges]
    if twice := next((model for model in models if models.count(model) > 1), None):
        raise SpecError(JUDGE, f"the judge {twice} is named twice")


def existing_data(data: str) -> str:
    """The absolute path that ``--data`` refers to.

    Raises:
        SpecError: it does not exist.
    """
    if hub_set(data):
        return data  # read when the data is prepared
    why = ""
    try:
        path = Path(data).expanduser()
        if path.exists():
            return str(path.absolute())
    except OSError as error:
        why = error.strerror or ""
    except RuntimeError as error:
        # The home folder of a user that does not exist.
        why = str(error)
    raise SpecError(
        "data",
        f"there is no file or folder {data}",
        why=why,
        hint="check the path given to --data",
    )


def data_by_name(data: str, names: Sequence[str]) -> dict[str, str]:
    """What each of several benchmarks reads: the entry of the folder that is named after it.

    A folder with no such entry, a file and a data set on the hub are read by all of them.

    Args:
        data: what ``--data`` refers to.
        names: the benchmarks, without ``.toml``.

    Raises:
        SpecError: only some of them have an entry.
    """
    there: dict[str, str] = {}
    if not hub_set(data) and (place := expand(data)).is_dir():
        for name in names:
            found = [place / name] if (place / name).exists() else sorted(place.glob(f"{name}.*"))
            if found:
                there[name] = str(found[0])
    if there and (missing := next((name for name in names if name not in there), None)):
        raise SpecError(
            "data",
            f"{data} has nothing called {missing}",
            why=f"it has {Path(next(iter(there.values()))).name}, so each benchmark reads what is"
            " named after it",
            hint=f"put {missing}.jsonl or a folder {missing} there, or leave the data out",
        )
    return there or dict.fromkeys(names, data)


def _filters(bench: type[Benchmark], given: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    result: dict[str, tuple[str, ...]] = {}
    for tag, values in given.items():
        if tag not in bench.filters:
            raise SpecError(
                tag,
                f"{bench.name} cannot be filtered by {tag!r}",
                hint=nearest(tag, bench.filters),
            )
        items = Option(tag, str, (), bench.filters[tag], many=True).parse(values)
        known = bench.filter_values.get(tag, ())
        for item in items:
            if known and item not in known:
                raise SpecError(
                    tag,
                    f"{bench.name} has no {tag} {item!r}",
                    hint=nearest(item, known),
                )
        if items:
            result[tag] = items
    return result


def build_benchmark(spec: RunSpec, shared: Any = None) -> Benchmark:
    """The benchmark of a spec, ready to prepare or solve.

    Raises:
        SpecError: it is not installed, or a stored option is invalid for it.
    """
    cls = registry.benchmark_class(spec.benchmark)
    for option in cls.options:
        if why := option.unfit(spec.options.get(option.name, option.default), choices=True):
            raise SpecError(option.name, f"{option.flag} of the run should be {why}")
    defaults = {option.name: option.default for option in cls.options}
    benchmark = cls({**defaults, **spec.options}, seed=spec.settings.seed, shared=shared)
    benchmark.judges = tuple(role for role in spec.roles() if role != CANDIDATE)
    return benchmark


def check_spec(spec: RunSpec) -> None:
    """Checks that need the providers: do they know their models, and can these answer the calls?

    Raises:
        SpecError: a model does not support what the benchmark asks.
        NoSuchModel: a provider has no such model.
    """
    benchmark = build_benchmark(spec)
    if benchmark.needs_judge() and not benchmark.judges:
        raise SpecError(
            JUDGE,
            f"{spec.label} needs a judge",
            why="a model grades the answers",
            hint="name one with --judge PROVIDER/NAME; repeat it for several",
        )
    needs = benchmark.needs()
    parts = spec.roles()
    if parts[CANDIDATE].batched and parts[CANDIDATE].ref.provider == ANSWERS:
        # If any judge had batches, the candidate would not be in batch mode.
        raise SpecError(
            "mode",
            "no model of this run can be asked in batches",
            why=", ".join(part.model for part in parts.values() if part.role != CANDIDATE)
            + ": no batch API that evalbench knows",
            hint="leave --mode batch out",
        )
    for part in parts.values():
        if part.role == CANDIDATE:
            part.check(needs, spec.benchmark, partial(_other_settings, spec))
        else:
            part.check({"generate"}, spec.benchmark)


def _other_settings(spec: RunSpec, able: Capabilities) -> str:
    """The benchmark setting that restricts it to calls such a model can answer; or what else."""
    cls = registry.benchmark_class(spec.benchmark)
    given = {option.name: option.default for option in cls.options} | dict(spec.options)
    for option in cls.options:
        for choice in option.choices:
            with suppress(EvalbenchError):
                needs = cls({**given, option.name: choice}).needs()
                if all(getattr(able, need) for need in needs):
                    return f"{option.flag} {choice}, which asks what it can answer"
    return cls.answerable(able)


def load_suite(path: Path) -> list[RunSpec]:
    """Read a suite: ``[defaults]`` and any number of ``[[run]]`` tables.

    Each table takes ``benchmark`` and ``model`` (each one value or a list; every model runs every
    benchmark), the common settings, ``options``, ``provider_options`` and ``filters``. ``data`` of
    several benchmarks is read as by :func:`data_by_name`.

    Raises:
        SpecError: names the number of the invalid table.
    """
    try:
        body = read_toml(path)
    except OSError as error:
        raise SpecError("suite", f"cannot read {path}", why=error.strerror or "") from None
    except ValueError as error:
        raise SpecError("suite", f"{path} is not a TOML file", why=str(error)) from None
    tables, defaults = body.get("run"), body.get("defaults", {})
    if unknown := set(body) - {"run", "defaults", "budget"}:
        raise SpecError("suite", f"{path} has an unknown table {sorted(unknown)[0]!r}")
    if not isinstance(defaults, dict):
        raise SpecError("suite", f"{path}: defaults is not a table", hint="write [defaults]")
    if not isinstance(tables, list) or not tables:
        raise SpecError("suite", f"{path} names no run", hint="add at least one [[run]] table")
    specs: list[RunSpec] = []
    for number, table in enumerate(tables, 1):
        try:
            specs += _specs_of(defaults, table, path.parent)
        except SpecError as error:
            raise SpecError(
                error.field, f"{path}, run {number}: {error.what}", why=error.why, hint=error.hint
            ) from None
    return specs


def _specs_of(defaults: Mapping[str, Any], table: Any, folder: Path) -> list[RunSpec]:
    """The specs of one ``[[run]]`` table, one per benchmark and model."""
    if not isinstance(table, dict):
        raise SpecError("run", f"{table!r} is not a table", hint="write each run as [[run]]")
    merged = {**defaults, **table}
    for name in ("options", "provider_options", "filters"):
        given = (defaults.get(name, {}), table.get(name, {}))
        if not all(isinstance(part, dict) for part in given):
            raise SpecError(name, f"{name} is not a table", hint=f"write {name} = {{name = value}}")
        merged[name] = {**given[0], **given[1]}
    benchmarks = Option("benchmark", str, (), "", many=True).parse(merged.pop("benchmark", None))
    models = Option("model", str, (), "", many=True).parse(merged.pop("model", None))
    if not benchmarks or not models:
        raise SpecError("suite", "benchmark and model are needed")
    specs = []
    data = merged.get("data")
    read = {}
    if isinstance(data, str) and len(benchmarks) > 1:
        read = data_by_name(data, [Path(one).stem for one in benchmarks])
    for benchmark in benchmarks:
        settings = {**merged, "data": read[Path(benchmark).stem]} if read else merged
        if benchmark.endswith(".toml"):
            file = folder / expand(benchmark)
            _check_own_benchmark(file)
            settings = {**settings, "options": {**merged["options"], "file": str(file)}}
            benchmark = "custom"
        specs += [make_spec(benchmark, model, **settings) for model in models]
    return specs


def _check_own_benchmark(file: Path) -> None:
    """Reject a file that a suite names as a benchmark and that is missing, or a suite.

    Raises:
        SpecError: says which it is.
    """
    if not file.is_file():
        raise SpecError("benchmark", f"there is no file {file}")
    try:
        body = read_toml(file)
    except (OSError, ValueError):
        return  # reported when it is read as a benchmark
    if isinstance(body.get("run"), list):
        raise SpecError(
            "benchmark", f"{file} is a suite, not a benchmark", hint="copy its [[run]]s"
        )


def suite_budget(path: Path) -> Decimal | None:
    """The shared budget of all runs in a suite: ``budget`` above its tables.

    Raises:
        SpecError: it is not an amount of money.
    """
    try:
        given = read_toml(path).get("budget")
    except (OSError, ValueError):
        return None  # reported when it is loaded as a suite
    amount: Decimal | None = BUDGET.parse(given)
    return amount


def check_cluster_address(address: str) -> None:
    """Reject anything but the address of a cluster that this process can join.

    Raises:
        SpecError: with the alternative.
    """
    target = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address
    if target.startswith("ray://"):
        raise SpecError(
            "address",
            f"{target} is an address of Ray Client",
            why="every call would go through its proxy, and a lost connection ends all workers",
            hint="start evalbench on a node of the cluster with --address auto, for example"
            " by ssh, sbatch or ray job submit; evalbench attach follows it from elsewhere",
        )
    host, colon, port = address.rpartition(":")
    if address != "auto" and not (host and colon and port.isdecimal()):
        raise SpecError(
            "address",
            f"--address cannot be {address!r}",
            why="it is auto, or HOST:PORT of the cluster's head",
            hint="--address auto, on a node of the cluster",
        )
