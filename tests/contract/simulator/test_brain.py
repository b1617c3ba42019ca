"""What simulated models say."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.simulator.brain import Ask, Brain

OPTIONS = "Which?\nA. one\nB. two\nC. three\nD. four\nAnswer:"


def ask(text: str = "Hello", **more: Any) -> Ask:
    return Ask(hash(text) % 2**64, "model", text, text, None, 4.0, **more)


def asks(count: int, text: str = "{}") -> list[Ask]:
    return [
        Ask(number, "model", text.format(number), text.format(number), None, 4.0)
        for number in range(count)
    ]


def test_answers_depend_on_seed_and_content_alone() -> None:
    first, second = Brain(seed=1), Brain(seed=1)
    questions = asks(50)
    forwards = [first.complete(question) for question in questions]
    backwards = [second.complete(question) for question in reversed(questions)]
    assert forwards == backwards[::-1]
    other = [Brain(seed=2).complete(question) for question in questions]
    assert forwards != other


def test_accuracy() -> None:
    brain = Brain(accuracy=0.7)
    brain.configure(gold={f"Question {number}?": "ABCD"[number % 4] for number in range(400)})
    questions = asks(400, "Question {}?\nA. one\nB. two\nC. three\nD. four\nAnswer:")
    answers = [brain.complete(question).text for question in questions]
    right = sum(answer == "ABCD"[number % 4] for number, answer in enumerate(answers))
    assert 250 <= right <= 310
    assert set(answers) == set("ABCD")


def test_the_lowest_gold_line_decides() -> None:
    brain = Brain()
    brain.configure(gold={"What is 1+1?": "2", "What is 2+2?": "4"})
    text = "What is 1+1?\n2\n\nWhat is 2+2?\n"
    assert brain.complete(ask(text)).text == "4"


def test_wording_and_verbosity() -> None:
    brain = Brain(answer="The answer is ({}).", verbosity=5)
    brain.configure(gold={"Which?": "C"})
    text = brain.complete(ask(OPTIONS)).text
    assert text.endswith(". The answer is (C).")
    assert len(text.split()) == 9


def test_letters_without_gold() -> None:
    answers = {Brain().complete(replace(ask(OPTIONS), content=n)).text for n in range(100)}
    assert answers == set("ABCD")


@pytest.mark.parametrize(
    ("prompt", "possible"),
    [
        ("Rate it like this: [[rating]]", {f"Rating: [[{n}]]" for n in range(1, 11)}),
        ("Rate it, for example [[5]]", {f"Rating: [[{n}]]" for n in range(1, 11)}),
        ("Say [[A]] or [[B]] or [[C]]", {"[[A]]", "[[B]]", "[[C]]"}),
        ("Say [[A]] or [[B]]", {"[[A]]", "[[B]]"}),
        ("Say [[right]] or [[wrong]]", {"Verdict: [[right]]", "Verdict: [[wrong]]"}),
    ],
)
def test_judging(prompt: str, possible: set[str]) -> None:
    found = {Brain().complete(replace(ask(prompt), content=n)).text for n in range(200)}
    assert found == possible


def test_judgements_are_not_worded() -> None:
    brain = Brain(answer="Answer: {}")
    assert brain.complete(ask("Say [[A]] or [[B]]")).text.startswith("[[")


def test_shares() -> None:
    brain = Brain(refusals=0.2, filtered=0.2, empty=0.2)
    found = [brain.complete(question) for question in asks(1000)]
    assert 150 < sum(one.kind == "refusal" for one in found) < 250
    assert 110 < sum(one.kind == "filtered" for one in found) < 210
    assert 80 < sum(one.kind == "ok" and not one.text for one in found) < 180


def test_rules_come_first_and_in_order() -> None:
    brain = Brain(refusals=1.0)
    brain.configure(
        rules=[
            {"match": r"say (\w+)", "text": r"\1!"},
            {"match": "say", "text": "never"},
            {"match": "^model$", "where": "model", "text": "mine"},
        ]
    )
    assert brain.complete(ask("say cheese")).text == "cheese!"
    assert brain.complete(ask("other")).text == "mine"


def test_rule_text_is_literal_without_groups() -> None:
    brain = Brain()
    brain.configure(rules=[{"match": "x", "text": "{} %s"}])
    assert brain.complete(ask("x")).text == "{} %s"


def test_reasoning_within_cap_and_budget() -> None:
    brain = Brain()
    thought = brain.complete(ask(effort="high"))
    assert thought.reasoning
    assert 256 <= thought.reasoning_tokens <= 768
    assert thought.output_tokens > thought.reasoning_tokens
    assert brain.complete(ask(effort="high", budget=100)).reasoning_tokens == 100
    assert brain.complete(ask(effort="none")).reasoning_tokens == 0
    capped = brain.complete(replace(ask(effort="high"), cap=50))
    assert (capped.text, capped.output_tokens, capped.truncated) == ("", 50, True)


def test_stop_text_beyond_the_cap_does_not_stop() -> None:
    brain = Brain()
    brain.configure(rules=[{"match": "x", "text": "a" * 40 + "END" + "b" * 40}])
    whole = brain.complete(replace(ask("x"), stops=("END",)))
    assert (whole.text, whole.stopped_by) == ("a" * 40, "END")
    cut = brain.complete(replace(ask("x"), stops=("END",), cap=5))
    assert (cut.text, cut.stopped_by, cut.truncated) == ("a" * 20, None, True)


def test_schema_instances() -> None:
    schema = {
        "type": "object",
        "properties": {
            "verdict": {"enum": ["yes", "no"]},
            "score": {"type": "integer", "minimum": 1, "maximum": 5},
            "why": {"type": ["string", "null"]},
            "sure": {"type": "boolean"},
            "parts": {"type": "array", "items": {"anyOf": [{"const": 7}, {"type": "null"}]}},
            "nothing": {"type": "null"},
        },
    }
    for number in range(50):
        value = json.loads(Brain().complete(replace(ask(), content=number, schema=schema)).text)
        assert value["verdict"] in ("yes", "no")
        assert 1 <= value["score"] <= 5
        assert isinstance(value["why"], str)
        assert isinstance(value["sure"], bool)
        assert value["parts"] == [7]
        assert value["nothing"] is None


def test_unknown_setting() -> None:
    with pytest.raises(TypeError, match="no setting 'mood'"):
        Brain().configure(mood="good")
