"""Charts as data, as SVG and as text."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from rich.cells import cell_len

from evalbench.tui.report.bars import bars
from evalbench.tui.report.charts import (
    Bins,
    Chart,
    Dots,
    Heat,
    Paces,
    Shares,
    bins_of,
    dots_of,
    heat_of,
    shares_of,
    tick_word,
    ticks,
)
from evalbench.tui.report.svg import svg, svg_file

EVIL = "<script>x</script> & ]]> \x1b[31m \ufffe \U0001f468 " + "漢" * 80
HALF = {"value": 0.5, "low": 0.4, "high": 0.6, "k": 5, "n": 10, "bound_low": 0.3, "bound_high": 0.7}
RATING = {"value": 7.25, "low": 6.5, "high": 8.0, "k": 72.5, "n": 10, "share": False}


def dots(series: int = 2, name: str = "law") -> Dots:
    found = dots_of(
        "By subject", [f"run {n}" for n in range(series)],
        [[name, *[HALF] * series], ["unknown", *[None] * series]],
    )  # fmt: skip
    assert found
    return found


def all_charts(name: str) -> list[Chart]:
    shares = shares_of("Outcomes", [(name, {"ok": 997, "error": 3})])
    bins = bins_of(name, [name, "b"], [{1.0: 3, 2.0: 1, 7.0: 6}, {2.0: 1}])
    assert shares
    assert bins
    paces = Paces("Done", (name, "b"), (((0, 0.1), (9, 1)), ((0, 0.5), (3, 0.75), (20, 1))))
    return [dots(name=name), dots(9, name), shares, bins, paces, heat(name)]


def heat(name: str, runs: int = 12) -> Heat:
    held = {f"score/category={name}": RATING, "score/category=b": {**RATING, "value": 3.5}}
    found = heat_of("Ratings", [(f"{name} {n}", held) for n in range(runs)], "score/category=")
    assert found
    return found


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (4.5, 6.5, [4.5, 5, 5.5, 6, 6.5]),
        (-3, 7, [-2, 0, 2, 4, 6]),
        (0, 1e-6, [0, 2e-7, 4e-7, 6e-7, 8e-7, 1e-6]),
    ],
)
def test_ticks_are_round_numbers_within(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


def test_words_of_ticks() -> None:
    assert [tick_word(0.2, share=True), tick_word(7.5, share=False)] == ["20 %", "7.5"]


def test_shares_have_the_whole_axis_and_ratings_a_round_one() -> None:
    assert (dots().low, dots().high) == (0, 1)
    found = dots_of("Scores", ["a"], [["rating", RATING]])
    assert found
    assert (found.low, found.high, found.share) == (6.5, 8.0, False)
    alone = dots_of("Scores", ["a"], [["rating", {"value": 5.0, "share": False}]])
    assert alone
    assert alone.low < 5 < alone.high


def test_what_has_no_value_has_no_chart() -> None:
    assert dots_of("Scores", ["a"], [["rating", {"value": None}]]) is None
    assert shares_of("Outcomes", [("a", {}), ("b", {"ok": 0})]) is None
    assert bins_of("Ratings", ["a"], [{1.0: 3, 0.0: 2}]) is None
    assert bins_of("Ratings", ["a", "b"], [{1.0: 3, 0.0: 2, 2.0: 1}, {}]) is None


def test_many_values_are_put_into_stretches_that_lose_none() -> None:
    found = bins_of("Ratings", ["a"], [{n / 7: 1 for n in range(100)}])
    assert found
    assert len(found.rows) < 25
    assert sum(share for (share,) in found.shares) == pytest.approx(1)


@pytest.mark.parametrize("chart", all_charts(EVIL), ids=lambda chart: type(chart).__name__)
def test_pictures_hold_names_as_texts_only(chart: Chart) -> None:
    for drawn in (str(svg(chart)), svg_file(chart)):
        root = ElementTree.fromstring(drawn.encode())
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags <= {
            "svg", "title", "style", "rect", "text", "line", "circle", "polygon", "polyline", "g",
        }  # fmt: skip
        assert not re.search(r"\bon\w+=|href|url\(", drawn)
        assert "\x1b" not in drawn
        told = " ".join(root.itertext())
        assert "<script>x</script> &" in told
        assert int(root.attrib["height"].split(".")[0]) > 20


def test_every_value_and_interval_is_in_the_picture() -> None:
    drawn = str(svg(dots(1)))
    told = [e.text for e in ElementTree.fromstring(drawn).iter() if e.tag.endswith("title")]
    assert "law: 50.0 % (40.0–60.0)" in told
    assert drawn.count("reach s0") == drawn.count("bound s0") == 1


def test_series_differ_in_shape_and_a_seventh_is_no_copy_of_the_first() -> None:
    found = re.findall(
        r"<(circle|polygon)[^>]*?(?: points=\"([^\"]*)\")?[^>]*/>", str(svg(dots(7)))
    )
    shapes = [kind if kind == "circle" else len(points.split()) for kind, points in found]
    assert shapes[:7] == ["circle", 4, 3, 4, 10, 12, 4]
    assert str(svg(dots(7))).count("<circle") == 2, "in the legend and in the row"


@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize(
    "chart", all_charts("name") + all_charts("漢字" * 20), ids=lambda chart: type(chart).__name__
)
def test_bars_keep_to_their_width(chart: Chart, width: int, ascii_only: bool) -> None:
    lines = bars(chart, width, ascii_only=ascii_only)
    assert lines[0] == chart.title
    assert len(lines) > 2 or isinstance(chart, Shares)
    assert max(map(cell_len, lines[1:])) <= max(width, 46)
    if ascii_only:
        drawn = re.sub("[–漢字]", "", "".join(lines[1:]))
        assert drawn.isascii()


def test_a_heat_map_shows_every_run_by_every_group() -> None:
    one = ("a", {"s/c=x": RATING, "s/c=y": {**RATING, "value": 2.0}})
    other = ("b", {"s/c=y": RATING})
    found = heat_of("Ratings", [one, other], "s/c=")
    assert found
    assert (found.rows, found.columns) == (("a", "b"), ("x", "y"))
    assert (found.low, found.high, found.marks[1][0]) == (2.0, 7.25, None)
    drawn = str(svg(found))
    told = [e.text for e in ElementTree.fromstring(drawn).iter() if e.tag.endswith("title")]
    assert "a, x: 7.250 (6.500–8.000)" in told
    assert len(told) == 1 + 3
    lines = bars(found, 60)
    assert lines[1:3] == ["   1 a", "   2 b"]
    assert [line.split() for line in lines[4:]] == [
        ["x", "█", "7.25", "–"], ["y", "2.00", "█", "7.25"],
    ]  # fmt: skip
    many = {f"s/c={n}": RATING for n in range(40)}
    assert heat_of("Ratings", [("a", many)], "s/c=") is None
    assert heat_of("Ratings", [("a", {"s/c=x": RATING})], "s/c=") is None


def test_a_bar_ends_at_its_value_and_shows_its_interval() -> None:
    _, law, unknown = bars(dots(1), 60)
    assert law.endswith("50.0 % (40.0–60.0)")
    bar = law.split()[1]
    assert bar.index("─") == pytest.approx(0.4 * len(bar), abs=1)
    assert bar.rindex("█") + 1 == pytest.approx(0.5 * len(bar), abs=1)
    assert bar.rindex("─") + 1 == pytest.approx(0.6 * len(bar), abs=1)
    assert unknown.split() == ["unknown", "not", "scored"]


def test_what_occurred_is_seen_however_rare() -> None:
    chart = shares_of("Outcomes", [("a", {"ok": 99_999, "error": 1})])
    assert chart
    _, bar, *legend = bars(chart, 60)
    assert bar.endswith("█▓")
    assert [line.split() for line in legend] == [["█", "parsed", "99,999"], ["▓", "failed", "1"]]


def test_heights_tell_when_samples_were_done() -> None:
    paces = Paces("Done", ("a",), (((0.0, 0.0), (5.0, 0.1), (10.0, 1.0)),))
    line = bars(paces, 40)[1]
    assert line.rstrip().endswith("█  10 s")


def test_bins_are_told_in_percent() -> None:
    chart = Bins("Ratings", ("a", "b"), ("1", "2"), ((0.25, 0.5), (0.75, 0.5)))
    assert [line.split()[-2] for line in bars(chart, 60) if "%" in line] == [
        "25.0", "50.0", "75.0", "50.0",
    ]  # fmt: skip
