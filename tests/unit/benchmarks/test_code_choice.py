"""code-choice: what is asked, and preference, correctness and reversion of hand-counted runs."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from evalbench.engine.benchmarks.code_reasoning.choice import CodeChoice
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

FIRST, SWAPPED = "original first", "mutant first"


def _choice(program: str, value: str) -> str:
    return json.dumps({"chosen_program": program, "assertion": f"assert f(3) == {value}"})


def _bench(**given: Any) -> Any:
    return benchmark(CodeChoice, **given)


def _runs(**replies: Reply | str) -> Answer:
    """Answers by the first letter of the order: ``o`` and ``m``."""
    return lambda step, _: replies[step[0]]


async def test_both_orders_are_asked_and_have_a_seed_of_their_own() -> None:
    model = Model(_runs(o=_choice("A", "4"), m=_choice("B", "4")))
    await _bench(seed=123).solve(problem(name="q"), model)
    first, swapped = model.asked[FIRST, 0], model.asked[SWAPPED, 0]
    a, b = f"[PROGRAM_A]\n{ORIGINAL}\n[/PROGRAM_A]", f"[PROGRAM_B]\n{MUTANT}\n[/PROGRAM_B]"
    assert f"{a}\n{b}" in first.messages[1].text
    assert f"[PROGRAM_A]\n{MUTANT}\n[/PROGRAM_A]" in swapped.messages[1].text
    assert '{"chosen_program": "A or B", "assertion": "the whole assertion"}' in (
        first.messages[1].text
    )
    assert "[ASSERTION]\nassert f(3) == ??\n[/ASSERTION]" in first.messages[1].text
    assert (first.params.seed, swapped.params.seed) == (7123, 7124)
    assert (first.params.temperature, first.params.max_tokens) == (0.6, 1000)


async def test_one_run_shows_the_original_first() -> None:
    model = Model(_runs(o=_choice("A", "4")))
    bench = _bench(runs=1)
    told = fractions(bench, tally_of((problem(), await bench.solve(problem(), model))))
    assert set(model.asked) == {(FIRST, 0)}
    assert (told["preference_original"], told["same_choice"]) == ("1/1", "0/0")
    with pytest.raises(SpecError, match="--runs must be at most 2"):
        _bench(runs=3)


async def test_metrics_of_hand_counted_runs() -> None:
    bench = _bench()
    samples = [problem(name="p"), problem(name="q")]
    # p: the original both times, right and then with the mutant's output.
    p = await bench.solve(samples[0], Model(_runs(o=_choice("A", "4"), m=_choice("B", "2"))))
    # q: program A both times: the original, wrong, and the mutant with the original's output.
    q = await bench.solve(samples[1], Model(_runs(o=_choice("A", "9"), m=_choice("A", "4"))))
    told = fractions(bench, tally_of((samples[0], p), (samples[1], q)))
    assert told["preference_original"] == "3/4"
    assert told["preference_mutated"] == "1/4"
    assert told["oc_correct"] == "1/3"
    assert told["or_reversion"] == "1/3"
    assert told["mc_correct"] == "0/1"
    assert told["mr_reversion"] == "1/1"
    assert told["invalid_runs"] == "0/4"
    assert told["preference_a"] == "3/4"
    assert told["same_choice"] == "1/2"
    assert p.values["preference_original"] == 1.0
    assert q.values["preference_original"] == 0.5


async def test_invalid_runs_are_outside_all_denominators() -> None:
    bench = _bench()
    sample = problem()
    score = await bench.solve(sample, Model(_runs(o="I choose A.", m=_choice("B", "4"))))
    told = fractions(bench, tally_of((sample, score)))
    assert score.outcome is Outcome.UNPARSED
    assert told["invalid_runs"] == "1/2"
    assert told["preference_original"] == "1/1"
    assert told["oc_correct"] == "1/1"
    # Nobody chose the mutant: there is nothing to be scored, which is not 0.
    mc = next(m for m in bench.metrics(tally_of((sample, score))) if m.name == "mc_correct")
    assert (mc.value, mc.n) == (None, 0)
    assert told["same_choice"] == "0/0"


async def test_a_choice_that_was_cut_off_is_told_apart_from_an_invalid_one() -> None:
    bench = _bench()
    sample = problem()
    cut = Reply('{"chosen_program": "A", "assertion": "assert f(3) == 4', Outcome.TRUNCATED)
    whole = Reply(_choice("B", "4") + " because", Outcome.TRUNCATED)
    score = await bench.solve(sample, Model(_runs(o=cut, m=whole)))
    told = fractions(bench, tally_of((sample, score)))
    assert score.outcome is Outcome.TRUNCATED
    assert (told["truncated"], told["unparsed"], told["invalid_runs"]) == ("1/2", "0/2", "1/2")
    assert told["oc_correct"] == "1/1"


async def test_a_refusal_is_no_choice_whatever_it_says() -> None:
    bench = _bench(runs=1)
    refused = Reply(_choice("A", "4"), Outcome.REFUSED)
    score = await bench.solve(problem(), Model(_runs(o=refused)))
    told = fractions(bench, tally_of((problem(), score)))
    assert score.outcome is Outcome.REFUSED
    assert "preference_original" not in score.values
    assert (told["refused"], told["invalid_runs"], told["invalid_runs_faithful"]) == (
        "1/1", "1/1", "1/1",
    )  # fmt: skip


async def test_booleans_stay_out_of_reversion_when_skipped() -> None:
    sample = problem("True", "False")
    answer = _runs(o=_choice("A", "False"), m=_choice("A", "False"))
    counted, skipping = _bench(), _bench(skip_booleans=True)
    told = fractions(counted, tally_of((sample, await counted.solve(sample, Model(answer)))))
    assert (told["or_reversion"], told["mr_reversion"]) == ("1/1", "0/1")
    told = fractions(skipping, tally_of((sample, await skipping.solve(sample, Model(answer)))))
    assert (told["or_reversion"], told["mr_reversion"]) == ("0/0", "0/0")
    assert (told["oc_correct"], told["mc_correct"]) == ("0/1", "1/1")
    assert told["outside_reversion"] == "1/1"


async def test_each_test_case_is_a_run() -> None:
    sample = problem(["4", "5"], ["2", "3"], ["f(3)", "f(4)"])
    replies = {
        f"{FIRST}, case 1": _choice("A", "4"), f"{FIRST}, case 2": _choice("B", "3"),
        f"{SWAPPED}, case 1": _choice("B", "4"), f"{SWAPPED}, case 2": _choice("B", "9"),
    }  # fmt: skip
    bench = _bench()
    model = Model(lambda step, _: replies[step])
    told = fractions(bench, tally_of((sample, await bench.solve(sample, model))))
    assert (told["preference_original"], told["oc_correct"]) == ("3/4", "2/3")
    assert told["mc_correct"] == "1/1"
    assert told["same_choice"] == "1/2"
    seeds = Counter(prompt.params.seed for prompt in model.asked.values())
    assert seeds == {0: 2, 1: 2}


async def test_both_readings_and_both_comparisons_stand_side_by_side() -> None:
    sample = problem("{1: 2}", "2")
    bench = _bench()
    # A brace in the value: the original cuts the object there.
    answer = _runs(o=_choice("A", "{1: 2}"), m=_choice("a", "2.0"))
    score = await bench.solve(sample, Model(answer))
    told = fractions(bench, tally_of((sample, score)))
    assert told["invalid_runs"] == "0/2"
    assert told["invalid_runs_faithful"] == "2/2"
    assert told["oc_correct"] == "1/1"
    assert (told["mc_correct"], told["mc_correct_loose"]) == ("0/1", "1/1")
    assert told["preference_original_faithful"] == "0/0"
    assert score.parsed == {
        "choice-lenient/3": {FIRST: ["A", "{1: 2}"], SWAPPED: ["A", "2.0"]},
        "choice-first-object/1": {FIRST: None, SWAPPED: None},
    }


async def test_efforts_are_compared() -> None:
    bench = _bench(compare_effort=("low", "high"), runs=1)
    model = Model(lambda step, _: _choice("A" if step.endswith("high") else "B", "4"))
    sample = problem()
    told = fractions(bench, tally_of((sample, await bench.solve(sample, model))))
    assert told["preference_original/effort=low"] == "0/1"
    assert told["preference_original/effort=high"] == "1/1"
    assert told["mr_reversion/effort=low"] == "1/1"


async def test_a_run_without_a_score_yet_has_metrics_without_values() -> None:
    assert {metric.value for metric in _bench().metrics(Tally()) if metric.name != "left_out"} == {
        None
    }
