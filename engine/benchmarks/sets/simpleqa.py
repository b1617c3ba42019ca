"""simpleqa: short factual questions, graded by judges as correct, incorrect or not attempted.

Source: J. Wei et al., "Measuring short-form factuality in large language models", arXiv
2411.04368 (2024); the grader's prompt and the metrics are those of the authors' code,
https://github.com/openai/simple-evals (simpleqa_eval.py, MIT), commit
ee3b0318d8d1d9d72755a4120879be65f7c07e9e. The authors graded with a GPT-4 model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from evalbench.engine.benchmark import (
    Ask,
    Benchmark,
    DataSet,
    DataSource,
    Item,
    Sample,
    Score,
    answer_outcome,
    ask_judges,
    failed_judgements,
    judge_name,
)
from evalbench.engine.benchmarks.custom.file import CustomFile
from evalbench.engine.benchmarks.custom.rows import hub_rows
from evalbench.engine.benchmarks.sets import rows as set_rows
from evalbench.engine.calls import Outcome, generate
from evalbench.engine.calls.options import setting_of
from evalbench.engine.calls.templates import Template, chosen_templates, prompt_option
from evalbench.engine.data.reading import Row, converted, find_table, read_rows
from evalbench.engine.scoring import metrics
from evalbench.engine.scoring.pooled import pooled
from evalbench.engine.scoring.reply_text import answer_text
from evalbench.engine.scoring.tally import Metric, Tally

_HUB = CustomFile(
    hub="basicv8vc/SimpleQA", split="test", revision="e319282ab125c3dbd0c7fd00be2e4dd54e7e8f94"
)
GRADES = {"A": "correct", "B": "incorrect", "C": "not_attempted"}
_READS = "simpleqa-grade/1"
_GRADE = re.compile(r"\b(?:(A|B|C)|(NOT[_ ]ATTEMPTED|INCORRECT|CORRECT))\b")


_GRADER = (Path(__file__).parent / "simpleqa-grader.txt").read_text(encoding="utf-8").strip()
_GRADED = {
    "question": "what was asked",
    "target": "the right answer",
    "predicted_answer": "what the model answered",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleQAOptions:
    """Options of :class:`SimpleQA`."""

    prompt: str | None = setting_of(prompt_option())


class SimpleQA(Benchmark):
    """4,326 questions with one indisputable answer each."""

    name = "simpleqa"
    version = "1"
    title = "SimpleQA"
    summary = "4,326 short questions about facts, graded by judges; saying nothing is no mistake"
    licence = "MIT"
    roles = ("candidate", "judge")
    spread_by = "topic"
    filters: ClassVar[Mapping[str, str]] = {"topic": "only questions of this topic"}
    opt = SimpleQAOptions()
    prompt_templates: ClassVar[Mapping[str, Template]] = {
        "question": Template("{question}", {"question": "what is asked"}, ("question",)),
        "grade": Template(_GRADER, _GRADED, tuple(_GRADED)),
    }
    data_source = (
        "basicv8vc/SimpleQA on the Hugging Face hub, or --data simple_qa_test_set.csv; prompt and"
        " grades after https://github.com/openai/simple-evals"
    )

    def __init__(self, options: Mapping[str, Any], *, seed: int = 0, shared: Any = None) -> None:
        super().__init__(options, seed=seed, shared=shared)
        own = self.prompt_templates
        self._prompts = chosen_templates(self.opt.prompt, own) or own

    def prepare(self, source: DataSource) -> DataSet:
        """Read questions and answers."""
        if source.path is None:
            return DataSet(
                _items(hub_rows(_HUB, source), _HUB.hub), origin=_HUB.hub, revision=_HUB.revision
            )
        names = ("simple_qa_test_set.csv", "test.jsonl", "test.csv")
        table = find_table(source.path, names, "questions of SimpleQA", "--data FILE")
        return DataSet(_items(read_rows(table), str(table)), origin=table.name)

    def templates(self) -> Any:
        """The grader's prompt and the version of its parser."""
        return [_GRADER, _READS]

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """Ask the question unchanged, and have the answer graded."""
        shown = {"question": sample.inputs["question"], "target": str(sample.gold)}
        asked = self._prompts["question"].messages(shown)
        reply = await ask("candidate", generate(asked, max_tokens=1024))
        if reply.outcome.declined or not reply.text.strip():
            why = answer_outcome(reply, None)
            return Score(why, _values(["C"] * len(self.judges), self.judges), note="no answer")
        shown["predicted_answer"] = answer_text(reply.text)
        grading = self._prompts["grade"].messages(shown)
        prompt = generate(grading, max_tokens=1024, temperature=0.0)
        asks = [(judge, prompt, "grade") for judge in self.judges]
        verdicts = await ask_judges(ask, asks)
        notes = failed_judgements(asks, verdicts)
        grades = [read_grade(verdict.text) for verdict in verdicts]
        readings = {
            judge_name(judge): GRADES.get(grade or "")
            for judge, grade in zip(self.judges, grades, strict=True)
        }
        if notes:
            # The failed calls are asked again; what the other judges said counts until then.
            values = _values(grades, self.judges) if any(grades) else {}
            return Score(Outcome.ERROR, values, {_READS: readings}, "; ".join(notes))
        if not any(grades):
            return Score(Outcome.UNPARSED, {}, {_READS: readings}, "no judge gave a grade")
        outcome = reply.outcome if all(grades) else Outcome.UNPARSED
        return Score(outcome, _values(grades, self.judges), {_READS: readings})

    def metrics(self, tally: Tally) -> list[Metric]:
        """Share of correct answers; the other grades; correct among attempted; F-score."""
        given = tally.where(lambda row: "correct" in row.values or row.outcome is Outcome.ERROR)
        out = [
            metrics.mean(given, name, name, title, scale=(0, 1))
            for name, title in (
                ("correct", "Correct"),
                ("incorrect", "Incorrect"),
                ("not_attempted", "Not attempted"),
            )
        ]
        attempted = pooled(given, _attempted, "correct_attempted", "Correct of those attempted")
        out += [attempted, _f_score(out[0], attempted)]
        out.append(metrics.share(tally, (Outcome.UNPARSED,), "unparsed", "Not graded"))
        if any(row.tags.get("topic") for row in tally):
            out += metrics.table(
                given,
                "topic",
                "correct",
                lambda part, name, tag: metrics.mean(
                    part, "correct", name, tag, "By topic", scale=(0, 1)
                ),
            )
        return out


def _attempted(values: Mapping[str, float]) -> tuple[float, float]:
    right = values.get("correct", 0.0)
    return right, right + values.get("incorrect", 0.0)


def _f_score(correct: Metric, attempted: Metric) -> Metric:
    """The harmonic mean of both; it has no interval, as they are based on the same samples."""
    one, other = correct.value, attempted.value
    value = None
    if one is not None and other is not None:
        value = 2 * one * other / (one + other) if one + other else 0.0
    return Metric("f_score", value, title="F-score of both", share=True)


def _values(grades: list[str] | list[str | None], judges: Any) -> dict[str, float]:
    read = [grade for grade in grades if grade]
    values = {name: read.count(letter) / len(read) for letter, name in GRADES.items()}
    if len(judges) > 1:
        for judge, grade in zip(judges, grades, strict=True):
            if grade:
                name = judge_name(judge)
                values[f"correct/{name}"] = float(grade == "A")
    return values


def read_grade(verdict: str) -> str | None:
    """``A``, ``B`` or ``C``, whichever a judge names first, as a letter or in words.

    The authors take the first of these letters anywhere, even within a word, and "not attempted" if
    there is none; here a verdict without one is unparsed.
    """
    found = _GRADE.search(answer_text(verdict))
    if not found:
        return None
    words = {"CORRECT": "A", "INCORRECT": "B", "NOT ATTEMPTED": "C"}
    return found[1] or words[found[2].replace("_", " ")]


def _items(rows: Iterator[tuple[int, Row]], origin: str) -> Iterator[Item]:
    return (item for _, item in converted(rows, _item, "question of SimpleQA", origin))


def _item(row: Row) -> Item:
    flat = set_rows.simpleqa(row)
    return Item({"question": flat["problem"]}, flat["answer"], {"topic": flat["topic"]})
