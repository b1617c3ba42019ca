"""What is known of a run."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from evalbench.engine.hardware.measures import Measures
from evalbench.engine.runs.status import State
from evalbench.tui.cli.main import main
from evalbench.tui.state.run_facts import flat_pairs, run_facts, settings_pairs
from tests.pretending import pretend


def test_measures_are_found_behind_any_number_of_events(home: Path) -> None:
    engine = pretend()
    with sqlite3.connect(engine.folder.journal) as journal:
        journal.executemany(
            "INSERT INTO event (at, kind, count, body) VALUES (?, 'wait', 1, '{}')",
            [(at,) for at in range(2_500)],
        )
    journal.close()
    engine.event("model-unloaded", model="tiny", **Measures(answers=7).to_json())
    facts = run_facts(engine.folder, engine.folder.spec(), engine.folder.status())
    assert facts.measures["tiny"].answers == 7


def test_each_of_several_workers_is_told_over_all_engines(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = pretend()
    for answers in (3, 4):
        each = {
            "gpu 0": Measures(answers=answers).to_json(),
            "gpu 1": Measures(answers=1).to_json(),
        }
        all_of_them = Measures(answers=answers + 1).to_json()
        engine.event("model-unloaded", model="tiny", **all_of_them, workers=each)
    engine.status(State.COMPLETE)
    facts = run_facts(engine.folder, engine.folder.spec(), engine.folder.status())
    assert {name: held.answers for name, held in facts.workers.items()} == {"gpu 0": 7, "gpu 1": 2}
    assert facts.measures["tiny"].answers == 9
    assert main(["show", engine.folder.id]) == 0
    assert "workers\n  gpu 0  7 answers, 0 s each" in capsys.readouterr().out
    live = {"worker": "gpu 0", "in_flight": 3}
    engine.status(State.RUNNING, gauges={"workers": [live]})
    assert main(["show", engine.folder.id]) == 0
    assert "workers\n  gpu 0  3 in flight\n" in capsys.readouterr().out


def test_only_settings_that_were_given_are_told(home: Path) -> None:
    spec = pretend(temperature=0.5, limit=7).folder.spec()
    told = settings_pairs(spec)
    assert (told["temperature"], told["limit"]) == ("0.5", "7")
    assert "seed" not in told


def test_a_record_is_told_flat_and_without_what_is_empty() -> None:
    record = {"data": {"hash": "ab", "revision": ""}, "seed": 0, "python": None}
    assert flat_pairs(record) == {"data hash": "ab", "seed": "0"}
