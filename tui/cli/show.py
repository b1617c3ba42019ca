"""``evalbench show``: a run's settings and results, and single samples."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from evalbench.engine.config.roles import CANDIDATE
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.errors import UsageError
from evalbench.engine.runs.folder import INTERRUPTED, RunFolder, find_run
from evalbench.engine.runs.status import Status
from evalbench.engine.terminal_text import clean, one_line
from evalbench.tui.cli.gate import declare_gate, gate_code, gates
from evalbench.tui.cli.output import Out, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.cli.runs import summary
from evalbench.tui.cli.table import print_scores, printable
from evalbench.tui.state import figures
from evalbench.tui.state.run_facts import (
    RunFacts,
    fate_pairs,
    flat_pairs,
    money_pairs,
    run_facts,
    settings_pairs,
    work_pairs,
)
from evalbench.tui.state.speed_words import speed_words
from evalbench.tui.state.trace_words import trace_pairs
from evalbench.tui.state.worker_words import doing_words


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.add_argument("run", metavar="RUN", help="run ID, part of an ID, folder, or last")
    parser.add_argument(
        "--sample",
        metavar="N|ID",
        help="show one sample, by its number in the run (from 1) or its ID",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    declare_gate(parser)
    parser.examples(
        "evalbench show last",
        "evalbench show 7854 --json | jq .metrics.accuracy",
        "evalbench show last --sample 12",
    )


def execute(args: argparse.Namespace) -> int:
    """Print the run, or one of its samples."""
    wanted = gates(args.fail_under)
    if wanted and args.sample:
        raise UsageError(
            "--fail-under is about a run, not one of its samples", hint="leave --sample out"
        )
    folder = find_run(args.run)
    spec = folder.spec()
    out = stdout()
    if args.sample:
        from evalbench.tui.cli.sample import show_sample

        show_sample(out, folder, args.sample, json=args.json)
        return 0
    status = folder.status()
    facts = run_facts(folder, spec, status)
    if args.json:
        from evalbench.tui.cli import jsonlines

        body = summary(folder, status) | {
            "metrics": jsonlines.metrics_json(facts.metrics),
            "spec": spec.to_json(),
            "record": facts.record,
            "prices": facts.prices.get(CANDIDATE),
            "key": facts.keys.get(CANDIDATE),
            "imported": facts.imported,
            "reused_of": facts.reused,
            "traces": status.traces,
            "local_models": {name: measures.to_json() for name, measures in facts.measures.items()},
            "workers": {place: measures.to_json() for place, measures in facts.workers.items()},
            "judges": [
                {
                    "model": part.model,
                    "prices": facts.prices.get(role),
                    "key": facts.keys.get(role),
                    "spend_usd": _known(facts, role),
                }
                for role, part in spec.roles().items()
                if role != CANDIDATE
            ],
        }
        jsonlines.write(out, "run", **body)
    else:
        _print(out, folder, spec, status, facts)
    return gate_code(0, wanted, {folder.id: facts.metrics}, json=args.json)


def _known(facts: RunFacts, role: str) -> float | None:
    """What was spent on a role; None if it is unknown."""
    spent = facts.spent.get(role)
    return float(spent) if spent or (spent is not None and facts.prices.get(role)) else None


def _print(out: Out, folder: RunFolder, spec: RunSpec, status: Status, facts: RunFacts) -> None:
    state = folder.shown_state(status)
    pid = folder.live_pid(status)
    out.line(f"{folder.id}: {state}" + (f", process {pid} on {status.host}" if pid else ""))
    out.line(f"{one_line(status.name)} × {one_line(spec.model)}")
    if facts.imported:
        out.line(f"imported from {one_line(facts.imported['source'])}; no calls were made here")
        for note in facts.imported["notes"]:
            out.line(f"  note: {one_line(note)}")
    if status.problem:
        out.line(f"problem: {clean(status.problem)}")
    if why := folder.unreadable(status):
        out.line(f"it cannot be read: {one_line(why)}")
        out.line(f"try: {one_line(folder.how_to_remove)}")
    if state == INTERRUPTED:
        out.line(f"its engine is gone; resume it with: evalbench resume {folder.id}")
    if status.mixed:
        out.line("mixed: settings or data changed along the way; the scores mix two things")
    out.line()
    print_scores(out, facts.metrics, all_groups=True)
    if status.outcomes:
        out.paragraph(f"outcomes  {figures.outcome_line(status.outcomes)}", 10)
    for error, number in status.errors.items():
        out.line(f"          {figures.count(number)} × {one_line(error)}")
    _print_pairs(out, "work", work_pairs(status))
    speeds = {name: "; ".join(speed_words(measures)) for name, measures in facts.measures.items()}
    _print_pairs(out, "local models", speeds)
    _print_pairs(out, "workers", _workers(status, facts))
    _print_pairs(out, "settings", settings_pairs(spec))
    _print_pairs(out, "parameters", fate_pairs(status.params))
    _print_pairs(out, "money and key", money_pairs(status, facts))
    _print_traces(out, folder, status)
    _print_pairs(out, "record", flat_pairs(facts.record or {}))
    _print_pairs(out, "files", {"folder": str(folder.path)})


def _workers(status: Status, facts: RunFacts) -> dict[str, str]:
    """Each of several workers: what it is doing, or what it did."""
    if live := status.gauges.get("workers"):
        return {one_line(str(one.get("worker", ""))): doing_words(one) for one in live}
    return {
        one_line(name): "; ".join(speed_words(measures)) for name, measures in facts.workers.items()
    }


def _print_pairs(out: Out, title: str, pairs: Mapping[str, str]) -> None:
    from evalbench.tui.state.cells import cell, widest

    if not pairs:
        return
    out.line()
    out.line(title)
    names = [printable(out, name) for name in pairs]
    width = widest(names)
    for name, text in zip(names, pairs.values(), strict=True):
        out.paragraph(f"  {cell(name, width)}  {one_line(text)}", width + 4)


def _print_traces(out: Out, folder: RunFolder, status: Status) -> None:
    if not status.traces:
        return
    out.line()
    for name, text in trace_pairs(folder.id, status.traces):
        out.line(f"{name:<8}  {text}")
