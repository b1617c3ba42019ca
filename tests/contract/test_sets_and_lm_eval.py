"""The strict readings of well-known sets are those of lm-evaluation-harness's tasks.

Rows and replies are made here; the same rows and replies go to the library's own scorers.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmark import DataSource, SequentialAsk, sample_ids
from evalbench.engine.calls import Outcome, Prompt, Reply
from evalbench.engine.config.spec import build_benchmark, make_spec

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SPLITS = ("test", "validation", "train")


@dataclass(frozen=True)
class Pair:
    """A set of ours and a task of the library.

    Attributes:
        task: the file of the library's task, below its tasks.
        metrics: ours by the library's.
        rows: with the published columns.
        replies: to each row, with ``{right}`` and ``{wrong}``.
        answers: right and wrong, for each row.
        ours: further columns for ours only.
    """

    benchmark: str
    task: str
    metrics: Mapping[str, str]
    rows: list[dict[str, Any]]
    answers: list[tuple[str, str]]
    replies: list[str]
    ours: Mapping[str, str]

    def told(self) -> list[tuple[dict[str, Any], str]]:
        """Every row with every reply, right and wrong."""
        return [
            (row, reply.format(right=one, wrong=other))
            for row, answers in zip(self.rows, self.answers, strict=True)
            for one, other in (answers, answers[::-1])
            for reply in self.replies
        ]


STRICT = {"exact_match,strict-match": "accuracy_strict"}
CONCLUSIONS = [
    "The answer is {right}.",
    "So the answer is {right}.",
    "the answer is {right}",
    "The answer is **{right}**.",
    "The answer is: {right}.",
    "Answer: {right}",
    "the answer is {right}, not {wrong}.",
    "First the answer is {wrong}. No: the answer is {right}.",
    "The answer is {wrong}.\nThe answer is {right}.\n",
    "The final answer: {right}.",
    'The answer is "{right}".',
    "{right}",
    "I do not know.",
    "",
]
NUMBERS = [
    *CONCLUSIONS,
    "The answer is ${right}.",
    "The answer is {right} dollars.",
    "The answer is {right}.00.",
    "5 + 5 = {wrong}. The answer is {right}.\n\nQ: next",
]
LETTERS = [
    *CONCLUSIONS,
    "the answer is ({right}).",
    "The best answer is ({right}) because of {wrong}.",
    "ANSWER IS ({right})",
    "The answer is (K). The answer is ({right}).",
]
SPANS = ["{right}", "The {right}", "{right} {wrong}", "{wrong}", "", "an {right}, the {right}"]


def _gsm8k(answer: str) -> dict[str, Any]:
    return {"question": f"How many make {answer}?", "answer": f"Some.\n#### {answer}"}


def _drop(number: str = "", spans: tuple[str, ...] = (), day: str = "") -> dict[str, Any]:
    date = {"day": day, "month": "May" if day else "", "year": "1920" if day else ""}
    return {
        "query_id": number or day or spans[0],
        "passage": "P.",
        "question": "Q?",
        "answer": {"number": number, "date": date, "spans": list(spans)},
        "validated_answers": {
            "number": ["", number],
            "date": [{"day": "", "month": "", "year": ""}, date],
            "spans": [["the old mill"], list(spans)],
        },
    }


def _bbh(task: str, question: str, *answers: tuple[str, str]) -> Pair:
    rows = [
        {"input": f"{at}: {question}", "target": right} for at, (right, _) in enumerate(answers)
    ]
    file = f"bbh/cot_zeroshot/{task}.yaml"
    return Pair("bbh", file, STRICT, rows, list(answers), CONCLUSIONS, {"config": task})


PAIRS = {
    "gsm8k": Pair(
        "gsm8k",
        "gsm8k/gsm8k-cot.yaml",
        STRICT,
        [_gsm8k(answer) for answer in ("18", "1,200", "-3", "0.5")],
        [("18", "81"), ("1,200", "1,201"), ("-3", "3"), ("0.5", "5")],
        NUMBERS,
        {},
    ),
    "mmlu_pro": Pair(
        "mmlu-pro",
        "mmlu_pro/mmlu_pro_math.yaml",
        {"exact_match,custom-extract": "accuracy_strict"},
        [
            {
                "question": f"Number {at}?",
                "options": list("0123456789"),
                "answer": "ABCDEFGHIJ"[at],
                "answer_index": at,
                "category": "math",
                "cot_content": "",
            }
            for at in (0, 3, 9)
        ],
        [("A", "B"), ("D", "J"), ("J", "A")],
        LETTERS,
        {},
    ),
    "drop": Pair(
        "drop",
        "drop/default.yaml",
        {"em,none": "accuracy_strict", "f1,none": "score"},
        [
            _drop("3"),
            _drop("1.50"),
            _drop(spans=("the red house",)),
            _drop(spans=("Ann", "Bob Hill")),
            _drop(day="4"),
        ],
        [
            ("3", "4"),
            ("1.5", "15"),
            ("red house", "house"),
            ("Ann and Bob Hill", "Ann"),
            ("4 May 1920", "May 1920"),
        ],
        SPANS,
        {},
    ),
    "bbh_words": _bbh("navigate", "There again?", ("Yes", "No"), ("No", "Yes")),
    "bbh_options": _bbh(
        "date_understanding", "When?\nOptions:\n(A) x\n(B) y\n(F) z", ("(A)", "(B)"), ("(F)", "(A)")
    ),
    "bbh_numbers": _bbh("multistep_arithmetic_two", "1 + 1 =", ("123", "-123"), ("-8", "8")),
    "bbh_brackets": _bbh("dyck_languages", "Complete. Input: [ {", ("} ]", "] }"), (")", "( )")),
    "bbh_lists": _bbh("word_sorting", "Sort. List: old tale an", ("an old tale", "old an tale")),
}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the library scores, by pair and document."""
    folder = tmp_path_factory.mktemp("tasks")
    library = importlib.metadata.distribution("lm_eval").locate_file("lm_eval/tasks")
    for name, pair in PAIRS.items():
        told = pair.told()
        for split in SPLITS:
            rows = "".join(json.dumps(row) + "\n" for row, _ in told)
            (folder / f"{name}.{split}.jsonl").write_text(rows)
        files = {split: f"{folder}/{name}.{split}.jsonl" for split in SPLITS}
        (folder / f"{name}.replies.json").write_text(json.dumps([reply for _, reply in told]))
        (folder / f"{name}.yaml").write_text(
            f"include: {library}/{pair.task}\ntask: {name}\ntag: null\nnum_fewshot: 0\n"
            "dataset_path: json\ndataset_name: null\n"
            f"dataset_kwargs: {{data_files: {json.dumps(files)}}}\n"
        )
    done = subprocess.run(
        [sys.executable, "-m", "tests.lm_eval_scorers", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Given(SequentialAsk):
    """Answers with a reply that is there already."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        return Reply(self._text, outcome=Outcome.OK)


def ours(pair: Pair, folder: Path) -> list[Mapping[str, float]]:
    """The values of every document."""
    table = folder / "test.jsonl"
    table.write_text("".join(json.dumps({**row, **pair.ours}) + "\n" for row, _ in pair.told()))
    spec = make_spec(pair.benchmark, "answers/x", data=str(table), options={"shots": 0})
    bench = build_benchmark(spec)
    data = bench.prepare(DataSource(table, folder))
    samples = list(sample_ids(data.items))
    bench = build_benchmark(spec, json.loads(json.dumps(data.shared)))

    async def values() -> list[Mapping[str, float]]:
        told = zip(samples, pair.told(), strict=True)
        return [(await bench.solve(sample, Given(reply))).values for sample, (_, reply) in told]

    return asyncio.run(values())


@pytest.mark.parametrize("name", PAIRS)
def test_the_same_replies_have_the_same_scores(name: str, theirs: Any, tmp_path: Path) -> None:
    pair = PAIRS[name]
    found = ours(pair, tmp_path)
    for (row, reply), own, their in zip(pair.told(), found, theirs[name], strict=True):
        for key, metric in pair.metrics.items():
            # DROP's F1 has hundredths there.
            assert round(own[metric], 2) == their[key], (row, reply, key)
    for key in pair.metrics:
        assert len({their[key] for their in theirs[name]}) > 1
