"""A run whose data, settings or templates changed does not go on by itself."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.config.spec import RunSpec
from evalbench.engine.errors import DataError, RunChanged, SpecError
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import RunFolder
from tests.faults.engines import Engines, replied, scores, wait_until


def riddles(path: Path, questions: list[str]) -> None:
    rows = [{"question": q, "answer": "A", "group": q[-1]} for q in questions]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "riddles.jsonl"
    riddles(path, [f"What is {n}?" for n in range(60)])
    return path


def half_done(engines: Engines, **spec: Any) -> RunFolder:
    """A run of which some was answered when its engine was killed."""
    run = engines.start(engines.spec(size=60, concurrency=4, **spec))
    wait_until(lambda: engines.ledger.answered().total() >= 20, "answers")
    engines.end()
    return run


def refused(engines: Engines, run: RunFolder, **how: Any) -> RunChanged:
    """The refusal to go on; nothing was sent and nothing in the run changed."""
    before, held = len(engines.ledger.lines()), (run.spec(), replied(run), scores(run))
    with pytest.raises(RunChanged) as caught:
        engines.resume(run, **how)
    assert len(engines.ledger.lines()) == before
    assert (run.spec(), replied(run), scores(run)) == held
    assert "--accept-changes" in caught.value.hint
    return caught.value


def accepted(engines: Engines, run: RunFolder, **how: Any) -> int:
    """Go on all the same to the end; how many calls that took."""
    mark = len(engines.ledger.lines())
    engines.resume(run, accept_changes=True, **how)
    status = engines.finish(run)
    assert (status.state, status.exit_code, status.mixed) == ("complete", 0, True)
    with JournalReader(run.journal) as reader:
        assert reader.meta("mixed") is True
        assert [e for e in reader.events() if e.kind == "changes-accepted"]
    return engines.ledger.asked(after=mark).total()


def test_an_unchanged_run_goes_on_without_a_word(engines: Engines, data: Path) -> None:
    run = half_done(engines, data=str(data))
    engines.resume(run)
    status = engines.finish(run)
    assert (status.state, status.mixed) == ("complete", False)


def test_changed_data(engines: Engines, data: Path) -> None:
    run = half_done(engines, data=str(data))
    kept = scores(run)
    riddles(data, [f"What is {n}?" for n in range(10, 70)])
    error = refused(engines, run)
    assert "data was" in str(error)
    assert "finished samples" in error.why
    sent = accepted(engines, run)
    now = scores(run)
    assert len(now) == 60
    # Of the samples that are still there, those with a score kept it and were not asked.
    still = set(kept) & set(now)
    assert {key: now[key] for key in still} == {key: kept[key] for key in still}
    assert sent <= 60 - len(still)


def test_data_that_is_gone_is_not_needed_any_more(engines: Engines, data: Path) -> None:
    run = half_done(engines, data=str(data))
    data.unlink()
    engines.resume(run)
    status = engines.finish(run)
    assert (status.state, status.done, status.mixed) == ("complete", 60, False)


def test_data_that_broke_is_told_before_an_engine_starts(engines: Engines, data: Path) -> None:
    run = half_done(engines, data=str(data))
    before = len(engines.ledger.lines())
    data.write_text(data.read_text() + "no json\n")
    with pytest.raises(DataError, match="row 61"):
        engines.resume(run)
    assert len(engines.ledger.lines()) == before
    assert not run.status().mixed


def changed(run: RunFolder, **common: Any) -> RunSpec:
    """The run's spec with other settings."""
    spec = run.spec()
    return spec.changed(**common)


def test_changed_settings(engines: Engines) -> None:
    run = half_done(engines)
    spec = changed(run, temperature=0.5)
    error = refused(engines, run, spec=spec)
    assert "temperature was not set, is now 0.5" in str(error)
    with JournalReader(run.journal) as reader:
        finished = len(list(reader.scores()))
    assert f"{finished} finished samples" in error.why
    assert accepted(engines, run, spec=spec) == 60 - finished
    assert run.spec() == spec
    assert len(scores(run)) == 60


def test_a_setting_that_decides_nothing_may_change(engines: Engines) -> None:
    run = half_done(engines)
    engines.resume(run, spec=changed(run, concurrency=16, attempts=3, desc="faster"))
    status = engines.finish(run)
    assert (status.state, status.mixed) == ("complete", False)
    assert run.spec().get("concurrency") == 16


def test_a_limit_may_grow_and_asks_only_what_is_new(engines: Engines) -> None:
    run = engines.start(engines.spec(size=60, limit=20))
    assert engines.finish(run).done == 20
    spec = changed(run, limit=32)
    refused(engines, run, spec=spec)
    assert accepted(engines, run, spec=spec) == 12
    assert len(scores(run)) == 32


def test_fewer_epochs_leave_no_scores_behind(engines: Engines) -> None:
    run = engines.start(engines.spec(size=10, epochs=3))
    assert engines.finish(run).done == 30
    spec = changed(run, epochs=2)
    refused(engines, run, spec=spec)
    assert accepted(engines, run, spec=spec) == 0
    status = run.status()
    assert (status.done, status.total) == (20, 20)
    assert {epoch for _, epoch in scores(run)} == {0, 1}


def test_changed_templates(engines: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    run = half_done(engines)
    monkeypatch.setenv("SYNTHETIC_RUBRIC", "Answer in one letter.")
    error = refused(engines, run)
    assert "prompt templates was" in str(error)
    with JournalReader(run.journal) as reader:
        finished = len(list(reader.scores()))
    assert accepted(engines, run) == 60 - finished


def test_words_that_changed_without_a_trace_in_the_templates(
    engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prompts themselves are compared, for every sample that was begun and not finished."""
    run = engines.start(engines.spec("two-turn", size=40, concurrency=8))
    wait_until(lambda: engines.ledger.answered().total() >= 20, "answers")
    engines.end()
    monkeypatch.setenv("SYNTHETIC_GREETING", "Hello.")
    error = refused(engines, run)
    assert "prompt templates changed" in str(error)
    lost = int(error.why.split()[0])
    assert lost > 0
    finished, before, mark = len(scores(run)), replied(run).total(), len(engines.ledger.lines())
    engines.resume(run, accept_changes=True)
    status = engines.finish(run)
    assert (status.state, status.done, status.mixed) == ("complete", 40, finished > 0)
    # The promised number of calls was paid again, and none beyond it.
    assert engines.ledger.asked(after=mark).total() == 4 * 40 - before + lost


def test_a_run_of_which_nothing_was_answered_may_change_freely(engines: Engines) -> None:
    run = half_done_nothing(engines)
    engines.resume(run, spec=changed(run, temperature=0.1))
    status = engines.finish(run)
    assert (status.state, status.mixed) == ("complete", False)


def half_done_nothing(engines: Engines) -> RunFolder:
    run = engines.start(engines.spec(size=10, concurrency=1))
    engines.end()
    return run


def test_filters_that_leave_nothing_are_told_before_an_engine_starts(engines: Engines) -> None:
    run = half_done(engines)
    spec = run.spec()
    wrong = type(spec)(**{**_fields(spec), "filters": {"group": ("nowhere",)}})
    with pytest.raises(SpecError, match="nowhere"):
        engines.resume(run, spec=wrong)
    assert run.spec() == spec


def _fields(spec: Any) -> dict[str, Any]:
    return {name: getattr(spec, name) for name in spec.__dataclass_fields__}


def test_the_record_is_of_the_packages_that_answered(engines: Engines) -> None:
    run = half_done(engines)
    for known in (False, True):
        with closing(sqlite3.connect(run.journal)) as journal, journal:
            journal.execute("UPDATE run SET value = '{}' WHERE key = 'record'")
        engines.resume(run)
        engines.finish(run)
        with JournalReader(run.journal) as reader:
            assert (reader.meta("record") == {}) is known
