"""MMLU: how one sample is asked and scored, and what the metrics stand on."""

from __future__ import annotations

from typing import Any

import pytest

from evalbench.engine.benchmark import Item, Sample, sample_ids
from evalbench.engine.benchmarks.mmlu.benchmark import Mmlu
from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.calls.options import parse_options
from evalbench.engine.errors import SpecError
from evalbench.engine.scoring.tally import Tally

EXAMPLE = {"question": "1 + 1?", "choices": ["1", "2", "3", "4"], "answer": 1}
SHARED = {"anatomy": [EXAMPLE] * 5}


def _mmlu(seed: int = 0, **given: Any) -> Mmlu:
    return Mmlu(parse_options(Mmlu.options, given, "mmlu"), seed=seed, shared=SHARED)


def _sample(
    gold: int = 2, choices: tuple[str, ...] = ("p", "q", "r", "s"), number: int = 0
) -> Sample:
    item = Item(
        {"question": f"Question {number}?", "choices": list(choices)},
        gold,
        {"subject": "anatomy", "category": "other"},
    )
    return next(sample_ids(iter([item])))


def _choice(*logprobs: float) -> Reply:
    return Reply(logprobs=logprobs)


@pytest.mark.parametrize(
    ("given", "shots"),
    [
        ({}, 5),
        ({"family": "chat"}, 0),
        ({"family": "cot"}, 0),
        ({"shots": 0}, 0),
        ({"family": "chat", "shots": 3}, 3),
    ],
)
def test_shots_depend_on_the_family_unless_given(given: dict[str, Any], shots: int) -> None:
    assert _mmlu(**given).shots == shots


def test_reasoning_takes_no_examples() -> None:
    with pytest.raises(SpecError, match="--family cot takes no solved examples"):
        _mmlu(family="cot", shots=2)


@pytest.mark.parametrize(
    ("family", "kind"), [("original", "choose"), ("chat", "generate"), ("cot", "generate")]
)
async def test_a_family_needs_what_it_asks(family: str, kind: str, model: Any) -> None:
    mmlu = _mmlu(family=family)
    fake = model(Reply(text="C", logprobs=(-1.0, -1.0, -0.5, -1.0)))
    await mmlu.solve(_sample(), fake)
    assert [prompt.kind for prompt in fake.asked] == [kind]
    assert mmlu.needs() == {kind}


async def test_the_greatest_log_likelihood_is_the_answer(model: Any) -> None:
    right = await _mmlu().solve(_sample(gold=2), model(_choice(-3.0, -2.0, -0.1, -4.0)))
    assert (right.outcome, right.values) == (Outcome.OK, {"accuracy": 1.0})
    assert right.parsed == {"loglikelihood-greatest/1": "C"}
    tie = await _mmlu().solve(_sample(gold=1), model(_choice(-2.0, -2.0, -2.0, -2.0)))
    assert tie.values == {"accuracy": 0.0}


async def test_as_many_examples_as_asked_for(model: Any) -> None:
    fake = model(_choice(-1.0, -1.0, -1.0, -1.0))
    await _mmlu(shots=2).solve(_sample(), fake)
    assert fake.asked[0].messages[0].text.count("1 + 1?") == 2


@pytest.mark.parametrize(
    ("family", "reply", "values", "parsed"),
    [
        (
            "chat",
            "C",
            {"accuracy": 1.0, "accuracy_strict": 1.0, "accuracy_first": 1.0},
            {"letter-lenient/12": "C", "mmlu-letter-strict/1": "C", "mmlu-letter-first/1": "C"},
        ),
        (
            "chat",
            "The answer is C.",
            {"accuracy": 1.0, "accuracy_strict": 0.0, "accuracy_first": 0.0},
            {"letter-lenient/12": "C", "mmlu-letter-strict/1": None, "mmlu-letter-first/1": None},
        ),
        (
            "chat",
            "Certainly not",
            {"accuracy": 0.0, "accuracy_strict": 0.0, "accuracy_first": 1.0},
            {"letter-lenient/12": None, "mmlu-letter-strict/1": None, "mmlu-letter-first/1": "C"},
        ),
        (
            "chat",
            "G",
            {"accuracy": 0.0, "accuracy_strict": 0.0, "accuracy_first": 0.0},
            {"letter-lenient/12": None, "mmlu-letter-strict/1": None, "mmlu-letter-first/1": "G"},
        ),
        (
            "cot",
            "A is out.\nAnswer: A\nNo.\nAnswer: C",
            {"accuracy": 1.0, "accuracy_strict": 0.0},
            {"letter-lenient/12": "C", "simple-evals-letter/1": "A"},
        ),
    ],
)
async def test_lenient_and_faithful_readings_stand_side_by_side(
    family: str, reply: str, values: dict[str, float], parsed: dict[str, Any], model: Any
) -> None:
    score = await _mmlu(family=family).solve(_sample(gold=2), model(reply))
    assert score.values == values
    assert score.parsed == parsed


async def test_the_text_of_an_option_chooses_it(model: Any) -> None:
    sample = _sample(gold=2, choices=("Madrid", "Lisbon", "Rome", "Rome Fiumicino"))
    score = await _mmlu(family="chat").solve(sample, model(Reply(text="It's Rome, not Lisbon.")))
    assert (score.outcome, score.values["accuracy"]) == (Outcome.OK, 1.0)


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply(text="No idea"), Outcome.UNPARSED),
        (Reply(text="C", outcome=Outcome.TRUNCATED), Outcome.OK),
        (Reply(text="Well,", outcome=Outcome.TRUNCATED), Outcome.TRUNCATED),
        (Reply(text="C", outcome=Outcome.REFUSED), Outcome.REFUSED),
        (Reply(text="C", outcome=Outcome.FILTERED), Outcome.FILTERED),
    ],
)
async def test_only_a_read_answer_can_be_right(reply: Reply, outcome: Outcome, model: Any) -> None:
    score = await _mmlu(family="chat").solve(_sample(gold=2), model(reply))
    assert score.outcome is outcome
    assert set(score.values.values()) == {float(outcome is Outcome.OK)}


async def test_a_permuted_answer_is_mapped_back_through_its_stored_order(model: Any) -> None:
    mmlu = _mmlu(style="permuted", family="chat")
    for number in range(20):
        # Two options with equal text: only the order can tell them apart.
        sample = _sample(gold=3, choices=("same", "x", "y", "same"), number=number)
        order = (await mmlu.solve(sample, model("?"))).parsed["order"]
        assert sorted(order) == [0, 1, 2, 3]
        assert order[3] != 3
        for place, option in enumerate(order):
            score = await mmlu.solve(sample, model("ABCD"[place]))
            assert score.parsed["order"] == order
            assert score.parsed["option"] == option
            assert score.values["accuracy"] == float(option == 3)


async def test_the_order_depends_on_seed_and_sample_alone(model: Any) -> None:
    async def order(seed: int, number: int) -> tuple[int, ...]:
        fake = model("A")
        score = await _mmlu(seed, style="permuted", family="chat").solve(
            _sample(number=number), fake
        )
        return tuple(score.parsed["order"])

    orders = {(seed, n): await order(seed, n) for seed in range(3) for n in range(10)}
    assert orders == {(seed, n): await order(seed, n) for seed in range(3) for n in range(10)}
    assert len({orders[0, n] for n in range(10)}) > 3
    assert [orders[0, n] for n in range(10)] != [orders[1, n] for n in range(10)]


async def test_repeated_wrong_options_are_seven_letters(model: Any) -> None:
    mmlu = _mmlu(style="duplicatewrong")
    fake = model(_choice(-9.0, -9.0, -9.0, -9.0, -9.0, -9.0, -1.0))
    score = await mmlu.solve(_sample(gold=2), fake)
    assert fake.asked[0].continuations[-1] == " G"
    assert score.parsed == {
        "loglikelihood-greatest/1": "G",
        "option": 3,
        "order": [0, 1, 2, 3, 0, 1, 3],
    }


def _tally(family: str) -> Tally:
    names = ["accuracy", *(["accuracy_strict", "accuracy_first"] if family == "chat" else [])]
    tally = Tally()
    anatomy = {"subject": "anatomy", "category": "other"}
    physics = {"subject": "college_physics", "category": "STEM"}
    tally.add(anatomy, Outcome.OK, dict.fromkeys(names, 1.0), 3)
    tally.add(anatomy, Outcome.UNPARSED, dict.fromkeys(names, 0.0), 1)
    tally.add(physics, Outcome.OK, {**dict.fromkeys(names, 0.0), "accuracy": 1.0}, 1)
    tally.add(physics, Outcome.OK, dict.fromkeys(names, 0.0), 1)
    tally.add(physics, Outcome.ERROR, {}, 2)
    return tally


def test_metrics_of_a_generated_family() -> None:
    metrics = _mmlu(family="chat").metrics(_tally("chat"))
    assert metrics[0].name == "accuracy"
    assert {m.name: (m.k, m.n) for m in metrics} == {
        "accuracy": (4, 6),
        "accuracy_macro": (1.25, 2),
        "accuracy_strict": (3, 6),
        "accuracy_first": (3, 6),
        "unparsed": (1, 6),
        "accuracy_parsed": (4, 5),
        "accuracy/category=STEM": (1, 2),
        "accuracy/category=other": (3, 4),
        "accuracy_macro/category=STEM": (0.5, 1),
        "accuracy_macro/category=other": (0.75, 1),
        "accuracy/subject=anatomy": (3, 4),
        "accuracy/subject=college_physics": (1, 2),
    }
    assert (metrics[0].bound_low, metrics[0].bound_high) == (4 / 8, 6 / 8)


def test_log_likelihoods_have_no_parsers_to_compare() -> None:
    names = {metric.name for metric in _mmlu().metrics(_tally("original"))}
    assert {"accuracy", "accuracy_macro"} <= names
    assert not names & {"accuracy_strict", "unparsed", "accuracy_parsed"}


def test_options_and_family_change_the_template_hash() -> None:
    hashes = {
        _mmlu(**given).template_hash()
        for given in (
            {},
            {"family": "chat"},
            {"family": "cot"},
            {"style": "permuted"},
            {"shots": 3},
        )
    }
    assert len(hashes) == 5
