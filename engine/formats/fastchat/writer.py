"""FastChat's MT-bench files: ``model_answer/MODEL.jsonl``, ``model_judgment/JUDGE_….jsonl``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalbench.engine.benchmark import judge_name
from evalbench.engine.benchmarks.mt_bench.data import compared_with
from evalbench.engine.benchmarks.mt_bench.metrics import TURNS
from evalbench.engine.benchmarks.mt_bench.ratings import read_rating, read_winner
from evalbench.engine.config.roles import CANDIDATE
from evalbench.engine.errors import UsageError, counted
from evalbench.engine.formats.files import Files
from evalbench.engine.journal import CallRow
from evalbench.engine.runs.reader import (
    RunReader,
    SampleSummary,
    file_name,
)

_NO_RATING = -1
_WINNERS = {"A": "model_1", "B": "model_2", "tie": "tie", None: "error"}
_SWAPPED = {"A": "model_2", "B": "model_1", "tie": "tie", None: "error"}

Rows = list[dict[str, Any]]


def write_all(runs: Sequence[RunReader], files: Files) -> list[str]:
    """Add the answers of every model and the judgments of every judge to ``files``.

    Returns what was left out.

    Raises:
        UsageError: two runs have different answers by one model.
    """
    answers: dict[str, dict[int, dict[str, Any]]] = {}
    judged: dict[tuple[str, str], Rows] = {}
    notes: list[str] = []
    for run in runs:
        notes += [*run.notes(), *_add(run, answers, judged)]
    for name, by_question in answers.items():
        files.lines(f"model_answer/{file_name(name)}.jsonl", list(by_question.values()))
    for (judge, kind), rows in judged.items():
        files.lines(f"model_judgment/{file_name(judge)}_{kind}.jsonl", rows)
    return notes


def _add(
    run: RunReader,
    answers: dict[str, dict[int, dict[str, Any]]],
    judged: dict[tuple[str, str], Rows],
) -> list[str]:
    """Add the rows of one run to their files."""
    other = compared_with(run.spec.options.get("against"), run.meta.get("shared"))
    silent = 0
    for summary in run.samples():
        turns = [summary.text(CANDIDATE, f"turn-{turn}") for turn in TURNS]
        if None in turns:
            silent += 1
            continue
        given = [(run.candidate, turns)]
        if other:
            given.append((other, summary.sample.inputs["baseline"]))
        for name, texts in given:
            row = _answer(run, summary, name, texts)
            known = answers.setdefault(name, {}).setdefault(row["question_id"], row)
            if known["choices"] != row["choices"]:
                raise UsageError(
                    f"these runs hold different answers of {name}",
                    why="FastChat has one file of answers for each model",
                    hint="export them apart, each to a folder of its own",
                )
        for role in run.judges:
            rows = _compared(run, summary, role, other) if other else _rated(run, summary, role)
            judge = run.named(judge_name(role))
            judged.setdefault((judge, "pair" if other else "single"), []).extend(rows)
    notes = []
    if silent:
        notes.append(f"{counted(silent, 'question')} without both answers left out")
    if run.spec.options.get("judge_repeats", 1) > 1:
        notes.append("each repeat of a rating is a row; FastChat counts every row, not the median")
    return notes


def _answer(
    run: RunReader, summary: SampleSummary, model: str, turns: Sequence[str | None]
) -> dict[str, Any]:
    ident = summary.sample.inputs["question_id"]
    return {
        "question_id": ident,
        "answer_id": f"{run.id}-{summary.row}",
        "model_id": model,
        "choices": [{"index": 0, "turns": list(turns)}],
        "tstamp": run.created,
    }


def _rated(run: RunReader, summary: SampleSummary, role: str) -> Rows:
    rows = []
    repeats = run.spec.options.get("judge_repeats", 1)
    for turn in TURNS:
        for repeat in range(repeats):
            call = summary.calls.get((role, f"rate-{turn}", repeat))
            if call is None or call.reply is None:
                continue
            rating = read_rating(call.reply.text)
            rows.append(
                {
                    "question_id": summary.sample.inputs["question_id"],
                    "model": run.candidate,
                    "judge": [run.named(judge_name(role)), _prompt_name(summary, turn)],
                    "user_prompt": _asked(call),
                    "judgment": call.reply.text,
                    "score": _NO_RATING if rating is None else rating,
                    "turn": turn,
                    "tstamp": run.created,
                }
            )
    return rows


def _compared(run: RunReader, summary: SampleSummary, role: str, other: str) -> Rows:
    rows = []
    for turn in TURNS:
        games = [summary.calls.get((role, f"compare-{turn}-{order}", 0)) for order in _GAMES]
        if None in games:
            continue
        row: dict[str, Any] = {
            "question_id": summary.sample.inputs["question_id"],
            "model_1": run.candidate,
            "model_2": other,
            "judge": [run.named(judge_name(role)), _prompt_name(summary, turn, "pair")],
            "turn": turn,
            "tstamp": run.created,
        }
        for game, call, winners in zip(("g1", "g2"), games, (_WINNERS, _SWAPPED), strict=True):
            assert call is not None
            text = call.reply.text if call.reply else ""
            row[f"{game}_winner"] = winners[read_winner(text)]
            row[f"{game}_user_prompt"] = _asked(call)
            row[f"{game}_judgment"] = text
        rows.append(row)
    return rows


_GAMES = ("first", "second")


def _prompt_name(summary: SampleSummary, turn: int, kind: str = "single") -> str:
    """The name of the judge prompt in the original."""
    referred = "references" in summary.sample.inputs
    version = "v2" if kind == "pair" and not referred else "v1"
    return f"{kind}{'-math' if referred else ''}-{version}" + ("-multi-turn" if turn == 2 else "")


def _asked(call: CallRow) -> str:
    """The last message sent to the judge; these files do not include the system prompt."""
    return call.prompt.messages[-1].text
