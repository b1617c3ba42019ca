"""How a run went, read from its journal and drawn."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from rich.cells import cell_len

from evalbench.engine.calls import Outcome
from evalbench.engine.errors import JournalError
from evalbench.engine.runs.history import History, Stretch, read_history
from evalbench.engine.runs.status import Status
from evalbench.tui.state.chart import Chart, Series, draw_chart
from evalbench.tui.state.run_charts import charts, group_bars
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


async def test_every_chart_there_is_something_for(engine: PretendEngine) -> None:
    history = read_history(engine.folder.journal, "accuracy", most=10)
    status = Status(
        "run", total=20, done=10, spend_usd=5.0, budget_usd=20.0,
        metrics={"accuracy": {"title": "Accuracy [/x]", "value": 0.55}},
    )  # fmt: skip
    found = charts(history, status, created=0.0)
    assert [chart.title for chart in found] == [
        "Accuracy [/x]",
        "Replies a second",
        "Time to the reply",
        "Spend",
        "Failures so far",
        "Tokens written a second",
    ]
    score, _, latency, spend, *_ = found
    assert score.note.startswith("55.6 % (26.7 % to 81.1 %)")
    widths = [high - low for _, low, high in score.band]
    assert widths[0] > widths[-1]
    assert [series.name for series in latency.series] == ["median", "95 % are faster"]
    assert spend.level == 20.0
    assert "about $10.00 in all, budget $20.00" in spend.note
    assert spend.series[1].points[-1][1] == 10.0
    for chart in found:
        for width, height in ((30, 5), (76, 9), (120, 22)):
            lines = draw_chart(chart, width, height)
            assert len(lines) == height
            assert all(sum(cell_len(text) for text, _ in line) <= width for line in lines[1:])


def test_groups_come_with_the_best_first_and_the_worst_last() -> None:
    groups = {("kind", str(n)): (10, n / 20) for n in range(20)} | {("only", "x"): (200, 0.5)}
    [(tag, bars)] = group_bars(History(1.0, {}, groups), most=4)
    assert tag == "kind"
    assert [(bar.name, bar.value, bar.counts) for bar in bars] == [
        ("19", "95.0 %", "n 10"),
        ("18", "90.0 %", "n 10"),
        ("1", "5.0 %", "n 10"),
        ("0", "0.0 %", "n 10"),
    ]


def test_nothing_yet_is_no_chart() -> None:
    assert charts(History(1.0, {}, {}), Status("run"), 0.0) == []
    assert charts(History(1.0, {0: Stretch(scored=1)}, {}), Status("run"), 0.0) == []
    empty = Chart("nothing", [Series("", [])], str, str)
    assert draw_chart(empty, 20, 4)[1] == [("nothing to draw yet", "dim")]


def test_a_rising_line_goes_from_the_lower_left_to_the_upper_right() -> None:
    chart = Chart("t", [Series("", [(0, 0), (10, 10)])], lambda y: f"{y:.0f}", str, high=10)
    lines = ["".join(text for text, _ in line) for line in draw_chart(chart, 23, 7)][1:-1]
    assert [line[:2] for line in lines] == ["10", "  ", " 5", "  ", " 0"]
    starts = [next(x for x, c in enumerate(line) if ord(c) > 0x2800) for line in lines]
    assert starts == sorted(starts, reverse=True)
    assert starts[-1] == 3
