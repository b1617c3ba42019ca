"""Everything known about a run, from its status and journal, and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import Any, NamedTuple

from evalbench.engine.benchmark import metrics_of
from evalbench.engine.calls.options import values_of
from evalbench.engine.config.roles import CANDIDATE
from evalbench.engine.config.spec import COMMON, RunSpec, build_benchmark
from evalbench.engine.errors import SpecError
from evalbench.engine.hardware.measures import Measures, together
from evalbench.engine.journal import JournalReader
from evalbench.engine.journal.reader import reused_replies, spend_by_model
from evalbench.engine.keys import KeyRef, KeySource
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.status import Status
from evalbench.tui.state import figures
from evalbench.tui.state.batch_words import resend_words, saved
from evalbench.tui.state.money_words import price_words
from evalbench.tui.state.reuse_words import reused_words
from evalbench.tui.state.spending import is_free, spent_words

Pairs = Mapping[str, str]
"""Texts by topic. They may contain anything: callers must clean them before printing."""


class RunFacts(NamedTuple):
    """What only the journal has; without one, everything but the metrics is empty.

    ``prices`` and ``keys`` hold JSON forms by role: of unit prices (None: unknown), and of the
    reference to where the key was stored. ``imported`` says where and when another system's results
    were read, and with which notes. ``measures`` are those of local models, by name; ``workers``
    those of each worker, by its slot, if there were several. ``reused`` counts the replies that
    were taken from earlier runs, by run id. ``spent`` are US dollars by role, if there are several.
    """

    metrics: Mapping[str, Mapping[str, Any]]
    record: Any = None
    prices: Mapping[str, Any] = {}
    keys: Mapping[str, Any] = {}
    imported: Mapping[str, Any] | None = None
    measures: Mapping[str, Measures] = {}
    reused: Mapping[str, int] = {}
    workers: Mapping[str, Measures] = {}
    spent: Mapping[str, Decimal] = {}


def run_facts(folder: RunFolder, spec: RunSpec, status: Status) -> RunFacts:
    """What a run's journal contains; without a journal, only its metrics.

    Raises:
        JournalError: it cannot be read.
    """
    if not folder.journal.exists():
        return RunFacts(status.metrics)
    with JournalReader(folder.journal) as journal:
        metrics = _metrics(journal, spec, status)
        prices, keys = (journal.meta(name) or {} for name in ("prices", "keys"))
        unloaded = list(_unloaded(journal))
        measures = together(unloaded)
        workers = together(
            {**measured, "model": place}
            for event in unloaded
            for place, measured in (event.get("workers") or {}).items()
        )
        return RunFacts(
            metrics,
            journal.meta("record"),
            prices,
            keys,
            journal.meta("imported"),
            measures,
            journal.query(reused_replies),
            workers,
            _spent(journal) if len(spec.roles()) > 1 else {},
        )


def _spent(journal: JournalReader) -> dict[str, Decimal]:
    """US dollars by role, each judge for itself."""
    return {
        role if role == CANDIDATE else f"{role}/{model}": cost
        for (role, model), cost in journal.query(spend_by_model).items()
    }


def _unloaded(journal: JournalReader) -> Iterator[Mapping[str, Any]]:
    """The measurements that every local model reported when it was unloaded."""
    after = 0
    while page := journal.events(after):
        after = page[-1].id
        yield from (event.body for event in page if event.kind == "model-unloaded")


def _metrics(
    journal: JournalReader, spec: RunSpec, status: Status
) -> Mapping[str, Mapping[str, Any]]:
    """All metrics.

    A run at rest has them stored. For a live or interrupted one they are computed from its scores,
    or taken from its status if its benchmark is not installed here.
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
        for metric in metrics_of(benchmark, journal.tally(spec.settings.epochs))
    }


def work_pairs(status: Status) -> dict[str, str]:
    """How much was done, and how long it took."""
    earlier = f", {figures.count(status.reused)} from earlier runs" if status.reused else ""
    return {
        "samples": f"{figures.count(status.done)} of {figures.count(status.total)} done",
        "calls": f"{figures.count(status.sent)} sent,"
        f" {figures.count(status.from_journal)} from the journal{earlier}",
        **({"not fetched": words} if (words := resend_words(status.batches)) else {}),
        "tokens": f"{figures.count(status.input_tokens)} in,"
        f" {figures.count(status.output_tokens)} out",
        "time": figures.duration(status.seconds),
    }


def money_pairs(status: Status, facts: RunFacts) -> dict[str, str]:
    """What was spent, at which prices, and where the key was stored: never the key itself."""
    pairs = {}
    if not is_free(status):
        pairs["spent"] = spent_words(status)
        for role, spent in facts.spent.items():
            if spent or facts.prices.get(role):
                pairs[f"spent on {role}"] = figures.dollars(float(spent))
    if less := saved(status.batches):
        pairs["saved by batches"] = figures.dollars(less)
    if facts.reused:
        pairs["reused"] = reused_words(sum(facts.reused.values()), facts.reused)
    if status.possible_usd:
        pairs["possibly billed in addition"] = figures.dollars(status.possible_usd)
    for role, key in facts.keys.items():
        of = "" if role == CANDIDATE else f" of {role}"
        pairs[f"prices{of}"] = price_words(facts.prices.get(role))
        ref = KeyRef.from_json(key)
        if ref.source is not KeySource.NONE:
            pairs[f"key{of}"] = str(ref)
    return pairs


def settings_pairs(spec: RunSpec) -> dict[str, str]:
    """The common settings that were given, and all settings of benchmark and provider."""
    defaults = {option.name: option.default for option in COMMON}
    given = {
        name: value
        for name, value in values_of(spec.settings).items()
        if value != defaults.get(name)
    }
    chosen = {**given, **spec.options, **spec.provider_options, **spec.filters}
    return {name.replace("_", "-"): _words(value) for name, value in chosen.items()}


def fate_pairs(params: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """How each requested parameter was handled: sent, dropped or refused, and why."""
    return {
        name: note["fate"] + (f": {note['reason']}" if note.get("reason") else "")
        for name, note in params.items()
    }


def flat_pairs(record: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """A JSON object of objects as pairs, without empty entries."""
    flat: dict[str, str] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat |= flat_pairs(value, f"{prefix}{name} ")
        elif value not in ("", None):
            flat[prefix + name] = _words(value)
    return flat


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return "not set" if value is None else str(value)
