"""When a record is safe: seen by others, left by a killed engine, refused after a failed write."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from evalbench.engine.calls import Outcome, Reply, Usage, generate
from evalbench.engine.errors import JournalError
from evalbench.engine.journal import Journal, JournalReader
from evalbench.engine.journal.paging import count_scores
from evalbench.engine.journal.reader import Totals, totals
from tests.unit.engine.journals import KEY, ask, fill, journal, sample


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


async def test_what_was_waited_for_is_seen_by_others_at_once(path: Path) -> None:
    async with journal(path) as opened:
        with JournalReader(path) as reader:
            await opened.add_samples([(1, sample(1))])
            assert reader.size() == 1
            await ask(opened, 1, sample(1), generate("?"), None)
            assert [call.reply for call in reader.calls(1)] == [None]
            await opened.store_reply(1, KEY, 0, Reply("A"))
            assert [call.reply for call in reader.calls(1)] == [Reply("A")]


async def test_what_nobody_waits_for_is_seen_a_turn_later(path: Path) -> None:
    async with journal(path) as opened:
        with JournalReader(path) as reader:
            opened.event("told")
            opened.store_score(1, 0, {}, Outcome.OK, {}, {})
            assert (reader.events(), list(reader.scores())) == ([], [])
            await asyncio.sleep(0)
            assert (len(reader.events()), len(list(reader.scores()))) == (1, 1)


async def test_an_external_reply_is_committed_once_what_was_stored_so_far_is(path: Path) -> None:
    async with journal(path) as opened:
        with JournalReader(path) as reader:
            await opened.add_samples([(1, sample(1))])
            await ask(opened, 1, sample(1), generate("?"), None)
            stored = opened.store_any_reply(1, KEY, 0, Reply("half a pair: \ud83d"))
            assert stored == Reply("half a pair: \ufffd")
            assert [call.reply for call in reader.calls(1)] == [None]
            await opened.committed()
            assert [call.reply for call in reader.calls(1)] == [stored]


async def test_the_engine_itself_sees_everything_it_stored(path: Path) -> None:
    async with journal(path) as opened:
        for row in range(1, 4):
            opened.store_score(row, 0, {}, list(Outcome)[row % 2], {}, {})
            assert opened.query(count_scores) == row
        assert opened.query(lambda decoder: count_scores(decoder, [Outcome.TRUNCATED])) == 1


async def test_what_was_waited_for_survives_the_death_of_the_engine(
    path: Path, tmp_path: Path
) -> None:
    left = tmp_path / "left"
    left.mkdir()
    async with journal(path) as opened:
        await fill(opened, range(1, 4))
        opened.event("not yet written")
        # Its files as they lie there now are what a killed engine leaves.
        for file in tmp_path.glob("journal.db*"):
            (left / file.name).write_bytes(file.read_bytes())
    with JournalReader(left / "journal.db") as reader:
        assert [found.sample for found in reader.samples()] == [sample(n) for n in range(1, 4)]
        assert reader.calls(3)[0].reply == Reply("A")
        assert reader.events() == []
    async with journal(left / "journal.db") as opened:
        await fill(opened, [4])
    with JournalReader(left / "journal.db") as reader:
        assert reader.size() == 4


async def test_after_a_failed_write_nothing_more_is_taken(path: Path) -> None:
    async with journal(path) as opened:
        await fill(opened, [1])
    failing = Journal(path)
    failing.query(lambda decoder: decoder.db.execute("PRAGMA query_only = 1"))
    waiting = [failing.add_samples([(row, sample(row))]) for row in (2, 3)]
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(result) for result in results] == [JournalError] * 2
    assert failing.broken is not None
    assert "cannot be written to" in failing.broken.what
    again: list[Callable[[], object]] = [
        lambda: failing.event("x"),
        lambda: failing.set(state="x"),
        lambda: failing.store_score(1, 0, {}, Outcome.OK, {}, {}),
        failing.flush,
        lambda: failing.query(count_scores),
    ]
    for use in again:
        with pytest.raises(JournalError) as caught:
            use()
        assert caught.value is failing.broken
    with pytest.raises(JournalError):
        await failing.close()
    with JournalReader(path) as reader:
        assert [found.row for found in reader.samples()] == [1]


async def test_money_and_tokens_add_up_over_all_replies(path: Path) -> None:
    async with journal(path) as opened:
        assert opened.query(lambda decoder: totals(decoder, path)) == Totals()
        for row, cost in ((1, Decimal("0.1")), (2, Decimal("0.2")), (3, None)):
            await opened.add_samples([(row, sample(row))])
            usage = Usage(10, None if cost is None else 1)
            reply = Reply("A", usage=usage, cost=cost, possible_cost=Decimal("0.05"))
            await ask(opened, row, sample(row), generate("?"), reply)
        assert opened.query(lambda decoder: totals(decoder, path))[2:] == (
            Decimal("0.3"),
            Decimal("0.15"),
        )
    with JournalReader(path) as reader:
        assert reader.tokens() == (30, 2)


async def test_calls_are_forgotten_with_their_places_in_batches_or_not_at_all(path: Path) -> None:
    async with journal(path) as opened:
        await opened.add_samples([(1, sample(1))])
        await ask(opened, 1, sample(1), generate("?"), None)
        opened.put_in_batch(opened.call_id(1, KEY, 0), 1, 0)
    with closing(sqlite3.connect(path)) as db:
        db.execute(
            "CREATE TRIGGER stay BEFORE DELETE ON batched BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    left = Journal(path)
    with pytest.raises(JournalError):
        left.forget_calls([left.call_id(1, KEY, 0)])
    with pytest.raises(JournalError):
        await left.close()
    with JournalReader(path) as reader:
        assert len(reader.calls(1)) == 1
