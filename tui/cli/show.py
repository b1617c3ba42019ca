"""``evalbench show``: what a run was asked for, what came out, and single samples."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from evalbench.engine.errors import SpecError
from evalbench.engine.journal import JournalReader
from evalbench.engine.keys import KeyRef, KeySource
from evalbench.engine.measures import Measures, together
from evalbench.engine.process import open_run
from evalbench.engine.roles import CANDIDATE
from evalbench.engine.runfolder import RunFolder
from evalbench.engine.settings import COMMON, RunSpec, build_benchmark
from evalbench.engine.status import Status
from evalbench.tui.cli.output import Out, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.cli.runs import summary
from evalbench.tui.cli.table import print_scores
from evalbench.tui.state import figures
from evalbench.tui.state.clean import clean, one_line
from evalbench.tui.state.money_words import price_words
from evalbench.tui.state.speed_words import speed_words
from evalbench.tui.state.spending import is_free, spent_words
from evalbench.tui.state.watch import INTERRUPTED, shown_state


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.add_argument("run", metavar="RUN", help="id, part of it, folder, or: last")
    parser.add_argument(
        "--sample",
        metavar="N|ID",
        help="show one sample instead: its number in the run (from 1), or its id",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.examples(
        "evalbench show last",
        "evalbench show 7854 --json | jq .metrics.accuracy",
        "evalbench show last --sample 12",
    )


def execute(args: argparse.Namespace) -> int:
    """Print the run, or one of its samples."""
    folder = open_run(args.run)
    spec = folder.spec()
    out = stdout()
    if args.sample:
        from evalbench.tui.cli.sample import show_sample

        show_sample(out, folder, args.sample, json=args.json)
        return 0
    status = folder.status()
    facts = _from_journal(folder, spec, status)
    if args.json:
        from evalbench.tui.cli import jsonlines

        body = summary(folder, status) | {
            "metrics": jsonlines.metrics_json(facts.metrics),
            "spec": spec.to_json(),
            "record": facts.record,
            "prices": facts.prices.get(CANDIDATE),
            "key": facts.keys.get(CANDIDATE),
            "imported": facts.imported,
            "local_models": {name: held.to_json() for name, held in facts.measures.items()},
            "judges": [
                {"model": part.model, "prices": facts.prices.get(role), "key": facts.keys.get(role)}
                for role, part in spec.cast().items()
                if role != CANDIDATE
            ],
        }
        jsonlines.write(out, "run", **body)
    else:
        _print(out, folder, spec, status, facts)
    return 0


class _Facts(NamedTuple):
    """What only the journal knows; all but the metrics are empty without one.

    ``prices`` and ``keys`` hold by role JSON forms: of unit prices (None:
    unknown), and of the reference to where the key lay. ``imported`` says of
    another system's results where they were read, when, and with which notes.
    ``measures`` are those of local models, by name.
    """

    metrics: Mapping[str, Mapping[str, Any]]
    record: Any = None
    prices: Mapping[str, Any] = {}
    keys: Mapping[str, Any] = {}
    imported: Mapping[str, Any] | None = None
    measures: Mapping[str, Measures] = {}


def _from_journal(folder: RunFolder, spec: RunSpec, status: Status) -> _Facts:
    if not folder.journal.exists():
        return _Facts(status.metrics)
    with JournalReader(folder.journal) as journal:
        metrics = _metrics(journal, spec, status)
        prices, keys = (journal.meta(name) or {} for name in ("prices", "keys"))
        measures = together(e.body for e in journal.events() if e.kind == "model-unloaded")
        return _Facts(
            metrics, journal.meta("record"), prices, keys, journal.meta("imported"), measures
        )


def _metrics(
    journal: JournalReader, spec: RunSpec, status: Status
) -> Mapping[str, Mapping[str, Any]]:
    """All metrics.

    A resting run has them stored. For a live or interrupted one they are made
    of its scores, or taken from its status when its benchmark is not installed
    here.
    """
    stored: Mapping[str, Mapping[str, Any]] | None = journal.meta("metrics")
    if status.at_rest and stored is not None:
        return stored
    try:
        benchmark = build_benchmark(spec, journal.meta("shared"))
    except SpecError:
        return status.metrics
    return {
        metric.name: asdict(metric)
        for metric in benchmark.metrics(journal.tally(spec.get("epochs")))
    }


def _print(out: Out, folder: RunFolder, spec: RunSpec, status: Status, facts: _Facts) -> None:
    state = shown_state(folder, status)
    pid = folder.live_pid(status)
    out.line(f"{folder.id}: {state}" + (f", process {pid} on {status.host}" if pid else ""))
    out.line(f"{spec.benchmark} × {one_line(spec.model)}")
    if facts.imported:
        out.line(f"imported from {one_line(facts.imported['source'])}; nobody was asked here")
        for note in facts.imported["notes"]:
            out.line(f"  note: {one_line(note)}")
    if status.problem:
        out.line(f"problem: {clean(status.problem)}")
    if state == INTERRUPTED:
        out.line(f"its engine is gone; go on with: evalbench resume {folder.id}")
    if status.mixed:
        out.line("mixed: settings or data changed along the way; the scores mix two things")
    out.line()
    print_scores(out, facts.metrics, all_groups=True)
    if status.outcomes:
        out.line(f"outcomes  {figures.outcome_line(status.outcomes)}")
    for error, number in status.errors.items():
        out.line(f"          {figures.count(number)} × {one_line(error)}")
    _print_pairs(out, "work", _work(status))
    speeds = {name: "; ".join(speed_words(held)) for name, held in facts.measures.items()}
    _print_pairs(out, "local models", speeds)
    _print_pairs(out, "settings", _settings(spec))
    _print_pairs(out, "parameters", _fates(status.params))
    _print_pairs(out, "money and key", _money(status, facts))
    _print_pairs(out, "record", _flat(facts.record or {}))
    _print_pairs(out, "files", {"folder": str(folder.path)})


def _work(status: Status) -> dict[str, str]:
    return {
        "samples": f"{figures.count(status.done)} of {figures.count(status.total)} done",
        "calls": f"{figures.count(status.sent)} sent,"
        f" {figures.count(status.from_journal)} from the journal",
        "tokens": f"{figures.count(status.input_tokens)} in,"
        f" {figures.count(status.output_tokens)} out",
        "time": figures.duration(status.seconds),
    }


def _money(status: Status, facts: _Facts) -> dict[str, str]:
    """What was spent, at which prices, and where the key lay: never the key."""
    pairs = {}
    if not is_free(status):
        pairs["spent"] = spent_words(status)
    if status.possible_usd:
        pairs["possibly billed besides"] = figures.dollars(status.possible_usd)
    for role, key in facts.keys.items():
        of = "" if role == CANDIDATE else f" of {role}"
        pairs[f"prices{of}"] = price_words(facts.prices.get(role))
        ref = KeyRef.from_json(key)
        if ref.source is not KeySource.NONE:
            pairs[f"key{of}"] = str(ref)
    return pairs


def _settings(spec: RunSpec) -> dict[str, str]:
    """The common settings that were given, and all of benchmark and provider."""
    defaults = {option.name: option.default for option in COMMON}
    given = {name: value for name, value in spec.common.items() if value != defaults.get(name)}
    chosen = {**given, **spec.options, **spec.provider_options, **spec.filters}
    return {name.replace("_", "-"): _words(value) for name, value in chosen.items()}


def _fates(params: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {
        name: note["fate"] + (f": {note['reason']}" if note.get("reason") else "")
        for name, note in params.items()
    }


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name} ")
        elif value not in ("", None):
            flat[prefix + name] = _words(value)
    return flat


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return "not set" if value is None else str(value)


def _print_pairs(out: Out, title: str, pairs: Mapping[str, str]) -> None:
    if not pairs:
        return
    out.line()
    out.line(title)
    width = max(len(name) for name in pairs)
    for name, text in pairs.items():
        out.line(f"  {name:<{width}}  {one_line(text)}")
