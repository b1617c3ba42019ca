"""What is known of a run."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from evalbench.engine.measures import Measures
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


def test_only_settings_that_were_given_are_told(home: Path) -> None:
    spec = pretend(temperature=0.5, limit=7).folder.spec()
    told = settings_pairs(spec)
    assert (told["temperature"], told["limit"]) == ("0.5", "7")
    assert "seed" not in told


def test_a_record_is_told_flat_and_without_what_is_empty() -> None:
    record = {"data": {"hash": "ab", "revision": ""}, "seed": 0, "python": None}
    assert flat_pairs(record) == {"data hash": "ab", "seed": "0"}
