"""A sample in words, in a list and on its page."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import (
    MediaPart,
    Outcome,
    ParamNote,
    Prompt,
    Reply,
    TextPart,
    Usage,
    assistant,
    choose,
    generate,
    user,
)
from evalbench.engine.errors import JournalError
from evalbench.engine.journal import CallKey, CallRow, ScoreRow
from evalbench.engine.journal.schema import FILE
from evalbench.engine.runs.browse import SampleBrowser, SampleLine
from evalbench.engine.runs.headline import Headline
from evalbench.engine.runs.rows import gold_text, read_text
from evalbench.tui.state.sample_rows import SampleRows
from evalbench.tui.state.sample_view import (
    choice_table,
    message_blocks,
    reply_facts,
    sample_view,
    whole_words,
)
from evalbench.tui.state.sample_words import outcome_word, question_words, readings, verdict
from tests.unit.engine.journals import ask, journal, sample

CHOICE = Sample("0" * 16 + ".1", {"question": "Which?", "choices": ["red", "blue", "tan"]}, 1)


def headline() -> Headline:
    """A run's whose headline metric is its accuracy."""
    return Headline.of_journal(Path("none.db"), "accuracy")


def score(
    *values: float, outcome: Outcome = Outcome.OK, detail: Mapping[str, Any] | None = None
) -> ScoreRow:
    named = dict(zip(("accuracy", "strict"), values, strict=False))
    return ScoreRow(1, 0, outcome, named, detail or {})


def call(
    prompt: Prompt, reply: Reply | None, role: str = "candidate", step: str = "answer", **key: int
) -> CallRow:
    whole = CallKey(key.get("epoch", 0), role, "acme/writer", step, key.get("repeat", 0))
    return CallRow(1 << 20, 1, whole, key.get("reask", 0), b"", 0, prompt, reply)


# -- words ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "glyph", "word"),
    [
        ([], "·", ""),
        ([score(1.0)], "✓", "right"),
        ([score(0.0, 1.0)], "✗", "wrong"),
        ([score(0.25)], "~", "0.25"),
        ([score(7.0)], "•", "7"),
        ([score(outcome=Outcome.ERROR)], "!", ""),
        ([score(1.0), score(1.0)], "✓", "2/2"),
        ([score(1.0), score(0.0), score(1.0)], "~", "2/3"),
        ([score(0.0), score(0.0)], "✗", "0/2"),
        ([score(6.0), score(9.0)], "•", "7.5"),
        ([score(1.0), score(outcome=Outcome.ERROR)], "✓", "right"),
    ],
)
def test_verdicts_tell_right_from_wrong_by_glyph_and_word(
    scores: list[ScoreRow], glyph: str, word: str
) -> None:
    found = verdict(scores, headline())
    assert (found.glyph, found.word) == (glyph, word)


def test_the_lowest_rating_is_not_right() -> None:
    rating = headline()
    rating.follow({"accuracy": {"value": 5.8}})
    assert verdict([score(1.0)], rating)[:2] == ("•", "1")
    assert verdict([score(1.0), score(1.0)], rating)[:2] == ("•", "1")


@pytest.mark.parametrize(
    ("scores", "asked", "live", "word"),
    [
        ((score(1.0),), True, True, "parsed"),
        ((score(0.0, outcome=Outcome.REFUSED),), True, False, "refused"),
        ((score(outcome=Outcome.ERROR),), True, False, "failed"),
        ((score(1.0), score(0.0, outcome=Outcome.UNPARSED)), True, False, "mixed"),
        ((), True, True, "in flight"),
        ((), False, True, "waiting"),
        ((), True, False, "not done"),
        ((), False, False, "not done"),
    ],
)
def test_outcomes_say_how_far_a_sample_has_come(
    scores: tuple[ScoreRow, ...], asked: bool, live: bool, word: str
) -> None:
    assert outcome_word(SampleLine(1, CHOICE, scores, asked), live=live) == word


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"choices": ["a"], "question": "Why?"}, "Why?"),
        ({"number": 3, "turns": ["First", "Second"]}, "First"),
        ({"talk": [{"content": "Hello"}]}, "Hello"),
        ({"number": 3}, '{"number":3}'),
        ({}, ""),
    ],
)
def test_the_question_is_found_among_the_inputs(inputs: dict[str, Any], words: str) -> None:
    assert question_words(inputs) == words


@pytest.mark.parametrize(
    ("detail", "short", "words"),
    [
        ({}, False, "B) blue"),
        ({}, True, "B"),
        ({"parsed": {"order": [1, 2, 0]}}, False, "A) blue"),
        ({"parsed": {"order": [2, 0]}}, True, "?"),
    ],
)
def test_the_gold_of_a_choice_is_its_letter_as_shown(
    detail: dict[str, Any], short: bool, words: str
) -> None:
    assert gold_text(CHOICE, detail, short=short) == words


@pytest.mark.parametrize(
    ("gold", "whole", "short"),
    [
        ("Paris", "Paris", "Paris"),
        (["4", "four"], "4 or four", "4"),
        (17, "17", "17"),
        (None, "", ""),
        ([], "[]", "[]"),
        ({"answer": 1}, '{"answer":1}', '{"answer":1}'),
    ],
)
def test_other_gold_is_told_as_it_is(gold: Any, whole: str, short: str) -> None:
    one = Sample("", {"question": "?"}, gold)
    assert gold_text(one, {}) == whole
    assert gold_text(one, {}, short=True) == short


def test_a_list_tells_what_the_lenient_parser_read_and_a_page_what_each_did() -> None:
    detail = {"parsed": {"letter-faithful/1": None, "letter-lenient/1": "C"}}
    assert read_text(detail) == "C"
    assert readings(detail) == [("letter-faithful/1", "nothing"), ("letter-lenient/1", "C")]
    assert read_text({"parsed": {"letter-lenient/1": None}}) == "–"
    assert read_text({"error": "Overloaded"}) == ""
    assert readings({"parsed": "C"}) == []


# -- blocks --------------------------------------------------------------------------


def test_shared_text_and_pictures_stand_apart_and_long_shared_text_is_folded() -> None:
    picture = MediaPart("image/png", b"1234")
    message = user([TextPart("x" * 800, shared=True), "Look: ", picture, "what", " is it?"])
    blocks = list(message_blocks(message))
    assert [(b.title, b.folded) for b in blocks] == [
        ("user, shared by many calls", True),
        ("user", False),
        ("user, image/png, 4 B", False),
        ("user", False),
    ]
    assert [b.text for b in blocks[1::2]] == ["Look: ", "what is it?"]
    assert blocks[2].media is picture


def test_what_an_earlier_call_has_shown_is_folded() -> None:
    first = generate("Question?")
    second = generate([user("Question?"), assistant("Yes"), user("Sure?")])
    calls = [call(first, Reply("Yes")), call(second, None, step="again")]
    view = sample_view(SampleLine(1, CHOICE, (), True), calls, headline(), live=True)
    assert [b.folded for b in view.calls[1].asked] == [True, False, False]
    assert view.calls[1].title == "candidate acme/writer · again"
    assert view.calls[1].in_flight
    assert view.in_flight == 1
    assert "in flight" in view.calls[1].answered[0].text
    assert view.reply == "Yes"


def test_a_call_that_was_cut_off_is_not_in_flight_when_nothing_runs() -> None:
    view = sample_view(
        SampleLine(1, CHOICE, (), True), [call(generate("?"), None)], headline(), live=False
    )
    assert not view.in_flight
    assert "the run ended before it came" in view.calls[0].answered[0].text


def test_a_judge_explains_and_what_it_was_shown_is_folded() -> None:
    judged = call(generate("x" * 900), Reply("8, because"), role="judge")
    view = sample_view(
        SampleLine(1, CHOICE, (score(8.0),), True),
        [call(generate("Q"), Reply("A")), judged],
        headline(),
        live=False,
    )
    assert view.calls[1].asked[0].folded
    assert [(b.title, b.text) for b in view.calls[1].answered] == [
        ("what the judge says", "8, because")
    ]
    assert view.reply == "A"


def test_replies_that_are_no_answer_say_so() -> None:
    cut = Reply("And then", Outcome.TRUNCATED, reasoning="hm " * 400)
    failed = Reply(outcome=Outcome.ERROR, error="Overloaded: 529")
    view = sample_view(
        SampleLine(1, CHOICE, (), True),
        [call(generate("Q"), cut), call(generate("Q"), failed, reask=1, epoch=2)],
        headline(),
        live=False,
    )
    one, other = view.calls
    assert [(b.title, b.folded) for b in one.answered] == [
        ("reasoning", True),
        ("reply, truncated", False),
    ]
    assert [(b.title, b.text, b.tone) for b in other.answered] == [
        ("failed", "Overloaded: 529", "bad")
    ]
    assert other.title == "candidate acme/writer · epoch 3 · asked again (1)"


def test_scores_tell_readings_values_and_notes() -> None:
    detail = {"parsed": {"letter": "A"}, "note": "by the second line"}
    line = SampleLine(1, CHOICE, (score(0.0, 1.0, detail=detail),), True)
    (told,) = sample_view(line, [], headline(), live=False).scores
    assert told.title == ""
    assert told.outcome == "parsed"
    assert told.readings == [("letter", "A")]
    assert told.values == [("accuracy", "wrong"), ("strict", "1")]
    assert told.notes == [("note", "by the second line")]


def test_values_of_a_graded_run_are_numbers_and_each_judges_reading_is_told() -> None:
    read = {"one, turn 1": 7, "one, turn 2": None}
    verdicts = {"one": ["A", "tie"], "two": {"compliant": True, "confidence": None}}
    detail = {"parsed": {"rating/1": read, "rating-lenient/2": verdicts}}
    line = SampleLine(1, CHOICE, (score(1.0, 7.0, detail=detail),), True)
    graded = headline()
    graded.follow({"accuracy": {"value": 5.5}})
    (told,) = sample_view(line, [], graded, live=False).scores
    assert told.values == [("accuracy", "1"), ("strict", "7")]
    assert told.readings == [
        ("rating/1", "one, turn 1: 7; one, turn 2: nothing"),
        ("rating-lenient/2", "one: A, tie; two: compliant: true, confidence: nothing"),
    ]
    assert read_text(detail) == "A, tie; true, –"
    assert read_text({"parsed": {"rating/1": read}}) == "7, –"


def test_choices_are_a_table_of_log_likelihoods_and_shares() -> None:
    prompt = choose("Q", [" A", " B", "\n"])
    reply = Reply(logprobs=(-1.0, -1.0 - 0.6931471805599453, float("-inf")))
    view = sample_view(
        SampleLine(1, CHOICE, (), True), [call(prompt, reply)], headline(), live=False
    )
    (block,) = view.calls[0].answered
    assert block.exact
    assert [" ".join(line.split()) for line in block.text.splitlines()] == [
        "A -1.0000 66.7 % greatest",
        "B -1.6931 33.3 %",
        "(blank) -inf 0.0 %",
    ]
    assert len({line.rindex("%") for line in block.text.splitlines()}) == 1


def test_choices_in_wide_glyphs_are_as_many_cells_wide_as_others() -> None:
    lines = choice_table(["模型", "a\n\x1b[1mb", "\u200d"], (-1.0, -2.0, -3.0)).splitlines()
    assert [line.partition("-")[0] for line in lines] == [
        "模型       ",
        "a b        ",
        "(blank)    ",
    ]


def test_choices_without_any_likelihood_have_no_shares() -> None:
    assert choice_table(["a"], (float("-inf"), float("-inf"))).count("? %") == 2


def test_a_reply_tells_what_it_took() -> None:
    reply = Reply(
        "A",
        usage=Usage(1500, 20, cache_read_tokens=1000, cache_write_tokens=200, reasoning_tokens=8),
        latency_s=1.25,
        attempts=3,
        provider_model="writer-2",
        stop_reason="stop",
        request_id="req_1",
        params=(ParamNote("seed", "dropped", "the model takes none"), ParamNote("stop", "sent")),
        cost=Decimal("0.25"),
        possible_cost=Decimal("0.5"),
    )
    assert reply_facts(reply) == [
        ("tokens", "1,500 in (1,000 cached, 200 written to the cache), 20 out (8 reasoning)"),
        ("cost", "$0.2500"),
        ("besides", "up to $0.5000 possibly billed"),
        ("time", "1.2 s, 3 attempts"),
        ("answered by", "writer-2, stopped by stop"),
        ("request", "req_1"),
        ("parameters", "seed was dropped: the model takes none"),
    ]
    assert reply_facts(Reply("A")) == []
    billed = Reply(outcome=Outcome.ERROR, error="Timeout", possibly_billed=True)
    assert reply_facts(billed) == [("besides", "possibly billed, at an unknown price")]


# -- rows ----------------------------------------------------------------------------


async def test_rows_are_read_a_page_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with journal(tmp_path / FILE) as into:
        await into.add_samples([(row, sample(row, subject="art")) for row in range(1, 201)])
        into.store_score(2, 0, {}, Outcome.OK, {"accuracy": 1.0}, {"parsed": {"letter": "A"}})
    reads: list[int] = []
    samples = SampleBrowser(tmp_path / FILE)
    really = samples.lines

    def counted(rows: Any) -> Any:
        reads.append(len(rows))
        return really(rows)

    monkeypatch.setattr(samples, "lines", counted)
    rows = SampleRows(samples, range(1, 201), ("subject",), live=True)
    assert len(rows) == 200
    assert rows.row(1) == (
        ("2", "dim"),
        ("✓", "good"),
        ("parsed", ""),
        ("right", "good"),
        "A",
        "A",
        ("art", "dim"),
        "How much is 2?",
    )
    assert rows.row(0)[2] == ("waiting", "dim")
    assert rows.row(199)[0] == ("200", "dim")
    assert len(reads) == 2
    async with journal(tmp_path / FILE) as into:
        await ask(into, 1, sample(1, subject="art"), generate("?"), None)
    assert rows.row(0)[2] == ("waiting", "dim")
    assert rows.forget_unfinished()
    assert rows.row(0)[2] == ("in flight", "dim")
    rows.live = False
    rows.forget_unfinished()
    assert rows.row(0)[2] == ("not done", "dim")


async def test_rows_grow_and_skip_what_is_gone(tmp_path: Path) -> None:
    async with journal(tmp_path / FILE) as into:
        await into.add_samples([(row, sample(row)) for row in (1, 3)])
    rows = SampleRows(SampleBrowser(tmp_path / FILE), range(1, 2))
    assert rows.row(0)[-1] == "How much is 1?"
    rows.grow(range(1, 4))
    assert len(rows) == 3
    assert "no longer part of the run" in rows.row(1)[0][0]
    assert rows.row(2)[-1] == "How much is 3?"


def test_a_journal_that_cannot_be_read_is_told_in_the_row(tmp_path: Path) -> None:
    rows = SampleRows(SampleBrowser(tmp_path / FILE), range(1, 2))
    (cell,) = rows.row(0)
    assert isinstance(cell, tuple)
    told, tone = cell
    assert "there is no journal" in told
    assert tone == "bad"
    with pytest.raises(JournalError):
        SampleBrowser(tmp_path / FILE).facets()


def test_a_whole_sample_is_plain_text_in_which_only_what_is_active_is_escaped() -> None:
    said = "if a:\n\treturn \x1b[31m\u202eb\nمی\u200cخواهم 👩\u200d👩\u200d👧"
    line = SampleLine(7, CHOICE, (), asked=True)
    view = sample_view(line, [call(generate("Say it."), Reply(said))], headline(), live=False)
    text = whole_words(view)
    assert "if a:\n\treturn \\x1b[31m\\u202eb\nمی\u200cخواهم 👩\u200d👩\u200d👧\n" in text
    assert text.startswith("sample 7  ")


def test_a_whole_sample_tells_its_result_and_why_it_failed() -> None:
    failed = score(outcome=Outcome.ERROR, detail={"error": "ServerFault: 500"})
    line = SampleLine(7, CHOICE, (failed,), asked=True)
    text = whole_words(sample_view(line, [], headline(), live=False))
    assert "\nresult  ! failed\ngold  B) blue\nerror  ServerFault: 500\n" in text
    right = score(1.0, 0.0, detail={"parsed": {"letter": "B"}})
    line = SampleLine(7, CHOICE, (right,), asked=True)
    text = whole_words(sample_view(line, [], headline(), live=False))
    assert "\nresult  ✓ right, parsed\n" in text
    assert "\nread as  B  (letter)\n" in text
