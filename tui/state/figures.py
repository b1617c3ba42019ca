"""How numbers are formatted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.errors import counted as counted

OUTCOME_WORDS = {
    "ok": "parsed",
    "truncated": "truncated",
    "refused": "refused",
    "filtered": "filtered",
    "unparsed": "unparsed",
    "error": "failed",
}
"""Display names of outcomes, in order."""


def count(number: float) -> str:
    """``14042`` as ``14,042``; sums that are not whole keep two digits."""
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.2f}"


def value(metric: Mapping[str, Any]) -> str:
    """A metric's value: a fraction between 0 and 1 in percent, anything else as a number."""
    number = metric.get("value")
    if number is None:
        return "not scored"
    return with_minus(f"{100 * number:.1f} %" if is_share(metric) else f"{number:.3f}")


def signed(number: float, digits: int) -> str:
    """``+1.9``, ``−0.5``: a difference, with its sign; what rounds to nothing is ``+0.0``."""
    return with_minus(f"{round(number, digits) + 0.0:+.{digits}f}")


def with_minus(words: str) -> str:
    """A number with a minus sign instead of the hyphen of program code."""
    return words.replace("-", "−")


def fraction(metric: Mapping[str, Any]) -> str:
    """``k / n``; ``n`` alone where the value is no sum over ``n``, such as a standard error."""
    k, n = metric.get("k") or 0, metric.get("n") or 0
    if not n:
        return ""
    if not k and (metric.get("value") or metric.get("share") is False):
        return count(n)
    return f"{count(k)} / {count(n)}"


def interval(metric: Mapping[str, Any]) -> str:
    """``23.5–31.3``, in the unit of :func:`value`; empty if there is none."""
    low, high = metric.get("low"), metric.get("high")
    if low is None or high is None:
        return ""
    return _between(metric, low, high)


def bounds(metric: Mapping[str, Any]) -> str:
    """The value if every failed sample were wrong, or right; empty if none failed."""
    low, high = metric.get("bound_low"), metric.get("bound_high")
    if low is None or high is None or low == high:
        return ""
    return _between(metric, low, high)


def score(metric: Mapping[str, Any]) -> str:
    """``27.2 % (23.5–31.3)``."""
    between = interval(metric)
    return value(metric) + (f" ({between})" if between else "")


def picture(metric: Mapping[str, Any], width: int) -> str:
    """``····━━●━━···``: a proportion and its interval on a scale from 0 to 100 %.

    Empty for a metric that is no proportion, or has no value.
    """
    if metric.get("value") is None or not is_share(metric):
        return ""
    low, middle, high = (
        round(min(1.0, max(0.0, end)) * (width - 1))
        for end in (
            metric["value"] if metric.get("low") is None else metric["low"],
            metric["value"],
            metric["value"] if metric.get("high") is None else metric["high"],
        )
    )
    drawn = ["·"] * low + ["━"] * (high - low + 1) + ["·"] * (width - 1 - high)
    drawn[middle] = "●"
    return "".join(drawn)


def is_share(metric: Mapping[str, Any]) -> bool:
    """Whether a metric is a proportion, which is shown in percent."""
    if metric.get("share") is not None:
        return bool(metric["share"])
    return metric["value"] is not None and 0 <= metric["value"] <= 1


def _between(metric: Mapping[str, Any], low: float, high: float) -> str:
    if is_share(metric):
        return with_minus(f"{100 * low:.1f}–{100 * high:.1f}")
    return with_minus(f"{low:.3f}–{high:.3f}")


def shares(outcomes: Mapping[str, int]) -> list[tuple[str, int, float]]:
    """Outcomes as (word, count, share of all), without those that did not occur.

    Parsed and failed are always included.
    """
    total = sum(outcomes.values())
    return [
        (word, number, number / total if total else 0.0)
        for name, word in OUTCOME_WORDS.items()
        if (number := outcomes.get(name, 0)) or name in ("ok", "error")
    ]


def outcome_line(outcomes: Mapping[str, int]) -> str:
    """``parsed 98.0 % (490) · unparsed 2.0 % (10) · failed 0``."""
    return " · ".join(
        f"{word} {percent(share, 1)} ({count(number)})" if number else f"{word} 0"
        for word, number, share in shares(outcomes)
    )


def duration(seconds: float) -> str:
    """``0.4 s``, ``12 s``, ``5:10`` or ``2:03:04``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def age(seconds: float) -> str:
    """Age in its largest unit: ``now``, ``5 min``, ``3 h``, ``12 d``."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return "now"


def amount(number: float, unit: str) -> str:
    """A quantity with its unit; bytes are scaled."""
    if unit != "B":
        return count(number) + (f" {unit}" if unit else "")
    for size, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= size:
            return f"{number / size:.1f} {name}"
    return f"{number:.0f} B"


def short(number: float) -> str:
    """``950``, ``88 k``, ``2.5 M``: a large number in three digits."""
    for size, name in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if number >= size:
            return f"{number / (1e3 if size == 1e4 else size):.3g}{name}"
    return count(number)


def bytes_of(used: float, total: float) -> str:
    """``1.2 GB of 8.0 GB``."""
    return f"{amount(used, 'B')} of {amount(total, 'B')}"


def dollars(spent: float) -> str:
    """US dollars; small amounts keep their significant digits."""
    if 0 < spent < 0.0001:
        return "under $0.0001"
    return f"${spent:,.2f}" if spent >= 1 or not spent else f"${spent:.4f}"


def percent(share: float, digits: int = 0) -> str:
    """``93 %``. Never rounded up to 100 % or down to 0 %: ``99 %``, ``<1 %``."""
    least = 10.0**-digits
    number = 100 * share
    if number < 100:
        number = min(number, 100 - least)
    if 0 < number < least / 2:
        return f"<{least:.{digits}f} %"
    return f"{number:.{digits}f} %"


def rate(per_second: float) -> str:
    """``41.3/s``, or per minute when slow."""
    if per_second >= 0.5 or not per_second:
        return f"{per_second:,.1f}/s"
    return f"{60 * per_second:.1f}/min"
