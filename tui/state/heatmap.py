"""Related metrics side by side: a matrix of values, such as category × turn.

Metrics named ``NAME/TAG=VALUE`` form a list. Several lists over the same values of a tag form a
matrix: one row per value, one column per list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from statistics import median
from typing import Any, NamedTuple

from evalbench.engine.terminal_text import one_line
from evalbench.tui.state import figures

STEPS = 4
"""Shades of a heat map; more would be indistinguishable in 16 colours."""

OWN = "*"
"""Marks a judge's verdict on the answers of its own model."""

_JUDGED = re.compile(r"(?s).*/judge=(?P<judge>.+)")

Metrics = Mapping[str, Mapping[str, Any]]


class Spot(NamedTuple):
    """One value of a matrix.

    Attributes:
        value: formatted value.
        interval: formatted 95 % interval; empty if there is none.
        step: its shade, from 0 (the low end of the scale) to ``STEPS`` - 1; None: not scored.
        own: whether it is a judge's verdict on its own model's answers.
        n: the metric's denominator.
    """

    value: str
    interval: str
    step: int | None
    own: bool = False
    n: float = 0


class Heatmap(NamedTuple):
    """A matrix of metrics.

    Attributes:
        title: what all columns have in common.
        rows, columns: their names.
        spots: by row, then by column.
        lowest, highest: formatted ends of the shade scale; see :func:`_scale`.
        names: metric names, by row, then by column.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    spots: tuple[tuple[Spot, ...], ...]
    lowest: str
    highest: str
    names: tuple[tuple[str, ...], ...]

    @property
    def metrics(self) -> frozenset[str]:
        """Names of all metrics in the matrix."""
        return frozenset(name for row in self.names for name in row)


class _List(NamedTuple):
    """Metrics of one base and group, by value of the tag."""

    tag: str
    base: str
    group: str
    names: dict[str, str]


def heatmaps(metrics: Metrics) -> list[Heatmap]:
    """All matrices in a run's metrics, in order."""
    alike: dict[tuple[Any, ...], list[_List]] = {}
    for found in _lists(metrics):
        shares = {metrics[name].get("share") for name in found.names.values()}
        key = (found.tag, frozenset(found.names), *shares)
        alike.setdefault(key, []).append(found)
    return [
        _heatmap(metrics, lists)
        for lists in alike.values()
        if len(lists) > 1 and len(lists[0].names) > 1
    ]


def _lists(metrics: Metrics) -> Iterable[_List]:
    lists: dict[tuple[str, str, str], _List] = {}
    for name, metric in metrics.items():
        group, title = str(metric.get("group") or ""), str(metric.get("title") or "")
        # Text after a tag may look like another tag; the title decides.
        known = re.escape(title) if title and name.endswith(f"={title}") else ".*"
        found = re.fullmatch(rf"(?s)(?P<base>.+)/(?P<tag>\w+)=(?P<value>{known})", name)
        if group and found:
            base, tag, value = found["base"], found["tag"], found["value"]
            members = lists.setdefault((tag, base, group), _List(tag, base, group, {}))
            members.names[value] = name
    return lists.values()


def _heatmap(metrics: Metrics, lists: Sequence[_List]) -> Heatmap:
    low, high = _scale([metrics[name] for one in lists for name in one.names.values()])
    unit = metrics[next(iter(lists[0].names.values()))]
    values = list(lists[0].names)
    title, columns = _titles([one.group for one in lists])
    spots = tuple(
        tuple(_spot(metrics[one.names[value]], low, high, one.base, value) for one in lists)
        for value in values
    )
    scored = high > low
    return Heatmap(
        one_line(title or f"By {lists[0].tag}"),
        tuple(map(one_line, values)),
        tuple(map(one_line, columns)),
        spots,
        figures.value({**unit, "value": low}) if scored else "",
        figures.value({**unit, "value": high}) if scored else "",
        tuple(tuple(one.names[value] for one in lists) for value in values),
    )


def _scale(metrics: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """The ends of the shade scale: at least twice as far apart as a typical interval is wide.

    So values that could be equal by chance look alike. Without intervals, the ends are at least a
    tenth of the greatest value apart, and for fractions ten points. Both are 0 if nothing is
    scored.
    """
    scored = [metric for metric in metrics if metric.get("value") is not None]
    if not scored:
        return 0.0, 0.0
    values = [metric["value"] for metric in scored]
    shares = all(map(figures.is_share, scored))
    low, high = min(values), max(values)
    widths = [
        one["high"] - one["low"]
        for one in scored
        if one.get("low") is not None and one.get("high") is not None
    ]
    least = 0.1 if shares else 0.1 * max(map(abs, values)) or 1.0
    spread = max(high - low, 2 * median(widths) if widths else least)
    if not spread > 0:
        spread = least
    middle = (low + high) / 2
    low, high = middle - spread / 2, middle + spread / 2
    if shares and min(values) >= 0 and max(values) <= 1:
        # There is nothing below 0 or above 100 %.
        low, high = (0.0, min(1.0, spread)) if low < 0 else (low, high)
        low, high = (max(0.0, 1 - spread), 1.0) if high > 1 else (low, high)
    return low, high


def _spot(metric: Mapping[str, Any], low: float, high: float, base: str, row: str) -> Spot:
    number = metric.get("value")
    judged = _JUDGED.fullmatch(base)
    own = bool(judged and _short(judged["judge"]) == _short(row))
    if number is None:
        return Spot("not scored", "", None, own)
    share = (number - low) / (high - low)
    step = max(0, min(STEPS - 1, int(share * STEPS)))
    return Spot(figures.value(metric), figures.interval(metric), step, own, metric.get("n") or 0)


def _titles(groups: Sequence[str]) -> tuple[str, list[str]]:
    """The common part of titles, and the rest of each: ``By category``, ``first turn``."""
    title, rest = _cut(groups)
    some = [one for one in rest if one]
    if len(some) < len(rest) and len(some) > 1:
        # One list is the whole that the others are parts of.
        more, parts = _cut(some)
        left = iter(parts)
        title, rest = f"{title}, {more}", [next(left) if one else "all" for one in rest]
    short = [_short(one) for one in rest]
    rest = short if len(set(short)) == len(short) else rest
    return title.rstrip(" ,:"), [one or "all" for one in rest]


def _cut(texts: Sequence[str]) -> tuple[str, list[str]]:
    """The longest common prefix of whole words, and the rest of each text."""
    words = [re.findall(r"\S+", text.replace(",", " ,")) for text in texts]
    count = len(list(takewhile(lambda each: len(set(each)) == 1, zip(*words, strict=False))))
    common = " ".join(words[0][:count]).replace(" ,", ",")
    rest = [" ".join(each[count:]).replace(" ,", ",").lstrip(" ,:") for each in words]
    return common, rest


def _short(name: str) -> str:
    return name.rpartition("/")[2]
