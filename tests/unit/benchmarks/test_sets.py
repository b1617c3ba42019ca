"""The well-known sets: published rows become prompts, and replies are scored by published rules."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

from evalbench.engine.benchmark import Benchmark, CallFailed, DataSource, Sample, Score, sample_ids
from evalbench.engine.benchmarks.custom import scorers
from evalbench.engine.benchmarks.custom.file import file_of, read_tables
from evalbench.engine.benchmarks.sets import bbh, instructions, toml_sets
from evalbench.engine.calls import MediaPart, Outcome, Prompt, Reply
from evalbench.engine.calls.options import parse_options
from evalbench.engine.config.registry import benchmark_class, benchmark_names
from evalbench.engine.config.spec import build_benchmark, make_spec
from evalbench.engine.errors import DataError, UsageError
from evalbench.engine.scoring.letters_many import read_many
from evalbench.engine.scoring.tally import Tally

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)


class Asking:
    """Gives replies in turn, and keeps what was asked."""

    def __init__(self, *says: str) -> None:
        self.says = list(says)
        self.asked: list[Prompt] = []

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        self.asked.append(prompt)
        return Reply(self.says.pop(0))

    async def many(self, asks: Any) -> list[Reply]:
        return [await self(role, prompt, step=step) for role, prompt, step, *_ in asks]


class Made:
    """A set with rows of the published form, as the engine has it."""

    def __init__(self, folder: Path, name: str, tables: dict[str, list[Any]], **options: Any):
        for table, rows in tables.items():
            text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
            (folder / table).write_text(text)
        kind = benchmark_class(name)
        given = parse_options(kind.options, options, name)
        first = folder / next(iter(tables))
        found = kind(given).prepare(DataSource(first, folder))
        self.samples: list[Sample] = list(sample_ids(found.items))
        self.bench: Benchmark = kind(given, shared=json.loads(json.dumps(found.shared)))
        self.bench.judges = ("judge/x/one",)
        self.asked: list[Prompt] = []

    def score(self, *says: str, at: int = 0) -> Score:
        asking = Asking(*says)
        score = asyncio.run(self.bench.solve(self.samples[at], asking))
        self.asked = asking.asked
        return score

    def prompt(self, *says: str) -> str:
        self.score(*says)
        return "\n".join(message.text for message in self.asked[0].messages)

    def metrics(self, *scores: tuple[int, Score]) -> dict[str, float | None]:
        tally = Tally()
        for at, score in scores:
            tally.add(self.samples[at].tags, score.outcome, score.values)
        return {metric.name: metric.value for metric in self.bench.metrics(tally)}


def values(score: Score) -> tuple[float, float]:
    return score.values["accuracy"], score.values["accuracy_strict"]


PRO = {
    "question": "Which number?",
    "options": ["3", "0", "7", "8", "9", "10", "11", "12", "13", "14"],
    "answer_index": 9,
    "answer": "J",
    "category": "math",
    "cot_content": "",
}
SHOT = {**PRO, "cot_content": "A: Let's think step by step. It is ten. The answer is (J)."}


def test_mmlu_pro_shows_five_examples_of_its_category_and_reads_ten_letters(tmp_path: Path) -> None:
    shots = [{**SHOT, "question": f"Shot {n}?"} for n in range(5)]
    other = [{**SHOT, "question": "Law?", "category": "law"}]
    made = Made(
        tmp_path, "mmlu-pro", {"test.jsonl": [PRO], "validation.jsonl": [*other, *shots, *shots]}
    )
    text = made.prompt("The answer is (J).")
    assert "questions (with answers) about math. Think step by step" in text
    assert "Law?" not in text
    assert [f"Shot {n}?" in text for n in range(5)] == [True] * 5
    assert "It is ten. The answer is (J)." in text
    assert text.endswith("J. 14\nAnswer: Let's think step by step.")
    assert values(made.score("So the answer is (J).")) == (1, 1)
    # Its options are numbers: the place counts, not the option that says 9.
    assert values(made.score("The answer is (E).")) == (0, 0)
    assert values(made.score("**Answer: J**")) == (1, 0)
    assert made.score("I am not sure.").outcome is Outcome.UNPARSED
    alone = tmp_path / "alone"
    alone.mkdir()
    with pytest.raises(DataError, match="split validation"):
        Made(alone, "mmlu-pro", {"alone.jsonl": [PRO]})
    assert Made(alone, "mmlu-pro", {"alone.jsonl": [PRO]}, shots=0).samples


@pytest.mark.parametrize(
    ("reply", "at"),
    [
        ("J", 9),
        ("(h)", 7),
        ("The answer is (H).", 7),
        ("answer is I", 8),
        ("The answer is A car.", None),
        ("The answer is (H) or (I).", None),
        ("First the answer is (B), no: the answer is (C).", 2),
        (r"\boxed{J}", 9),
        ("I think that I see it.", None),
        ("it must be (H)", 7),
        ("The answer is (K).", None),
        ("<think>the answer is (A)</think>Answer: **I**", 8),
    ],
)
def test_a_letter_among_ten_is_read(reply: str, at: int | None) -> None:
    assert read_many(reply, 10) == at


CHOICES: list[tuple[str, str, dict[str, Any], str, tuple[str, ...]]] = [
    (
        "arc",
        "test.jsonl",
        {"question": "Q?", "choices": {"text": ["2", "1"], "label": ["1", "2"]}, "answerKey": "2"},
        "B",
        ("A) 2\nB) 1",),
    ),
    (
        "hellaswag",
        "validation.jsonl",
        {"ctx": "A man runs. He", "endings": ["3", "2", "1", "0"], "label": "3"},
        "D",
        ("A man runs. He", "D) 0"),
    ),
    (
        "winogrande",
        "validation.jsonl",
        {"sentence": "The _ ran.", "option1": "2", "option2": "1", "answer": "1"},
        "A",
        ("The [BLANK] ran.\nA) 2\nB) 1",),
    ),
]


def test_choices_are_shown_and_scored_by_place(tmp_path: Path) -> None:
    for name, table, row, right, parts in CHOICES:
        shots = {} if name != "winogrande" else {"shots": 0}
        made = Made(tmp_path, name, {table: [row]}, **shots)
        text = made.prompt(right)
        assert all(part in text for part in parts), name
        assert values(made.score(right)) == (1, 1), name
        assert values(made.score("C" if right != "C" else "A"))[0] == 0, name
        # Both readings are named before anything is asked.
        assert made.metrics() == {"accuracy": None, "accuracy_strict": None, "unparsed": None}


def test_winogrande_shows_five_examples_of_the_training_split(tmp_path: Path) -> None:
    row = CHOICES[2][2]
    shots = [{**row, "sentence": f"Shot _ {n}."} for n in range(6)]
    made = Made(tmp_path, "winogrande", {"validation.jsonl": [row], "train.jsonl": shots})
    text = made.prompt("A")
    assert text.count("Shot [BLANK]") == 5
    assert [m.text for m in made.asked[0].messages if m.role == "assistant"] == ["A"] * 5


def test_the_right_option_of_gpqa_and_truthfulqa_moves_with_the_seed(tmp_path: Path) -> None:
    gpqa = {
        "Question": " Why? ",
        "Correct Answer": " yes\n",
        "Incorrect Answer 1": "no",
        "Incorrect Answer 2": "perhaps",
        "Incorrect Answer 3": "never",
        "High-level domain": "Physics",
    }
    mc1 = {"choices": ["f0", "true", *(f"f{n}" for n in range(1, 9))], "labels": [0, 1, *[0] * 8]}
    csv = ["Question,Best Answer,Incorrect Answers,Category", "Why?,true,f0; f1; f2,Law"]
    cases: list[tuple[str, str, list[Any], str]] = [
        ("gpqa", "test.jsonl", [{**gpqa, "Question": f"{n}?"} for n in range(8)], "yes"),
        (
            "truthfulqa",
            "validation.jsonl",
            [{"question": f"{n}?", "mc1_targets": mc1} for n in range(8)],
            "true",
        ),
        ("truthfulqa", "TruthfulQA.csv", csv, "true"),
    ]
    for name, table, rows, right in cases:
        made = Made(tmp_path, name, {table: rows})
        places = set()
        for at, sample in enumerate(made.samples):
            place = sample.inputs["choices"].index(right)
            places.add(place)
            letter = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[place]
            assert values(made.score(f"Answer: {letter}", at=at))[0] == 1
            wrong = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(place + 1) % len(sample.inputs["choices"])]
            assert values(made.score(f"Answer: {wrong}", at=at))[0] == 0
        assert len(places) > 1 or len(made.samples) == 1, name
    made = Made(tmp_path, "gpqa", {"test.jsonl": cases[0][2]})
    assert values(made.score("answer: $Q"))[1] == 0
    options = made.samples[0].inputs["choices"]
    assert made.prompt("x").endswith(
        "before answering.\n\n0?\n\nA) {}\nB) {}\nC) {}\nD) {}".format(*options)
    )


def test_gsm8k_and_aime_read_numbers(tmp_path: Path) -> None:
    made = Made(tmp_path, "gsm8k", {"test.jsonl": [{"question": "Q?", "answer": "a\n#### 1,200"}]})
    assert made.prompt("1200").count("The answer is") == 8
    assert values(made.score("5 + 5 = 10. The answer is 1,200.")) == (1, 1)
    assert values(made.score("So she has $1200 in total.")) == (1, 0)
    assert values(made.score("The answer is 1201.")) == (0, 0)
    assert "The answer" not in Made(
        tmp_path, "gsm8k", {"test.jsonl": [{"question": "Q?", "answer": "#### 1"}]}, shots=0
    ).prompt("1")
    made = Made(tmp_path, "aime", {"test.jsonl": [{"problem": "P", "answer": "073"}]})
    assert values(made.score("Thus.\nAnswer: $73$")) == (1, 1)
    assert values(made.score(r"\boxed{73}")) == (1, 0)
    made = Made(tmp_path, "aime", {"test.jsonl": [{"Problem": "P", "Answer": 5}]}, subset="2024")
    assert values(made.score("Answer: 5")) == (1, 1)
    with pytest.raises(DataError, match="row 1: this is no row of GSM8K"):
        Made(tmp_path, "gsm8k", {"test.jsonl": [{"question": "Q?", "answer": "42"}]})


def test_math_500_compares_mathematics(tmp_path: Path) -> None:
    row = {"problem": "P", "answer": r"\frac{1}{2}", "subject": "Algebra", "level": 2}
    made = Made(tmp_path, "math-500", {"test.jsonl": [row]})
    assert values(made.score("Halves.\nAnswer: $0.5$")) == (1, 1)
    assert values(made.score(r"So it is $\boxed{\dfrac{2}{4}}$.")) == (1, 0)
    assert values(made.score("Answer: 2")) == (0, 0)
    assert made.score("I cannot say.").outcome is Outcome.UNPARSED
    assert made.samples[0].tags == {"group": "Algebra"}


def test_bbh_reads_each_kind_of_answer(tmp_path: Path) -> None:
    rows = [
        {"input": "Which?\nOptions:\n(A) x\n(B) y", "target": "(B)", "task": "date"},
        {"input": "not ( True ) is", "target": "False", "task": "boolean_expressions"},
        {"input": "Valid?", "target": "invalid", "task": "formal_fallacies"},
        {"input": "1 - 3 =", "target": "-2", "task": "multistep_arithmetic_two"},
        {"input": "Complete. Input: [ {", "target": "} ]", "task": "dyck_languages"},
        {"input": "Sort: b a", "target": "a b", "task": "word_sorting"},
        {"question": "Which?", "choices": {"label": ["A", "B"], "text": ["x", "y"]}, "target": "A"},
        {"input": "Sort: sigh r&d", "target": "r&d sigh", "task": "word_sorting"},
    ]
    made = Made(tmp_path, "bbh", {"test.jsonl": rows}, shots=0)
    cases = [
        (0, "So the answer is (B).", (1, 1)),
        (0, "So the answer is (A).", (0, 0)),
        (1, "So the answer is False.", (1, 1)),
        (1, "It is True, no: **False**", (1, 0)),
        (2, "The answer is invalid.", (1, 1)),
        (2, "The answer is valid.", (0, 0)),
        (3, "Thus the answer is -2.", (1, 1)),
        (3, "Thus the answer is 2.", (0, 0)),
        (4, "the answer is } ].", (1, 1)),
        (4, "the answer is [ { } ].", (1, 0)),
        (4, "the answer is ] }.", (0, 0)),
        (5, "The answer is a b.", (1, 1)),
        (5, "The answer is b a.", (0, 0)),
        (6, "The answer is (A).", (1, 1)),
        (7, "The answer is r&d sigh.", (1, 1)),
        (7, "The answer is r d sigh.", (0, 0)),
    ]
    for at, reply, expected in cases:
        assert values(made.score(reply, at=at)) == expected, reply
    assert "(A) x\n(B) y" in made.samples[6].inputs["prompt"]
    assert made.score("Let us see.", at=2).outcome is Outcome.UNPARSED
    assert made.prompt("x") == (
        "Q: Which?\nOptions:\n(A) x\n(B) y\n\nThink step by step, and end with a sentence of the"
        ' form "the answer is X."\nA: Let\'s think step by step.'
    )


COT = """Never train on this.
-----
Infer the date.

Mind the year.

Q: What day is it?
Options:
(A) x
A: Let's think step by step.
It is x. So the answer is (A).

Q: And now?
A: Let's think step by step.
First.

Then y. So the answer is y.

Q: And then?
A: Let's think step by step. z. So the answer is z.
"""


def test_the_authors_files_of_bbh_are_read(tmp_path: Path) -> None:
    """Their repository's folders ``bbh`` and ``cot-prompts``, and single files of the former."""
    tasks: Any = benchmark_class("bbh").about.configs  # type: ignore[attr-defined]
    for name in ("bbh", "cot-prompts"):
        (tmp_path / name).mkdir()
    for task in tasks:
        (tmp_path / "cot-prompts" / f"{task}.txt").write_text(COT)
    for task in ("navigate", "snarks"):
        rows = [{"input": f"{task}?", "target": "Yes"}, {"input": "And?", "target": "No"}]
        body = {"canary": "BENCHMARK DATA", "examples": rows}
        (tmp_path / "bbh" / f"{task}.json").write_text(json.dumps(body))

    def items(path: Path) -> list[Any]:
        bench = build_benchmark(make_spec("bbh", "answers/x", data=str(path)))
        return list(bench.prepare(DataSource(path, tmp_path / "cache")).items)

    found = items(tmp_path / "bbh")
    assert [item.tags["group"] for item in found] == ["navigate"] * 2 + ["snarks"] * 2
    assert "navigate?" in str(found[0].inputs)
    assert "What day is it?" in str(found[0].inputs)
    alone = items(tmp_path / "bbh" / "snarks.json")
    assert [item.tags["group"] for item in alone] == ["snarks"] * 2
    (tmp_path / "bbh" / "snarks.json").write_text("[]")
    with pytest.raises(DataError, match="no file of the authors"):
        items(tmp_path / "bbh")


@pytest.mark.parametrize("beside", [True, False])
def test_bbh_is_asked_after_the_authors_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: bool
) -> None:
    fetched: list[str] = []

    def hub(address: str, timeout: float) -> Any:
        fetched.append(address.rpartition("/")[2])
        return io.BytesIO(COT.encode())

    monkeypatch.setattr("urllib.request.urlopen", hub)
    configs: Any = benchmark_class("bbh").about.configs  # type: ignore[attr-defined]
    assert set(json.loads(bbh._SUMS.read_text())) == set(configs)
    own = tmp_path / "sums.json"
    own.write_text(json.dumps(dict.fromkeys(configs, hashlib.sha256(COT.encode()).hexdigest())))
    monkeypatch.setattr(bbh, "_SUMS", own)
    if beside:
        (tmp_path / "cot-prompts").mkdir()
        for task in configs:
            (tmp_path / "cot-prompts" / f"{task}.txt").write_text(COT)
    rows = [{"input": "Which?", "target": "(B)", "task": "navigate"}]
    for _ in range(2):
        made = Made(tmp_path, "bbh", {"test.jsonl": rows})
        assert values(made.score("It is. So the answer is (B).")) == (1, 1)
        assert [(one.role, one.text) for one in made.asked[0].messages] == [
            ("system", "Infer the date.\n\nMind the year."),
            ("user", "Q: What day is it?\nOptions:\n(A) x\nA: Let's think step by step."),
            ("assistant", "It is x. So the answer is (A)."),
            ("user", "Q: And now?\nA: Let's think step by step."),
            ("assistant", "First.\n\nThen y. So the answer is y."),
            ("user", "Q: And then?\nA: Let's think step by step."),
            ("assistant", "z. So the answer is z."),
            ("user", "Q: Which?\nA: Let's think step by step."),
        ]
    # They are downloaded once.
    assert fetched == ([] if beside else [f"{task}.txt" for task in configs])


def test_bbh_without_its_examples_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(address: str, timeout: float) -> Any:
        raise URLError(OSError("no route"))

    monkeypatch.setattr("urllib.request.urlopen", gone)
    rows = [{"input": "Which?", "target": "(B)", "task": "navigate"}]
    with pytest.raises(DataError, match=r"could not be fetched[^!]*no route[^!]*--shots 0"):
        Made(tmp_path, "bbh", {"test.jsonl": rows})
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: io.BytesIO(b"<p>Log in"))
    for _ in range(2):  # such a page is not kept
        with pytest.raises(DataError, match="not the file that was published"):
            Made(tmp_path, "bbh", {"test.jsonl": rows})
    (tmp_path / "cot-prompts").mkdir()
    with pytest.raises(DataError, match=r"boolean_expressions\.txt cannot be read"):
        Made(tmp_path, "bbh", {"test.jsonl": rows})
    for task in benchmark_class("bbh").about.configs:  # type: ignore[attr-defined]
        (tmp_path / "cot-prompts" / f"{task}.txt").write_text("Q: What?")
    with pytest.raises(DataError, match="holds no solved examples"):
        Made(tmp_path, "bbh", {"test.jsonl": rows})


def test_drop_gives_f1_and_exact_match(tmp_path: Path) -> None:
    date = {"day": "", "month": "", "year": ""}
    row = {
        "passage": "P",
        "question": "Q?",
        "answer": {"number": "", "date": date, "spans": ["the red house"]},
        "validated_answers": {"number": ["12"], "date": [date], "spans": [[]]},
    }
    two = {**row, "answer": {"number": "", "date": date, "spans": ["Ann", "Bo"]}}
    two["validated_answers"] = {"number": [], "date": [], "spans": []}
    shots = {"train.jsonl": [row] * 3}
    made = Made(tmp_path, "drop", {"validation.jsonl": [row, two], **shots})
    assert made.prompt("x").count("Answer: the red house") == 3
    found = [
        (made.score(text, at=at).values["score"], made.score(text, at=at).values["accuracy_strict"])
        for at, text in [
            (0, "Thinking.\nAnswer: Red house."),
            (0, "Answer: house"),
            (0, "Answer: 12.0"),
            (0, "Answer: 13"),
            (1, "Answer: Ann"),
        ]
    ]
    assert found == [(1, 1), (0.6667, 0), (1, 1), (0, 0), (0.5, 0)]
    told = made.metrics((0, made.score("Answer: Red house.")), (0, made.score("Answer: house")))
    assert told["score"] == pytest.approx(0.83335)
    assert told["exact_match"] == 0.5


def test_mgsm_asks_in_the_language_of_the_problem(tmp_path: Path) -> None:
    made = Made(tmp_path, "mgsm", {"mgsm_de.tsv": ["Wie viel ist 9 · 2?\t1,018"]})
    assert made.prompt("x").startswith("Löse dieses Mathematikproblem.")
    assert made.samples[0].tags == {"group": "de"}
    assert values(made.score("Also.\nAntwort: 1018")) == (1, 1)
    assert values(made.score("Also.\nAnswer: 1018")) == (1, 0)
    rows = [{"question": "Q", "answer_number": 5, "language": "fr"}]
    assert Made(tmp_path, "mgsm", {"test.jsonl": rows}).prompt("5").startswith("Résolvez ce")


def test_mmmu_shows_pictures_and_scores_both_kinds(tmp_path: Path) -> None:
    (tmp_path / "one.png").write_bytes(PIXEL)
    row = {
        "id": "validation_Art_Theory_1",
        "question": "What does <image 1> show, beside <image 2>?",
        "options": "['a cat', 'a dog']",
        "image_1": "one.png",
        "image_2": "one.png",
        "image_3": None,
        "question_type": "multiple-choice",
        "answer": "B",
    }
    free = {**row, "options": "[]", "question_type": "open", "answer": "['12.50', 'a dozen']"}
    made = Made(tmp_path, "mmmu", {"validation.jsonl": [row, free]})
    text = made.prompt("B")
    # As the authors' YAML file says it, in which an empty line is one line break.
    assert text == (
        "What does <image 1> show, beside <image 2>?\n(A) a cat\n(B) a dog\n\n"
        "Answer with the option's letter from the given choices directly."
    )
    assert made.samples[1].inputs["prompt"] == (
        "What does <image 1> show, beside <image 2>?\n"
        "Answer the question using a single word or phrase."
    )
    pictures = [part for part in made.asked[0].messages[0].parts if isinstance(part, MediaPart)]
    assert len(pictures) == 2
    assert made.samples[0].tags == {"group": "Art_Theory"}
    assert values(made.score("B")) == (1, 1)
    assert values(made.score("(A)")) == (0, 0)
    assert values(made.score("12.5", at=1))[0] == 1
    assert values(made.score("A dozen.", at=1))[0] == 1
    assert values(made.score("13", at=1))[0] == 0
    # The strict reading is the authors', without the option that they draw if they find none.
    for at, reply, strict in [
        (0, "(A)? No, (B).", 1),
        (0, "It is B, not (A)", 0),
        (0, "It is B because of the tail", 1),
        (0, "The picture shows a dog next to a tree", 1),
        (0, "a dog", 0),
        (0, "**B**", 0),
        (1, "The answer is 12.504", 1),
        (1, "5 + 7.5 = 12.5", 1),
        (1, "Count them.\nSo we need a dozen of them.", 1),
        (1, "about 1,250", 0),
    ]:
        assert values(made.score(reply, at=at))[1] == strict, reply


def test_truthfulqa_is_judged_by_both_kinds_of_references(tmp_path: Path) -> None:
    row = {
        "question": "Why?",
        "category": "Law",
        "correct_answers": ["Because", "For a reason"],
        "incorrect_answers": ["Magic"],
    }
    made = Made(tmp_path, "truthfulqa-judged", {"validation.jsonl": [row]})
    assert made.score("Because.", "Fine. Verdict: [[right]]").values["accuracy"] == 1
    rubric = made.asked[1].messages[0].text
    assert "- Because\n- For a reason" in rubric
    assert "- Magic" in rubric
    assert made.score("Magic.", "Verdict: [[wrong]]").values["accuracy"] == 0


def test_simpleqa_has_three_grades(tmp_path: Path) -> None:
    rows = [{"metadata": "{'topic': 'Art'}", "problem": "Who?", "answer": "Ann"}] * 4
    made = Made(tmp_path, "simpleqa", {"test.jsonl": rows})
    scores = [
        (0, made.score("Ann {target}", "A")),
        (1, made.score("Bo", "INCORRECT")),
        (2, made.score("I do not know", "C")),
        (3, made.score("Ann", "This cannot be told")),
    ]
    assert [score.outcome.value for _, score in scores] == ["ok", "ok", "ok", "unparsed"]
    told = made.metrics(*scores)
    for grade in ("correct", "incorrect", "not_attempted"):
        assert told[grade] == pytest.approx(1 / 3)
    assert told["correct_attempted"] == 0.5
    assert told["f_score"] == pytest.approx(0.4)
    assert told["unparsed"] == 0.25
    made.score("Ann {target}", "A")
    grading = made.asked[1].messages[0].text
    assert "Gold target: Ann\nPredicted answer: Ann {target}\n" in grading
    assert made.samples[0].tags == {"topic": "Art"}


FOLLOWED: list[tuple[str, dict[str, Any], str, str]] = [
    ("keywords:existence", {"keywords": ["red", "blue"]}, "Red and BLUE", "red"),
    (
        "keywords:frequency",
        {"keyword": "no", "frequency": 2, "relation": "at least"},
        "no and No",
        "no",
    ),
    ("keywords:forbidden_words", {"forbidden_words": ["cat"]}, "concatenate", "a Cat"),
    (
        "keywords:letter_frequency",
        {"letter": "q", "let_frequency": 2, "let_relation": "less than"},
        "Q",
        "qq",
    ),
    (
        "language:response_language",
        {"language": "de"},
        "Das ist ein Satz auf Deutsch, wie man leicht sieht.",
        "This is a sentence in English, as is easily seen.",
    ),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 3, "relation": "less than"},
        "Dr. Smith came, e.g. by car. He left!",
        "One. Two. Three.",
    ),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "a\n***\nb", "a\n***\nb***c"),
    (
        "length_constraints:number_words",
        {"num_words": 3, "relation": "at least"},
        "one, two-three",
        "one two",
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "then"},
        "First.\n\n'Then, more.",
        "Then.\n\nFirst.",
    ),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[a] [b]", "[a]"),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "x\nP. S. y", "PS y"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* a\n- b", "* a\n- b\n* c"),
    ("detectable_format:constrained_response", {}, "My answer is no.", "No."),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*a* *b*", "*a* **"),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "Section", "num_sections": 2},
        "Section 1 a Section 2 b",
        "Section 1 a",
    ),
    ("detectable_format:json_format", {}, '```json\n{"a": 1}\n```', "{a: 1}"),
    ("detectable_format:title", {}, "<<a title>> x", "<< >> x"),
    ("combination:two_responses", {}, "a******b", "a******a"),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say it."}, "say it. It.", "It. Say it."),
    ("startend:end_checker", {"end_phrase": "The end."}, 'So. the end."', "The end. So."),
    ("startend:quotation", {}, '"quoted"', '"quoted'),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 2, "capital_relation": "at least"},
        "It is VERY LOUD here.",
        "It is VERY loud.",
    ),
    ("change_case:english_capital", {}, "THIS IS A SENTENCE IN ENGLISH.", "THIS is one."),
    ("change_case:english_lowercase", {}, "this is a sentence in english.", "This is one."),
    ("punctuation:no_comma", {}, "none at all", "one, here"),
]


def test_every_kind_of_instruction_is_verified() -> None:
    assert {name for name, *_ in FOLLOWED} == set(instructions.RULES)
    assert len(instructions.RULES) == 25
    for name, given, good, bad in FOLLOWED:
        assert set(instructions.NEEDS.get(name, ())) == set(given), name
        assert instructions.follows([name], [given], good) == [[True], [True]], name
        assert instructions.follows([name], [given], bad)[0] == [False], name
    # Loosely: without its first line.
    assert instructions.follows(["startend:quotation"], [{}], 'Sure:\n"quoted"') == [
        [False],
        [True],
    ]
    assert instructions.follows(["punctuation:no_comma"], [{}], " ") == [[False], [False]]


def test_ifeval_counts_prompts_and_instructions(tmp_path: Path) -> None:
    nothing = {"num_words": None, "relation": None, "keywords": None}
    row = {
        "key": 1,
        "prompt": "Say red without a comma.",
        "instruction_id_list": ["punctuation:no_comma", "keywords:existence"],
        "kwargs": [nothing, {**nothing, "keywords": ["red"]}],
    }
    made = Made(tmp_path, "ifeval", {"train.jsonl": [row]})
    both, one = made.score("red"), made.score("blue")
    assert made.prompt("red") == row["prompt"]
    told = made.metrics((0, both), (0, one), (0, made.score("Sure, here:\nred")))
    assert told["prompt_strict"] == pytest.approx(1 / 3)
    assert told["prompt_loose"] == pytest.approx(2 / 3)
    assert told["instruction_strict"] == pytest.approx(4 / 6)
    assert told["instruction_strict/kind=punctuation"] == pytest.approx(2 / 3)
    assert "keywords:existence" in one.note
    bad = {**row, "instruction_id_list": ["punctuation:no_comma", "keywords:every"]}
    with pytest.raises(DataError, match="keywords:every"):
        Made(tmp_path, "ifeval", {"train.jsonl": [bad]})


def test_every_template_of_a_set_can_be_understood() -> None:
    for name in benchmark_names():
        kind = benchmark_class(name)
        if issubclass(kind, toml_sets.KnownSet):
            path = Path(toml_sets.__file__).with_name(f"{kind.name}.toml")
            body, text = read_tables(path)
            del body["set"]
            # What lists them does not look.
            file_of(path, body, text)


def test_ifeval_counts_sentences_in_the_child_that_verifies(tmp_path: Path) -> None:
    row = {
        "key": 1,
        "prompt": "Two sentences, please.",
        "instruction_id_list": ["length_constraints:number_sentences"],
        "kwargs": [{"num_sentences": 2, "relation": "at least"}],
    }
    made = Made(tmp_path, "ifeval", {"train.jsonl": [row]})
    assert made.score("Dr. Ann came. She saw.").values["prompt_strict"] == 1
    assert made.score("Dr. Ann came.").values["prompt_strict"] == 0


def test_every_set_names_its_licence_its_source_and_a_revision() -> None:
    names = {
        *("aime", "arc", "bbh", "drop", "gpqa", "gsm8k", "hellaswag", "ifeval", "math-500", "mgsm"),
        *("mmlu-pro", "mmmu", "simpleqa", "truthfulqa", "truthfulqa-judged", "winogrande"),
    }
    assert names <= set(benchmark_names())
    for name in names:
        kind = benchmark_class(name)
        assert kind.licence, name
        assert kind(parse_options(kind.options, {}, name)).own_title() == "", name
        assert "https://" in kind.data_source, name
        if hasattr(kind, "about"):
            file = kind(parse_options(kind.options, {}, name))._file()  # type: ignore[attr-defined]
            assert len(file.revision) == 40, name


def test_a_set_whose_package_is_missing_is_listed_and_says_so_before_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorers, "missing_modules", list)
    toml_sets._read.cache_clear()
    assert toml_sets.known_set("math-500").about.licence
    row = {"problem": "P", "answer": "1", "subject": "Algebra", "level": 2}
    made = Made(tmp_path, "math-500", {"test.jsonl": [row]})
    with pytest.raises(UsageError, match="needs the package math-verify"):
        asyncio.run(made.bench.check())


def test_a_failed_call_to_one_judge_of_simpleqa_keeps_the_grade_of_the_other(
    tmp_path: Path,
) -> None:
    rows = [{"metadata": "{'topic': 'Art'}", "problem": "Who?", "answer": "Ann"}]
    made = Made(tmp_path, "simpleqa", {"test.jsonl": rows})
    made.bench.judges = ("judge/x/one", "judge/x/two")

    class OneFails(Asking):
        async def many(self, asks: Any) -> list[Reply]:
            replies = [Reply("A"), Reply("", outcome=Outcome.ERROR, error="ServerFault: gone")]
            raise CallFailed(replies[1], replies)

    score = asyncio.run(made.bench.solve(made.samples[0], OneFails("Ann.")))
    assert score.outcome is Outcome.ERROR
    assert (score.values["correct"], score.values["correct/x/one"]) == (1, 1)
    assert "x/two: its call failed: ServerFault: gone" in score.note


def test_a_row_of_another_form_is_named_whatever_it_breaks(tmp_path: Path) -> None:
    row = {"passage": "P", "question": "Q?", "answer": "a text where an object belongs"}
    with pytest.raises(DataError, match="this is no row of"):
        Made(tmp_path, "drop", {"validation.jsonl": [row]}, shots=0)
