"""Begins or resumes a run: opens its journal, checks what has changed, and stores facts."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any

from evalbench.engine.benchmark import Benchmark
from evalbench.engine.calls import Outcome
from evalbench.engine.config.spec import RunSpec, build_benchmark
from evalbench.engine.cost.unit_prices import GIVEN, Prices, prices_from_json, prices_to_json
from evalbench.engine.data.dataset import DataHeader, read_header
from evalbench.engine.errors import EvalbenchError, JournalError, UsageError
from evalbench.engine.execution.changes import paid_again, refuse
from evalbench.engine.execution.lost_replies import LostReplies, lost_replies, of_another_run
from evalbench.engine.execution.request import EngineOptions, RunRequest
from evalbench.engine.journal import Journal
from evalbench.engine.journal.paging import count_scores
from evalbench.engine.journal.reader import RowDecoder
from evalbench.engine.journal.schema import create
from evalbench.engine.runs.folder import RunFolder, first_status
from evalbench.engine.runs.record import differences, identity, record
from evalbench.engine.runs.status import Status


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A run that is ready to be driven.

    Attributes:
        journal: open for writing.
        benchmark: what is asked, and how it is scored.
        prices: unit prices by role, as of the start of the run.
        fits: as in :class:`.request.RunRequest`.
        loaded: whether the journal has all samples.
        size: number of samples, if the journal has all of them and records it.
        status: as left by earlier engines, with the time worked so far over all of them.
        lost_usd: cost of replies that are no longer in the journal.
    """

    journal: Journal
    benchmark: Benchmark
    prices: Prices
    fits: Mapping[str, Any]
    loaded: bool
    size: int | None
    status: Status
    lost_usd: Decimal


async def open_journal(
    folder: RunFolder,
    spec: RunSpec,
    status: Status,
    inputs: RunRequest,
    options: EngineOptions,
) -> OpenedRun:
    """Open or create a run's journal and check that a resumed run has not changed.

    Args:
        folder, spec, status: of the run.
        inputs: what the caller passes in.
        options: which changes are accepted and what is asked again.

    Raises:
        RunChanged: the run has changed and that is not accepted.
        JournalError: the journal cannot be used, or has lost replies.
        UsageError: the run's data is needed but missing.
    """
    lost = lost_replies(folder, status)
    if lost and not options.accept_loss:
        raise lost.refusal(folder.id)
    if not folder.journal.exists():
        create(folder.journal)
    journal = Journal(folder.journal, spec.settings.epochs)
    try:
        if lost:
            _accept(journal, lost)
        return await _take_up(journal, folder, spec, status, inputs, options)
    except EvalbenchError:
        with contextlib.suppress(JournalError):
            await journal.close()
        raise


def _accept(journal: Journal, lost: LostReplies) -> None:
    """Continue without the missing replies; their cost still counts as spent."""
    before = Decimal(journal.query(RowDecoder.meta).get("lost_usd", "0"))
    journal.set(lost_usd=str(before + lost.usd))
    journal.event("loss-accepted", replies=lost.replies, usd=str(lost.usd))


async def _take_up(
    journal: Journal,
    folder: RunFolder,
    spec: RunSpec,
    status: Status,
    inputs: RunRequest,
    options: EngineOptions,
) -> OpenedRun:
    ask_again = options.ask_again
    stored = journal.query(RowDecoder.meta)
    if of_another_run(status, stored.get("created")):
        status = first_status(folder, spec, created=stored["created"], total=status.total)
    loaded = bool(stored.get("loaded"))
    size: int | None = stored.get("samples") if loaded else None
    header = read_header(inputs.samples) if inputs.samples else None
    benchmark = build_benchmark(spec, header.shared if header else stored.get("shared"))
    now = identity(spec, benchmark, header.data_hash if header else stored.get("data_hash", ""))
    if then := stored.get("identity"):
        changes = differences(then, now)
        roles = {role: (part.ref, part.overrides()) for role, part in spec.roles().items()}
        lost = await paid_again(journal, benchmark, roles, spec.settings.epochs, ask_again, size)
        if changes or lost:
            finished = journal.query(partial(count_scores, ignoring=ask_again))
            if not options.accept_changes and (lost or finished):
                raise refuse(changes, lost, finished)
            status = replace(status, mixed=status.mixed or bool(finished))
            loaded = loaded and _same_samples(then, now)
            _mark_changed(journal, then, now, mixed=status.mixed, loaded=loaded)
            journal.event("changes-accepted", changes=changes, asked_again=lost)
    if not loaded and header is None:
        raise UsageError(
            f"run {folder.id} still needs its data, which is gone",
            hint="put it back where it was, or start again with evalbench run",
        )
    opened = OpenedRun(
        journal,
        benchmark,
        _prices(journal, stored, inputs.prices),
        inputs.fits or stored.get("fits") or {},
        loaded,
        size,
        # The status file knows about an engine that was killed, the journal about one that exited.
        replace(status, seconds=max(stored.get("seconds", 0.0), status.seconds)),
        Decimal(stored.get("lost_usd", "0")),
    )
    facts: dict[str, Any] = {"identity": now}
    if "created" not in stored:
        facts["created"] = status.created or time.time()
    if header and not ("record" in stored and _finished(opened, spec, ask_again)):
        # A finished run keeps this: the packages that produced its answers.
        facts["record"] = record(spec, benchmark, header)
    _store_facts(opened, spec, inputs, header, **facts)
    return opened


def _finished(opened: OpenedRun, spec: RunSpec, ask_again: frozenset[Outcome]) -> bool:
    finished = opened.journal.query(partial(count_scores, ignoring=ask_again))
    return opened.loaded and finished == (opened.size or 0) * spec.settings.epochs


def _same_samples(then: dict[str, Any], now: dict[str, Any]) -> bool:
    return then["data"] == now["data"] and _selection(then) == _selection(now)


def _mark_changed(
    journal: Journal, then: dict[str, Any], now: dict[str, Any], *, mixed: bool, loaded: bool
) -> None:
    if now["settings"]["epochs"] < then["settings"]["epochs"]:
        journal.forget_epochs(now["settings"]["epochs"])
    # Stored as not loaded, so that a crash during loading is repaired on resume.
    journal.set(mixed=mixed, loaded=loaded)


def _selection(stored: dict[str, Any]) -> list[Any]:
    settings = stored["settings"]
    return [settings[name] for name in ("limit", "shuffle", "seed", "filters")]


def _prices(journal: Journal, stored: Mapping[str, Any], found: Prices) -> Prices:
    """Use the prices of the run's start, so that its spend can be recomputed from its replies.

    Those given with ``--price`` since then count from now on. Other changes are only reported.
    """
    prices = dict(found)
    for role, then in prices_from_json(stored.get("prices") or {}).items():
        now = found.get(role)
        if then is None or (now and (now.mode != then.mode or now.source == GIVEN)):
            continue
        prices[role] = then
        if now and (now.rates, now.above) != (then.rates, then.above):
            rates = {"before": then.rates.to_json(), "now": now.rates.to_json()}
            journal.event("price-changed", role=role, **rates)
    return prices


def _store_facts(
    opened: OpenedRun, spec: RunSpec, inputs: RunRequest, header: DataHeader | None, **facts: Any
) -> None:
    journal = opened.journal
    facts |= {
        "prices": prices_to_json(opened.prices),
        "fits": opened.fits,
        "spec": spec.to_json(),
    }
    if inputs.keys:  # a complete run needs none
        facts["keys"] = {role: inputs.keys[role].to_json() for role in spec.roles()}
    if header:
        facts |= {"shared": header.shared, "data_hash": header.data_hash}
    journal.set(**facts)
    if journal.rollback_on:
        journal.event("rollback-journal", file_system=journal.rollback_on)
