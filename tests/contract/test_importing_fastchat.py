"""FastChat's judgment files as runs: the original's averages, recomputed here by its rule."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.errors import DataError
from evalbench.engine.formats.fastchat.reader import read_judgments, read_results
from evalbench.engine.journal import JournalReader
from tests.imports import Written, write_json, write_lines, written

JUDGES = ("gpt-4", "claude-v1")
MODELS = ("vicuna-13b", "org/alpaca, 7b")
Row = dict[str, Any]


@pytest.fixture
def questions(shared_data: Path, home: Path) -> Path:
    """FastChat's data folder, with a home of its own."""
    return shared_data / "mt_bench"


def rating(question: int, turn: int, model: str, judge: str, score: float) -> Row:
    """A row as ``gen_judgment.py`` appends it."""
    said = f"Helpful. Rating: [[{score}]]" if score != -1 else "I cannot rate this."
    kind = "single-v1" if turn == 1 else "single-v1-multi-turn"
    return {
        "question_id": question,
        "model": model,
        "judge": [judge, kind],
        "user_prompt": "as it was asked",
        "judgment": said,
        "score": score,
        "turn": turn,
        "tstamp": 1686800000.5,
    }


def ratings(seed: int) -> list[Row]:
    """Ratings of two models by two judges: some unreadable, some missing, some twice."""
    rng = random.Random(seed)
    rows = [
        rating(question, turn, model, judge, rng.choice([-1, 1, 4, 6.5, 7, 9, 10]))
        for question in range(81, 161)
        for turn in (1, 2)
        for model in MODELS
        for judge in JUDGES
        if rng.random() > 0.05
    ]
    again = [{**row, "tstamp": 1686800009.0} for row in rng.sample(rows, 30)]
    others = [
        rating(row["question_id"], row["turn"], row["model"], row["judge"][0], 2)
        for row in rng.sample(rows, 30)
    ]
    return rows + again + others


def by_rule(rows: list[Row], **wanted: Any) -> tuple[float, int, int]:
    """Sum and number of the ratings that are not -1, and the number of those that are."""
    scores = [
        row["score"]
        for row in rows
        if all((row["judge"][0] if k == "judge" else row[k]) == v for k, v in wanted.items())
    ]
    kept = [score for score in scores if score != -1]
    return sum(kept), len(kept), len(scores) - len(kept)


def check(run: Written, rows: list[Row], model: str) -> None:
    """All averages of a run are those that the rule gives for the rows."""
    total, count, dropped = by_rule(rows, model=model)
    assert run.counts("score") == (total, count)
    assert run.metrics["score"]["value"] == pytest.approx(total / count)
    assert run.counts("unread_judgements") == (dropped, count + dropped)
    for turn in (1, 2):
        assert run.counts(f"turn_{turn}") == by_rule(rows, model=model, turn=turn)[:2]
    for judge in JUDGES:
        name = f"score/judge=answers/{judge}"
        assert run.counts(name) == by_rule(rows, model=model, judge=judge)[:2]
    assert run.folder.status().failed == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_averages_are_pooled_over_turns_and_all_rows_without_those_that_could_not_be_read(
    seed: int, questions: Path, tmp_path: Path
) -> None:
    rows = ratings(seed)
    file = write_lines(tmp_path / "both_single.jsonl", rows)
    runs = [written(one) for one in read_judgments(file, questions, None)]
    assert [run.folder.spec().model for run in runs] == [
        "answers/vicuna-13b",
        "answers/org/alpaca- 7b",
    ]
    for run, model in zip(runs, MODELS, strict=True):
        check(run, rows, model)


def test_a_row_counts_by_its_score_whatever_its_judgment_says(
    questions: Path, tmp_path: Path
) -> None:
    rows = [
        rating(81, 1, "m", "gpt-4", 7) | {"judgment": "no rating in it"},
        rating(81, 2, "m", "gpt-4", 3.25) | {"judgment": "[[9]]"},
        rating(82, 1, "m", "gpt-4", -1) | {"judgment": "[[9]]"},
        rating(82, 2, "m", "gpt-4", 5) | {"judgment": None},
        rating(83, 1, "m", "gpt-4", -1) | {"judgment": None},
    ]
    del rows[-1]["judgment"]
    recorded = read_judgments(write_lines(tmp_path / "j.jsonl", rows), questions, None)[0]
    run = written(recorded)
    assert run.counts("score") == (15.25, 3)
    assert run.counts("unread_judgements") == (2, 5)
    assert [note.split(" judgments")[0] for note in recorded.notes[:2]] == ["2", "3"]


def test_answers_and_questions_are_those_of_a_run_made_here(
    questions: Path, tmp_path: Path
) -> None:
    turns = {81: ["first", "second"], 111: ["$ERROR$", "$ERROR$"], 121: ["", "x"]}
    answers = [
        {"question_id": q, "answer_id": "a", "model_id": "m", "choices": [{"turns": t}]}
        for q, t in turns.items()
    ]
    write_lines(tmp_path / "model_answer" / "m.jsonl", answers)
    rows = [rating(q, t, "m", "gpt-4", 4) for q in (81, 111, 121, 160) for t in (1, 2)]
    file = write_lines(tmp_path / "gpt-4_single.jsonl", rows)
    recorded = read_judgments(file, questions, tmp_path / "model_answer")[0]
    run = written(recorded)
    assert run.counts("score") == (32, 8)
    assert any(note.startswith("3 answers of m missing") for note in recorded.notes)
    with JournalReader(run.folder.journal) as journal:
        first = journal.calls(1)
        assert [call.reply and call.reply.text for call in first[:2]] == ["first", "second"]
        math = next(
            row.sample for row in journal.samples() if row.sample.tags["category"] == "math"
        )
        assert len(math.inputs["references"]) == 2


def test_answers_that_nobody_judged(questions: Path, tmp_path: Path) -> None:
    turns = {81: ["first", "second"], 111: ["$ERROR$", "$ERROR$"], 999: ["no", "question"]}
    answers = [
        {"question_id": q, "answer_id": "a", "model_id": "m", "choices": [{"turns": t}]}
        for q, t in turns.items()
    ]
    file = write_lines(tmp_path / "m.jsonl", answers)
    (recorded,) = read_results(file, questions, None)
    run = written(recorded)
    status = run.folder.status()
    assert (status.model, status.total, status.failed) == ("answers/m", 2, 1)
    assert run.metrics["score"]["value"] is None
    assert len(recorded.notes) == 3
    with JournalReader(run.folder.journal) as journal:
        assert [call.reply and call.reply.text for call in journal.calls(1)] == turns[81]


WINNERS = ("model_1", "model_2", "tie", "error")


def comparison(question: int, turn: int, judge: str, games: tuple[str, str], **more: Any) -> Row:
    """A row as ``gen_judgment.py --mode pairwise-all`` appends it."""
    said = (
        {"model_1": "[[A]]", "model_2": "[[B]]", "tie": "[[C]]", "error": "hm"},
        {"model_1": "[[B]]", "model_2": "[[A]]", "tie": "[[C]]", "error": "hm"},
    )
    return {
        "question_id": question,
        "model_1": "one",
        "model_2": "two",
        "g1_winner": games[0],
        "g2_winner": games[1],
        "judge": [judge, "pair-v2"],
        "g1_user_prompt": "p",
        "g1_judgment": f"So {said[0][games[0]]}",
        "g2_user_prompt": "p",
        "g2_judgment": f"So {said[1][games[1]]}",
        "turn": turn,
        "tstamp": 1.0,
        **more,
    }


def outcomes(rows: list[Row]) -> Counter[str]:
    """Wins, losses and ties of model_1 as ``show_result.py`` counts them."""
    found: Counter[str] = Counter()
    for row in rows:
        if "error" in (row["g1_winner"], row["g2_winner"]):
            continue
        if row["g1_winner"] == "tie" or row["g1_winner"] != row["g2_winner"]:
            found["tie"] += 1
        else:
            found["win" if row["g1_winner"] == "model_1" else "loss"] += 1
    return found


def test_comparisons_are_won_by_who_wins_both_games(questions: Path, tmp_path: Path) -> None:
    rng = random.Random(3)
    rows = [
        comparison(question, turn, judge, (rng.choice(WINNERS), rng.choice(WINNERS)))
        for question in range(81, 161)
        for turn in (1, 2)
        for judge in JUDGES
        if rng.random() > 0.1
    ]
    rows += rng.sample(rows, 25)
    rows += [
        comparison(90, 1, "gpt-4", ("tie", "model_1"), g1_judgment="[[A]]", g2_judgment=None),
        comparison(90, 2, "gpt-4", ("model_2", "model_2"), g1_judgment="[[A]] [[B]]"),
    ]
    (recorded,) = read_judgments(write_lines(tmp_path / "p.jsonl", rows), questions, None)
    run, counted = written(recorded), outcomes(rows)
    n = counted.total()
    assert run.counts("win_rate") == (counted["win"], n)
    assert run.counts("loss_rate") == (counted["loss"], n)
    assert run.counts("tie_rate") == (counted["tie"], n)
    assert run.counts("win_rate_adjusted") == (counted["win"] + counted["tie"] / 2, n)
    games = [row[f"g{game}_winner"] for row in rows for game in (1, 2)]
    assert run.counts("unread_judgements") == (games.count("error"), len(games))
    assert run.folder.spec().model == "answers/one"
    assert any("compared with two" in note for note in recorded.notes)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"question_id": 999}, "no question 999"),
        ({"turn": 3}, "turn is 3"),
        ({"score": "good"}, "good"),
        ({"score": -2}, "its score is -2"),
        ({"judge": []}, "no judgment of FastChat's"),
        ({"model": None, "model_1": "x"}, "'model_2'"),
    ],
)
def test_a_bad_row_is_named(
    change: dict[str, Any], told: str, questions: Path, tmp_path: Path
) -> None:
    rows = [rating(81, 1, "m", "gpt-4", 7), rating(82, 1, "m", "gpt-4", 7) | change]
    file = write_lines(tmp_path / "j.jsonl", rows)
    with pytest.raises(DataError, match=told) as caught:
        read_judgments(file, questions, None)
    assert "j.jsonl, row 2: " in str(caught.value)


def test_a_file_of_ratings_and_comparisons_is_refused(questions: Path, tmp_path: Path) -> None:
    rows = [rating(81, 1, "m", "gpt-4", 7), comparison(81, 1, "gpt-4", ("tie", "tie"))]
    with pytest.raises(DataError, match="do not go together"):
        read_judgments(write_lines(tmp_path / "j.jsonl", rows), questions, None)


def test_what_is_no_json_lines_file_is_refused(questions: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_judgments(write_json(tmp_path / "j.json", []), questions, None)
