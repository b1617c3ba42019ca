"""``evalbench data``: prepare, verify and describe the data of a benchmark."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.benchmark import Benchmark
from evalbench.engine.calls.options import Option
from evalbench.engine.config import registry
from evalbench.engine.config.spec import COMMON, RunSpec, make_spec
from evalbench.engine.data.dataset import prepared_path, read_header, verify_prepared
from evalbench.engine.errors import DataError
from evalbench.engine.paths import cache_dir
from evalbench.engine.preflight import prepare_data
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.output import Out, stdout
from evalbench.tui.cli.parser import Parser, add_options, bare_words, given
from evalbench.tui.cli.plain import Plain
from evalbench.tui.cli.settings import DEFAULT_MODEL
from evalbench.tui.state import figures

_FEW_VALUES = 80
"""Tags with more distinct values than this are counted, not listed."""


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments; with a benchmark among ``words``, also the settings that affect its data."""
    parser.add_argument(
        "action",
        metavar="fetch|verify|stats",
        choices=list(_ACTIONS),
        help="download and prepare samples; check their hash; count them",
    )
    parser.add_argument("benchmark", metavar="BENCHMARK", help="benchmark")
    section = add_options(parser, [_DATA], "which data")
    for name in bare_words(parser, words)[1:2]:
        add_options(parser, _data_options(registry.benchmark_class(name)), section)
    parser.add_argument(
        "--again", action="store_true", help="prepare the data and its images again"
    )
    parser.examples(
        "evalbench data fetch mmlu",
        "evalbench data stats mmlu --data FOLDER",
        "evalbench data verify mmlu",
    )


_DATA = next(option for option in COMMON if option.name == "data")


def _data_options(bench: type[Benchmark]) -> list[Option]:
    return [option for option in bench.options if option.affects_data]


def execute(args: argparse.Namespace) -> int:
    """Run one of the three actions."""
    bench = registry.benchmark_class(args.benchmark)
    # No model is called, but a spec requires one.
    spec = make_spec(
        args.benchmark,
        DEFAULT_MODEL,
        options=given(args, _data_options(bench)),
        **given(args, [_DATA]),
    )
    if args.again:
        prepared_path(spec, cache_dir()).unlink(missing_ok=True)
    _ACTIONS[args.action](stdout(), spec)
    return 0


def _fetch(out: Out, spec: RunSpec) -> Path:
    path = prepare_data(spec, Plain(out).preparing).file
    header = read_header(path)
    out.line(f"{figures.counted(header.count, 'sample')} from {_source(header)}")
    out.line(f"file  {path}")
    out.line(f"hash  {header.data_hash}")
    return path


def _source(header: Any) -> str:
    revision = f", revision {header.revision}" if header.revision else ""
    return one_line(f"{header.origin or 'its own source'}{revision}")


def _verify(out: Out, spec: RunSpec) -> None:
    path = prepared_path(spec, cache_dir())
    if not path.with_suffix(".json").exists():
        raise DataError(
            f"the data of {spec.benchmark} is not in the cache",
            hint=f"evalbench data fetch {spec.benchmark}",
        )
    count = verify_prepared(path)
    out.line(f"{figures.counted(count, 'sample')} agree with their hash: {path}")


def _stats(out: Out, spec: RunSpec) -> None:
    path = _fetch(out, spec)
    tags: dict[str, Counter[str]] = {}
    repeats = 0
    with path.open("rb") as file:
        for line in file:
            ident, sample_tags, _, _ = orjson.loads(line)
            repeats += not ident.endswith(".1")
            for tag, value in sample_tags.items():
                tags.setdefault(tag, Counter())[value] += 1
    out.line(f"exact repeats of an earlier sample: {figures.count(repeats)}")
    for tag, counts in tags.items():
        _print_counts(out, tag, counts)


def _print_counts(out: Out, tag: str, counts: Counter[str]) -> None:
    from evalbench.tui.cli.table import print_columns

    out.line()
    if len(counts) > _FEW_VALUES:
        out.line(f"{one_line(tag)}: {figures.count(len(counts))} different values")
        return
    rows = [(value, figures.count(number)) for value, number in sorted(counts.items())]
    print_columns(out, (tag, "samples"), rows, right=frozenset({1}))


_ACTIONS = {"fetch": _fetch, "verify": _verify, "stats": _stats}
