"""The samples of a run and a single one: shown, narrowed, followed, stepped through, copied."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Call, MediaPart, Outcome, Prompt, Reply, TextPart, generate, user
from evalbench.engine.errors import JournalError
from evalbench.engine.journal import CallKey, Journal
from evalbench.engine.journal.codec import quotable
from evalbench.engine.journal.schema import EPOCH_BITS
from evalbench.engine.runs.batch_lines import BatchedCall
from evalbench.engine.runs.browse import Filter, SampleBrowser
from evalbench.engine.runs.status import State
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.screens import starting
from evalbench.tui.screens.choose import Choose
from evalbench.tui.screens.sample import BatchLines, Everything, SamplePage
from evalbench.tui.screens.samples import SamplesPage
from evalbench.tui.state.preferences import Preferences, load_preferences
from evalbench.tui.widgets.pairs import Pairs
from evalbench.tui.widgets.picture import Picture, columns, graphics
from evalbench.tui.widgets.table import Table
from evalbench.tui.widgets.text import LongText, Plain
from tests.pilot.driving import shown, until, until_shown, until_told
from tests.pretending import ACCURACY, PretendEngine, pretend

SIZES = [(80, 24), (120, 40), (200, 60)]
SUBJECTS = ("anatomy", "law", "virology")
WRONG = (2, 5, 8, 11)


@pytest.fixture
async def engine(home: Path) -> PretendEngine:
    """A live run of twelve samples in three subjects; every third is wrong, one was refused."""
    made = pretend("synthetic", "scripted/good", total=12)
    for row in range(1, 13):
        await made.answer(
            row,
            f"Question {row} about a needle?" if row in (3, 8) else f"Question {row}?",
            read="C" if row in WRONG else "B",
            outcome=Outcome.REFUSED if row == 11 else Outcome.OK,
            subject=SUBJECTS[row % 3],
        )
    made.status(done=12, metrics={"accuracy": ACCURACY})
    return made


@asynccontextmanager
async def samples(
    engine: PretendEngine, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Pilot[Any]]:
    """The app with the samples of a run on top."""
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=size, notifications=True) as pilot:
        await app.push_screen(SamplesPage(engine.folder))
        yield pilot


@asynccontextmanager
async def one(
    engine: PretendEngine, row: int, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Pilot[Any]]:
    """The app with one sample on top."""
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=size) as pilot:
        await app.push_screen(SamplePage(engine.folder, row))
        yield pilot


async def test_a_step_shows_what_opening_the_sample_shows(engine: PretendEngine) -> None:
    """Its widgets are those of the sample before where they are alike."""
    async with one(engine, 1) as pilot:
        stepped = pilot.app.screen
        kept = {widget for widget in stepped.query(Pairs) if widget.is_mounted}
        for number in range(2, 5):
            await pilot.press("n")
            await until_shown(pilot, f"Sample {number} ")
            await pilot.pause()
            seen = shown(pilot.app)
            await pilot.app.push_screen(SamplePage(engine.folder, number))
            await until(pilot, partial(_is_shown, pilot, seen), f"sample {number}")
            await pilot.app.pop_screen()
            if number == 2:
                assert kept & set(stepped.query(Pairs))


def _is_shown(pilot: Pilot[Any], text: str) -> bool:
    return shown(pilot.app) == text


def listed(pilot: Pilot[Any]) -> list[int]:
    """Numbers of the samples in the list."""
    rows = pilot.app.screen.query_one(Table).rows
    return [int(rows.row(index)[0][0]) for index in range(len(rows))]


async def until_listed(pilot: Pilot[Any], *numbers: int) -> None:
    def look() -> bool:
        page = pilot.app.screen
        return isinstance(page, SamplesPage) and listed(pilot) == list(numbers)

    await until(pilot, look, f"the samples {numbers}")


@pytest.mark.share(3)
@pytest.mark.parametrize("size", SIZES)
async def test_every_sample_is_listed_with_what_came_of_it(
    engine: PretendEngine, size: tuple[int, int]
) -> None:
    async with samples(engine, size) as pilot:
        screen = await until_shown(pilot, "12 samples")
        lines = {words[0]: words for line in screen.splitlines() if (words := line.split())}
        assert lines["1"][1:6] == ["✓", "parsed", "right", "B", "B"]
        assert lines["2"][1:6] == ["✗", "parsed", "wrong", "C", "B"]
        assert lines["11"][1:4] == ["✗", "refused", "wrong"]
        assert "Question 12?" in screen
        assert ("virology" in screen) is (size[0] > 80)


async def test_filters_narrow_together_and_are_cleared(engine: PretendEngine) -> None:
    async with samples(engine) as pilot:
        await until_listed(pilot, *range(1, 13))
        await pilot.press("w")
        await until_listed(pilot, *WRONG)
        await until_shown(pilot, "only wrong")
        assert "4 of 12 samples" in shown(pilot.app)
        await pilot.press("o")
        await until_listed(pilot, 2, 5, 8)
        await pilot.press("o")
        await until_listed(pilot, 11)
        await until_shown(pilot, "only refused, wrong")
        await pilot.press("w")
        await until_shown(pilot, "No matching samples. Press x to show all.")
        await pilot.press("w")
        await until_listed(pilot, 11)
        await pilot.press("x")
        await until_listed(pilot, *range(1, 13))
        assert "only" not in shown(pilot.app)


async def test_one_group_is_picked_from_a_list(engine: PretendEngine) -> None:
    async with samples(engine) as pilot:
        await until_listed(pilot, *range(1, 13))
        await pilot.press("c")
        screen = await until_shown(pilot, "Show one group")
        assert "virology" in screen
        await pilot.press(*"law", "enter")
        await until_listed(pilot, 1, 4, 7, 10)
        assert "only subject law" in shown(pilot.app)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(pilot.app.screen, Choose), "the list")
        await pilot.press("escape")
        await until_listed(pilot, 1, 4, 7, 10)


async def test_text_is_found_and_escape_undoes_one_thing_at_a_time(engine: PretendEngine) -> None:
    async with samples(engine) as pilot:
        await until_listed(pilot, *range(1, 13))
        await pilot.press("slash", *"NEED")
        # As one types; going back undoes it.
        await until_listed(pilot, 3, 8)
        await pilot.press("escape")
        await until_listed(pilot, *range(1, 13))
        await pilot.press("slash", *"NEEDLE", "enter")
        await until_listed(pilot, 3, 8)
        await until_shown(pilot, "with “NEEDLE” in it")
        await pilot.press("w")
        await until_listed(pilot, 8)
        await pilot.press("slash")
        assert pilot.app.screen.query_one(Input).value == "NEEDLE"
        await pilot.press("escape")
        assert pilot.app.screen.query_one(Table).has_focus
        await until_listed(pilot, 8)
        await pilot.press("escape")
        await until_listed(pilot, *range(1, 13))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, SamplesPage), "the way back")


async def test_the_cursor_stays_at_its_sample(engine: PretendEngine) -> None:
    async with samples(engine) as pilot:
        await until_listed(pilot, *range(1, 13))
        table = pilot.app.screen.query_one(Table)
        await pilot.press(*["down"] * 7)
        await pilot.press("w")
        await until_listed(pilot, *WRONG)
        await until(pilot, lambda: table.cursor == 2, "the cursor at sample 8")
        await pilot.press("x")
        await until_listed(pilot, *range(1, 13))
        await until(pilot, lambda: table.cursor == 7, "the cursor at sample 8 again")


async def test_columns_order_number_copy_and_export(engine: PretendEngine, tmp_path: Path) -> None:
    # The second half was slower and dearer, and number 9 took longest.
    with sqlite3.connect(engine.folder.journal) as journal:
        took = "CASE WHEN id >> 20 = 9 THEN 90000 ELSE 1000 * (id >> 20) END"
        journal.execute(f"UPDATE reply SET at = {took}, input = 150, output = 12 - (id >> 20)")
        journal.execute("UPDATE reply SET cost = 1000000000 * (id >> 20)")
        journal.execute("UPDATE call SET sent = 0")
    journal.close()
    async with samples(engine, (200, 40)) as pilot:
        app = pilot.app
        await until_listed(pilot, *range(1, 13))
        await pilot.press("v")
        await until_shown(pilot, "enter: show or hide")
        await pilot.press("enter")
        await until(pilot, lambda: "shown" in shown(app), "the column's mark")
        await pilot.press("escape")
        screen = await until_shown(pilot, "latency")
        assert "1:30" in screen
        assert load_preferences().columns == "latency"
        await pilot.press("S", "S")
        await until_listed(pilot, 9, 12, 11, 10, 8, 7, 6, 5, 4, 3, 2, 1)
        assert "latency ▾" in shown(app)
        # Opened in this order, and filtered in it.
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SamplePage), "the sample")
        await pilot.press("n")
        await until_shown(pilot, "2 of 12 listed")
        await until_shown(pilot, "Question 12?")
        await pilot.press("escape", "w")
        await until_listed(pilot, 11, 8, 5, 2)
        await pilot.press("R")
        await until_listed(pilot, 2, 5, 8, 11)
        await pilot.press("number_sign")
        await until_shown(pilot, "Number of the sample")
        await pilot.press("3", "enter")
        await until_shown(pilot, "the filter hides 3")
        await pilot.press("3", "enter")
        await until_shown(pilot, "no such sample")
        await pilot.press("backspace", "backspace", "8", "enter")
        await until(pilot, lambda: app.screen.query_one(Table).cursor == 2, "number 8")
        await pilot.press("E")
        await until_shown(pilot, "Export the 4 samples listed")
        entry = app.screen.query_one("#value", Input)
        for name in ("listed.csv", "listed.jsonl"):
            entry.value = str(tmp_path / "listed.txt")
            await pilot.press("enter")
            await until_shown(pilot, "has to end in .csv or .jsonl")
            entry.value = str(tmp_path / name)
            await pilot.press("enter")
            await until(pilot, (tmp_path / name).exists, "the file")
            if name == "listed.csv":
                await pilot.press("E")
                await until_shown(pilot, "Export the 4 samples listed")
                entry = app.screen.query_one("#value", Input)
    with (tmp_path / "listed.csv").open(encoding="utf-8") as file:
        assert [row["row"] for row in csv.DictReader(file)] == ["2", "5", "8", "11"]
    lines = (tmp_path / "listed.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["row"] for line in lines] == [2, 5, 8, 11]


async def test_columns_that_were_chosen_are_kept_where_there_is_little_room(
    engine: PretendEngine,
) -> None:
    async with samples(engine, (80, 24)) as pilot:
        await until_listed(pilot, *range(1, 13))
        assert "read as" in shown(pilot.app)
        assert "gold" in shown(pilot.app)
        await pilot.press("v")
        await until_shown(pilot, "enter: show or hide")
        for name in ("latency", "tokens"):
            await pilot.press(*name, "enter")
            await until(pilot, lambda: "shown" in shown(pilot.app), "the column's mark")
        await pilot.press("escape")
        screen = await until_shown(pilot, "tokens in")
        assert "latency" in screen
        assert "question" in screen
        await pilot.press("v")
        await until_shown(pilot, "enter: show or hide")
        for name in ("values", "cost", "out"):
            await pilot.press(*name, "enter")
        await pilot.press("escape")
        await until_shown(pilot, "no room here for cost, values")


async def test_the_list_stays_while_it_is_sorted_and_an_empty_one_is_not_exported(
    engine: PretendEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def ordered(_: SampleBrowser, rows: Sequence[int], *__: str, **___: bool) -> Sequence[int]:
        go_on.wait()
        return list(reversed(rows))

    monkeypatch.setattr(SampleBrowser, "ordered", ordered)
    async with samples(engine) as pilot:
        await until_listed(pilot, *range(1, 13))
        await pilot.press("S")
        await until_shown(pilot, "12 samples · by score")
        assert listed(pilot) == list(range(1, 13))
        go_on.set()
        await until_listed(pilot, *range(12, 0, -1))
        await pilot.press("slash", *"number>99", "enter")
        await until_shown(pilot, "No matching samples")
        await pilot.press("E")
        await until_told(pilot, "no sample is listed")


async def test_each_judges_ratings_are_a_column_that_sorts(engine: PretendEngine) -> None:
    rated = {"accuracy": 1.0, "rating/openai/gpt-5-mini": 7.0, "rating/anthropic/claude": 4.0}
    with sqlite3.connect(engine.folder.journal) as journal:
        kept = [dict(rated), rated | {"rating/anthropic/claude": 9.0}]
        for place, values in enumerate(kept):
            text = json.dumps(values)
            journal.execute("INSERT INTO name (id, text) VALUES (?, ?)", (900 + place, text))
        journal.execute(f"UPDATE score SET vals = 900 + (id >> {EPOCH_BITS} = 5)")
    journal.close()
    async with samples(engine, (200, 40)) as pilot:
        app = pilot.app
        await until_listed(pilot, *range(1, 13))
        await pilot.press("v")
        await until_shown(pilot, "rating/anthropic/claude")
        await pilot.press(*"anth", "enter")
        await until(pilot, lambda: "shown" in shown(app), "the column's mark")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, SamplesPage), "the list")
        assert load_preferences().columns == "value:rating/anthropic/claude"
        # After score, latency, tokens in and out, and cost.
        await pilot.press(*"SSSSSS")
        await until_listed(pilot, 5, 1, 2, 3, 4, *range(6, 13))
        head = next(line for line in shown(app).splitlines() if "outcome" in line)
        assert "claude ▾" in head
        await pilot.press("R")
        await until_listed(pilot, 1, 2, 3, 4, *range(6, 13), 5)
        # Another page of this run has the column from the start.
        await app.push_screen(SamplesPage(engine.folder))
        await until_shown(pilot, "…")
        assert "claude" in shown(app)


async def test_failures_are_listed_by_error_and_asked_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = pretend("synthetic", "scripted/good", total=6)
    for row in range(1, 7):
        error = ("Overloaded: busy", "BadRequest: no [/] tag")[row % 2]
        failed = row in (2, 3, 6)
        outcome = Outcome.ERROR if failed else Outcome.OK
        await engine.answer(row, f"Question {row}?", read=error if failed else "B", outcome=outcome)
    errors = {"Overloaded": 2, "BadRequest": 1}
    engine.status(State.COMPLETE, done=6, total=6, failed=3, errors=errors, spend_usd=0.3)
    begun: list[tuple[str, ...]] = []

    async def start(_app: Any, words: tuple[str, ...]) -> None:
        begun.append(words)

    monkeypatch.setattr(starting, "start", start)
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await app.open_run(engine.folder)
        await until_shown(pilot, "2 × Overloaded f shows them")
        await pilot.press("f")
        await until_shown(pilot, "all of them")
        await pilot.press("down", "enter")
        await until_listed(pilot, 2, 6)
        await until_shown(pilot, "only failed with Overloaded · r asks all 3 again · x shows all")
        await pilot.press("r")
        await until_shown(pilot, "Ask all 3 failed samples of this run again?")
        told = " ".join(shown(app).replace("│", " ").split())
        assert "About $0.3000, at what the others cost. It is not limited to the 2 listed." in told
        assert "not done" not in told
        await pilot.press("y")
        await until(pilot, lambda: begun, "the retry")
        assert begun == [("resume", str(engine.folder.path))]


async def test_a_retry_of_a_stopped_run_says_that_it_also_goes_on(home: Path) -> None:
    engine = pretend("synthetic", "scripted/good", total=6)
    error = "Overloaded: busy"
    await engine.answer(1, "Question 1?", read=error, outcome=Outcome.ERROR)
    await engine.answer(2, "Question 2?", read="B")
    engine.status(State.STOPPED, done=2, total=6, failed=1, errors={"Overloaded": 1})
    async with samples(engine) as pilot:
        await pilot.press("slash", *"outcome:parsed")
        await until_shown(pilot, "only outcome:parsed · x shows all")
        await pilot.press(*["backspace"] * 6, *"failed", "enter")
        await until_shown(pilot, "only outcome:failed · r asks it again · x shows all")
        await pilot.press("r")
        await until_shown(pilot, "Ask the failed sample of this run again?")
        assert "The 4 not done yet are asked too." in " ".join(shown(pilot.app).split())
        assert "cost" not in shown(pilot.app)


async def test_a_run_without_failures_just_goes_on(home: Path) -> None:
    engine = pretend("synthetic", "scripted/good", total=6)
    await engine.answer(1, "Question 1?", read="B")
    engine.status(State.STOPPED, done=1, total=6)
    async with samples(engine) as pilot:
        await pilot.press("r")
        await until_shown(pilot, "Ask what is not done yet?")
        assert "failed" not in shown(pilot.app)


async def test_stepping_goes_through_the_filtered_list_and_back(engine: PretendEngine) -> None:
    async with samples(engine) as pilot:
        await pilot.press("w")
        await until_listed(pilot, *WRONG)
        await pilot.press("enter")
        await until_shown(pilot, "1 of 4 listed")
        await pilot.press("n")
        await until_shown(pilot, "Question 5?")
        await pilot.press("n", "n", "n")
        await until_shown(pilot, "4 of 4 listed")
        assert "Question 11?" in shown(pilot.app)
        await pilot.press("p")
        await until_shown(pilot, "Question 8 about a needle?")
        await pilot.press("escape")
        await until_listed(pilot, *WRONG)
        assert pilot.app.screen.query_one(Table).cursor == 2


async def test_a_live_run_is_followed(home: Path) -> None:
    made = pretend("synthetic", "scripted/good", total=3)
    made.status(done=0)
    async with samples(made) as pilot:
        await until_shown(pilot, "No samples yet")
        journal = Journal(made.folder.journal)
        await journal.add_samples(
            [(n, Sample(f"{n:016x}.1", {"question": f"Q{n}"}, "B")) for n in (1, 2, 3)]
        )
        await journal.close()
        await until_shown(pilot, "waiting")
        assert listed(pilot) == [1, 2, 3]
        await made.answer(2, "Q2")
        made.status(done=1, metrics={"accuracy": ACCURACY})
        screen = await until_shown(pilot, "right")
        assert "· running" in screen
        await pilot.press("w", "w")
        await until_listed(pilot, 2)
        await made.answer(3, "Q3")
        made.status(done=2)
        await until_listed(pilot, 2, 3)
        await pilot.press("x")
        made.status(State.STOPPED, done=2)
        await until_shown(pilot, "not done")
        assert "running" not in shown(pilot.app)


async def test_conditions_are_typed_and_what_is_wrong_with_them_is_said(
    engine: PretendEngine,
) -> None:
    async with samples(engine) as pilot:
        await until_listed(pilot, *range(1, 13))
        await pilot.press("slash", *"number<4")
        await until_listed(pilot, 1, 2, 3)
        await pilot.press("space", *"needle")
        await until_listed(pilot, 3)
        await until_shown(pilot, "only number<4 needle · x shows all")
        await pilot.press("space", *"colour:red")
        await until_shown(pilot, "no colour: here")
        await until_listed(pilot, 3)
        await pilot.press("escape")
        await until_listed(pilot, *range(1, 13))


async def test_a_text_is_found_in_later_replies_too(home: Path) -> None:
    made = pretend("synthetic", "scripted/good", total=4)
    await made.answer(1, "Q1, a needle?")
    made.status(done=1, metrics={"accuracy": ACCURACY})
    async with samples(made) as pilot:
        await until_shown(pilot, "1 sample")
        await pilot.press("slash", *"needle", "enter")
        await until_listed(pilot, 1)
        await made.answer(2, "Q2?")
        await made.answer(3, "Q3, another needle?")
        made.status(done=3)
        await until_listed(pilot, 1, 3)
        # What comes right before the end is not missed.
        await made.answer(4, "Q4, the last needle?")
        made.status(State.COMPLETE, done=4)
        await until_listed(pilot, 1, 3, 4)
        assert "only with “needle” in it · x shows all" in shown(pilot.app)


async def test_following_does_not_hold_the_journal(engine: PretendEngine) -> None:
    """An engine that comes to rest leaves one file, whoever looks on."""
    async with samples(engine) as pilot:
        await until_shown(pilot, "12 samples")
        journal = Journal(engine.folder.journal)
        journal.set(anything=1)
        journal.flush()
        await until(pilot, lambda: listed(pilot), "another look")
        await journal.close()
        assert not engine.folder.journal.with_name("journal.db-wal").exists()


async def test_a_run_without_a_journal_says_so(engine: PretendEngine) -> None:
    engine.status(State.FAILED, done=0)
    engine.folder.journal.unlink()
    async with samples(engine) as pilot:
        await until_shown(pilot, "there is no journal")


async def test_graded_samples_are_not_called_right_or_wrong(home: Path) -> None:
    made = pretend("synthetic", "scripted/good", total=1)
    await made.answer(1)
    journal = Journal(made.folder.journal)
    journal.store_score(1, 0, {}, Outcome.OK, {"accuracy": 7.0}, {})
    await journal.close()
    async with samples(made) as pilot:
        await until_listed(pilot, 1)
        await pilot.press("w")
        await until_shown(pilot, "graded, not right or wrong")
        assert listed(pilot) == [1]


# -- one sample ----------------------------------------------------------------------


async def put(engine: PretendEngine, row: int, *asked: tuple[Prompt, Reply | None]) -> None:
    """A sample with these calls."""
    model = engine.folder.spec().candidate
    sample = Sample(f"{row:016x}.1", {"question": "Which?"}, "B", {})
    journal = Journal(engine.folder.journal)
    journal.add_samples([(row, sample)])
    for number, (prompt, reply) in enumerate(asked):
        call = Call(model, prompt)
        key = CallKey(0, "candidate", str(model), f"turn {number}", 0)
        journal.intend(row, key, 0, call, call.content_hash, quotable(sample))
        if reply is not None:
            journal.store_reply(row, key, 0, reply)
    await journal.close()


@pytest.mark.share(3)
@pytest.mark.parametrize("size", SIZES)
async def test_a_sample_shows_what_was_asked_answered_and_read(
    engine: PretendEngine, size: tuple[int, int]
) -> None:
    async with one(engine, 2, size) as pilot:
        await until_shown(pilot, "Question 2?")
        for words in ("✗ wrong, parsed", "gold        B", "C  (letter)", "subject     virology"):
            await until_shown(pilot, words)
        await pilot.press("end")
        screen = await until_shown(pilot, "reply")
        assert "candidate scripted/good" in screen
        assert "2 of 12 listed" in screen


async def test_long_shared_text_is_folded_and_opens(engine: PretendEngine) -> None:
    prompt = generate([user([TextPart("For example. " * 80, shared=True), "And now?"])])
    await put(engine, 1, (prompt, Reply("Yes")))
    async with one(engine, 1) as pilot:
        screen = await until_shown(pilot, "▸ user, shared by many calls · 1,040 characters")
        assert "For example." not in screen
        await pilot.press("f")
        await until_shown(pilot, "For example.")
        await pilot.press("f")
        await until(pilot, lambda: "For example." not in shown(pilot.app), "the text to close")
        await pilot.press("tab", "enter")
        await until_shown(pilot, "▾ user, shared by many calls")
        await pilot.click("#fold-title")
        await until_shown(pilot, "▸ user, shared by many calls")


async def test_a_sample_in_flight_says_so_and_is_followed(engine: PretendEngine) -> None:
    await put(engine, 13, (generate("Q"), None))
    engine.status(done=12)
    async with one(engine, 13) as pilot:
        await until_shown(pilot, "in flight: no reply yet")
        assert "in flight · 13 of 13 listed" in shown(pilot.app)
        await engine.answer(13, "Q", read="B")
        await until_shown(pilot, "✓ right, parsed")


async def test_the_reply_is_copied(engine: PretendEngine) -> None:
    async with one(engine, 2) as pilot:
        await until_shown(pilot, "Question 2?")
        await pilot.press("y")
        await until(pilot, lambda: pilot.app.clipboard == "C", "the copy")


async def test_ends_of_the_list_are_ends(engine: PretendEngine) -> None:
    async with one(engine, 1) as pilot:
        await until_shown(pilot, "1 of 12 listed")
        page = pilot.app.screen
        assert isinstance(page, SamplePage)
        await pilot.press("p")
        await pilot.pause()
        assert page.number == 1
        assert page.check_action("previous", ()) is None
        assert page.check_action("next", ()) is True


@pytest.mark.parametrize("text", ["word " * 40_000, "x" * 70_000, "line\n" * 3500])
async def test_the_end_of_a_very_long_reply_is_reached_at_once(
    engine: PretendEngine, text: str
) -> None:
    await put(engine, 1, (generate("Q"), Reply(f"{text}the very end")))
    async with one(engine, 1) as pilot:
        await until_shown(pilot, "reply")
        assert "the very end" not in shown(pilot.app)
        (long,) = pilot.app.screen.query(LongText)
        assert 0 < long.left < len(text)
        await pilot.press("end")
        await until_shown(pilot, "the very end")
        assert long.left > 0
        whole = pilot.app.screen.query_one(Everything)
        while whole.scroll_y:
            top = whole.scroll_y
            whole.scroll_relative(y=-40, animate=False)
            await until(pilot, lambda: whole.scroll_y != top, "another page")  # noqa: B023
        assert not long.left
        parts = [part._shown for part in long.query(Plain)]
        assert "".join("".join(parts).split()) == "".join(f"{text}the very end".split())
        if "\n" in text:
            # Where parts meet there is neither a line more nor one less.
            assert "\n".join(parts) == f"{text}the very end"


async def test_the_end_is_reached_although_its_text_is_laid_out_late(
    engine: PretendEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(engine, 1, (generate("Q"), Reply("line\n" * 3500 + "the very end")))
    async with one(engine, 1) as pilot:
        await until_shown(pilot, "reply")
        (long,) = pilot.app.screen.query(LongText)
        # As on a busy machine: what waits for a refresh does not see what was just mounted.
        monkeypatch.setattr(Everything, "call_after_refresh", Everything.call_next)
        await pilot.press("end")
        await until_shown(pilot, "the very end")
        assert long.left > 0


async def test_the_end_stays_in_view_until_one_scrolls(engine: PretendEngine) -> None:
    await put(engine, 1, (generate("Q"), Reply("line\n" * 3500 + "the very end")))
    async with one(engine, 1) as pilot:
        await until_shown(pilot, "reply")
        whole = pilot.app.screen.query_one(Everything)
        await pilot.press("end")
        await until_shown(pilot, "the very end")
        await whole.mount(Plain("and more\n" * 50 + "the end after that"))
        await until_shown(pilot, "the end after that")
        await pilot.press("up")
        await until(pilot, lambda: whole.scroll_y < whole.max_scroll_y, "the line above")
        place = whole.scroll_y
        await whole.mount(Plain("yet more\n" * 50))
        await until(pilot, lambda: whole.max_scroll_y > place + 50, "what is below")
        assert whole.scroll_y == place


async def test_the_end_is_laid_out_only_once(engine: PretendEngine) -> None:
    await put(engine, 1, (generate("Q"), Reply("line\n" * 9000 + "the very end")))
    async with one(engine, 1) as pilot:
        await until_shown(pilot, "reply")
        (long,) = pilot.app.screen.query(LongText)
        await pilot.press("end")
        await until_shown(pilot, "the very end")
        left = long.left
        await pilot.press("end")
        await pilot.pause()
        assert long.left == left > 0


async def test_a_sample_that_cannot_be_read_is_not_the_one_before(
    engine: PretendEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with one(engine, 1) as pilot:
        await until_shown(pilot, "Question 1?")
        page = pilot.app.screen
        with monkeypatch.context() as broken:

            def sample(*_: object) -> None:
                raise JournalError("the journal is busy")

            broken.setattr(SampleBrowser, "sample", sample)
            await pilot.press("n")
            await until_shown(pilot, "the journal is busy")
            for action in ("copy", "raw", "pager"):
                assert page.check_action(action, ()) is None
        # The run goes on, and so does the page.
        await until_shown(pilot, "Question 2?")
        assert page.check_action("copy", ()) is True


async def test_all_of_a_batch_line_can_be_read(engine: PretendEngine) -> None:
    result = "word " * 9000 + "the very end"
    call = BatchedCall("candidate", "scripted/good", "answer", "b1", "", 1, "asked", result)
    async with one(engine, 1) as pilot:
        await until_shown(pilot, "reply")
        await pilot.app.push_screen(BatchLines([call]))
        await until_shown(pilot, "received")
        await pilot.press("end")
        await until_shown(pilot, "the very end")


async def test_a_page_of_text_is_read_with_the_keys_of_lists(engine: PretendEngine) -> None:
    text = "\n".join(f"line {n}." for n in range(1, 201))
    await put(engine, 1, (generate("Q"), Reply(text)))
    async with one(engine, 1) as pilot:
        await until_shown(pilot, "reply")
        whole = pilot.app.screen.query_one(Everything)
        places = []
        for key in ("j", "j", "k", "ctrl+d", "ctrl+u", "G", "g"):
            before = whole.scroll_y
            await pilot.press(key)
            await until(pilot, lambda: whole.scroll_y != before, key)  # noqa: B023
            places.append(whole.scroll_y)
        page = whole.scrollable_content_region.height
        assert places == [1, 2, 1, 1 + page, 1, whole.max_scroll_y, 0]


async def test_a_long_reply_is_read_backwards_line_by_line(engine: PretendEngine) -> None:
    text = "\n".join(f"line {n}." for n in range(1, 4001))
    await put(engine, 1, (generate("Q"), Reply(text)))
    async with one(engine, 1) as pilot:
        await until_shown(pilot, "reply")
        await pilot.press("end")
        await until_shown(pilot, "line 4000.")
        whole = pilot.app.screen.query_one(Everything)
        whole.scroll_relative(y=-900, animate=False)
        await until_shown(pilot, "line 3090.")
        seen: list[int] = []
        while not seen or seen[0] > 2900:
            now = [int(n) for n in re.findall(r"line (\d+)\.", shown(pilot.app))]
            assert now == list(range(now[0], now[-1] + 1))
            assert not seen or now[-1] >= seen[0] - 1
            seen = now
            top = whole.scroll_y
            await pilot.press("pageup")
            await until(pilot, lambda: whole.scroll_y != top, "another page")  # noqa: B023
            await pilot.pause()


async def test_the_next_wrong_answer_and_the_next_error(engine: PretendEngine) -> None:
    await engine.answer(13, "Q13", read="Overloaded: x", outcome=Outcome.ERROR)
    wrong = SampleBrowser(engine.folder.journal, "accuracy").matching(Filter(right=False))
    async with samples(engine) as pilot:
        await until_listed(pilot, *range(1, 14))
        table = pilot.app.screen.query_one(Table)
        for number in wrong[:3]:
            await pilot.press("n")
            await until(pilot, lambda: table.cursor == number - 1, f"{number}")  # noqa: B023
        table.cursor = 0
        await pilot.press("e")
        await until(pilot, lambda: table.cursor == 12, "the failed one")
        await pilot.press("n")
        await until_shown(pilot, "no wrong answer after this one")
        table.cursor = 0
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, SamplePage), "the sample")
        page = pilot.app.screen
        assert isinstance(page, SamplePage)
        for number in [one for one in wrong if one > 1][:2]:
            await pilot.press("w")
            await until(pilot, lambda: page.number == number, f"{number}")  # noqa: B023


async def test_requests_and_replies_as_they_were(engine: PretendEngine) -> None:
    body = {"choices": [{"text": "hid\u202eden\x1b[2J"}], "usage": {"n": 1}}
    await put(engine, 1, (generate("What is [/x]?"), Reply("hid", raw=body)))
    async with one(engine, 1) as pilot:
        await until_shown(pilot, "reply")
        await pilot.press("r")
        screen = await until_shown(pilot, "## request, as evalbench asks for it")
        assert '"What is [/x]?"' in screen
        await pilot.press("end")
        await until_shown(pilot, "hid⟨U+202E⟩den\\u001b[2J")
        await pilot.press("y")
        await until(pilot, lambda: "⟨U+202E⟩" in pilot.app.clipboard, "the copy")
        assert "\u202e" not in pilot.app.clipboard
        # There is no terminal here to lend.
        for key in ("v", "E"):
            await pilot.press(key)
            await until_told(pilot, "no other program can be shown here")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, SamplePage), "the sample")


async def test_a_sample_that_is_gone_and_a_journal_that_is(engine: PretendEngine) -> None:
    async with one(engine, 99) as pilot:
        await until_shown(pilot, "This sample is no longer part of the run.")
    engine.folder.journal.unlink()
    async with one(engine, 1) as pilot:
        await until_shown(pilot, "there is no journal")


# -- pictures ------------------------------------------------------------------------


def picture(width: int = 64, height: int = 32) -> MediaPart:
    """A red picture."""
    from PIL import Image

    file = BytesIO()
    Image.new("RGB", (width, height), "red").save(file, "PNG")
    return MediaPart("image/png", file.getvalue())


async def test_pictures_are_drawn_in_half_cells(engine: PretendEngine) -> None:
    await put(engine, 1, (generate([user([picture(), "Which colour?"])]), Reply("red")))
    async with one(engine, 1) as pilot:
        await until(pilot, lambda: pilot.app.screen.query("Picture .pixels"), "the picture")
        await until_shown(pilot, "Which colour?")
        pixels = pilot.app.screen.query_one("Picture .pixels")
        await until(pilot, lambda: (pixels.size.width, pixels.size.height) == (24, 6), "its size")
        strips = pilot.app.screen._compositor.render_strips()
        reds = [
            segment
            for strip in strips
            for segment in strip
            if segment.style
            and segment.style.bgcolor
            and segment.style.bgcolor.triplet == (255, 0, 0)
        ]
        assert reds


async def test_without_the_package_a_line_says_how_to_get_pictures(
    engine: PretendEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalbench.tui.widgets import picture as module

    monkeypatch.setattr(module, "find_spec", lambda _name: None)
    await put(engine, 1, (generate([user([picture(), "Which colour?"])]), Reply("red")))
    async with one(engine, 1) as pilot:
        screen = await until_shown(pilot, "to see pictures here: ")
        assert "image/png" in screen
        assert not pilot.app.screen.query_one(Picture).query(".pixels")


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("pixels", "wide"),
    [((640, 480), 53), ((300, 300), 30), ((16, 16), 24), ((4000, 100), 80), ((10, 4000), 1)],
)
def test_pictures_are_as_wide_as_they_are_and_never_too_high(
    pixels: tuple[int, int], wide: int
) -> None:
    assert columns(*pixels) == wide


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("environment", "kind"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm-ghostty"}, "kitty"),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM": "foot"}, "sixel"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "sixel"),
        ({"TERM": "xterm-256color"}, ""),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/x", "KITTY_WINDOW_ID": "1"}, ""),
        ({"TERM": "xterm-kitty", "NO_COLOR": "1"}, ""),
        ({}, ""),
    ],
)
def test_graphics_are_used_where_the_terminal_is_known_for_them(
    environment: dict[str, str], kind: str
) -> None:
    assert graphics(environment) == kind
