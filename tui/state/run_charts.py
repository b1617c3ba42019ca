"""The charts of a run, computed from its history."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from evalbench.engine.runs.history import History, Stretch
from evalbench.engine.runs.status import Status
from evalbench.engine.scoring.statistics import mean_interval, wilson
from evalbench.engine.terminal_text import one_line
from evalbench.tui.state import figures
from evalbench.tui.state.chart import Chart, Series
from evalbench.tui.state.names import apart
from evalbench.tui.state.spending import forecast

_SURE = 4
"""From this many bins on, incomplete bins at the ends are left out of rates."""

_UNSETTLED = 0.1
"""Fraction of the scores, the first ones, whose mean does not determine the scale."""

_WIDER = 1.5
"""A metric's own interval that is this much wider is not of independent scores; one of half as many
scores, read a little earlier, is 1.4 times as wide."""

_LATELY_S = 20.0
"""How long a reply time is that of now; after that, those of the whole run are told."""

_FEWEST = 2
"""With fewer values than this no interval is drawn."""


class ErrorLine(NamedTuple):
    """Errors of one kind: whether they cost a sample or were retried, and when they happened.

    ``by_interval`` has their number in each interval of the history, by its number.
    """

    name: str
    lost: bool
    number: int
    by_interval: Mapping[int, int]


class BatchBar(NamedTuple):
    """A provider batch on the time axis, in seconds since the run's creation.

    ``share`` is the part of its calls that are done; ``end`` is None while it is open.
    """

    name: str
    begin: float
    end: float | None
    share: float


class GroupBar(NamedTuple):
    """The result for one value of a tag: its mean as a fraction of the longest bar, and as text."""

    name: str
    value: str
    share: float
    counts: str


def charts(history: History, status: Status, *, live: bool) -> list[Chart]:
    """All charts that have data, the most important first.

    Args:
        history: the run's history.
        status: the run's status.
        live: whether an engine drives the run, so that its newest values are those of now.
    """
    clock = _clock(status.created, history)
    found = [
        _score(history, status, clock),
        _throughput(history, clock, live=live),
        _latency(history, clock, live=live),
        _spend(history, status, clock, live=live),
        _tokens(history, clock, live=live),
    ]
    return [chart for chart in found if chart is not None and not chart.empty]


def span(history: History, status: Status) -> tuple[str, str]:
    """The ends of the time axis, as local times."""
    clock, steps = _clock(status.created, history), _steps(history)
    if not steps:
        return "", ""
    return clock(steps[0][0] - history.every_s), clock(steps[-1][0])


def error_lines(history: History) -> list[ErrorLine]:
    """Errors by kind, the most frequent first."""
    found: dict[tuple[str, bool], dict[int, int]] = {}
    for number, stretch in history.stretches.items():
        for lost, counts in ((False, stretch.retried), (True, stretch.lost)):
            for name, count in counts.items():
                found.setdefault((name, lost), {})[number] = count
    names = apart([name for name, _ in found])
    lines = [
        ErrorLine(name, lost, sum(counts.values()), counts)
        for name, ((_, lost), counts) in zip(names, found.items(), strict=True)
    ]
    return sorted(lines, key=lambda line: -line.number)


def columns(history: History, by_interval: Mapping[int, int], width: int) -> list[int]:
    """Counts by interval, in ``width`` columns over the whole history."""
    steps = history.steps()
    if not steps or width < 1:
        return []
    places = {number: place * width // len(steps) for place, number in enumerate(steps)}
    found = [0] * width
    for number, count in by_interval.items():
        found[places[number]] += count
    return found


def batch_bars(history: History, status: Status) -> list[BatchBar]:
    """The run's batches over time, the newest last."""
    by_name = {str(batch.get("name", "")): batch for batch in status.batches}
    bars = []
    for name, begin, end in history.batches:
        share = 0.0
        if batch := by_name.get(name):
            read = (batch.get("answered") or 0) + (batch.get("failed") or 0)
            there = (batch.get("succeeded") or 0) + (batch.get("failed_there") or 0)
            share = max(read, there) / max(1, batch.get("requests") or 0)
        bars.append(BatchBar(name, begin, end, 1.0 if end is not None else min(1.0, share)))
    return bars


def _clock(created: float, history: History) -> Callable[[float], str]:
    numbers = history.numbers()
    length = (numbers[-1] - numbers[0]) * history.every_s if numbers else 0.0
    clock = clock_of(created, length)
    return lambda worked: clock(history.moment(worked))


def clock_of(created: float, length: float) -> Callable[[float], str]:
    """Formats seconds since a run's creation as local time, for an axis of ``length`` seconds."""
    form = "%H:%M:%S" if length < 2 * 3600 else "%d. %H:%M"
    return lambda x: time.strftime(form, time.localtime(created + x))


def _steps(history: History) -> list[tuple[float, int]]:
    """(end of the bin in seconds of work since the run's creation, its number), without pauses."""
    every = history.every_s
    # A bin may reach into a pause.
    return [(history.worked(n * every) + every, n) for n in history.steps()]


def _score(history: History, status: Status, clock: Callable[[float], str]) -> Chart | None:
    """The mean of the scores so far, and its interval, which narrows.

    The interval takes scores as independent. If the metric's own says otherwise (of several epochs,
    or of weighted samples), only that is shown.
    """
    name, metric = next(iter(status.metrics.items()), ("", {}))
    n, total, squares = 0, 0.0, 0.0
    line, band, counts = [], [], []
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
        counts.append((at, n))
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

    value, ends = line[-1][1], list(band[-1][1:]) if band else []
    own: list[Any] = [metric.get(key) for key in ("value", "low", "high")]
    if None not in own:
        if band and own[2] - own[1] > _WIDER * (ends[1] - ends[0]):
            band = []
        # As the page shows it beside the chart, which is drawn less often.
        value, *ends = own
    note = words(value)
    if ends:
        note += f" ({'–'.join(words(end).removesuffix(' %') for end in ends)})"
    # The first answers are wide apart: on their scale, what follows would be a flat line.
    settled = next(at for at, known in counts if known >= _UNSETTLED * n)
    return Chart(
        title, [Series("mean so far", line, "accent")], words, clock, band, note=note,
        settled=settled,
    )  # fmt: skip


def _rates(history: History, count: Callable[[Any], float]) -> list[tuple[float, float]]:
    line = [
        (at, count(history.stretches[n]) / history.every_s if n in history.stretches else 0.0)
        for at, n in _steps(history)
    ]
    # The last bin is not over, and the first may have begun in its middle.
    return line[1:-1] if len(line) > _SURE else line


def _rate_note(line: Sequence[tuple[float, float]], *, live: bool) -> str:
    """The newest rate, or the mean of one that is over."""
    if not line:
        return ""
    if live:
        return f"{_rate(line[-1][1])} now"
    return f"{_rate(sum(y for _, y in line) / len(line))} on average"


def _throughput(history: History, clock: Callable[[float], str], *, live: bool) -> Chart:
    line = _rates(history, lambda stretch: stretch.replies)
    note = _rate_note(line, live=live)
    return Chart("Replies a second", [Series("", line, "good")], _rate, clock, low=0, note=note)


def _tokens(history: History, clock: Callable[[float], str], *, live: bool) -> Chart | None:
    line = _rates(history, lambda stretch: stretch.tokens)
    if not any(y for _, y in line):
        return None
    note = _rate_note(line, live=live)
    series = [Series("", line, "good")]
    return Chart("Tokens written a second", series, _rate, clock, low=0, note=note)


def _latency(history: History, clock: Callable[[float], str], *, live: bool) -> Chart | None:
    lines: dict[float, list[tuple[float, float]]] = {0.5: [], 0.95: []}
    for at, number in _steps(history):
        stretch = history.stretches.get(number)
        for share, line in lines.items():
            if stretch and (seconds := stretch.latency(share)) is not None:
                line.append((at, seconds))
    if not lines[0.5]:
        return None
    series = [
        Series("median", lines[0.5], "accent"),
        Series("p95", lines[0.95], "warn", dotted=True),
    ]
    if live and _steps(history)[-1][0] - lines[0.5][-1][0] <= _LATELY_S:
        newest = (line[-1][1] for line in lines.values())
        note = f"{', '.join(map(_seconds, newest))} now"
    else:
        every = [one for stretch in history.stretches.values() for one in stretch.latencies]
        whole = Stretch(latencies=sorted(every))
        note = ", ".join(_seconds(whole.latency(share) or 0.0) for share in lines)
    return Chart("Time to the reply", series, _seconds, clock, low=0, note=note)


def _spend(
    history: History, status: Status, clock: Callable[[float], str], *, live: bool
) -> Chart | None:
    spent, line = 0.0, []
    for at, number in _steps(history):
        if stretch := history.stretches.get(number):
            spent += stretch.cost
        line.append((at, spent))
    if not spent:
        return None
    series = [Series("spent", line, "accent")]
    note, title = figures.dollars(spent), "Spend"
    if status.budget_usd is not None:
        note += f" of {figures.dollars(status.budget_usd)}"
    whole = forecast(status)
    if live and whole and status.done < status.total and len(line) > 1:
        ends = line[0][0] + (line[-1][0] - line[0][0]) * status.total / max(1, status.done)
        series.append(Series("forecast", [line[-1], (ends, whole)], "dim", dotted=True))
        title = f"Spend, about {figures.dollars(whole)} in all"
    level = status.budget_usd
    return Chart(title, series, figures.dollars, clock, low=0, level=level, note=note)


def group_bars(history: History, most: int) -> list[tuple[str, list[GroupBar], int]]:
    """For each tag, those with few values first: its values' results, best first, and their number.

    If there are too many, the middle is left out.

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
            made.append((one_line(tag), list(_bars(values, most)), len(values)))
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
