"""The charts of a run, computed from its history."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from evalbench.engine.runs.history import History
from evalbench.engine.runs.status import Status
from evalbench.engine.scoring.statistics import mean_interval, wilson
from evalbench.engine.terminal_text import one_line
from evalbench.tui.state import figures
from evalbench.tui.state.chart import Chart, Series
from evalbench.tui.state.names import apart
from evalbench.tui.state.spending import forecast

_SURE = 4
"""From this many bins on, incomplete bins at the ends are left out of rates."""

_FEWEST = 2
"""With fewer values than this no interval is drawn."""


class GroupBar(NamedTuple):
    """The result for one value of a tag: its mean as a fraction of the longest bar, and as text."""

    name: str
    value: str
    share: float
    counts: str


def charts(history: History, status: Status, created: float) -> list[Chart]:
    """All charts that have data, the most important first.

    Args:
        history: the run's history.
        status: the run's status.
        created: creation time in Unix seconds.
    """
    clock = _clock(created, history)
    found = [
        _score(history, status, clock),
        _throughput(history, clock),
        _latency(history, clock),
        _spend(history, status, clock),
        _failures(history, clock),
        _tokens(history, clock),
    ]
    return [chart for chart in found if chart is not None and not chart.empty]


def _clock(created: float, history: History) -> Callable[[float], str]:
    numbers = history.numbers()
    length = (numbers[-1] - numbers[0]) * history.every_s if numbers else 0.0
    form = "%H:%M:%S" if length < 2 * 3600 else "%d. %H:%M"
    return lambda x: time.strftime(form, time.localtime(created + x))


def _steps(history: History) -> list[tuple[float, int]]:
    """(end of the bin in seconds since the run's creation, its number), without gaps."""
    numbers = history.numbers()
    if not numbers:
        return []
    return [((n + 1) * history.every_s, n) for n in range(numbers[0], numbers[-1] + 1)]


def _score(history: History, status: Status, clock: Callable[[float], str]) -> Chart | None:
    """The mean of the scores so far, and its interval, which narrows."""
    name, metric = next(iter(status.metrics.items()), ("", {}))
    n, total, squares = 0, 0.0, 0.0
    line, band = [], []
    share = (
        figures.is_share(metric)
        if metric.get("value") is not None
        else all(
            stretch.squares == stretch.total or 0 <= stretch.total <= stretch.scored
            for stretch in history.stretches.values()
        )
    )
    for at, number in _steps(history):
        if stretch := history.stretches.get(number):
            n += stretch.scored
            total += stretch.total
            squares += stretch.squares
        if not n:
            continue
        line.append((at, total / n))
        # For right-or-wrong answers the squares equal the values.
        binary = abs(squares - total) < 1e-9
        interval = wilson(total, n) if binary else mean_interval(n, total, squares)
        if interval and n >= _FEWEST:
            band.append((at, *interval))
    if not line:
        return None
    title = one_line(str(metric.get("title") or name or "score"))

    def words(value: float) -> str:
        return f"{100 * value:.1f} %" if share else f"{value:.2f}"

    note = words(line[-1][1])
    if band:
        note += f" ({words(band[-1][1])} to {words(band[-1][2])})"
    return Chart(title, [Series("mean so far", line, "accent")], words, clock, band, note=note)


def _rates(history: History, count: Callable[[Any], float]) -> list[tuple[float, float]]:
    line = [
        (at, count(history.stretches[n]) / history.every_s if n in history.stretches else 0.0)
        for at, n in _steps(history)
    ]
    # The last bin is not over, and the first may have begun in its middle.
    return line[1:-1] if len(line) > _SURE else line


def _throughput(history: History, clock: Callable[[float], str]) -> Chart:
    line = _rates(history, lambda stretch: stretch.replies)
    note = f"{_rate(line[-1][1])} now" if line else ""
    return Chart("Replies a second", [Series("", line, "good")], _rate, clock, low=0, note=note)


def _tokens(history: History, clock: Callable[[float], str]) -> Chart | None:
    line = _rates(history, lambda stretch: stretch.tokens)
    if not any(y for _, y in line):
        return None
    note = f"{_rate(line[-1][1])} now"
    series = [Series("", line, "good")]
    return Chart("Tokens written a second", series, _rate, clock, low=0, note=note)


def _latency(history: History, clock: Callable[[float], str]) -> Chart | None:
    lines: dict[float, list[tuple[float, float]]] = {0.5: [], 0.95: []}
    for at, number in _steps(history):
        stretch = history.stretches.get(number)
        for share, line in lines.items():
            if stretch and (seconds := stretch.latency(share)) is not None:
                line.append((at, seconds))
    if not lines[0.5]:
        return None
    note = f"{_seconds(lines[0.5][-1][1])} and {_seconds(lines[0.95][-1][1])} now"
    series = [
        Series("median", lines[0.5], "accent"),
        Series("95 % are faster", lines[0.95], "warn", dotted=True),
    ]
    return Chart("Time to the reply", series, _seconds, clock, low=0, note=note)


def _spend(history: History, status: Status, clock: Callable[[float], str]) -> Chart | None:
    spent, line = 0.0, []
    for at, number in _steps(history):
        if stretch := history.stretches.get(number):
            spent += stretch.cost
        line.append((at, spent))
    if not spent:
        return None
    series = [Series("spent", line, "accent")]
    note = figures.dollars(spent)
    whole = forecast(status)
    if whole and status.done < status.total and len(line) > 1:
        ends = line[0][0] + (line[-1][0] - line[0][0]) * status.total / max(1, status.done)
        series.append(Series("forecast", [line[-1], (ends, whole)], "dim", dotted=True))
        note += f", about {figures.dollars(whole)} in all"
    if status.budget_usd is not None:
        note += f", budget {figures.dollars(status.budget_usd)}"
    return Chart("Spend", series, figures.dollars, clock, low=0, level=status.budget_usd, note=note)


def _failures(history: History, clock: Callable[[float], str]) -> Chart | None:
    samples, calls, line, all_calls = 0, 0, [], []
    for at, number in _steps(history):
        if stretch := history.stretches.get(number):
            samples += stretch.failed
            calls += stretch.failures
        line.append((at, float(samples)))
        all_calls.append((at, float(calls)))
    if not samples and not calls:
        return None
    series = [
        Series("failed samples", line, "bad"),
        Series("calls that ended in an error", all_calls, "warn", dotted=True),
    ]
    return Chart("Failures so far", series, _count, clock, low=0)


def group_bars(history: History, most: int) -> list[tuple[str, list[GroupBar]]]:
    """For each tag with few values, their results, best first.

    Args:
        history: the run's history.
        most: maximum values shown per tag.
    """
    by_tag: dict[str, dict[str, tuple[int, float]]] = {}
    for (tag, value), found in history.groups.items():
        by_tag.setdefault(tag, {})[value] = found
    made = []
    for tag, values in sorted(by_tag.items(), key=lambda item: len(item[1])):
        if len(values) > 1:
            made.append((one_line(tag), list(_bars(values, most))))
    return made


def _bars(values: Mapping[str, tuple[int, float]], most: int) -> Iterable[GroupBar]:
    longest = max(max(mean for _, mean in values.values()), 0.0)
    share = min(mean for _, mean in values.values()) >= 0 and longest <= 1
    ranked = sorted(values.items(), key=lambda item: -item[1][1])
    if len(ranked) > most:
        # The best and the worst say more than the best alone.
        ranked = [*ranked[: most - most // 2], *ranked[-(most // 2) :]]
    names = apart([value for value, _ in ranked])
    for name, (_, (n, mean)) in zip(names, ranked, strict=True):
        words = f"{100 * mean:.1f} %" if share else f"{mean:.2f}"
        yield GroupBar(name, words, mean if share else mean / (longest or 1), f"n {n:,}")


def _rate(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def _seconds(number: float) -> str:
    return f"{number:.0f} s" if number >= 10 else f"{number:.2f} s"


def _count(number: float) -> str:
    return f"{number:,.0f}"
