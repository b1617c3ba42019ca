"""Samples by page, by filter and by text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from evalbench.engine.calls import Outcome, Reply, Usage, generate
from evalbench.engine.errors import JournalError
from evalbench.engine.journal.schema import FILE
from evalbench.engine.runs.browse import (
    ORDERS,
    WAITING,
    Filter,
    SampleBrowser,
    TextSearch,
    Took,
)
from tests.unit.engine.journals import ask, journal, sample

SCORES: Mapping[int, tuple[Outcome, float | None]] = {
    1: (Outcome.OK, 1.0),
    2: (Outcome.OK, 0.0),
    3: (Outcome.REFUSED, 0.0),
    4: (Outcome.ERROR, None),
    5: (Outcome.OK, 1.0),
}
"""What became of the samples; 6 was asked and has no reply, 7 was not asked."""

TAGS = {row: {"subject": "art" if row % 2 else "law"} for row in range(1, 8)}


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A journal of seven samples."""
    file = tmp_path / FILE
    async with journal(file) as into:
        for row, tags in TAGS.items():
            one = sample(row, f"Question {row}, ÄPFEL?", **tags)
            await into.add_samples([(row, one)])
            if row < 7:
                reply = Reply(f"Reply “{row}”\nwith [/] in it") if row < 6 else None
                await ask(into, row, one, generate(f"Say {row}"), reply)
            if row in SCORES:
                outcome, value = SCORES[row]
                values = {} if value is None else {"accuracy": value, "a": 1 - value}
                into.store_score(row, 0, tags, outcome, values, {"parsed": {"letter": "A"}})
    return file


def found(path: Path, wanted: Filter) -> list[int]:
    return list(SampleBrowser(path, "accuracy").matching(wanted))


def search(path: Path, text: str, rows: Iterable[int] = range(1, 8)) -> list[int]:
    looking = TextSearch(SampleBrowser(path), text)
    looked_through(looking, list(rows))
    return sorted(looking.found)


def looked_through(looking: TextSearch, rows: Sequence[int]) -> list[int]:
    """What the search looks into when it is begun with these, all of it."""
    looking.begin(looking.due(rows))
    while not looking.done:
        looking.go_on(0.001)
    return list(looking.rows)


async def test_a_page_has_samples_with_what_came_of_them(path: Path) -> None:
    samples = SampleBrowser(path)
    assert list(samples.rows()) == [1, 2, 3, 4, 5, 6, 7]
    lines = samples.lines([2, 6, 7, 99])
    assert sorted(lines) == [2, 6, 7]
    assert lines[2].sample == sample(2, "Question 2, ÄPFEL?", **TAGS[2])
    assert [(s.outcome, s.values["accuracy"]) for s in lines[2].scores] == [(Outcome.OK, 0.0)]
    assert [lines[row].asked for row in (2, 6, 7)] == [True, True, False]


async def test_one_sample_comes_with_its_calls(path: Path) -> None:
    held = SampleBrowser(path).sample(1)
    assert held is not None
    line, calls = held
    assert line.row == 1
    assert [call.reply.text for call in calls if call.reply] == ["Reply “1”\nwith [/] in it"]
    assert SampleBrowser(path).sample(8) is None


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        (Filter(), [1, 2, 3, 4, 5, 6, 7]),
        (Filter(outcome="ok"), [1, 2, 5]),
        (Filter(outcome="error"), [4]),
        (Filter(outcome="truncated"), []),
        (Filter(outcome=WAITING), [6, 7]),
        (Filter(right=True), [1, 5]),
        (Filter(right=False), [2, 3]),
        (Filter(tag=("subject", "law")), [2, 4, 6]),
        (Filter(tag=("subject", "music")), []),
        (Filter(outcome="ok", right=False), [2]),
        (Filter(right=True, tag=("subject", "art")), [1, 5]),
        (Filter(outcome=WAITING, tag=("subject", "art")), [7]),
        (Filter(outcome=WAITING, right=True), []),
    ],
)
async def test_filters_hold_together(path: Path, wanted: Filter, rows: list[int]) -> None:
    assert found(path, wanted) == rows


async def test_what_there_is_to_filter_by(path: Path) -> None:
    facets = SampleBrowser(path, "accuracy").facets()
    assert facets.outcomes == {"ok": 3, "refused": 1, "error": 1, WAITING: 2}
    assert facets.tags == {"subject": {"art": 4, "law": 3}}
    assert not facets.graded


async def test_grades_are_told_from_right_and_wrong(tmp_path: Path) -> None:
    async with journal(tmp_path / FILE) as into:
        await into.add_samples([(1, sample(1))])
        into.store_score(1, 0, {}, Outcome.OK, {"grade": 7.0}, {})
    assert SampleBrowser(tmp_path / FILE, "grade").facets().graded


async def test_a_sample_of_several_epochs_is_listed_once(tmp_path: Path) -> None:
    async with journal(tmp_path / FILE) as into:
        await into.add_samples([(row, sample(row)) for row in (1, 2)])
        for epoch, value in enumerate((0.0, 1.0, 1.0)):
            into.store_score(1, epoch, {}, Outcome.OK, {"accuracy": value}, {})
    samples = SampleBrowser(tmp_path / FILE, "accuracy")
    assert list(samples.matching(Filter(right=True))) == [1]
    assert list(samples.matching(Filter(right=False))) == [1]
    assert [score.epoch for score in samples.lines([1])[1].scores] == [0, 1, 2]
    assert samples.facets().outcomes == {"ok": 3, WAITING: 1}


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("question 3", [3]),
        ("äpfel", [1, 2, 3, 4, 5, 6, 7]),
        ("reply “2”", [2]),
        ("[/] in", [1, 2, 3, 4, 5]),
        ("”\nwith", [1, 2, 3, 4, 5]),
        ("stop_reason", []),
        ("question", [1, 2, 3, 4, 5, 6, 7]),
        ("\\", []),
    ],
)
async def test_text_is_found_in_what_a_person_reads(path: Path, text: str, rows: list[int]) -> None:
    assert search(path, text) == rows


async def test_every_text_must_be_in_a_sample_wherever(path: Path) -> None:
    looking = TextSearch(SampleBrowser(path), "question 3", "REPLY “3”")
    looked_through(looking, range(1, 8))
    assert looking.found == {3}
    looking = TextSearch(SampleBrowser(path), "question 3", "reply “2”")
    looked_through(looking, range(1, 8))
    assert looking.found == set()


async def test_records_tell_what_is_known_without_the_content(path: Path) -> None:
    records = {one.row: one for one in SampleBrowser(path, "accuracy").records(took=True)}
    assert list(records) == [1, 2, 3, 4, 5, 6, 7]
    assert [one.score for one in records.values()] == [1.0, 0.0, 0.0, None, 1.0, None, None]
    assert records[2].values == {"accuracy": 0.0, "a": 1.0}
    assert (records[3].outcomes, records[4].outcomes, records[6].outcomes) == (
        ["refused"],
        ["error"],
        [],
    )
    assert records[2].tags == {"subject": "law"}
    untimed = list(SampleBrowser(path, "accuracy").records(took=False))
    assert {one.took for one in untimed} == {Took()}


async def test_a_record_of_several_epochs_has_their_means(tmp_path: Path) -> None:
    async with journal(tmp_path / FILE) as into:
        await into.add_samples([(1, sample(1))])
        for epoch, value in enumerate((0.0, 1.0, 1.0)):
            into.store_score(1, epoch, {}, Outcome.OK, {"grade": value}, {})
        into.store_score(1, 3, {}, Outcome.ERROR, {}, {"error": "ServerFault: oops"})
    [one] = SampleBrowser(tmp_path / FILE, "grade").records(took=False)
    assert one.values == {"grade": pytest.approx(2 / 3)}
    assert one.score == pytest.approx(2 / 3)
    assert list(one.errors) == ["ServerFault"]


async def test_names_of_fields_are_not_searched(tmp_path: Path) -> None:
    async with journal(tmp_path / FILE) as into:
        await into.add_samples([(1, sample(1, "What?"))])
        await ask(into, 1, sample(1, "What?"), generate("?"), Reply("no", raw={"usage": "secret"}))
    for text in ("question", "usage", "secret"):
        assert search(tmp_path / FILE, text, [1]) == []


async def test_text_is_sought_only_where_it_is_asked_for(path: Path) -> None:
    assert search(path, "äpfel", [2, 5]) == [2, 5]


async def test_a_search_can_be_left_and_gone_on_with(tmp_path: Path) -> None:
    rows = range(1, 201)
    async with journal(tmp_path / FILE) as into:
        await into.add_samples([(row, sample(row, f"Number {row % 2}")) for row in rows])
    looking = TextSearch(SampleBrowser(tmp_path / FILE), "number 1")
    looking.begin(looking.due(rows))
    looking.go_on(0.000001)
    assert 0 < looking.searched < len(rows)
    assert set(looking.found) <= set(rows)
    while not looking.done:
        looking.go_on(0.000001)
    assert list(looking.among(rows)) == list(rows[::2])
    assert list(looking.among([1, 2, 5])) == [1, 5]


async def test_a_search_begun_again_looks_only_into_what_came_since(path: Path) -> None:
    looking = TextSearch(SampleBrowser(path), "late")
    assert looked_through(looking, range(1, 8)) == [1, 2, 3, 4, 5, 6, 7]
    assert looked_through(looking, range(1, 8)) == []
    async with journal(path) as into:
        # A failed one is asked again, one that waits is answered, one is new.
        for row in (4, 7, 8):
            one = sample(row, f"Question {row}")
            await into.add_samples([(row, one)] if row == 8 else [])
            await ask(into, row, one, generate("Say it"), Reply(f"too late: {row}"), reask=1)
            into.store_score(row, 0, {}, Outcome.OK, {"accuracy": 1.0}, {})
    assert looked_through(looking, range(1, 9)) == [4, 7, 8]
    assert list(looking.among(range(1, 9))) == [4, 7, 8]
    assert list(looking.among([2, 7])) == [7]
    assert looked_through(looking, range(1, 9)) == []


async def test_no_look_leaves_the_journal_open(path: Path) -> None:
    """A write-ahead log cannot be folded into the file while a reader holds it."""
    samples = SampleBrowser(path, "accuracy")
    async with journal(path) as into:
        into.store_score(7, 0, TAGS[7], Outcome.OK, {"accuracy": 1.0}, {})
        into.flush()
        assert samples.lines([7])[7].scores
        samples.facets()
        samples.matching(Filter(right=True))
        looked_through(TextSearch(samples, "x"), [1, 2])
    assert sorted(file.name for file in path.parent.iterdir()) == [FILE]


def test_a_journal_that_is_not_there_is_an_error_of_the_tree(tmp_path: Path) -> None:
    with pytest.raises(JournalError):
        SampleBrowser(tmp_path / FILE).rows()


async def test_samples_are_ordered_by_what_they_scored_or_took(tmp_path: Path) -> None:
    file = tmp_path / FILE
    async with journal(file) as into:
        for row, (tokens, value) in enumerate([(5, 0.5), (50, 1.0), (5, 0.0), (7, None)], 1):
            one = sample(row, f"Question {row}")
            await into.add_samples([(row, one)])
            usage = Usage(input_tokens=10 * row, output_tokens=tokens)
            reply = Reply("x", usage=usage, cost=Decimal(row)) if row < 4 else None
            await ask(into, row, one, generate(f"Say {row}"), reply)
            values = {} if value is None else {"accuracy": value, "rating/a": 9.0 - row % 3}
            outcome = Outcome.ERROR if value is None else Outcome.OK
            error = f"Kind{row}: it said [/]" + " and more" * 300
            into.store_score(row, 0, {}, outcome, values, {"error": error} if row == 4 else {})
    browser = SampleBrowser(file, "accuracy")
    rows = browser.rows()
    assert list(browser.ordered(rows, "score")) == [3, 1, 2, 4]
    assert list(browser.ordered(rows, "score", descending=True)) == [2, 1, 3, 4]
    assert browser.value_names() == ["accuracy", "rating/a"]
    assert list(browser.ordered(rows, "value:rating/a")) == [2, 1, 3, 4]
    # Equal ones keep their order, those without any come last.
    assert list(browser.ordered(rows, "output_tokens")) == [1, 3, 2, 4]
    assert list(browser.ordered([4, 2], "cost", descending=True)) == [2, 4]
    took = browser.took([2, 4])
    assert (took[2].input_tokens, took[2].output_tokens, took[2].cost) == (20, 50, 2.0)
    assert 4 not in took
    assert set(ORDERS) == {"score", *(name for name in Took._fields)}
    # A long text is kept in another way than a short one, and found all the same.
    assert list(browser.matching(Filter(outcome="error", error="Kind4"))) == [4]
    assert list(browser.matching(Filter(outcome="error", error="Kind"))) == []
