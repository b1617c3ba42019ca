"""Files with one wrong value: importing refuses them in words, and no list of runs ends.

A share of all changes is tried, another one for each seed; ``EVALBENCH_CHANGES=all`` tries every
one, which takes hours, ``EVALBENCH_CHANGES=2000`` so many of each source.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pytest

from evalbench.engine.runs.folder import RunFolder, all_runs
from tests.outside import (
    ODDITIES,
    Source,
    changes,
    crashed,
    evalbench,
    good_run,
    listed,
    looks,
    sources,
    write,
)

WANTED = os.environ.get("EVALBENCH_CHANGES", "2")
SEED = int(os.environ.get("EVALBENCH_CHANGES_SEED", "1"))
NAMES = (
    "a run", "a judged run", "inspect", "inspect as mmlu", "lm-eval", "lm-eval as mmlu",
    "fastchat single", "fastchat pair", "fastchat answers", "fastchat with answers",
    "mmlu-experiment", "speceval answers", "speceval comply", "speceval rank",
    "bedrock prediction", "bedrock choice", "openseesime",
)  # fmt: skip


T = TypeVar("T")
DRAW = random.Random(SEED)


def some(everything: Iterable[T], times: int = 1) -> list[T]:
    """The share of all changes, or looks, that is tried."""
    found = list(everything)
    DRAW.shuffle(found)
    return found if WANTED == "all" else found[: int(WANTED) * times]


@pytest.fixture(scope="module")
def module_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home for all tests here; making runs takes longer than they do."""
    place = tmp_path_factory.mktemp("outside")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVALBENCH_HOME", str(place / "home"))
        yield place


@pytest.fixture(scope="module")
def every(module_home: Path) -> dict[str, Source]:
    """All sources, by name."""
    return {one.name: one for one in sources(module_home / "sources")}


@pytest.fixture(scope="module")
def good(module_home: Path, every: dict[str, Source]) -> RunFolder:
    """A run that must stay in every list."""
    return good_run()


def only(good: RunFolder) -> None:
    for folder in all_runs():
        if folder.id != good.id:
            shutil.rmtree(folder.path)


def looks_well(good: RunFolder, run: str, place: Path, about: object) -> None:
    """Every command about a run ends in order, and the other run is listed."""
    for words in some(looks(run, good.id, place)):
        told = evalbench(*words)
        assert not crashed(told), f"{about}: {words}: {told.err}"
    assert listed()[good.id] == "complete"


@pytest.mark.share(3)
@pytest.mark.parametrize("name", NAMES)
def test_an_import_with_a_wrong_value(
    name: str, every: dict[str, Source], good: RunFolder, tmp_path: Path
) -> None:
    source = every[name]
    only(good)
    source.write(tmp_path / "in")
    told = evalbench(*source.command(tmp_path / "in"))
    assert (told.code, told.err) == (0, "")
    for change in some(changes(source.files)):
        only(good)
        change.write(tmp_path / "in", source.files)
        told = evalbench(*source.command(tmp_path / "in"))
        write(tmp_path / "in" / change.file, source.files[change.file])
        assert not crashed(told), f"{change}: {told.err}"
        made = [folder.id for folder in all_runs() if folder.id != good.id]
        if told.code:
            assert told.err.startswith("error: ")
            assert len(told.err) < 5000
            assert made == [], change
        for run in made:
            looks_well(good, run, tmp_path / "out", change)


@pytest.mark.parametrize("file", ["status.json", "spec.json"])
def test_a_run_that_was_edited(file: str, good: RunFolder, tmp_path: Path) -> None:
    only(good)
    edited = good_run()
    right = json.loads((edited.path / file).read_bytes())
    for change in some(changes({file: right}), 8):
        write(edited.path / file, right, change)
        looks_well(good, edited.id, tmp_path / "out", change)
        assert edited.id in listed()
        told = evalbench("runs")
        state = listed()[edited.id]
        if state == "unreadable":
            assert f"{edited.id} cannot be read: {file}: " in told.out
            assert f"rm -r {edited.path}" in told.out


def test_the_facts_and_records_of_a_journal_that_was_edited(
    good: RunFolder, tmp_path: Path
) -> None:
    only(good)
    edited = good_run()
    shutil.copyfile(edited.journal, whole := tmp_path / "whole.db")
    for statement in edits(whole):
        shutil.copyfile(whole, edited.journal)
        with sqlite3.connect(edited.journal) as connection:
            connection.execute(*statement)
        connection.close()
        looks_well(good, edited.id, tmp_path / "out", statement)


def edits(journal: Path) -> list[tuple[str, tuple[Any, ...]]]:
    """Statements that put one fact, one interned record or one column of a journal wrong."""
    with sqlite3.connect(journal) as connection:
        facts = dict(connection.execute("SELECT key, value FROM run").fetchall())
        names = connection.execute("SELECT id FROM name").fetchall()
    connection.close()
    found: list[tuple[str, tuple[Any, ...]]] = []
    for key, value in facts.items():
        for change in some(changes({key: orjson.loads(value)})):
            write(journal.with_name("fact.json"), orjson.loads(value), change)
            body = journal.with_name("fact.json").read_bytes()
            found.append(("UPDATE run SET value = ? WHERE key = ?", (body, key)))
    deep = ODDITIES["5,000 lists in one another"].encode()
    odd = [b"null", b'"x"', b"[]", b'{"a": "x"}', b"{", b"\xff", deep]
    found += [("UPDATE name SET text = CAST(? AS TEXT) WHERE id = ?", (body, ident))
              for (ident,) in names for body in odd]  # fmt: skip
    for table, columns in {
        "sample": ("hash", "occurrence", "tags", "body"),
        "call": ("hash", "sent", "shape", "body"),
        "reply": ("at", "outcome", "input", "cost", "possible", "body"),
        "score": ("at", "tags", "outcome", "vals", "detail"),
        "slot": ("epoch", "role", "model", "step", "repeat"),
    }.items():
        for column in columns:
            sql = f"UPDATE OR IGNORE {table} SET {column} = ?"
            found += [(sql, (value,)) for value in (None, "x", -1, 2**62, b"\0[1]", 0.5)]
    found.append(("UPDATE sample SET row = ? WHERE row = 1", (2**40,)))
    found.append(("UPDATE score SET id = ? WHERE id = (SELECT min(id) FROM score)", (2**62,)))
    return some(found, 8)
