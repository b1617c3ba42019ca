"""Lists of metrics over the same things become a matrix; numbers about judges a short table."""

from __future__ import annotations

from typing import Any

from evalbench.tui.state.agreement import agreement_lines, agreement_metrics
from evalbench.tui.state.heatmap import STEPS, heatmaps
from evalbench.tui.widgets.heatmap import SHADES, heatmap_lines


def metric(value: float | None, title: str = "", group: str = "", **more: Any) -> dict[str, Any]:
    return {"value": value, "title": title, "group": group, "share": False, "n": 20, **more}


def ratings(**turns: float) -> dict[str, dict[str, Any]]:
    groups = {"score": "both turns", "turn_1": "first turn", "turn_2": "second turn"}
    return {
        f"{name}/category={category}": metric(
            value + more, category, f"By category, {groups[name]}"
        )
        for name, value in turns.items()
        for category, more in (("writing", 0.0), ("math", -3.0))
    }


def test_categories_and_turns() -> None:
    found = heatmaps({"score": metric(6.0, "Mean"), **ratings(score=7.0, turn_1=8.0, turn_2=6.0)})
    [matrix] = found
    assert matrix.title == "By category"
    assert matrix.rows == ("writing", "math")
    assert matrix.columns == ("both turns", "first turn", "second turn")
    assert [[spot.value for spot in spots] for spots in matrix.spots] == [
        ["7.000", "8.000", "6.000"],
        ["4.000", "5.000", "3.000"],
    ]
    assert [[spot.step for spot in spots] for spots in matrix.spots] == [[3, 3, 2], [0, 1, 0]]
    assert (matrix.lowest, matrix.highest) == ("3.000", "8.000")
    assert len(matrix.metrics) == 6
    assert "score" not in matrix.metrics


def test_one_list_is_no_matrix_and_neither_are_lists_of_other_things() -> None:
    assert heatmaps(ratings(score=7.0)) == []
    others = {
        "a/kind=x": metric(1, "x", "By kind"),
        "a/kind=y": metric(1, "y", "By kind"),
        "b/kind=x": metric(1, "x", "B by kind"),
    }
    assert heatmaps(others) == []
    # The same tag and values, but in another unit.
    units = {
        f"{name}/kind={kind}": metric(0.5, kind, name, share=share)
        for name, share in (("a", True), ("b", False))
        for kind in "xy"
    }
    assert heatmaps(units) == []


def test_models_and_judges_with_their_own_answers_marked() -> None:
    judges = ("openai/gpt-5-mini", "anthropic/haiku")
    groups = {"compliance": "By model"} | {
        f"compliance/judge={judge}": f"By model, judged by {judge}" for judge in judges
    }
    metrics = {
        f"{base}/contestant={name}": metric(0.5, name, group, share=True)
        for base, group in groups.items()
        for name in ("gpt-5-mini", "other")
    }
    [matrix] = heatmaps(metrics)
    assert matrix.title == "By model, judged by"
    assert matrix.columns == ("all", "gpt-5-mini", "haiku")
    assert [[spot.own for spot in spots] for spots in matrix.spots] == [
        [False, True, False],
        [False, False, False],
    ]
    assert matrix.spots[0][0].value == "50.0 %"


def test_what_is_not_scored_has_no_shade_and_equal_values_one() -> None:
    metrics = ratings(score=7.0, turn_1=7.0)
    metrics["score/category=math"]["value"] = None
    metrics["turn_1/category=math"]["value"] = 7.0
    [matrix] = heatmaps(metrics)
    assert matrix.spots[1][0].step is None
    assert {spot.step for spots in matrix.spots for spot in spots} == {None, STEPS // 2}


def test_a_value_that_looks_like_a_tag_is_a_value() -> None:
    odd = "a/b=c"
    metrics = {
        f"{name}/kind={kind}": metric(1, kind, name) for name in "pq" for kind in (odd, "plain")
    }
    [matrix] = heatmaps(metrics)
    assert matrix.rows == (odd, "plain")


def test_how_far_judges_agree() -> None:
    metrics = {
        "score": metric(6.0, "Mean"),
        "alpha": metric(0.7, "Krippendorff's alpha"),
        "kappa/openai/a/google/b": metric(0.61, "Cohen's kappa, quadratic: openai/a and google/b"),
        "unread_judgements": metric(0.05, "Unread", share=True, k=1),
        "judge_bias/judge=openai/a": metric(-0.031, "openai/a"),
        "fleiss_kappa": metric(None, "Fleiss' kappa"),
        "repeat_spread": metric(1.5, "Range"),
    }
    assert agreement_metrics(metrics) == list(metrics)[1:]
    lines = agreement_lines(metrics)
    assert [(line.short, line.value, line.reading, line.counts) for line in lines] == [
        ("Krippendorff's alpha", "0.700", "for tentative conclusions", "20"),
        ("kappa: a, b", "0.610", "substantial", "20"),
        ("unread judgements", "5.0 %", "", "1 / 20"),
        ("a over the mean", "−3.1 pts", "stricter than all", ""),
        ("Fleiss' kappa", "not scored", "", "20"),
        ("range of repeats", "1.500", "", "20"),
    ]
    assert agreement_lines({"accuracy": metric(0.5)}) == []


def shares(*values: float, half: float | None = None) -> dict[str, dict[str, Any]]:
    return {
        f"{name}/kind={place}": metric(
            value,
            str(place),
            f"By kind, {name}",
            share=True,
            low=None if half is None else value - half,
            high=None if half is None else value + half,
        )
        for name in ("one", "two")
        for place, value in enumerate(values)
    }


def test_shades_do_not_tell_apart_what_chance_could_have_made() -> None:
    [near] = heatmaps(shares(0.246, 0.279, 0.283, half=0.065))
    steps = {spot.step for spots in near.spots for spot in spots}
    assert steps <= {1, 2}
    assert (near.lowest, near.highest) == ("13.4 %", "39.4 %")
    [sure] = heatmaps(shares(0.246, 0.283, half=0.001))
    assert [spots[0].step for spots in sure.spots] == [0, STEPS - 1]
    # Without intervals, ten points at least; never below 0 or above 100 %.
    [low] = heatmaps(shares(0.0, 0.01))
    assert (low.lowest, low.highest) == ("0.0 %", "10.0 %")
    [high] = heatmaps(shares(0.99, 1.0))
    assert (high.lowest, high.highest) == ("90.0 %", "100.0 %")


def test_a_row_has_as_many_glyphs_as_any_other_and_titles_are_whole_where_there_is_room() -> None:
    [matrix] = heatmaps(shares(0.071, 0.286, 1.0))
    for width in (50, 78, 130):
        rows: Any = heatmap_lines(matrix, width)[1:4]
        glyphs = [
            [len(str(piece[0])) for piece in row if str(piece[0])[0] in SHADES] for row in rows
        ]
        assert glyphs[0] == glyphs[1] == glyphs[2]
        assert min(glyphs[0]) >= 2
    long = {
        name: one | {"group": one["group"] + " of a rather long name, over questions (micro)"}
        for name, one in shares(0.1, 0.2).items()
    }
    [matrix] = heatmaps(long)
    for width in (78, 160):
        first: Any = heatmap_lines(matrix, width)[0]
        head = "".join(piece[0] for piece in first)
        assert len(head) <= width
        assert ("…" not in head) == (width == 160)
