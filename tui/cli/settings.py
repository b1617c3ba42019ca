"""From flags to specs: which options a command line may set, and the resulting specs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from evalbench.engine.benchmark import Benchmark
from evalbench.engine.calls.options import values_of
from evalbench.engine.config import registry
from evalbench.engine.config.spec import COMMON, RunSpec, load_suite, make_spec, parse_model
from evalbench.engine.errors import SpecError
from evalbench.tui.cli.parser import Parser, add_options, filter_options, given

DEFAULT_MODEL = "local/smollm2-135m-instruct"


def declare_settings(
    parser: Parser, benchmark: type[Benchmark] | None, models: Sequence[str]
) -> None:
    """Flags of every run, of one benchmark and of the providers of some models."""
    add_options(parser, COMMON, "settings of every run")
    if benchmark is not None:
        own = [*benchmark.options, *filter_options(benchmark.filters)]
        if own:
            add_options(parser, own, f"settings of {benchmark.name}")
    for name in dict.fromkeys(parse_model(model).provider for model in models):
        if options := registry.provider_class(name).options:
            add_options(parser, options, f"settings of provider {name}")


def new_specs(args: argparse.Namespace, benchmark: str, models: Sequence[str]) -> list[RunSpec]:
    """Build one spec per model.

    Raises:
        SpecError: a value is invalid.
    """
    bench = registry.benchmark_class(benchmark)
    return [
        make_spec(
            benchmark,
            model,
            options=given(args, bench.options),
            provider_options=given(
                args, registry.provider_class(parse_model(model).provider).options
            ),
            filters=given(args, filter_options(bench.filters)),
            **given(args, COMMON),
        )
        for model in models
    ]


def suite_specs(args: argparse.Namespace, suite: Path) -> list[RunSpec]:
    """The specs of a suite file, with common settings from flags applied to them.

    Raises:
        SpecError: the file or a flag is invalid.
    """
    if args.model:
        raise SpecError("model", "a suite names its own models", hint="leave --model out")
    return [changed(spec, args) for spec in load_suite(suite)]


def changed(spec: RunSpec, args: argparse.Namespace) -> RunSpec:
    """A spec with the settings given as flags applied to it.

    Raises:
        SpecError: a value is invalid.
    """
    bench = registry.benchmark_class(spec.benchmark)
    provider = registry.provider_class(spec.candidate.provider)
    common = given(args, COMMON)
    options = given(args, bench.options)
    provider_options = given(args, provider.options)
    filters = given(args, filter_options(bench.filters))
    if not (common or options or provider_options or filters):
        return spec
    # The stored data may be gone by now, which is fine: the samples are in the journal.
    kept = {**values_of(spec.settings), "data": None}
    new = make_spec(
        spec.benchmark,
        spec.model,
        options={**spec.options, **options},
        provider_options={**spec.provider_options, **provider_options},
        filters={**spec.filters, **filters},
        **{**kept, **common},
    )
    if "data" in common:
        return new
    return new.changed(data=spec.settings.data)
