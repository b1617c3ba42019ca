"""Runs compared: pairing, what is left out, what differs besides, places, flips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evalbench.engine.compare import compare
from evalbench.engine.compare.sameness import Difference
from evalbench.engine.compare.significance import MCNEMAR, T_TEST, TANGO, WILCOXON, tango
from evalbench.engine.config.spec import build_benchmark
from evalbench.engine.errors import UsageError
from evalbench.engine.runs.status import State
from tests.scored_runs import MODELS, right_or_wrong, scored_run

pytestmark = pytest.mark.usefixtures("home")


def test_samples_are_paired_by_their_content_whatever_their_order() -> None:
    first = scored_run(right_or_wrong("++--+-"))
    turned = dict(reversed(right_or_wrong("+-+-+-").items()))
    found = compare([first, scored_run(turned, MODELS[1])])
    (pair,) = found.pairs
    assert (pair.n, pair.first_higher, pair.second_higher, pair.equal) == (6, 1, 1, 4)
    assert (pair.both_right, pair.both_wrong) == (2, 2)
    assert pair.difference == 0
    assert [(flip.numbers, flip.scores) for flip in found.flips] == [
        ((2, 5), (1.0, 0.0)),
        ((3, 4), (0.0, 1.0)),
    ]
    assert found.flips[0].tags == {"subject": "group 2"}


def test_a_difference_is_the_second_minus_the_first() -> None:
    first, second = (
        scored_run(right_or_wrong("+---")),
        scored_run(right_or_wrong("+++-"), MODELS[1]),
    )
    (pair,) = compare([first, second]).pairs
    (back,) = compare([second, first]).pairs
    assert (pair.difference, back.difference) == (0.5, -0.5)
    assert (pair.low, pair.high) == pytest.approx(tango(0, 2, 4))
    assert (pair.interval, pair.test, pair.p) == (TANGO, MCNEMAR, 0.5)


def test_failed_and_unasked_samples_are_left_out_and_told() -> None:
    found = compare(
        [scored_run(right_or_wrong("+-!+.+")), scored_run(right_or_wrong("+++!++"), MODELS[1])]
    )
    (pair,) = found.pairs
    assert pair.n == 3
    assert [(one.failed, one.missing) for one in found.contenders] == [(1, 1), (1, 0)]
    # The third failed in one run and was right in the other, the fourth the other way round.
    assert (pair.bound_low, pair.bound_high) == pytest.approx(((1 + 0 - 1) / 5, (1 + 1 + 0) / 5))
    assert "only 3 of 5 scored samples are in every run" in found.warnings[-1]


def test_an_incomplete_run_is_told() -> None:
    first = scored_run(right_or_wrong("+-+."), state=State.PAUSED)
    found = compare([first, scored_run(right_or_wrong("++++"), MODELS[1])])
    assert found.warnings[0] == f"{first.id} is paused: 3 of 4 samples are done"


def test_clustered_samples_get_a_second_interval() -> None:
    marks = "++++----" * 25
    other = "+-++-+--" * 25
    runs = [
        scored_run(right_or_wrong(marks), groups=8),
        scored_run(right_or_wrong(other), MODELS[1], groups=8),
    ]
    # Eight are too few to be shown unasked.
    assert compare(runs).pairs[0].clustered is None
    (pair,) = compare(runs, cluster="subject").pairs
    assert pair.clustered
    assert (pair.clustered.tag, pair.clustered.clusters) == ("subject", 8)
    assert pair.low is not None
    # Whole groups flip together, so that there is far less to go by than 200 samples.
    assert pair.clustered.low < 2 * pair.low
    more = [scored_run(right_or_wrong(own), groups=24) for own in (marks, other)]
    found = compare(more).pairs[0].clustered
    assert found
    assert found.clusters == 24
    assert compare(more, cluster="").pairs[0].clustered is None
    with pytest.raises(UsageError, match="no sample has a tag 'topic'"):
        compare(runs, cluster="topic")


def test_epochs_are_averaged_over_each_sample() -> None:
    draw = np.random.default_rng(6)
    marks = draw.integers(0, 2, size=(2, 40, 3)).astype(float)
    runs = [
        scored_run(
            {
                number: [{"accuracy": float(mark)} for mark in epochs]
                for number, epochs in enumerate(own, 1)
            },
            model,
            epochs=3,
        )
        for own, model in zip(marks, MODELS, strict=False)
    ]
    (pair,) = compare(runs).pairs
    from scipy import stats

    expected = stats.ttest_rel(marks[1].mean(1), marks[0].mean(1))
    assert (pair.n, pair.test) == (40, T_TEST)
    assert pair.p == pytest.approx(expected.pvalue)
    assert pair.both_right is None


def test_judges_ratings_get_wilcoxons_test_and_the_bootstrap() -> None:
    draw = np.random.default_rng(9)
    ratings = np.round(draw.uniform(1, 10, size=(2, 60, 2)))
    judge = "openai/gpt-4.1"
    runs = [
        scored_run(
            {
                number: [{f"rating/{turn}/{judge}": float(own[turn - 1]) for turn in (1, 2)}]
                for number, own in enumerate(mine, 1)
            },
            model,
            benchmark="mt-bench",
            judge=[judge],
        )
        for mine, model in zip(ratings, MODELS, strict=False)
    ]
    found = compare(runs)
    (pair,) = found.pairs
    gaps = ratings[1].mean(1) - ratings[0].mean(1)
    assert found.contenders[0].scores.metric.name == "score"
    assert pair.difference == pytest.approx(gaps.mean())
    assert pair.test == WILCOXON
    from scipy import stats

    assert pair.p == pytest.approx(stats.wilcoxon(gaps).pvalue)
    assert pair.bootstrap
    assert pair.bootstrap[0] < pair.difference < pair.bootstrap[1]
    # A rating has no right and wrong, and what failed has no bounds.
    assert (pair.both_right, pair.bound_low) == (None, None)
    assert abs(found.flips[0].spread) == pytest.approx(np.abs(gaps).max())
    turn = compare(runs, "turn_2").pairs[0]
    assert turn.difference == pytest.approx((ratings[1] - ratings[0])[:, 1].mean())


def test_samples_with_unequal_numbers_of_answers_count_once_and_that_is_told() -> None:
    judge = "openai/gpt-4.1"
    full = {f"rating/{turn}/{judge}": 9.0 for turn in (1, 2)}
    runs = [
        scored_run(
            {1: [full], 2: [full], 3: [{f"rating/1/{judge}": low}]},
            model,
            benchmark="mt-bench",
            judge=[judge],
        )
        for low, model in zip((3.0, 6.0), MODELS, strict=False)
    ]
    found = compare(runs)
    assert [one.score for one in found.contenders] == [7.0, 8.0]
    assert found.contenders[0].scores.metric.value == pytest.approx(39 / 5)
    assert found.warnings == (
        "samples hold unequal numbers of answers; each sample counts once here,"
        " so scores are not those of the runs' own tables",
    )


def test_what_is_no_mean_over_samples_is_refused() -> None:
    marks = right_or_wrong("+" * 9 + "-" * 3)
    runs = [scored_run(marks, groups=5), scored_run(marks, MODELS[1], groups=5)]
    with pytest.raises(UsageError, match="accuracy_macro cannot be compared sample by sample"):
        compare(runs, "accuracy_macro")
    with pytest.raises(UsageError, match="no metric 'acuracy'") as told:
        compare(runs, "acuracy")
    assert "accuracy" in told.value.hint


def test_runs_that_cannot_be_compared_are_refused() -> None:
    first = scored_run(right_or_wrong("+-+"))
    with pytest.raises(UsageError, match="two runs"):
        compare([first])
    with pytest.raises(UsageError, match="named twice"):
        compare([first, first])
    with pytest.raises(UsageError, match="different benchmarks"):
        compare([first, scored_run(right_or_wrong("+-+"), benchmark="quickstart")])
    with pytest.raises(UsageError, match="no scored sample in common"):
        compare([first, scored_run(right_or_wrong("+-+", first=50), MODELS[1])])
    with pytest.raises(UsageError, match="no scores yet"):
        compare([first, scored_run(right_or_wrong("..."), MODELS[1])])


def test_two_models_alone_differ_in_nothing_else() -> None:
    marks = right_or_wrong("+-+")
    found = compare([scored_run(marks), scored_run(marks, MODELS[1])]).sameness
    assert (found.compared, found.values, found.others) == ("model", MODELS[:2], ())


def test_with_one_model_the_only_thing_that_differs_is_compared() -> None:
    marks = right_or_wrong("+-+")
    runs = [scored_run(marks, temperature=0.0), scored_run(marks, temperature=1.0)]
    found = compare(runs).sameness
    assert (found.compared, found.values, found.others) == ("temperature", ("0.0", "1.0"), ())
    same = compare([runs[0], scored_run(marks, temperature=0.0)]).sameness
    assert (same.compared, same.others) == ("nothing", ())


def test_everything_that_differs_besides_is_told() -> None:
    marks = right_or_wrong("+-+")
    first = scored_run(marks, limit=3, params={"temperature": {"fate": "sent"}})
    second = scored_run(
        marks,
        MODELS[1],
        told={"data": "fedc9876", "prompt templates": "77", "benchmark version": "0"},
        limit=50,
        temperature=0.5,
        params={"temperature": {"fate": "dropped", "reason": "it takes none"}},
    )
    others = compare([first, second]).sameness.others
    held = build_benchmark(first.spec())
    assert set(others) == {
        Difference("data (hash)", ("0123abcd", "fedc9876")),
        Difference("prompts (template hash)", (held.template_hash(), "77")),
        Difference("parsers and scoring (benchmark version)", (held.version, "0")),
        Difference("limit", ("3", "50")),
        Difference("temperature", ("not set", "0.5")),
        Difference("temperature at the provider", ("sent", "dropped")),
    }


def test_other_judges_and_other_settings_of_one_are_told() -> None:
    marks = {number: [{"rating/1/openai/gpt-4.1": 5.0}] for number in range(1, 4)}
    with_one = scored_run(marks, benchmark="mt-bench", judge=["openai/gpt-4.1,temperature=0"])
    with_other = scored_run(
        marks, MODELS[1], benchmark="mt-bench", judge=["openai/gpt-4.1,temperature=1"]
    )
    (told,) = compare([with_one, with_other]).sameness.others
    assert told == Difference("openai/gpt-4.1: temperature", ("0.0", "1.0"))


def test_a_hash_that_covers_the_seed_is_not_told_besides_it() -> None:
    marks = right_or_wrong("+-+")
    first, second = scored_run(marks), scored_run(marks, MODELS[1], seed=4)
    assert [one.what for one in compare([first, second]).sameness.others] == ["seed"]


def test_places_hold_what_is_not_told_apart() -> None:
    good = right_or_wrong("+" * 90 + "-" * 10)
    same = right_or_wrong("+" * 89 + "-" * 11)
    bad = right_or_wrong("-" * 40 + "+" * 60)
    found = compare([scored_run(bad), scored_run(good, MODELS[1]), scored_run(same, MODELS[2])])
    assert [one.scores.spec.model for one in found.ranked] == [MODELS[1], MODELS[2], MODELS[0]]
    assert [(one.behind, one.ahead_of) for one in found.contenders] == [(2, 0), (0, 1), (0, 1)]
    assert [(pair.first, pair.second) for pair in found.pairs] == [(0, 1), (0, 2), (1, 2)]
    for pair in found.pairs:
        assert pair.p is not None
        assert pair.p_bh is not None
        assert pair.p_holm is not None
        assert pair.p <= pair.p_bh <= pair.p_holm


def test_comparing_changes_nothing(home: Path) -> None:
    marks = right_or_wrong("+-+")
    runs = [scored_run(marks), scored_run(marks, MODELS[1])]
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    compare(runs)
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before
