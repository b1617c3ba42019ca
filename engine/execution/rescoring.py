"""Re-score a run from its stored replies, without calls or cost.

The benchmark's own ``solve`` runs again with an ``ask`` that only reads the journal, so
this version's parsers read every answer and every judge reply. Samples that cannot be
replayed keep their scores; scoring that takes too long fails the sample.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from evalbench.engine.benchmark import ScoringTimeout, metrics_of
from evalbench.engine.calls import Outcome
from evalbench.engine.config.spec import RunSpec, build_benchmark
from evalbench.engine.errors import UsageError
from evalbench.engine.execution.ask import MissingReply, ReplayOnly, newest
from evalbench.engine.execution.lost_replies import lost_replies
from evalbench.engine.execution.scoring_watchdog import ScoringWatchdog
from evalbench.engine.journal import Journal
from evalbench.engine.journal.paging import scored_samples
from evalbench.engine.journal.reader import RowDecoder, first_scores, tally_of
from evalbench.engine.runs.folder import Lock, RunFolder
from evalbench.engine.runs.record import identity
from evalbench.engine.runs.status import metrics_json

_PAGE = 256


@dataclass(frozen=True, slots=True)
class Rescored:
    """The result of re-scoring a run.

    Attributes:
        scored: samples that were scored again.
        changed: how many of these have a different outcome or different values.
        kept: samples with missing replies, or replies to questions that this version no
            longer asks; they keep their scores.
        failed: scored samples whose scoring took too long.
        before, after: all metrics by name, in the form of ``status.metrics_json``.
    """

    scored: int
    changed: int
    kept: int
    before: Mapping[str, Mapping[str, Any]]
    after: Mapping[str, Mapping[str, Any]]
    failed: int = 0


async def rescore(folder: RunFolder) -> Rescored:
    """Re-score a run that is at rest.

    Raises:
        RunBusy: an engine is driving the run.
        JournalError: the journal cannot be used, or has lost replies.
        UsageError: the run has no replies yet.
    """
    folder.refuse_links()
    lock = Lock(folder)
    try:
        if lost := lost_replies(folder, folder.status()):
            # Writing now would make it impossible to restore the lost replies.
            raise lost.refusal(folder.id)
        journal = Journal(folder.journal)
        try:
            with ScoringWatchdog() as watch:
                return await _rescore(folder, folder.spec(), journal, watch)
        finally:
            await journal.close()
    finally:
        lock.release()


async def _rescore(
    folder: RunFolder, spec: RunSpec, journal: Journal, watch: ScoringWatchdog
) -> Rescored:
    journal.recount()
    meta = journal.query(RowDecoder.meta)
    benchmark = build_benchmark(spec, meta.get("shared"))
    roles = {role: (part.ref, part.overrides()) for role, part in spec.roles().items()}
    scored = changed = kept = failed = 0
    last = 0
    while page := journal.query(partial(scored_samples, path=journal.path, after=last, most=_PAGE)):
        for last, sample, calls, stored in page:
            await asyncio.sleep(0)  # lets Ctrl-C through
            for epoch, before in stored.items():
                own = [call for call in calls if call.key.epoch == epoch]
                ask = ReplayOnly(newest(own), epoch, roles, trusting="imported" in meta)
                detail: Mapping[str, Any]
                try:
                    solving, limit = benchmark.solve(sample, ask), benchmark.scoring_seconds
                    score = await watch.solve(last, solving, limit)
                    outcome, values, detail = (
                        score.outcome,
                        dict(score.values),
                        score.stored_detail(),
                    )
                    if outcome is Outcome.ERROR:
                        detail["error"] = detail.pop("note", "")
                except ScoringTimeout as error:
                    failed += 1
                    outcome, values = Outcome.ERROR, {}
                    detail = {"error": f"{ScoringTimeout.__name__}: {error}"}
                except (MissingReply, Exception):
                    # The call failed, or solve raised an error of its own, as it did in the run.
                    kept += 1
                    continue
                scored += 1
                changed += (outcome, values) != before
                journal.store_score(last, epoch, sample.tags, outcome, values, detail)
        journal.flush()
    if not scored and not kept:
        raise UsageError(f"run {folder.id} has no score yet", hint=f"evalbench resume {folder.id}")
    tally = journal.query(partial(tally_of, path=journal.path, epochs=spec.settings.epochs))
    scores = first_scores(journal.path)
    after = metrics_json(await asyncio.to_thread(metrics_of, benchmark, tally, scores))
    if not kept:
        # A resume compares against the versions that produced the scores.
        now = identity(spec, benchmark, meta.get("data_hash", ""))
        journal.set(identity=now)
    journal.set(metrics=after, outcomes=tally.outcomes())
    journal.event("rescored", scored=scored, changed=changed, kept=kept)
    outcomes = tally.outcomes()
    folder.write_status(
        replace(
            folder.status(),
            outcomes=outcomes,
            failed=outcomes.get(Outcome.ERROR.value, 0),
            metrics={name: metric for name, metric in after.items() if not metric["group"]},
        )
    )
    return Rescored(scored, changed, kept, meta.get("metrics") or {}, after, failed)
