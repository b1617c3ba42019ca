"""What goes into a journal comes out again, live and at rest."""

from __future__ import annotations

import asyncio
import stat
import time
from collections.abc import Awaitable, Callable, Generator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import (
    MediaPart,
    Message,
    Outcome,
    Prompt,
    Reply,
    TextPart,
    Usage,
    generate,
    user,
)
from evalbench.engine.journal import Journal, JournalReader, codec
from tests.examples import examples
from tests.unit.engine.journals import KEY, MODEL, ask, fill, journal, sample
from tests.unit.engine.strategies import json_values, prompts, replies, texts

few = settings(max_examples=examples(15), deadline=None)
tags = st.dictionaries(texts, texts, max_size=3)
samples = st.builds(
    Sample,
    st.tuples(st.binary(min_size=8, max_size=8), st.integers(1, 10**6)).map(
        lambda pair: f"{pair[0].hex()}.{pair[1]}"
    ),
    st.dictionaries(texts, json_values, max_size=3),
    json_values,
    tags,
)
scores = st.tuples(
    st.integers(0, 1023),
    st.sampled_from(list(Outcome)),
    st.dictionaries(texts, st.floats(allow_nan=False, allow_infinity=False), max_size=3),
    st.dictionaries(texts, json_values, max_size=3),
)


def written(
    write: Callable[[Journal], Awaitable[None]], check: Callable[[JournalReader], None]
) -> None:
    """Write into a fresh journal, then read it twice: while it is open, and at rest."""

    async def run(path: Path) -> None:
        async with journal(path) as opened:
            await write(opened)
            opened.flush()
            with JournalReader(path) as live:
                check(live)
        with JournalReader(path) as resting:
            check(resting)

    # In memory where there is such a place: a disk would be waited for at every example.
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        asyncio.run(run(Path(folder) / "journal.db"))


# -- round trips -----------------------------------------------------------------


@few
@given(st.lists(samples, max_size=4))
def test_samples_come_back(given: list[Sample]) -> None:
    rows = list(enumerate(given, 1))

    async def write(into: Journal) -> None:
        await into.add_samples(rows)

    def check(reader: JournalReader) -> None:
        assert [(found.row, found.sample) for found in reader.samples()] == rows
        assert reader.size() == len(rows)

    written(write, check)


def _media_once(prompt: Prompt) -> Prompt:
    """Give equal bytes one media type: the journal keeps bytes by content."""
    return replace(
        prompt,
        messages=tuple(
            Message(
                m.role,
                tuple(
                    p if isinstance(p, TextPart) else MediaPart("image/png", p.data)
                    for p in m.parts
                ),
            )
            for m in prompt.messages
        ),
    )


@few
@given(samples, prompts.map(_media_once), replies)
def test_calls_and_replies_come_back(of: Sample, prompt: Prompt, reply: Reply) -> None:
    async def write(into: Journal) -> None:
        await into.add_samples([(7, of)])
        await ask(into, 7, of, prompt, reply)

    def check(reader: JournalReader) -> None:
        (call,) = reader.calls(7)
        assert (call.row, call.key, call.reask) == (7, KEY, 0)
        assert call.prompt == prompt
        assert call.reply == reply

    written(write, check)


@few
@given(tags, scores)
def test_scores_come_back(
    given: dict[str, str], score: tuple[int, Outcome, dict[str, float], dict[str, Any]]
) -> None:
    epoch, outcome, values, detail = score

    async def write(into: Journal) -> None:
        into.store_score(3, epoch, given, outcome, values, detail)

    def check(reader: JournalReader) -> None:
        (found,) = reader.scores()
        assert (found.row, found.epoch, found.outcome) == (3, epoch, outcome)
        assert (found.values, found.detail) == (values, detail)
        (row,) = reader.tally()
        assert (row.tags, row.outcome, row.values, row.count) == (given, outcome, values, 1)

    written(write, check)


async def test_long_texts_and_images_come_back(tmp_path: Path) -> None:
    picture = MediaPart("image/png", bytes(range(256)) * 4000)
    long = generate([user([TextPart("Look. " * 9000, shared=True), picture, "ж" * 300_000])])
    reply = Reply("答" * 200_000, reasoning="x" * 400_000, raw={"text": "答" * 200_000})
    async with journal(tmp_path / "journal.db") as opened:
        await opened.add_samples([(1, sample(1))])
        await ask(opened, 1, sample(1), long, reply)
    with JournalReader(tmp_path / "journal.db") as reader:
        (call,) = reader.calls(1)
        assert call.prompt == long
        assert call.reply == reply


async def test_money_comes_back_to_the_last_digit(tmp_path: Path) -> None:
    reply = Reply("A", usage=Usage(10, 1), cost=Decimal("0.000012345678"))
    reply = replace(reply, possible_cost=Decimal("1.5"))
    async with journal(tmp_path / "journal.db") as opened:
        await opened.add_samples([(1, sample(1))])
        await ask(opened, 1, sample(1), generate("?"), reply)
    with JournalReader(tmp_path / "journal.db") as reader:
        assert reader.calls(1)[0].reply == reply
        assert reader.tokens() == (10, 1)


async def test_values_of_the_run_come_back_and_can_be_replaced(tmp_path: Path) -> None:
    async with journal(tmp_path / "journal.db") as opened:
        opened.set(state="running", shared=["é", None, 1.5])
        opened.set(state="complete")
    with JournalReader(tmp_path / "journal.db") as reader:
        assert reader.meta("state") == "complete"
        assert reader.meta("shared") == ["é", None, 1.5]
        assert reader.meta("absent") is None


async def test_a_page_of_samples_and_scores_begins_at_its_row(tmp_path: Path) -> None:
    async with journal(tmp_path / "journal.db") as opened:
        await fill(opened, range(1, 10))
    with JournalReader(tmp_path / "journal.db") as reader:
        assert [found.row for found in reader.samples(4, 3)] == [4, 5, 6]
        assert [found.row for found in reader.scores(4, 3)] == [4, 5, 6]


# -- what is stored once -----------------------------------------------------------


async def test_what_calls_share_is_stored_once(tmp_path: Path) -> None:
    rubric = TextPart("".join(f"Rule {n}: {n * 7919 % 1000}. " for n in range(2000)), shared=True)
    sizes = []
    for count in (10, 110):
        path = tmp_path / f"{count}.db"
        async with journal(path) as opened:
            for row in range(1, count + 1):
                await opened.add_samples([(row, sample(row))])
                await ask(opened, row, sample(row), generate([user([rubric, f"Say {row}"])]), None)
        sizes.append(path.stat().st_size)
    assert sizes[1] - sizes[0] < 100 * len(rubric.text) / 20


async def test_a_shape_stands_for_prompts_with_different_images(tmp_path: Path) -> None:
    async with journal(tmp_path / "journal.db") as opened:
        for row in range(1, 21):
            picture = MediaPart("image/png", b"picture %d" % row)
            await opened.add_samples([(row, sample(row))])
            await ask(opened, row, sample(row), generate([user([picture, "What?"])]), None)
        shapes = opened.query(
            lambda decoder: decoder.db.execute("SELECT count(DISTINCT shape) FROM call").fetchone()[
                0
            ]
        )
    assert shapes == 1


async def test_a_reader_learns_of_a_dictionary_that_came_after_it_opened(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    before, after = codec.TRAIN_AFTER // 2, codec.TRAIN_AFTER * 2
    async with journal(path) as opened:
        await fill(opened, range(1, before))
        with JournalReader(path) as reader:
            assert len(list(reader.samples())) == before - 1
            await fill(opened, range(before, after))
            dictionaries = opened.query(
                lambda decoder: decoder.db.execute(
                    "SELECT count(*) FROM blob WHERE kind = 'dictionary' AND length(data) > 0"
                ).fetchone()[0]
            )
            assert dictionaries
            for found in reader.samples():
                assert found.sample == sample(found.row)
            (call,) = reader.calls(after - 1)
            assert call.reply == Reply("A")


async def test_records_of_one_turn_have_the_dictionary_as_soon_as_there_is_one(
    tmp_path: Path,
) -> None:
    path, many = tmp_path / "journal.db", codec.TRAIN_AFTER + 200
    async with journal(path) as opened:
        await opened.add_samples((row, sample(row)) for row in range(1, many + 1))
        with_it = opened.query(
            lambda decoder: decoder.db.execute(
                "SELECT count(*) FROM sample WHERE hex(substr(body, 1, 1)) = '02'"
            ).fetchone()[0]
        )
    assert with_it == 200
    with JournalReader(path) as reader:
        assert [found.sample for found in reader.samples()] == [*map(sample, range(1, many + 1))]


async def test_a_writer_that_opens_again_goes_on_with_the_dictionary(tmp_path: Path) -> None:
    path, middle = tmp_path / "journal.db", codec.TRAIN_AFTER + 50
    async with journal(path) as opened:
        await fill(opened, range(1, middle))
    async with journal(path) as opened:
        await fill(opened, range(middle, middle + codec.TRAIN_AFTER + 50))
    with JournalReader(path) as reader:
        for found in reader.samples():
            assert found.sample == sample(found.row)


async def test_a_dictionary_in_use_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    one, other = (
        codec.train([codec.sample_body(sample(n, text)) for n in range(500)])
        for text in ("", "Why?")
    )
    async with journal(path) as opened:
        opened.use_dictionary("sample", one)
        await opened.add_samples([(1, sample(1))])
        opened.use_dictionary("sample", other)
        await opened.add_samples([(2, sample(2))])
    with JournalReader(path) as reader:
        assert [found.sample for found in reader.samples()] == [sample(1), sample(2)]


# -- events ------------------------------------------------------------------------


async def test_equal_events_in_a_row_are_one_with_a_count(tmp_path: Path) -> None:
    async with journal(tmp_path / "journal.db") as opened:
        for _ in range(3):
            opened.event("wait", reason="RateLimited")
        opened.flush()
        opened.event("wait", reason="RateLimited")
        opened.event("wait", reason="Overloaded")
        opened.event("wait", reason="RateLimited")
    with JournalReader(tmp_path / "journal.db") as reader:
        told = [(event.kind, event.body["reason"], event.count) for event in reader.events()]
        ids = [event.id for event in reader.events()]
        assert reader.events(after=ids[0], count=1)[0].id == ids[1]
    assert told == [
        ("wait", "RateLimited", 4),
        ("wait", "Overloaded", 1),
        ("wait", "RateLimited", 1),
    ]
    assert ids == [1, 2, 3]


async def test_equal_events_far_apart_stay_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with journal(tmp_path / "journal.db") as opened:
        clock = [0]
        monkeypatch.setattr(opened, "now_ms", lambda: clock[0])
        for second in (0, 9, 11, 12):
            clock[0] = second * 1000
            opened.event("wait")
    with JournalReader(tmp_path / "journal.db") as reader:
        assert [(event.at_ms, event.count) for event in reader.events()] == [(0, 2), (11_000, 2)]


async def test_times_never_go_back_as_clocks_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    path = tmp_path / "journal.db"
    for seconds, kind in ((1000.0, "begun"), (1060.0, "then"), (400.0, "set-back"), (1090.0, "on")):
        clock[0] = seconds
        async with journal(path) as opened:
            if kind == "begun":
                opened.set(created=1000.0)
            opened.event(kind)
    with JournalReader(path) as reader:
        assert [event.at_ms for event in reader.events()] == [0, 60_000, 60_000, 90_000]


async def test_events_of_a_later_engine_follow_those_of_the_first(tmp_path: Path) -> None:
    for pid in (1, 2):
        async with journal(tmp_path / "journal.db") as opened:
            opened.event("started", pid=pid)
    with JournalReader(tmp_path / "journal.db") as reader:
        assert [(event.id, event.body["pid"]) for event in reader.events()] == [(1, 1), (2, 2)]


# -- forgetting --------------------------------------------------------------------


async def test_forgotten_scores_leave_their_calls(tmp_path: Path) -> None:
    async with journal(tmp_path / "journal.db") as opened:
        await fill(opened, [1, 2])
        opened.store_score(2, 0, {}, Outcome.ERROR, {}, {})
        opened.forget_scores([Outcome.ERROR, Outcome.REFUSED])
    with JournalReader(tmp_path / "journal.db") as reader:
        assert [score.row for score in reader.scores()] == [1]
        assert [len(reader.calls(row)) for row in (1, 2)] == [1, 1]


async def test_forgotten_samples_take_their_scores_along(tmp_path: Path) -> None:
    async with journal(tmp_path / "journal.db") as opened:
        await fill(opened, [1, 2, 3])
        opened.store_score(2, 5, {}, Outcome.OK, {}, {})
        opened.forget_samples([2])
        opened.forget_samples([])
    with JournalReader(tmp_path / "journal.db") as reader:
        assert [found.row for found in reader.samples()] == [1, 3]
        assert [score.row for score in reader.scores()] == [1, 3]
        assert reader.size() == 2


async def test_forgotten_epochs_are_the_later_ones(tmp_path: Path) -> None:
    async with journal(tmp_path / "journal.db") as opened:
        for row in (1, 2):
            for epoch in range(4):
                opened.store_score(row, epoch, {}, Outcome.OK, {}, {})
        opened.forget_epochs(2)
    with JournalReader(tmp_path / "journal.db") as reader:
        assert [(s.row, s.epoch) for s in reader.scores()] == [(1, 0), (1, 1), (2, 0), (2, 1)]


async def test_cut_calls_are_closed_as_errors_that_may_have_cost(tmp_path: Path) -> None:
    async with journal(tmp_path / "journal.db") as opened:
        await fill(opened, [1])
        await opened.add_samples([(2, sample(2))])
        await ask(opened, 2, sample(2), generate("Cut"), None)
        assert opened.close_cut_calls(lambda call: Decimal("0.25")) == 1
        assert opened.close_cut_calls(lambda call: Decimal("0.25")) == 0
    with JournalReader(tmp_path / "journal.db") as reader:
        (cut,) = reader.calls(2)
        assert cut.reply is not None
        assert cut.reply.outcome is Outcome.ERROR
        assert (cut.reply.possibly_billed, cut.reply.possible_cost) == (True, Decimal("0.25"))
        assert reader.calls(1)[0].reply == Reply("A")


@pytest.mark.parametrize(
    ("billed", "in_flight", "attempts"), [(0, False, 0), (0, True, 1), (2, False, 2), (2, True, 3)]
)
async def test_a_call_that_waited_for_another_try_was_not_cut(
    tmp_path: Path, billed: int, in_flight: bool, attempts: int
) -> None:
    async with journal(tmp_path / "journal.db") as opened:
        await opened.add_samples([(1, sample(1))])
        await ask(opened, 1, sample(1), generate("Tried"), None)
        await opened.put_attempts(opened.call_id(1, KEY, 0), billed, in_flight=in_flight)
        assert opened.close_cut_calls(lambda call: Decimal("0.25")) == in_flight
    with JournalReader(tmp_path / "journal.db") as reader:
        (call,) = reader.calls(1)
        assert call.reply is not None
        assert call.reply.outcome is Outcome.ERROR
        assert call.reply.possible_cost == attempts * Decimal("0.25")
        assert call.reply.possibly_billed is (attempts > 0)


# -- the file ----------------------------------------------------------------------


async def test_a_resting_journal_is_one_file_of_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        await fill(opened, range(1, 50))
        live = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert set(live.values()) == {0o600}
    assert [file.name for file in tmp_path.iterdir()] == ["journal.db"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_reader_does_not_keep_the_writer_from_resting(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        await fill(opened, range(1, 20))
        reader = JournalReader(path)
        page = reader.samples()
        next(page)
    alone = tmp_path / "copy.db"
    alone.write_bytes(path.read_bytes())
    with JournalReader(alone) as copied:
        assert copied.size() == 19
    assert isinstance(page, Generator)
    page.close()
    reader.close()


async def test_a_reply_that_json_cannot_carry_is_refused_and_breaks_nothing(tmp_path: Path) -> None:
    async with journal(tmp_path / "journal.db") as opened:
        await opened.add_samples([(1, sample(1))])
        await ask(opened, 1, sample(1), generate("?"), None)
        with pytest.raises(TypeError):
            opened.store_reply(1, KEY, 0, Reply("half a pair: \ud83d"))
        with pytest.raises(TypeError):
            opened.store_score(1, 0, {}, Outcome.OK, {}, {"parsed": object()})
        await opened.store_reply(1, KEY, 0, Reply("whole"))
    with JournalReader(tmp_path / "journal.db") as reader:
        assert reader.calls(1)[0].reply == Reply("whole")
        assert list(reader.scores()) == []


async def test_what_many_store_in_one_turn_is_one_commit(tmp_path: Path) -> None:
    """Also after queries, which commit what is there before they look."""
    said: list[str] = []
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with journal(tmp_path / "journal.db") as opened:
        await opened.add_samples([(row, sample(row)) for row in range(1, 21)])
        opened.query(lambda decoder: decoder.db.set_trace_callback(said.append))

        async def store(row: int) -> None:
            for _ in range(row % 7):
                await asyncio.sleep(0)
            for step in range(30):
                key = KEY._replace(step=str(step))
                await ask(opened, row, sample(row), generate("?"), Reply("A"), key=key)
                if row == 1:
                    opened.query(lambda decoder: None)

        counting = asyncio.create_task(count_turns())
        await asyncio.gather(*(store(row) for row in range(1, 21)))
        counting.cancel()
        opened.query(lambda decoder: decoder.db.set_trace_callback(None))
    assert said.count("COMMIT") < turns


async def test_calls_keep_the_model_they_went_to(tmp_path: Path) -> None:
    async with journal(tmp_path / "journal.db") as opened:
        await opened.add_samples([(1, sample(1))])
        for reask in range(3):
            key = KEY._replace(step=f"step {reask}")
            call = await ask(opened, 1, sample(1), generate("?"), None, key=key, reask=reask)
    with JournalReader(tmp_path / "journal.db") as reader:
        found = reader.calls(1)
    assert [(c.key.model, c.key.step, c.reask) for c in found] == [
        (str(MODEL), f"step {reask}", reask) for reask in range(3)
    ]
    assert {c.content_hash for c in found} == {call.content_hash}
