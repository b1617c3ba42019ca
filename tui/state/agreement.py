"""How reliable a run's judges are, as a short table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalbench.engine.terminal_text import one_line
from evalbench.tui.state import figures

Metrics = Mapping[str, Mapping[str, Any]]

_NAMES = {
    "alpha": "Krippendorff's alpha",
    "fleiss_kappa": "Fleiss' kappa",
    "position_flips": "decided by the order",
    "repeat_spread": "range of repeats",
    "unread_judgements": "unread judgements",
}
_PAIR, _BIAS = "kappa/", "judge_bias/judge="

_ALPHA = ((0.8, "reliable"), (0.667, "for tentative conclusions"))
"""Krippendorff, Content Analysis (2004), p. 241."""

_KAPPA = (
    (0.81, "almost perfect"),
    (0.61, "substantial"),
    (0.41, "moderate"),
    (0.21, "fair"),
    (0.0, "slight"),
)
"""Landis and Koch, Biometrics 33 (1977), p. 165."""

_CHANCE = "worse than chance"


class AgreementLine(NamedTuple):
    """A measure of the judges' reliability.

    Attributes:
        what: its name.
        short: its name in fewer words.
        value: formatted value.
        reading: how such a value is commonly interpreted.
        counts: what it is based on.
    """

    what: str
    short: str
    value: str
    reading: str
    counts: str


def agreement_metrics(metrics: Metrics) -> list[str]:
    """Names of the metrics that measure the judges' agreement; none if there is no judge."""
    return [name for name in metrics if name in _NAMES or name.startswith((_PAIR, _BIAS))]


def agreement_lines(metrics: Metrics) -> list[AgreementLine]:
    """Agreement, order, repeats, unread judgements and leanings, one line each."""
    return [_line(name, metrics[name]) for name in agreement_metrics(metrics)]


def _line(name: str, metric: Mapping[str, Any]) -> AgreementLine:
    what = one_line(str(metric.get("title") or name))
    number, n = metric.get("value"), figures.count(metric.get("n") or 0)
    value = figures.value(metric)
    if name.startswith(_BIAS):
        leaning = "" if not number else "milder than all" if number > 0 else "stricter than all"
        words = value if number is None else f"{figures.signed(100 * number, 1)} pts"
        short = f"{_model(what)} over the mean"
        return AgreementLine(f"{what}: its rate over the mean", short, words, leaning, "")
    if name.startswith(_PAIR):
        short = "kappa: " + ", ".join(map(_model, what.rpartition(": ")[2].split(" and ")))
        return AgreementLine(what, short, value, _read(number, _KAPPA, _CHANCE), n)
    short = _NAMES[name]
    if name in ("position_flips", "unread_judgements"):
        n = f"{figures.count(metric.get('k') or 0)} / {n}"
    reading = ""
    if name == "alpha":
        reading = _read(number, _ALPHA, "not reliable")
    elif name == "fleiss_kappa":
        reading = _read(number, _KAPPA, _CHANCE)
    return AgreementLine(what, short, value, reading, n)


def _model(name: str) -> str:
    return name.rpartition("/")[2]


def _read(number: float | None, steps: Sequence[tuple[float, str]], below: str) -> str:
    if number is None:
        return ""
    # As users see it: rounded like the value that is shown.
    return next((word for least, word in steps if round(number, 3) >= least), below)
