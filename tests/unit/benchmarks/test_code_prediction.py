"""code-prediction: what is asked, how generations are graded, and what the metrics stand on."""

from __future__ import annotations

from typing import Any

import pytest

from evalbench.engine.benchmarks.code_reasoning.prediction import CodePrediction
from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.errors import SpecError
from evalbench.engine.scoring.tally import Tally
from tests.unit.benchmarks.code_models import (
    MUTANT,
    ORIGINAL,
    Answer,
    Model,
    benchmark,
    fractions,
    problem,
    tally_of,
)


def _block(value: str) -> str:
    return f"[ANSWER]assert f(3) == {value}[/ANSWER]"


def _bench(**given: Any) -> Any:
    return benchmark(CodePrediction, **given)


def _fixed(original: str, mutated: str) -> Answer:
    return lambda step, _: _block(original if step.startswith("original") else mutated)


async def test_both_programs_are_asked_once_a_generation() -> None:
    model = Model(_fixed("4", "2"))
    await _bench(generations=3).solve(problem(), model)
    assert set(model.asked) == {(p, g) for p in ("original", "mutated") for g in range(3)}
    system, user = model.asked["mutated", 2].messages
    assert "Reasoning effort: medium" in system.text
    assert f"[PYTHON]\n{MUTANT}\nassert f(3) == ??\n[/PYTHON]" in user.text
    assert ORIGINAL in model.asked["original", 0].messages[1].text


async def test_programs_may_hold_braces_and_percent_signs() -> None:
    sample = problem()
    sample.inputs["code"] = "def f(x):\n    return f'{x}' % {} or '%s {0}'"  # type: ignore[index]
    model = Model(_fixed("4", "2"))
    await _bench(generations=1).solve(sample, model)
    assert sample.inputs["code"] in model.asked["original", 0].messages[1].text


async def test_every_call_has_the_seed_of_its_problem_generation_and_program() -> None:
    model = Model(_fixed("4", "2"))
    await _bench(generations=2, seed=42).solve(problem(name="q"), model)
    seeds = {key: prompt.params.seed for key, prompt in model.asked.items()}
    assert seeds == {
        ("original", 0): 7042, ("original", 1): 7043, ("mutated", 0): 7542, ("mutated", 1): 7543,
    }  # fmt: skip
    params = model.asked["original", 0].params
    assert (params.temperature, params.max_tokens, params.top_p) == (0.6, 1000, None)


async def test_the_four_metrics_of_hand_counted_generations() -> None:
    # original: right, the mutant's output, wrong, right; mutant: right, reverted, reverted, wrong.
    original, mutated = ["4", "2", "9", "4"], ["2", "4", "4", "9"]
    bench = _bench(generations=4)
    model = Model(lambda step, g: _block((original if step == "original" else mutated)[g]))
    one = problem()
    score = await bench.solve(one, model)
    assert score.outcome is Outcome.OK
    two = problem(name="q")
    other = await bench.solve(two, Model(_fixed("4", "4")))
    told = fractions(bench, tally_of((one, score), (two, other)))
    assert (told["oc"], told["mc"], told["or"], told["mr"]) == ("6/8", "1/8", "1/8", "6/8")
    assert told["oc_faithful"] == "6/8"
    assert told["left_out"] == "1/9"
    assert told["outside_reversion"] == "0/2"


async def test_pooled_by_counts_with_an_interval_that_rests_on_problems() -> None:
    bench = _bench(generations=5)
    right, wrong = Model(_fixed("4", "2")), Model(_fixed("9", "9"))
    scored = [
        (problem(name="p"), await bench.solve(problem(name="p"), right)),
        (problem(name="q"), await bench.solve(problem(name="q"), wrong)),
    ]
    oc = bench.metrics(tally_of(*scored))[0]
    assert (oc.name, oc.value, oc.k, oc.n) == ("oc", 0.5, 5, 10)
    # Ten answers in two problems that are all right or all wrong tell no more than two would.
    assert oc.interval == "clustered by sample, 95 %"
    assert oc.high - oc.low > 0.7


async def test_pass_at_k_is_the_unbiased_estimate() -> None:
    bench = _bench(generations=5)
    hits = Model(lambda step, g: _block("4" if step == "original" and g < 2 else "9"))
    told = {
        m.name: m for m in bench.metrics(tally_of((problem(), await bench.solve(problem(), hits))))
    }
    assert told["oc_pass_at_1"].value == pytest.approx(0.4)
    # One of the C(5, 2) = 10 pairs misses both: C(3, 2) = 3 of them do.
    assert told["oc_pass_at_2"].value == pytest.approx(0.7)
    assert told["oc_pass_at_5"].value == pytest.approx(1.0)
    assert told["mc_pass_at_5"].value == 0
    assert "oc_pass_at_10" not in told


@pytest.mark.parametrize(
    ("original", "mutated", "boolean"),
    [
        ("True", "3", True),
        ("3", "False", True),
        ("[True, False]", "3", True),
        ("[]", "3", False),
        ("[True, 1]", "3", False),
        ("(True,)", "3", False),
        ("'True'", "3", False),
        ("1", "0", False),
        (" true", "3", True),
    ],
)
async def test_boolean_problems_are_in_no_reversion_metric_when_skipped(
    original: str, mutated: str, boolean: bool
) -> None:
    sample = problem(original, mutated)
    for skipped in (False, True):
        bench = _bench(generations=2, skip_booleans=skipped)
        score = await bench.solve(sample, Model(_fixed(original, mutated)))
        told = fractions(bench, tally_of((sample, score)))
        assert told["oc"].endswith("/2")
        assert told["mr"] == ("0/0" if skipped and boolean else "0/2")


async def test_nothing_in_the_denominator_is_not_scored() -> None:
    sample = problem("True", "False")
    bench = _bench(skip_booleans=True)
    tally = tally_of((sample, await bench.solve(sample, Model(_fixed("True", "False")))))
    told = {metric.name: metric for metric in bench.metrics(tally)}
    assert (told["or"].value, told["or"].n) == (None, 0)
    assert told["outside_reversion"].value == 1
    assert bench.metrics(Tally())[0].value is None


async def test_a_problem_without_a_mutant_counts_for_oc_alone() -> None:
    sample = problem(mutated=None)
    bench = _bench(generations=2, include_missing_mutations=True)
    model = Model(_fixed("4", "never asked"))
    told = fractions(bench, tally_of((sample, await bench.solve(sample, model))))
    assert set(model.asked) == {("original", 0), ("original", 1)}
    assert (told["oc"], told["mc"], told["or"], told["mr"]) == ("2/2", "0/0", "0/0", "0/0")
    assert told["outside_reversion"] == "1/1"


async def test_a_generation_is_right_only_if_all_its_test_cases_are() -> None:
    sample = problem(["4", "5"], ["2", "3"], ["f(3)", "f(4)"])
    values = {
        ("original, case 1", 0): "4", ("original, case 2", 0): "5",
        ("original, case 1", 1): "4", ("original, case 2", 1): "3",
        ("mutated, case 1", 0): "4", ("mutated, case 2", 0): "5",
        ("mutated, case 1", 1): "2", ("mutated, case 2", 1): "5",
    }  # fmt: skip
    bench = _bench(generations=2)
    model = Model(lambda step, g: _block(values[step, g]))
    score = await bench.solve(sample, model)
    told = fractions(bench, tally_of((sample, score)))
    assert (told["oc"], told["mc"], told["or"], told["mr"]) == ("1/2", "0/2", "0/2", "1/2")
    assert told["truncated"] == "0/8"
    assert "assert f(4) == ??" in model.asked["original, case 2", 0].messages[1].text
    assert model.asked["original, case 1", 1].params.seed == 1
    assert score.parsed["assertion-lenient/3"]["original"] == [["4", "5"], ["4", "3"]]


async def test_types_are_compared_unless_read_as_the_original_does() -> None:
    sample = problem("1", "2")
    bench = _bench(generations=1)
    told = fractions(
        bench, tally_of((sample, await bench.solve(sample, Model(_fixed("True", "2.0")))))
    )
    assert (told["oc"], told["oc_loose"], told["oc_faithful"]) == ("0/1", "1/1", "1/1")
    assert (told["mc"], told["mc_loose"], told["mc_faithful"]) == ("0/1", "1/1", "1/1")


async def test_both_readings_stand_side_by_side() -> None:
    sample = problem("4", "2", calls=["f((3))"])
    reply = "[ANSWER]assert f((3)) == 4[/ANSWER]"
    bench = _bench(generations=1)
    score = await bench.solve(sample, Model(lambda *_: reply))
    told = fractions(bench, tally_of((sample, score)))
    # The original's pattern stops at the first closing parenthesis and takes the whole block.
    assert (told["oc"], told["oc_faithful"]) == ("1/1", "0/1")
    assert score.parsed == {
        "assertion-lenient/3": {"original": ["4"], "mutated": ["4"]},
        "assertion-first/1": {
            "original": ["assert f((3)) == 4"], "mutated": ["assert f((3)) == 4"],
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Let me see. The function takes", False),
        ("[ANSWER]assert f(3) == 4", False),  # it may have gone on to 42
        ("[ANSWER]assert f(3) == 4[/ANSWER] To explain", True),
        ("[ANSWER]assert f(3) == 4[/ANSWER] Or rather [ANSWER]assert f(3) == 9", True),
    ],
)
async def test_a_reply_that_was_cut_off_is_not_a_wrong_answer(text: str, read: bool) -> None:
    sample = problem()
    bench = _bench(generations=2)

    def answer(step: str, generation: int) -> Reply | str:
        cut = step == "original" and generation == 1
        return Reply(text, Outcome.TRUNCATED) if cut else _block("4")

    score = await bench.solve(sample, Model(answer))
    told = fractions(bench, tally_of((sample, score)))
    assert score.outcome is (Outcome.OK if read else Outcome.TRUNCATED)
    assert told["oc"] == ("2/2" if read else "1/2")
    assert told["truncated"] == ("0/4" if read else "1/4")
    assert told["oc_read"] == ("2/2" if read else "1/1")
    assert told["unparsed"] == "0/4"


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply("I do not know."), Outcome.UNPARSED),
        (Reply(_block("4"), Outcome.REFUSED), Outcome.REFUSED),
        (Reply(_block("4"), Outcome.FILTERED), Outcome.FILTERED),
    ],
)
async def test_replies_without_an_answer_are_told_apart(reply: Reply, outcome: Outcome) -> None:
    sample = problem()
    bench = _bench(generations=1)
    score = await bench.solve(sample, Model(lambda *_: reply))
    told = fractions(bench, tally_of((sample, score)))
    assert score.outcome is outcome
    assert (told["oc"], told["oc_faithful"], told[outcome.value]) == ("0/1", "0/1", "2/2")


async def test_efforts_are_compared_on_the_same_problems() -> None:
    sample = problem()
    bench = _bench(generations=2, compare_effort=("low,high",), reasoning="medium")

    def answer(step: str, _: int) -> str:
        return _block("4" if step == "original/effort=high" else "2")

    model = Model(answer)
    score = await bench.solve(sample, model)
    metrics = bench.metrics(tally_of((sample, score)))
    told = {metric.name: f"{metric.k:g}/{metric.n}" for metric in metrics}
    assert (told["oc/effort=low"], told["oc/effort=high"]) == ("0/2", "2/2")
    assert (told["mc/effort=low"], told["mc/effort=high"]) == ("2/2", "2/2")
    assert "oc" not in told
    assert metrics[0].name == "oc/effort=low"
    low = model.asked["original/effort=low", 0]
    assert "Reasoning effort: low" in low.messages[0].text
    assert low.params.effort is None
    assert low.params.seed == model.asked["original/effort=high", 0].params.seed


def test_an_effort_that_is_none_is_refused() -> None:
    with pytest.raises(SpecError, match="--compare-effort cannot be 'hihg'") as caught:
        _bench(compare_effort=("low,hihg",))
    assert "high" in caught.value.hint


async def test_seconds_are_those_of_one_reply() -> None:
    bench = _bench(generations=1)
    model = Model(lambda step, _: Reply(_block("4"), latency_s=1.0 if step == "original" else 2.0))
    tally = tally_of((problem(), await bench.solve(problem(), model)))
    told = {metric.name: metric for metric in bench.metrics(tally)}
    assert (told["seconds"].value, told["seconds"].share) == (1.5, False)


async def test_scores_by_difficulty_and_kind_of_mutant() -> None:
    bench = _bench(generations=1)
    easy = problem(difficulty="easy", mutation="number")
    hard = problem(name="q", difficulty="hard", mutation="number")
    tally = tally_of(
        (easy, await bench.solve(easy, Model(_fixed("4", "2")))),
        (hard, await bench.solve(hard, Model(_fixed("9", "4")))),
    )
    told = fractions(bench, tally)
    assert (told["oc/difficulty=easy"], told["oc/difficulty=hard"]) == ("1/1", "0/1")
    assert (told["mc/mutation=number"], told["mr/mutation=number"]) == ("1/2", "1/2")


async def test_a_failed_sample_is_in_no_denominator_and_opens_the_bounds() -> None:
    bench = _bench(generations=2)
    tally = tally_of((problem(), await bench.solve(problem(), Model(_fixed("4", "2")))))
    tally.add({}, Outcome.ERROR, {})
    oc = bench.metrics(tally)[0]
    assert (oc.k, oc.n, oc.bound_low, oc.bound_high) == (2, 2, 0.5, 1.0)


async def test_epochs_are_pooled_and_the_interval_rests_on_samples() -> None:
    bench = _bench(generations=1)
    tally = Tally(epochs=2, means=Tally())
    for name, answers in (("p", ("4", "9")), ("q", ("4", "4"))):
        sample = problem(name=name)
        scores = [await bench.solve(sample, Model(_fixed(a, "2"))) for a in answers]
        for score in scores:
            tally.add({}, score.outcome, score.values)
        assert tally.means is not None
        tally.means.add_sample({}, [(score.outcome, score.values) for score in scores])
    oc = bench.metrics(tally)[0]
    assert (oc.k, oc.n, oc.interval) == (3, 4, "clustered by sample, 95 %")
