"""Journals that end at any byte: they open or say why, and what is there can be exported."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.errors import JournalError
from evalbench.engine.formats import export_runs
from evalbench.engine.journal import Journal, JournalReader
from evalbench.engine.journal.schema import create
from evalbench.engine.runs.folder import RunFolder
from tests.faults.engines import Engines
from tests.unit.engine.journals import fill, journal

pytestmark = pytest.mark.slow

SAMPLES = 200
PAGE = 4096


def exported(run: RunFolder, place: Path) -> tuple[dict[str, Any], list[str]]:
    """Everything about the samples of a run by their ids, and what was told about it."""
    done = export_runs([run], "json", place)
    samples = json.loads(done.files[0].read_text())["samples"]
    return {one["id"]: one for one in samples}, done.notes


def is_part(less: Any, whole: Any) -> bool:
    """Whether all that one value holds is in another one too."""
    if isinstance(less, dict) and isinstance(whole, dict):
        return all(name in whole and is_part(one, whole[name]) for name, one in less.items())
    if isinstance(less, list) and isinstance(whole, list):
        return all(any(is_part(one, other) for other in whole) for one in less)
    return bool(less == whole) or less is None


def test_a_journal_that_is_cut_anywhere_is_exported_as_far_as_it_goes(
    engines: Engines, tmp_path: Path, dice: random.Random
) -> None:
    run = engines.start(engines.spec(size=SAMPLES, concurrency=32))
    engines.finish(run)
    whole = run.journal.read_bytes()
    everything, notes = exported(run, tmp_path / "whole")
    assert (len(everything), notes) == (SAMPLES, [])
    found: list[int] = []
    told: list[JournalError] = []
    cuts = [0, 99, PAGE - 1, PAGE, len(whole) - PAGE, len(whole) - 1]
    for cut in sorted([*cuts, *(dice.randrange(len(whole)) for _ in range(8))]):
        run.journal.write_bytes(whole[:cut])
        try:
            left, notes = exported(run, tmp_path / f"cut at {cut}")
        except JournalError as error:
            told.append(error)
            found.append(0)
        else:
            assert is_part(left, everything)
            assert left == everything or "could still be read" in notes[0]
            found.append(len(left))
        # Whoever is to look at it finds it as it was.
        assert run.journal.read_bytes() == whole[:cut]
        assert [file.name for file in run.path.glob("journal*")] == ["journal.db"]
    assert all(str(run.journal) in error.what and error.why for error in told)
    assert found[0] == 0
    assert found[-1] > SAMPLES / 2


async def test_a_write_ahead_log_that_is_cut_anywhere_holds_what_came_before(
    tmp_path: Path, dice: random.Random
) -> None:
    """What a machine that lost its power leaves: the log's end is missing."""
    live = tmp_path / "live" / "journal.db"
    live.parent.mkdir()
    create(live)
    opened = Journal(live)
    await fill(opened, range(1, SAMPLES + 1))
    opened.flush()
    database, log = live.read_bytes(), live.with_name("journal.db-wal").read_bytes()
    await opened.close()
    place = tmp_path / "left"
    path = place / "journal.db"
    before = -1
    frame = 24 + PAGE
    edges = [0, 1, 31, 32, 32 + frame - 1, 32 + frame, len(log) - 1, len(log)]
    for cut in sorted([*edges, *(dice.randrange(len(log)) for _ in range(40))]):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        path.write_bytes(database)
        path.with_name("journal.db-wal").write_bytes(log[:cut])
        with JournalReader(path) as reader:
            rows = [found.row for found in reader.samples()]
            replies = [call.reply for row in rows for call in reader.calls(row)]
            scores = len(list(reader.scores()))
        assert rows == list(range(1, len(rows) + 1))
        # Of the last one, as much as was committed.
        assert len(rows) - 1 <= len([one for one in replies if one]) <= len(rows)
        assert len(rows) - 1 <= scores <= len(rows)
        assert len(rows) >= before
        before = len(rows)
        async with journal(path) as again:
            again.event("started")
    assert before == SAMPLES
