"""What docs/journal.md says of the journal is what journals are."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from evalbench.engine.calls import Outcome
from evalbench.engine.journal import codec
from evalbench.engine.journal.records import OUTCOME_CODE
from evalbench.engine.journal.schema import EPOCH_BITS, SLOT_BITS, VERSION
from tests.unit.engine.journals import fill, journal

DOCUMENT = (Path(__file__).parents[3] / "docs" / "journal.md").read_text("utf-8")
ROW = re.compile(r"^\| (\w+) \| (\w+) \| (.+) \|$", re.M)


@pytest.fixture
async def held(tmp_path: Path) -> Path:
    async with journal(tmp_path / "journal.db") as opened:
        await fill(opened, range(1, 4))
    return tmp_path / "journal.db"


@pytest.fixture
def opened(held: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(held)) as connection:
        yield connection


def test_every_table_and_column_is_told(opened: sqlite3.Connection) -> None:
    tables = opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    there = [
        (table, column)
        for (table,) in tables
        for _, column, *_ in opened.execute(f"PRAGMA table_info({table})")
    ]
    told = [(table, column) for table, column, _ in ROW.findall(DOCUMENT) if table != "table"]
    assert told == there


def test_version_numbers_and_outcomes_are_told_right(opened: sqlite3.Connection) -> None:
    assert opened.execute("PRAGMA user_version").fetchone()[0] == VERSION
    assert f"## Version {VERSION}\n" in DOCUMENT
    assert f"`sample.row << {SLOT_BITS}`, and `slot.id`" in DOCUMENT
    assert f"`sample.row << {EPOCH_BITS}`, and the epoch" in DOCUMENT
    meanings = {(table, column): meaning for table, column, meaning in ROW.findall(DOCUMENT)}
    codes = dict(re.findall(r"(\d) (\w+)", meanings["reply", "outcome"]))
    codes |= dict(re.findall(r"(\d) (\w+)", meanings["score", "outcome"]))
    assert {Outcome(name): int(code) for code, name in codes.items()} == OUTCOME_CODE


def test_the_queries_work(opened: sqlite3.Connection) -> None:
    by_outcome, by_model, unanswered = re.findall(r"```sql\n(.*?)```", DOCUMENT, re.S)
    assert opened.execute(by_outcome).fetchall() == [(0, 3, 1.0)]
    (found,) = opened.execute(by_model)
    assert found[:3] == ("acme/writer", "candidate", 3)
    assert opened.execute(unanswered).fetchall() == []


def test_packed_values_begin_as_told() -> None:
    packer = codec.Packer()
    assert packer.pack(b"ab")[0] == 0
    assert packer.pack(b"a" * 99)[0] == 1
    packer.use(codec.train([f"{n} the quick brown fox {n}".encode() * 9 for n in range(400)]))
    assert packer.pack(b"the quick brown fox" * 20)[0] == 2
