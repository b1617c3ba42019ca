"""The target of ``run``, ``estimate`` and ``benchmarks``: a benchmark and models, or a suite."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path

from evalbench.engine.benchmark import hub_set
from evalbench.engine.calls import NetworkOptions
from evalbench.engine.calls.options import option_values
from evalbench.engine.config import registry
from evalbench.engine.config.roles import ANSWERS
from evalbench.engine.config.spec import (
    BUDGET,
    COMMON,
    RunSpec,
    build_benchmark,
    data_by_name,
    suite_budget,
)
from evalbench.engine.errors import DataError, EvalbenchError, UsageError
from evalbench.engine.paths import expand
from evalbench.engine.runs.grid import Grid, new_grid
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.bedrock_flags import (
    declare_bedrock_flags,
    declare_model_id,
    models_by_id,
)
from evalbench.tui.cli.parser import Parser, bare_words, flag_values, give, given, put
from evalbench.tui.cli.settings import (
    DEFAULT_MODEL,
    changed,
    declare_settings,
    new_specs,
    suite_specs,
)

CONFIGS = (".yaml", ".yml")
"""How the names of other systems' configuration files end."""

# What reads files is imported where one is named: it loads every parser of replies.


def declare_target(parser: Parser) -> None:
    """The benchmarks or the suite, and ``--model``."""
    parser.short_usage("BENCHMARK... | FILE.toml [--model PROVIDER/NAME]... [settings]")
    parser.add_argument(
        "target",
        metavar="BENCHMARK|FILE.toml",
        help="benchmark, suite or benchmark file: "
        + ", ".join(registry.benchmark_names())
        + ", a benchmark file, a suite, or an MT-bench or SpecEval .yaml",
    )
    # Also the second of two configuration files that belong together.
    parser.add_argument(
        "more", nargs="*", metavar="BENCHMARK", help="further benchmarks; each model is asked each"
    )
    declare_model(parser)


def declare_model(parser: Parser) -> None:
    """``--model``."""
    parser.add_argument(
        "--model",
        action="append",
        metavar="PROVIDER/NAME",
        help=f"model to run; repeatable (default: {DEFAULT_MODEL})",
    )
    declare_model_id(parser)


def declare_target_settings(parser: Parser, words: Sequence[str]) -> None:
    """Flags of every run and, for a benchmark among ``words``, its own and its providers'."""
    declare_settings(parser, None, ())
    bare = bare_words(parser, words)
    target = _target(bare)
    if target and target.endswith(".toml"):
        from evalbench.engine.benchmarks.custom.file import read_tables

        # Whatever the flags are, the error is in the file.
        tables, _ = read_tables(expand(target))
        if "run" not in tables and not _is_own(target):
            raise DataError(
                "this describes neither a benchmark nor a suite",
                path=target,
                hint="a benchmark has [benchmark], [prompt] and [answer], a suite has [[run]]",
            )
    if target and names_file(target):
        parser.hint_for = partial(_hint_for, target)
    if target and target.endswith(CONFIGS):
        _declare_settings_of_config(parser, expand(target))
    elif target and not names_file(target):
        models = flag_values(words, "--model") + models_by_id(words) or [DEFAULT_MODEL]
        named = (w for w in bare if registry.is_benchmark(w) or _is_own(w))
        for word in dict.fromkeys([target, *named]):
            declare_settings(parser, registry.benchmark_class(benchmark_name(word)), models)
        declare_bedrock_flags(parser, models)


def _hint_for(file: str, flag: str) -> str:
    """Where a setting of a provider goes if a file names the models."""
    name = flag.removeprefix("--").replace("-", "_")
    if name not in {one.name for one in fields(NetworkOptions)}:
        return ""
    return f"{one_line(file)} names the models, and so their settings: {name} = … there"


def _declare_settings_of_config(parser: Parser, path: Path) -> None:
    """The flags that apply to a configuration file's runs, as far as it can be read."""
    from evalbench.engine.formats.yaml_configs import read_config

    try:
        specs = read_config(path).specs
    except EvalbenchError:
        return  # reported when it is run
    for spec in specs:
        declare_settings(parser, registry.benchmark_class(spec.benchmark), [spec.model])


def _target(words: Sequence[str]) -> str | None:
    return next(
        (word for word in words if registry.is_benchmark(word) or names_file(word)),
        words[0] if words else None,
    )


def is_suite(word: str) -> bool:
    """Whether a word names a suite file."""
    return word.endswith(".toml") and not _is_own(word)


def names_file(word: str) -> bool:
    """Whether a word names a file that says which models to call, and where."""
    return is_suite(word) or word.endswith(CONFIGS)


def _is_own(word: str) -> bool:
    """Whether a word names a file that describes a custom benchmark."""
    if not word.endswith(".toml"):
        return False
    from evalbench.engine.benchmarks.custom.file import is_custom

    return is_custom(expand(word))


def benchmark_name(target: str) -> str:
    """The benchmark that a word names, directly or by a custom benchmark's file."""
    return "custom" if _is_own(target) else target


def wanted_specs(args: argparse.Namespace) -> tuple[list[RunSpec], tuple[str, ...]]:
    """The resulting specs, and remarks to print first.

    Raises:
        SpecError: a value is invalid.
        UsageError: a model would be asked the same twice.
    """
    specs, remarks = _named_specs(args)
    if twice := next((spec for spec in specs if specs.count(spec) > 1), None):
        raise UsageError(
            f"{twice.label} × {twice.model} is named twice",
            hint="name it once; to ask each sample several times: --epochs N",
        )
    return specs, remarks


def _named_specs(args: argparse.Namespace) -> tuple[list[RunSpec], tuple[str, ...]]:
    more: Sequence[str] = getattr(args, "more", None) or ()
    if more and not any(names_file(word) for word in (args.target, *more)):
        return _grid_specs(args, [args.target, *more])
    if more and not all(word.endswith(CONFIGS) for word in (args.target, *more)):
        raise UsageError(
            f"{more[0]!r} is one word too many",
            why="a suite and a configuration file name the benchmarks themselves",
            hint="evalbench run --help",
        )
    if is_suite(args.target):
        return suite_specs(args, Path(args.target)), ()
    if args.target.endswith(CONFIGS):
        from evalbench.engine.formats.yaml_configs import read_config

        found = read_config(
            expand(args.target),
            given(args, COMMON),
            models=args.model or (),
            more=[expand(word) for word in more],
        )
        specs = [changed(spec, args) for spec in found.specs]
        return specs, (*found.notes, *_remarks(specs))
    name = benchmark_name(args.target)
    if _is_own(args.target):
        give(args, "file", args.target)
    specs, notes = _benchmark_specs(args, name)
    return specs, (*notes, *_chosen(args, specs), *_remarks(specs))


def _grid_specs(
    args: argparse.Namespace, words: Sequence[str]
) -> tuple[list[RunSpec], tuple[str, ...]]:
    """Each benchmark with each model.

    Raises:
        SpecError: a value is invalid, or data is missing for one of them.
    """
    if twice := next((word for word in words if words.count(word) > 1), None):
        raise UsageError(f"{twice!r} is named twice", hint="name each benchmark once")
    data = given(args, COMMON).get("data")
    read = data_by_name(data, [Path(word).stem for word in words]) if data else {}
    found: list[RunSpec] = []
    notes: dict[str, None] = {}
    for word in words:
        name = benchmark_name(word)
        registry.benchmark_class(name)
        if _is_own(word):
            put(args, "file", word)
        if read:
            put(args, "data", read[Path(word).stem])
        specs, remarks = _benchmark_specs(args, name)
        notes |= dict.fromkeys([*remarks, *_chosen(args, specs), *_remarks(specs)])
        found += specs
    return found, tuple(notes)


def together(
    args: argparse.Namespace, specs: Sequence[RunSpec]
) -> tuple[list[RunSpec], Grid | None]:
    """The specs of a command, and their grid; None: each is independent.

    ``--budget`` limits the whole command, and so does ``budget`` in a suite: it is removed from the
    specs of several runs, to apply to all of them together.

    Raises:
        SpecError: the suite's budget is not an amount.
    """
    budget = given(args, [BUDGET]).get("budget")
    if budget is not None:
        budget = BUDGET.parse(budget)
    elif is_suite(args.target):
        budget = suite_budget(Path(args.target))
    if len(specs) < 2 or (budget is None and not getattr(args, "more", None)):
        return list(specs), None
    if "budget" in given(args, [BUDGET]):
        specs = [spec.changed(budget=None) for spec in specs]
    return list(specs), new_grid(budget)


def _benchmark_specs(args: argparse.Namespace, name: str) -> tuple[list[RunSpec], tuple[str, ...]]:
    if args.model:
        return new_specs(args, name, args.model), ()
    bench = registry.benchmark_class(name)
    if model := bench.default_model(option_values(bench.opt, given(args, bench.options))):
        return new_specs(args, name, [model]), ()
    notes = (f"no --model given: asking {DEFAULT_MODEL}, which runs on this machine",)
    return new_specs(args, name, [DEFAULT_MODEL]), notes


def _way(value: object) -> str:
    if isinstance(value, bool):
        return "with it" if value else "without it"
    return f"with {value}"


def _chosen(args: argparse.Namespace, specs: Sequence[RunSpec]) -> list[str]:
    """Notes on options not given that a benchmark chose by the model's capabilities."""
    remarks = []
    for spec in specs:
        options = registry.benchmark_class(spec.benchmark).options
        explicit = given(args, options)
        remarks += [
            f"{one.flag} was not given: {spec.model} is asked {_way(spec.options[one.name])}"
            for one in options
            if one.name not in explicit and spec.options[one.name] != one.default
        ]
    return remarks


def _remarks(specs: Sequence[RunSpec]) -> tuple[str, ...]:
    """The benchmarks' notes on these runs, each once."""
    remarks = (
        remark
        for spec in specs
        for remark in build_benchmark(spec).remarks(
            Path(spec.settings.data)
            if spec.settings.data and not hub_set(spec.settings.data)
            else None
        )
    )
    return tuple(dict.fromkeys([*remarks, *(note for spec in specs for note in _unbatched(spec))]))


def _unbatched(spec: RunSpec) -> list[str]:
    """Which models of a batch run are called in real time, as their providers have no batches."""
    if spec.settings.candidate.mode != "batch":
        return []
    return [
        f"{part.ref.provider} takes no batches: {part.model} is called in real time"
        for part in spec.roles().values()
        if not part.batched and part.ref.provider != ANSWERS and part.batch_terms() is None
    ]
