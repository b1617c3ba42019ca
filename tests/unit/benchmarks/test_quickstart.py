"""quickstart: the questions are sound, and replies are scored as a reader would."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmark import DataSource, Sample, sample_ids
from evalbench.engine.benchmarks import quickstart as module
from evalbench.engine.benchmarks.quickstart import Quickstart
from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.data.reading import read_rows
from evalbench.engine.scoring import number_words, short_answers
from evalbench.engine.scoring.letters import LENIENT as LETTER_LENIENT
from evalbench.engine.scoring.tally import Tally

KINDS = {"choice": 16, "exact": 14, "arithmetic": 14, "code": 14, "yesno": 14}


@pytest.fixture
def samples(tmp_path: Path) -> list[Sample]:
    return list(sample_ids(Quickstart({}).prepare(DataSource(None, tmp_path)).items))


def _first(samples: list[Sample], kind: str) -> Sample:
    return next(sample for sample in samples if sample.tags["kind"] == kind)


def test_there_are_72_different_questions_of_five_kinds(samples: list[Sample]) -> None:
    assert Counter(sample.tags["kind"] for sample in samples) == KINDS
    assert len({(s.inputs["question"], s.inputs.get("code")) for s in samples}) == 72
    assert all(sample.id.endswith(".1") for sample in samples)


def test_answers_are_balanced(samples: list[Sample]) -> None:
    gold = {kind: Counter(s.gold[0] for s in samples if s.tags["kind"] == kind) for kind in KINDS}
    assert gold["choice"] == {"A": 4, "B": 4, "C": 4, "D": 4}
    assert gold["yesno"] == {"Yes": 7, "No": 7}


def test_choices_are_four_different_texts(samples: list[Sample]) -> None:
    for sample in samples:
        if sample.tags["kind"] == "choice":
            assert len(sample.inputs["choices"]) == len(set(sample.inputs["choices"])) == 4


def test_the_programs_print_what_is_stated(samples: list[Sample]) -> None:
    for sample in samples:
        if code := sample.inputs.get("code"):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(code, {})
            assert [printed.getvalue().strip()] == sample.gold


def test_the_file_states_its_licence() -> None:
    path = Path(module.__file__).with_name("quickstart.jsonl")
    _, head = next(iter(read_rows(path)))
    assert head["licence"] == Quickstart.licence == "CC0-1.0"


async def test_every_accepted_answer_scores_on_both_readings(
    samples: list[Sample], model: Any
) -> None:
    for sample in samples:
        for answer in sample.gold:
            score = await Quickstart({}).solve(sample, model(answer))
            assert score.values == {"accuracy": 1.0, "accuracy_strict": 1.0}, sample
            assert score.outcome is Outcome.OK


@pytest.mark.parametrize(
    ("kind", "reply"),
    [
        ("choice", "The answer is (B) Rome."),
        ("choice", "Rome"),
        ("choice", "The capital of Italy is Rome."),
        ("exact", "The planet closest to the Sun is Mercury."),
        ("arithmetic", "6 + 7 = 13"),
        ("code", "The output is hello."),
        ("yesno", "Yes, ice is frozen water."),
    ],
)
async def test_a_wordy_right_reply_scores_leniently_only(
    samples: list[Sample], model: Any, kind: str, reply: str
) -> None:
    score = await Quickstart({}).solve(_first(samples, kind), model(reply))
    assert score.values == {"accuracy": 1.0, "accuracy_strict": 0.0}
    assert score.outcome is Outcome.OK


@pytest.mark.parametrize(
    ("kind", "reply"),
    [
        ("choice", "A"),
        ("choice", "The capital of Italy is Milan."),
        ("exact", "Venus"),
        ("arithmetic", "14"),
        ("code", "Hello"),
        ("yesno", "No"),
    ],
)
async def test_a_wrong_reply_scores_nothing(
    samples: list[Sample], model: Any, kind: str, reply: str
) -> None:
    score = await Quickstart({}).solve(_first(samples, kind), model(reply))
    assert score.values == {"accuracy": 0.0, "accuracy_strict": 0.0}
    assert score.outcome is Outcome.OK


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply(text="Hm."), Outcome.UNPARSED),
        (Reply(text="Let me see", outcome=Outcome.TRUNCATED), Outcome.TRUNCATED),
        (Reply(text="Yes", outcome=Outcome.TRUNCATED), Outcome.OK),
        (Reply(text="Yes", outcome=Outcome.REFUSED), Outcome.REFUSED),
        (Reply(text="Yes", outcome=Outcome.FILTERED), Outcome.FILTERED),
    ],
)
async def test_outcomes(samples: list[Sample], model: Any, reply: Reply, outcome: Outcome) -> None:
    score = await Quickstart({}).solve(_first(samples, "yesno"), model(reply))
    assert score.outcome is outcome
    assert score.values["accuracy"] == float(outcome is Outcome.OK)


async def test_prompts_are_short_greedy_and_capped(samples: list[Sample], model: Any) -> None:
    for sample in samples:
        fake = model("x")
        await Quickstart({}).solve(sample, fake)
        (prompt,) = fake.asked
        assert prompt.kind == "generate"
        assert prompt.params.asked() == {"max_tokens": 24, "temperature": 0.0}
        assert len(prompt.messages[0].text) < 400


async def test_the_prompt_of_each_kind(samples: list[Sample], model: Any) -> None:
    asked = {}
    for kind in KINDS:
        fake = model("x")
        await Quickstart({}).solve(_first(samples, kind), fake)
        asked[kind] = fake.asked[0].messages[0].text
    assert asked == {
        "choice": "Which of these cities is the capital of Italy?\n"
        "A) Milan\nB) Rome\nC) Naples\nD) Turin\n\n"
        "Reply with the letter of the right option only.",
        "exact": "Which planet is closest to the Sun?\n\n"
        "Reply with the answer only, in one or two words or as a number.",
        "arithmetic": "What is 6 + 7?\n\nReply with the number only.",
        "code": 'What does this Python program print?\n\n```python\nprint("hello")\n```\n\n'
        "Reply with the printed text only.",
        "yesno": "Is ice frozen water?\n\nReply with Yes or No only.",
    }


def test_metrics_headline_strict_and_kinds() -> None:
    tally = Tally()
    tally.add({"kind": "code"}, Outcome.OK, {"accuracy": 1.0, "accuracy_strict": 0.0}, 3)
    tally.add({"kind": "exact"}, Outcome.UNPARSED, {"accuracy": 0.0, "accuracy_strict": 0.0}, 1)
    metrics = Quickstart({}).metrics(tally)
    assert metrics[0].name == "accuracy"
    assert {metric.name: metric.value for metric in metrics} == {
        "accuracy": 0.75,
        "accuracy_strict": 0.0,
        "unparsed": 0.25,
        "accuracy/kind=code": 1.0,
        "accuracy/kind=exact": 0.0,
        "accuracy_strict/kind=code": 0.0,
        "accuracy_strict/kind=exact": 0.0,
    }


def test_a_parser_of_another_version_is_another_template() -> None:
    """So that a resume and a re-scoring see that replies may be read otherwise."""
    held = str(Quickstart({}).templates())
    parsers = number_words.LENIENT, LETTER_LENIENT, short_answers.LENIENT
    assert all(name in held for name in parsers)
