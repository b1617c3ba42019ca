"""``evalbench benchmarks``: list benchmarks, describe one, or show its prompts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from evalbench.engine.benchmark import Benchmark
from evalbench.engine.benchmarks.lm_eval.index import (
    LM_EVAL,
    all_tasks,
    known_tasks,
    library_version,
)
from evalbench.engine.calls.options import Option, parse_options
from evalbench.engine.config import registry
from evalbench.engine.config.catalogue import Described, described
from evalbench.engine.config.roles import CANDIDATE, JUDGE
from evalbench.engine.errors import SpecError, UsageError
from evalbench.engine.scoring.tally import Metric, Tally
from evalbench.engine.terminal_text import clean
from evalbench.tui.cli.output import Out, stderr, stdout
from evalbench.tui.cli.parser import Parser, default_words, filter_options
from evalbench.tui.cli.table import print_columns, printable, width_of
from evalbench.tui.cli.target import benchmark_name, declare_model, declare_target_settings
from evalbench.tui.state.fuzzy import having_words

_NAMES = 32
"""Columns for names of benchmarks on a narrow terminal."""

_PROMPTS = Option(
    "prompts", int, None, "show the prompts of the first N samples", minimum=1, maximum=1000
)


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments; with ``--prompts`` also a run's settings, since they affect the prompts."""
    parser.short_usage("[BENCHMARK|FILE.toml] [--prompts N [settings of evalbench run BENCHMARK]]")
    parser.add_argument(
        "target", metavar="BENCHMARK|FILE.toml", nargs="?", help="benchmark to describe"
    )
    parser.add_argument(
        "--search",
        metavar="WORDS",
        help="list the benchmarks with all these words, the tasks of lm-eval included",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.add_argument(
        "--prompts",
        metavar="N",
        help="show the prompts of the first N samples; takes every option of evalbench run NAME",
    )
    parser.add_argument(
        "--template",
        action="store_true",
        help="print its prompts as a template to edit, for evalbench run --prompt FILE",
    )
    if any(word.partition("=")[0] == _PROMPTS.flag for word in words):
        declare_model(parser)
        declare_target_settings(parser, words)
    parser.examples(
        "evalbench benchmarks",
        "evalbench benchmarks mmlu",
        "evalbench benchmarks mmlu --prompts 3 --shots 2 --subject anatomy",
        "evalbench benchmarks my.toml --prompts 1",
        "evalbench benchmarks --search 'arabic mmlu'",
        "evalbench benchmarks --search 'arc generate_until'",
    )


def execute(args: argparse.Namespace) -> int:
    """List them all, describe one, or show its prompts."""
    out = stdout()
    if args.prompts is not None:
        if args.target is None:
            raise UsageError(
                "--prompts needs a benchmark", hint="evalbench benchmarks NAME --prompts N"
            )
        from evalbench.tui.cli.prompts import show_prompts

        show_prompts(out, args, _PROMPTS.parse(args.prompts))
        return 0
    if args.search is not None:
        return _search(out, args)
    name = benchmark_name(args.target) if args.target else ""
    if args.template:
        _print_template(out, name)
        return 0
    if not name and not args.json:
        rows, code = _described()
        _list(out, rows)
        return code
    found, code = _loaded([name] if name else registry.benchmark_names())
    if args.json:
        from evalbench.tui.cli import jsonlines

        for bench in found:
            jsonlines.write(out, "benchmark", **_benchmark_json(bench))
    else:
        _explain(out, found[0])
    return code


def _list(out: Out, rows: Sequence[tuple[str, str, str]]) -> None:
    """One line each: on a narrow terminal without titles, and with the ends of texts cut."""
    from evalbench.tui.state.cells import cell, cut, widest

    heads = ("name", "title", "what it is")
    width = out.console().width
    if width_of(heads, rows) <= width:
        print_columns(out, heads, rows)
        return
    # A few long names leave less room on their own lines only.
    names = [printable(out, name) for name, *_ in rows]
    place = min(_NAMES, widest(names))
    for name, (_, _, summary) in zip([heads[0], *names], [heads, *rows], strict=True):
        start = cell(name, max(place, widest([name]))) + "  "
        room = max(12, width - widest([start]))
        out.line(start + cut(printable(out, summary), room))
    out.line("more about one: evalbench benchmarks NAME")


def _search(out: Out, args: argparse.Namespace) -> int:
    """The benchmarks whose name or description has all words, ours first."""
    query = args.search
    if args.target or not query.split():
        raise UsageError(
            "--search takes words, and no benchmark's name",
            hint="evalbench benchmarks --search 'arabic mmlu'",
        )
    rows, code = _described()
    rows = [row for row in rows if having_words([(row[0], " ".join(row))], query)]
    if library_version():
        if known_tasks() is None:
            stderr().line("reading the tasks of lm-evaluation-harness, once")
        tasks = sorted(all_tasks().items(), key=lambda task: len(task[0]))
        texts = [(name, f"{name} {entry.alias} {entry.what}") for name, entry in tasks]
        for place in having_words(texts, query):
            name, entry = tasks[place]
            rows.append(Described(f"{LM_EVAL}/{name}", entry.alias or name, entry.what))
    if args.json:
        from evalbench.tui.cli import jsonlines

        for name, title, summary in rows:
            jsonlines.write(out, "found", name=name, title=title, summary=summary)
    elif rows:
        _list(out, rows)
    else:
        out.line("no benchmark has all these words")
    return code


def _print_template(out: Out, name: str) -> None:
    if not name:
        raise UsageError(
            "--template needs a benchmark", hint="evalbench benchmarks NAME --template"
        )
    file = registry.benchmark_class(name).prompt_file()
    if not file:
        hints = {"mt-bench": "--judge-prompts FILE", "custom": "the file says what is asked"}
        raise UsageError(f"{name} has no templates", hint=hints.get(name, ""))
    out.write(file)


def _described() -> tuple[list[Described], int]:
    """All benchmarks in a line each; broken plug-ins are reported."""
    rows, faults = described()
    for error in faults:
        stderr().line("error: " + clean(str(error)))
    return rows, max((error.exit_code for error in faults), default=0)


def _loaded(names: Sequence[str]) -> tuple[list[type[Benchmark]], int]:
    """The classes; a broken plug-in is reported and skipped, unless it was named explicitly."""
    found, code = [], 0
    for name in names:
        try:
            found.append(registry.benchmark_class(name))
        except SpecError as error:
            if len(names) == 1:
                raise
            stderr().line("error: " + clean(str(error)))
            code = error.exit_code
    return found, code


def _metrics(bench: type[Benchmark]) -> list[Metric]:
    """The ungrouped metrics that a benchmark reports with its default options.

    None if that depends on a file.
    """
    made = bench(parse_options(bench.options, {}, bench.name))
    try:
        return [metric for metric in made.metrics(Tally()) if not metric.group]
    except SpecError:
        return []


def data_source(bench: type[Benchmark]) -> str:
    """The source of a benchmark's questions, in one line."""
    own = "its own; --data FILE reads another" if bench.takes_data else "its own, built in"
    return bench.data_source or own


_ROLES = {
    CANDIDATE: "the model under test (--model)",
    JUDGE: "judges (--judge, which may be repeated)",
}


def _benchmark_json(bench: type[Benchmark]) -> dict[str, Any]:
    return {
        "name": bench.name,
        "version": bench.version,
        "title": bench.title,
        "summary": bench.summary,
        "licence": bench.licence,
        "data_source": data_source(bench),
        "takes_data": bench.takes_data,
        "roles": list(bench.roles),
        "options": [_option_json(option) for option in bench.options],
        "filters": dict(bench.filters),
        "metrics": [{"name": m.name, "title": m.title or m.name} for m in _metrics(bench)],
    }


def _option_json(option: Option) -> dict[str, Any]:
    return {
        "name": option.name,
        "flag": option.flag,
        "type": option.type.__name__,
        "default": option.default,
        "choices": option.choices,
        "minimum": option.minimum,
        "maximum": option.maximum,
        "many": option.many,
        "help": option.help,
    }


def _explain(out: Out, bench: type[Benchmark]) -> None:
    out.line(f"{bench.name}: {bench.title}, version {bench.version}")
    out.paragraph(bench.summary)
    if bench.licence:
        out.paragraph(f"data licence: {bench.licence}", 2)
    out.paragraph(f"questions: {data_source(bench)}", 2)
    out.paragraph("asks: " + ", ".join(_ROLES.get(role, role) for role in bench.roles))
    if bench.options:
        out.line()
        print_columns(
            out,
            ("setting", "default", "description"),
            [
                (option.flag, default_words(option), _help_with_choices(option))
                for option in bench.options
            ],
        )
    if bench.filters:
        out.line()
        print_columns(
            out,
            ("filter", "what it keeps"),
            [(option.flag, option.help) for option in filter_options(bench.filters)],
        )
    out.line()
    print_columns(
        out,
        ("metric", "what it is called in JSON"),
        [(metric.title or metric.name, metric.name) for metric in _metrics(bench)],
    )
    out.line()
    out.line(f"see what it asks: evalbench benchmarks {bench.name} --prompts 3")
    out.line(f"run it: evalbench run {bench.name}")


def _help_with_choices(option: Option) -> str:
    return option.help + (f": {', '.join(option.choices)}" if option.choices else "")
