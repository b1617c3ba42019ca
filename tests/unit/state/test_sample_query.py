"""Samples are filtered by what is known of them, in the language of all lists."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from evalbench.engine.calls import Outcome
from evalbench.engine.errors import JournalError
from evalbench.engine.runs.browse import SampleBrowser
from evalbench.tui.state.query import parse_query
from evalbench.tui.state.sample_query import SampleFilter, fields_of, matching, sample_fields
from tests.pretending import PretendEngine, pretend


@pytest.fixture
async def engine(home: Path) -> PretendEngine:
    """Three samples: right, wrong and failed."""
    made = pretend(total=3)
    await made.answer(1, "Q1", group="law of art")
    await made.answer(2, "Q2", read="C", gold="B", group="physics")
    await made.answer(3, "Q3", read="Overloaded: x", outcome=Outcome.ERROR, group="physics")
    with sqlite3.connect(made.folder.journal) as journal:
        journal.execute("UPDATE reply SET input = 9, output = 1 WHERE id >> 20 = 1")
    journal.close()
    return made


@pytest.mark.parametrize(
    ("typed", "rows"),
    [
        ("", [1, 2, 3]),
        ("score:right", [1]),
        ("score:wrong group:PHYS", [2]),
        ("score<1", [2]),
        ("-score:right", [2, 3]),
        ("outcome:failed", [3]),
        ("outcome:parsed", [1, 2]),
        ("error:over", [3]),
        ('group:"law of"', [1]),
        ("number>=2 -outcome:failed", [2]),
        ("accuracy=1", [1]),
        ("tokens>5", [1]),
        ("in>5 out<5", [1]),
        ("group:", [1, 2, 3]),
    ],
)
async def test_conditions(engine: PretendEngine, typed: str, rows: list[int]) -> None:
    samples = SampleBrowser(engine.folder.journal, "accuracy")
    fields = fields_of(samples)
    assert parse_query(typed, fields).problem == ""
    assert list(matching(samples, SampleFilter(typed=typed), fields)) == rows


@pytest.mark.parametrize(
    ("typed", "rows"),
    [
        ("outcome:parsed", [1]),
        ("outcome:un", [2]),
        ("-outcome:parsed", [2]),
        ("score:w", [2]),
    ],
)
async def test_one_of_a_few_words_matches_from_its_beginning(
    home: Path, typed: str, rows: list[int]
) -> None:
    engine = pretend(total=2)
    await engine.answer(1, "Q1")
    await engine.answer(2, "Q2", read="C", gold="B", outcome=Outcome.UNPARSED)
    samples = SampleBrowser(engine.folder.journal, "accuracy")
    assert list(matching(samples, SampleFilter(typed=typed), fields_of(samples))) == rows


async def test_grades_are_compared_and_are_no_words(home: Path) -> None:
    fields = sample_fields((), (), graded=True)
    assert parse_query("score:right", fields).problem.startswith("no score: here")
    assert parse_query("score<=1", fields).problem == ""


async def test_it_narrows_what_other_filters_leave(engine: PretendEngine) -> None:
    samples = SampleBrowser(engine.folder.journal, "accuracy")
    fields = fields_of(samples)
    wanted = SampleFilter(tag=("group", "physics"), typed="score:wrong")
    assert list(matching(samples, wanted, fields)) == [2]


def test_words_are_left_to_a_search_of_texts() -> None:
    query = parse_query('Needle score:wrong "two words"', sample_fields((), ()))
    assert query.words == ("Needle", "two words")
    assert query.names == {"score"}
    assert SampleFilter(typed="x", texts=("x",)).any
    assert not SampleFilter().any


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("colour:red", "no colour: here"),
        ("latency>soon", "latency> takes a number, not soon"),
        ("-needle", "-needle: only name:text can be negated here"),
    ],
)
def test_what_cannot_be_asked_is_said(typed: str, problem: str) -> None:
    assert parse_query(typed, sample_fields(("subject",), ())).problem.startswith(problem)


def test_names_that_cannot_be_typed_are_left_out_and_built_in_ones_win() -> None:
    fields = sample_fields(("score", "two words", "Language"), ("cost", "judge=x/y", "rating"))
    assert {"language", "score", "outcome", "error"} == set(fields.texts)
    assert "rating" in fields.numbers
    assert "judge=x/y" not in fields.numbers


def test_a_journal_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(JournalError):
        matching(
            SampleBrowser(tmp_path / "none.db"),
            SampleFilter(typed="score:wrong"),
            sample_fields((), ()),
        )


@pytest.mark.parametrize(
    ("filtered", "kind"),
    [
        (SampleFilter(), ""),
        (SampleFilter(outcome="refused"), "refused"),
        (SampleFilter(typed="law outcome:Refused score<1"), "refused"),
        (SampleFilter(typed='outcome:"failed"'), "error"),
        (SampleFilter(typed="-outcome:refused"), ""),
        (SampleFilter(typed="outcome:refused outcome:truncated"), ""),
        (SampleFilter(typed="outcome:parsed"), "ok"),
        (SampleFilter(typed="outcome:waiting"), "waiting"),
        (SampleFilter(typed="outcome:e"), ""),
        (SampleFilter(typed="outcome:"), ""),
    ],
)
def test_what_kind_of_samples_a_filter_is_about(filtered: SampleFilter, kind: str) -> None:
    assert filtered.kind == kind
