"""Loads a run's samples from the prepared file into its journal."""

from __future__ import annotations

from pathlib import Path

from evalbench.engine.benchmark import Benchmark
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.data.dataset import read_dictionary, read_samples
from evalbench.engine.journal import Journal
from evalbench.engine.journal.reader import RowDecoder
from evalbench.engine.journal.schema import SLOT_BITS

_SAMPLES_AT_ONCE = 200
_WORTH_A_DICTIONARY = 1000


async def load_samples(
    journal: Journal, file: Path, spec: RunSpec, benchmark: Benchmark, total: int
) -> None:
    """Make the journal's samples match the sample file; kept samples keep their rows.

    Args:
        journal: the run's journal.
        file: the prepared samples.
        spec, benchmark: they select the samples.
        total: approximate number of samples.
    """
    kept = journal.query(_rows_by_id)
    row = journal.query(_last_row)
    if not kept and total >= _WORTH_A_DICTIONARY:
        journal.use_dictionary("sample", read_dictionary(file))
    batch, stay, added = [], set(), 0
    for sample in read_samples(file, spec, type(benchmark)):
        if sample.id in kept:
            stay.add(kept[sample.id])
            continue
        row += 1
        added += 1
        batch.append((row, sample))
        if len(batch) == _SAMPLES_AT_ONCE:
            await journal.add_samples(batch)
            batch = []
    await journal.add_samples(batch)
    if gone := set(kept.values()) - stay:
        journal.forget_samples(gone)
    journal.set(loaded=True, samples=len(stay) + added)
    journal.flush()


def _rows_by_id(decoder: RowDecoder) -> dict[str, int]:
    rows = decoder.db.execute("SELECT hash, occurrence, row FROM sample")
    return {f"{digest.hex()}.{occurrence}": row for digest, occurrence, row in rows}


def _last_row(decoder: RowDecoder) -> int:
    """The highest row ever assigned: calls outlive samples that are no longer selected."""
    samples, calls = decoder.db.execute(
        "SELECT coalesce((SELECT max(row) FROM sample), 0), coalesce((SELECT max(id) FROM call), 0)"
    ).fetchone()
    return int(max(samples, calls >> SLOT_BITS))
