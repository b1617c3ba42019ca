"""``evalbench trace``: send the calls of an existing run as OpenTelemetry spans."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from evalbench.engine.calls.options import record_of, values_of
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.config.traces import TRACE_OPTIONS, TraceSettings, completed
from evalbench.engine.errors import UsageError
from evalbench.engine.process.run_keys import check_hosts
from evalbench.engine.runs.folder import find_run
from evalbench.engine.telemetry.backfill import export_traces
from evalbench.tui.cli import key_hosts
from evalbench.tui.cli.output import stderr, stdout
from evalbench.tui.cli.parser import Parser, add_options, given
from evalbench.tui.state.trace_words import trace_pairs

_NOT_ALL_SENT = 2


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.add_argument("run", metavar="RUN", help="run ID, part of an ID, folder, or last")
    add_options(parser, TRACE_OPTIONS, "destination (default: the run's own)")
    parser.add_argument(
        "--again", action="store_true", help="also send what was sent before; IDs stay the same"
    )
    key_hosts.declare(parser, "a run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.examples(
        "evalbench trace last --otlp http://localhost:6006",
        "evalbench trace 7854 --otlp http://localhost:6006 --otlp-content",
        "evalbench trace 7854 --enable-galileo --galileo-project MyFirstEvaluation",
    )


def execute(args: argparse.Namespace) -> int:
    """Send, and print what was received."""
    folder = find_run(args.run)
    spec = _with(folder.spec(), args)
    if not spec.settings.traces.otlp and not spec.settings.traces.enable_galileo:
        raise UsageError(
            f"run {folder.id} names no place that takes traces",
            hint=f"evalbench trace {folder.id} --otlp http://localhost:4318",
        )
    # The run's models are not called, and flags are the user's own choice.
    typed = ("base_url", "judge", "address", *given(args, TRACE_OPTIONS))
    who = f"run {folder.id}"
    check_hosts([spec], who, typed=typed, allow=args.allow_host, ask=key_hosts.asks(args, who))
    if not args.json and stderr().isatty():
        stderr().line("sending …")
    reports = export_traces(folder, spec, again=args.again)
    out = stdout()
    if args.json:
        from evalbench.tui.cli import jsonlines

        jsonlines.write(out, "traced", run=folder.id, traces=reports)
    else:
        for name, text in trace_pairs(folder.id, reports):
            out.line(f"{name:<10}{text}")
    complete = all(not report["refused"] and report["left"] == 0 for report in reports)
    return 0 if complete else _NOT_ALL_SENT


def _with(spec: RunSpec, args: argparse.Namespace) -> RunSpec:
    """The run's spec with the destinations to use: those given, else its own."""
    changes = {
        option.name: option.parse(value)
        for option in TRACE_OPTIONS
        if (value := given(args, TRACE_OPTIONS).get(option.name)) is not None
    }
    if "otlp" in changes or "enable_galileo" in changes:
        changes = {option.name: option.default for option in TRACE_OPTIONS} | changes
    traces = record_of(TraceSettings, {**values_of(spec.settings.traces), **changes})
    return spec.changed(**values_of(completed(traces, spec.settings.env_file)))
