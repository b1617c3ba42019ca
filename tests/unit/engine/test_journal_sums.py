"""Sums that a journal keeps of its rows are what counting the rows gives, whatever happened."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from evalbench.engine.calls import Call, Outcome, Reply, Usage, generate
from evalbench.engine.calls.replies import Reused
from evalbench.engine.journal import Journal, JournalReader
from evalbench.engine.journal.reader import RowDecoder
from evalbench.engine.journal.schema import create
from evalbench.engine.journal.sums import Sums, kept, recount
from tests.examples import examples
from tests.unit.engine.journals import KEY, MODEL, fill, journal, sample

ROWS = st.integers(1, 5)
OUTCOMES = st.sampled_from(list(Outcome))

REPLIES = st.builds(
    Reply,
    text=st.just("A"),
    outcome=OUTCOMES,
    usage=st.builds(
        Usage,
        input_tokens=st.none() | st.integers(0, 10**6),
        output_tokens=st.none() | st.integers(0, 10**6),
    ),
    cost=st.none() | st.decimals(0, 9, places=6),
    possible_cost=st.decimals(0, 9, places=6),
    reused=st.none() | st.just(Reused("20260101-000000-x", 7, "2026-01-01T00:00:00Z")),
)

STEPS = st.one_of(
    st.tuples(st.just("sample"), ROWS),
    st.tuples(st.just("call"), ROWS, st.integers(0, 1)),
    st.tuples(st.just("reply"), ROWS, st.integers(0, 1), REPLIES),
    st.tuples(st.just("score"), ROWS, st.integers(0, 1), OUTCOMES, st.integers(0, 2)),
    st.tuples(st.just("forget scores"), st.sets(OUTCOMES)),
    st.tuples(st.just("forget samples"), st.sets(ROWS)),
    st.tuples(st.just("forget calls"), st.sets(ROWS)),
    st.tuples(st.just("forget epochs"), st.integers(0, 2)),
    st.tuples(st.just("commit")),
    st.tuples(st.just("rest")),
    st.tuples(st.just("kill")),
)


def do(into: Journal, step: tuple) -> None:  # type: ignore[type-arg]
    """Store what a step says."""
    match step:
        case "sample", row:
            into.add_samples([(row, sample(row))])
        case "call", row, reask:
            call = Call(MODEL, generate(f"Say {row}"))
            into.intend(row, KEY, reask, call, call.content_hash, [])
        case "reply", row, reask, reply:
            into.store_reply(row, KEY, reask, reply)
        case "score", row, epoch, outcome, value:
            into.store_score(row, epoch, {"of": str(row % 2)}, outcome, {"x": value}, {})
        case "forget scores", outcomes:
            into.forget_scores(outcomes)
        case "forget samples", rows:
            into.forget_samples(rows)
        case "forget calls", rows:
            into.forget_calls([into.call_id(row, KEY, 0) for row in rows])
        case "forget epochs", first:
            into.forget_epochs(first)
        case _:
            into.flush()


def look(path: Path, read: Callable[[sqlite3.Connection], Sums | None]) -> Sums | None:
    """What is found in the file itself."""
    with closing(sqlite3.connect(path)) as connection:
        return read(connection)


async def live(path: Path, steps: list[tuple]) -> None:  # type: ignore[type-arg]
    """Go through a history, and count anew after each of its steps."""
    create(path)
    opened = Journal(path)
    for number, step in enumerate(steps):
        do(opened, step)
        if step[0] == "rest":
            await opened.close()
            assert look(path, kept) in (None, look(path, recount))
            opened = Journal(path)
        if step[0] == "kill":
            # What a killed engine leaves: the files as they are now.
            copy = path.with_name(f"{number}.db")
            for end in ("", "-wal"):
                shutil.copyfile(f"{path}{end}", f"{copy}{end}")
            await opened.close()
            path = copy
            assert look(path, kept) in (None, look(path, recount))
            opened = Journal(path)
        known = opened.query(RowDecoder.sums)
        assert known in (None, opened.query(lambda decoder: recount(decoder.db)))
    await opened.close()


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(STEPS, min_size=5, max_size=30))
def test_sums_are_right_or_not_there(steps: list[tuple]) -> None:  # type: ignore[type-arg]
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(live(Path(folder) / "journal.db", steps))


async def test_a_resting_journal_has_them_and_a_written_one_has_not(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        await fill(opened, range(1, 4))
        assert look(path, kept) is None
    assert look(path, kept) == look(path, recount)
    assert look(path, kept) == Sums(3, 3, 3, scores={(1, 0, 4): 3})
    async with journal(path) as opened:
        assert look(path, kept)
        opened.event("started")
        opened.flush()
        assert look(path, kept) is None
    assert look(path, kept)


async def test_a_reader_takes_them_for_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        await fill(opened, range(1, 4))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM score")
        connection.execute("DELETE FROM sample")
    with JournalReader(path) as reader:
        assert reader.size() == 3
        assert [row.count for row in reader.tally()] == [3]


async def test_a_journal_of_version_3_is_counted_and_keeps_them_from_then_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        await fill(opened, range(1, 4))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM run WHERE key = 'sums'")
        connection.execute("DROP TABLE attempts")
        connection.execute("PRAGMA user_version = 3")
    with JournalReader(path) as reader:
        assert [row.count for row in reader.tally()] == [3]
    async with journal(path) as opened:
        assert opened.query(RowDecoder.sums) == look(path, recount)
    assert look(path, kept) == look(path, recount)


async def test_a_reply_that_is_replaced_leaves_no_sums(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        await fill(opened, range(1, 3))
        opened.store_reply(1, KEY, 0, Reply("B", cost=Decimal(1)))
        assert opened.query(RowDecoder.sums) is None
    assert look(path, kept) is None
    async with journal(path):
        pass
    assert look(path, kept) == look(path, recount)


async def test_scores_that_nearly_all_differ_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        for row in range(1, 1500):
            opened.store_score(row, 0, {}, Outcome.OK, {"x": row}, {})
    assert look(path, kept) is None


async def test_rows_changed_by_hand_are_found_by_counting_all(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        await fill(opened, range(1, 4))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM score WHERE id > 1 << 10")
    async with journal(path) as opened:
        opened.recount()
        assert opened.query(RowDecoder.sums) == look(path, recount)
        assert look(path, kept) is None
    assert look(path, kept) == look(path, recount)
