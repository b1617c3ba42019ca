"""How a run went, read from its journal and drawn."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from evalbench.engine.calls import Outcome
from evalbench.engine.errors import JournalError
from evalbench.engine.record_schemas import BatchStatus
from evalbench.engine.runs.history import History, Stretch, read_history, read_latency
from evalbench.engine.runs.status import Status
from evalbench.tui.state.chart import Chart, Series, chart_axis, chart_head, draw_chart
from evalbench.tui.state.glyphs import substitutes
from evalbench.tui.state.run_charts import batch_bars, charts, columns, error_lines, group_bars
from evalbench.tui.widgets.sparkline import Sparkline
from tests.pretending import PretendEngine, pretend


@pytest.fixture
async def engine(home: Path) -> PretendEngine:
    """Ten samples a second apart, every other one right, one failed."""
    made = pretend(total=10)
    for row in range(1, 11):
        outcome = Outcome.ERROR if row == 10 else Outcome.OK
        read = "B" if row % 2 else "C"
        await made.answer(row, f"Q{row}", read=read, outcome=outcome, group="ab"[row > 4])
    with sqlite3.connect(made.folder.journal) as journal:
        journal.execute("UPDATE score SET at = 1000 * (id >> 10)")
        journal.execute("UPDATE reply SET at = 1000 * (id >> 20), output = 20, cost = 500000000000")
        journal.execute("UPDATE call SET sent = 1000 * (id >> 20) - 100 * (id >> 20)")
    journal.close()
    return made


async def test_what_happened_in_each_stretch(engine: PretendEngine) -> None:
    history = read_history(engine.folder.journal, "accuracy", most=5)
    assert history.every_s == 2.0
    assert list(history.numbers()) == [0, 1, 2, 3, 4, 5]
    first, second, last = (history.stretches[n] for n in (0, 1, 5))
    assert (first.scored, first.total, second.scored, second.total) == (1, 1.0, 2, 1.0)
    assert (last.scored, last.failed, last.failures) == (0, 1, 1)
    assert (second.replies, second.tokens, second.cost) == (2, 40, 1.0)
    assert second.latencies == [0.2, 0.3]
    assert (second.latency(0.5), second.latency(0.95)) == (0.2, 0.3)
    assert history.groups == {("group", "a"): (4, 0.5), ("group", "b"): (5, 0.6)}
    with pytest.raises(JournalError):
        read_history(engine.folder.path / "none.db", "accuracy")


async def test_a_latency_is_without_the_loading_of_the_model(engine: PretendEngine) -> None:
    engine.event("started", at_ms=500)
    engine.event("model-loaded", at_ms=1850)
    # A worker that is started again: its calls had been taken before.
    engine.event("model-loaded", at_ms=4900)
    engine.event("started", at_ms=6000)
    engine.event("model-loaded", at_ms=6500)
    latencies = read_history(engine.folder.journal, "accuracy", most=5).stretches
    assert latencies[1].latencies == [0.15, 0.3]
    assert latencies[2].latencies == [0.4, 0.5]
    assert latencies[3].latencies == [0.5, 0.6]
    assert read_latency(engine.folder.journal, (0.5,)) == [0.5]


async def test_every_chart_there_is_something_for(engine: PretendEngine) -> None:
    history = read_history(engine.folder.journal, "accuracy", most=10)
    status = Status(
        "run", total=20, done=10, spend_usd=5.0, budget_usd=20.0,
        metrics={"accuracy": {"title": "Accuracy [/x]", "value": 0.55}},
    )  # fmt: skip
    found = charts(history, status, live=True)
    assert [chart.title for chart in found] == [
        "Accuracy [/x]",
        "Replies a second",
        "Time to the reply",
        "Spend, about $10.00 in all",
        "Tokens written a second",
    ]
    score, _, latency, spend, *_ = found
    assert score.note == "55.6 % (26.7–81.1)"
    widths = [high - low for _, low, high in score.band]
    assert widths[0] > widths[-1]
    # Scores of the same samples in several epochs are not independent.
    for low, band in ((0.25, True), (0.0, False)):
        own = {"title": "A", "value": 0.55, "low": low, "high": 0.8 + (not band) * 0.2}
        chart = charts(history, replace(status, metrics={"accuracy": own}), live=True)[0]
        assert bool(chart.band) is band
        # The head is the metric's own, as beside it on the page.
        assert chart.note == ("55.0 % (25.0–80.0)" if band else "55.0 % (0.0–100.0)")
    assert [series.name for series in latency.series] == ["median", "p95"]
    assert spend.level == 20.0
    assert spend.note == "$5.00 of $20.00"
    assert spend.series[1].points[-1][1] == 10.0
    for chart in found:
        for width, height in ((30, 5), (76, 9), (120, 22)):
            lines = draw_chart(chart, width, height)
            assert len(lines) == height
            assert all(sum(cell_len(text) for text, _ in line) <= width for line in lines)


async def test_time_without_an_answer_is_part_of_the_history(engine: PretendEngine) -> None:
    history = read_history(engine.folder.journal, "accuracy", until=70.5)
    assert history.numbers()[-1] == 70
    rates, latency = charts(history, Status("run"), live=True)[1:3]
    assert rates.note == "0.0 now"
    assert latency.note == "0.50 s, 0.90 s"


def test_rates_of_a_run_that_is_over_are_those_of_all_of_it() -> None:
    stretches = {n: Stretch(replies=2 + n, latencies=[1.0, 2.0 + n]) for n in range(8)}
    history = History(1.0, stretches, {})
    rates, latency = charts(history, Status("run"), live=False)
    assert rates.note == "5.5 on average"
    assert latency.note == "1.00 s, 9.00 s"
    rates, latency = charts(history, Status("run"), live=True)
    assert (rates.note, latency.note) == ("8.0 now", "1.00 s, 9.00 s now")


def test_the_first_answers_do_not_determine_the_scale_of_the_score() -> None:
    stretches = {n: Stretch(scored=10, total=5.0, squares=5.0) for n in range(100)}
    stretches[0] = Stretch(scored=1, total=1.0, squares=1.0)
    score, *_ = charts(History(1.0, stretches, {}), Status("run"), live=True)
    lines = ["".join(text for text, _ in line) for line in draw_chart(score, 60, 9)]
    assert lines[1].startswith("60.")
    assert lines[-2].startswith("40.")


async def test_errors_by_kind_and_time(engine: PretendEngine) -> None:
    engine.event("wait", 3, 1000, reason="RateLimited", what="slow down", asked=2)
    engine.event("wait", 1, 5000, reason="ServerFault", what="oops")
    engine.event("wait", 9, 5000, reason="Warming", what="the first call fills the cache")
    engine.event("wait", 2, 9500, reason="RateLimited", what="slow down")
    engine.event("sample-failed", 4, 20_000, error="RateLimited")
    history = read_history(engine.folder.journal, "accuracy", most=5)
    lines = error_lines(history)
    assert [(line.name, line.lost, line.number) for line in lines] == [
        ("RateLimited", False, 5),
        ("RateLimited", True, 4),
        ("ServerFault", False, 1),
    ]
    assert history.every_s == 4.0
    assert columns(history, lines[0].by_interval, 6) == [3, 0, 2, 0, 0, 0]
    assert columns(history, lines[1].by_interval, 6) == [0, 0, 0, 0, 0, 4]
    assert columns(history, lines[0].by_interval, 3) == [3, 2, 0]


async def test_batches_over_time(engine: PretendEngine) -> None:
    engine.event("batch-submitted", at_ms=2000, batch="b-2", id="x", calls=50)
    engine.event("batch-found", at_ms=1000, batch="b-1", id="y")
    engine.event("batch-submitted", at_ms=1500, batch="b-1", id="y", calls=50)
    engine.event("batch-read", at_ms=7000, batch="b-1", answered=50, failed=0, again=0)
    history = read_history(engine.folder.journal, "accuracy")
    waiting: BatchStatus = {"name": "b-2", "stage": "running", "requests": 50, "succeeded": 20}
    status = Status("run", batches=[waiting])
    assert batch_bars(history, status) == [("b-1", 1.5, 7.0, 1.0), ("b-2", 2.0, None, 0.4)]


def test_a_head_keeps_the_value_and_an_axis_what_fits() -> None:
    for width in range(12, 60):
        head = chart_head("Accuracy, over questions", "24.0 %", width)
        words = "".join(text for text, _ in head)
        assert cell_len(words) == width
        assert words.endswith(" 24.0 %")
    legend = [("─ median ┄ p95", "")]

    def axis(width: int) -> str:
        return "".join(text for text, _ in chart_axis("12:00:00", "13:00:00", width, legend))

    assert axis(40) == "12:00:00     ─ median ┄ p95     13:00:00"
    assert axis(30) == "─ median ┄ p95        13:00:00"
    assert axis(16) == "─ median ┄ p95  "


def test_groups_come_with_the_best_first_and_the_worst_last() -> None:
    groups = {("kind", str(n)): (10, n / 20) for n in range(20)} | {("only", "x"): (200, 0.5)}
    [(tag, bars, number)] = group_bars(History(1.0, {}, groups), most=4)
    assert (tag, number) == ("kind", 20)
    assert [(bar.name, bar.value, bar.counts) for bar in bars] == [
        ("19", "95.0 %", "n 10"),
        ("18", "90.0 %", "n 10"),
        ("1", "5.0 %", "n 10"),
        ("0", "0.0 %", "n 10"),
    ]


def test_nothing_yet_is_no_chart() -> None:
    assert charts(History(1.0, {}, {}), Status("run"), live=True) == []
    assert charts(History(1.0, {0: Stretch(scored=1)}, {}), Status("run"), live=True) == []
    assert error_lines(History(1.0, {}, {})) == []
    assert batch_bars(History(1.0, {}, {}), Status("run")) == []
    empty = Chart("nothing", [Series("", [])], str, str)
    assert draw_chart(empty, 20, 4)[1] == [("nothing to draw yet", "dim")]


def test_a_rising_line_goes_from_the_lower_left_to_the_upper_right() -> None:
    chart = Chart("t", [Series("", [(0, 0), (10, 10)])], lambda y: f"{y:.0f}", str, high=10)
    lines = ["".join(text for text, _ in line) for line in draw_chart(chart, 23, 7)][1:-1]
    assert [line[:2] for line in lines] == ["10", "  ", " 5", "  ", " 0"]
    starts = [next(x for x, c in enumerate(line) if ord(c) > 0x2800) for line in lines]
    assert starts == sorted(starts, reverse=True)
    assert starts[-1] == 3


async def test_a_pause_takes_no_room_on_the_time_axis(engine: PretendEngine) -> None:
    """The last five answers came a day after the first five."""
    day = 86_400
    engine.event("started", at_ms=0)
    engine.event("ended", at_ms=6000, state="paused")
    engine.event("started", at_ms=6000 + 1000 * day)
    with sqlite3.connect(engine.folder.journal) as journal:
        journal.execute("UPDATE score SET at = at + 1000 * ? WHERE id >> 10 > 5", (day,))
        journal.execute("UPDATE reply SET at = at + 1000 * ? WHERE id >> 20 > 5", (day,))
    journal.close()
    history = read_history(engine.folder.journal, "accuracy")
    assert history.every_s == 1.0
    assert history.pauses == [(6.0, 6.0 + day)]
    assert history.steps() == [1, 2, 3, 4, 5, *(day + n for n in range(6, 11))]
    assert (history.worked(5.5), history.worked(100.0), history.worked(day + 8.0)) == (
        5.5,
        6.0,
        8.0,
    )
    assert (history.moment(5.5), history.moment(8.0)) == (5.5, day + 8.0)
    score, *_ = charts(history, Status("run"), live=False)
    assert [x for x, _ in score.series[0].points] == list(range(2, 12))
    assert columns(history, {1: 1, day + 9: 4}, 10) == [1, 0, 0, 0, 0, 0, 0, 0, 4, 0]
    # What was stored in a pause, as by re-scoring, is shown too.
    assert replace(history, stretches={**history.stretches, 500: Stretch()}).steps()[5] == 500


def test_consoles_get_characters_that_their_fonts_have(monkeypatch: pytest.MonkeyPatch) -> None:
    chart = Chart("t", [Series("", [(0, 0), (10, 10)])], lambda y: f"{y:.0f}", str, high=10)

    def drawn() -> set[str]:
        lines = draw_chart(chart, 23, 7)[1:-1]
        return {one for line in lines for text, tone in line for one in text if tone == "accent"}

    for term in ("linux", "vt100"):
        monkeypatch.setenv("TERM", term)
        assert drawn() <= set("▀▄█")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert all(ord(one) > 0x2800 for one in drawn())
    assert Sparkline([0, 1, 0, 4], gaps=True).draw(4) == [(" ▃ █", "accent")]


def test_a_dotted_line_is_told_from_a_full_one_on_consoles_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = [(0, 0), (10, 10)]
    both = [Series("median", points), Series("p95", points, dotted=True)]
    chart = Chart("t", both, lambda y: f"{y:.0f}", str, high=10)

    def legend() -> str:
        last = draw_chart(chart, 40, 7)[-1]
        return "".join(text for text, _ in last).translate(substitutes())

    monkeypatch.setenv("TERM", "linux")
    assert "─ median · p95" in legend()
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "─ median ┄ p95" in legend()
