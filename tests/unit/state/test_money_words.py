"""Money in words: what was spent, what will be, at which prices."""

from __future__ import annotations

import io
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.config.spec import make_spec
from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.engine.preflight import CheckedSpec
from evalbench.engine.runs.status import State, Status
from evalbench.tui.cli import run as run_command
from evalbench.tui.cli.confirm import Declined, can_ask, confirmed
from evalbench.tui.cli.output import Out
from evalbench.tui.cli.plain import Plain
from evalbench.tui.cli.run import approval
from evalbench.tui.state.money_words import (
    ASK_FROM_USD,
    money_range,
    price_words,
    rough_range,
    total,
)
from evalbench.tui.state.spending import forecast, is_free, spend_line, spent_words

SPEC = make_spec("quickstart", "anthropic/claude-haiku-4-5")


def status(**fields: Any) -> Status:
    return Status("x", State.RUNNING, **{"sent": 10, "done": 10, "total": 40, **fields})


def test_the_forecast_takes_the_rest_to_cost_like_what_is_done() -> None:
    assert forecast(status(spend_usd=0.5)) == 2.0
    assert forecast(status(spend_usd=0.5, done=0)) is None
    assert forecast(status(spend_usd=None)) is None
    assert forecast(status(spend_usd=0.0)) is None


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"spend_usd": 0.5}, "spent $0.5000 · about $2.00 in all"),
        ({"spend_usd": 0.5, "budget_usd": 1.0}, "spent $0.5000 of $1.00 · about $2.00 in all"),
        (
            {"spend_usd": 1.5, "possible_usd": 0.25},
            "spent $1.50 · about $6.00 in all · $0.2500 possibly billed in addition",
        ),
        ({"spend_usd": None}, "spent unknown"),
        ({"spend_usd": None, "sent": 0}, ""),
        ({"spend_usd": 0.0}, ""),
        ({"spend_usd": 0.0, "budget_usd": 2.0}, "spent $0.00 of $2.00"),
        (
            {"spend_usd": 0.0, "possible_usd": 2.0},
            "spent $0.00 · $2.00 possibly billed in addition",
        ),
        ({"spend_usd": 0.00002, "done": 40}, "spent under $0.0001"),
    ],
)
def test_spend_in_one_line(fields: dict[str, Any], line: str) -> None:
    assert spend_line(status(**fields)) == line
    assert is_free(status(**fields)) == (line == "")


def test_a_run_at_rest_has_no_forecast() -> None:
    ended = replace(status(spend_usd=0.5, budget_usd=0.0), state=State.BUDGET)
    assert spend_line(ended) == "spent $0.5000 of $0.00"
    assert spent_words(ended) == "$0.5000 of $0.00"


def test_prices_are_told_with_their_tiers_and_their_source() -> None:
    prices = UnitPrices(
        Rates(Decimal("1.25"), Decimal(10), Decimal("0.125")),
        ((272_000, Rates(Decimal("2.5"), Decimal(15))),),
        source="genai-prices 0.2.3",
        model="openai/x",
        note="of the dearest hour of the day",
    )
    assert price_words(prices.to_json()) == (
        "$1.25 in, $10 out, $0.125 cached; calls above 272,000 input tokens: $2.5 in, $15 out"
        " per million tokens (genai-prices 0.2.3, openai/x), of the dearest hour of the day"
    )
    free = UnitPrices(Rates(Decimal(0), Decimal(0)), source="local")
    assert price_words(free.to_json()) == "free (local)"
    assert price_words(None).startswith("unknown; give them with --price")


def test_ranges() -> None:
    assert money_range([1.5, 22.049]) == "$1.50–$22.05"
    assert money_range([2.0, 2.0]) == "$2.00"
    assert money_range(None) == "unknown"
    assert rough_range([1523, 2590]) == "1,523–2,590"
    assert rough_range([67_000, 114_000]) == "67–114 k"
    assert rough_range([3.2e6, 15.44e6]) == "3–15 M"
    assert rough_range([0, 0]) == "0"
    assert total([[1, 2], [10, 20]]) == [11, 22]
    assert total([[1, 2], None]) is None


# -- approval ----------------------------------------------------------------------


def found(realtime: list[float] | None, samples: int = 100) -> CheckedSpec:
    pair = [0.0, 0.0]
    role = {
        "role": "candidate",
        "model": SPEC.model,
        "calls": [samples, samples],
        "input_tokens": [10.0, 20.0],
        "output_tokens": pair,
        "images": pair,
        "image_tokens": pair,
        "reused": [0.0, 0.0],
        "prices": None,
    }
    estimate = {
        "samples": samples,
        "counted": samples,
        "epochs": 1,
        "unfinished": 0,
        "realtime": realtime,
        "batch": None,
        "roles": [role],
    }
    return CheckedSpec(Path("x"), samples, {}, estimate)


class Person:
    """Answers questions, and remembers them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, yes: bool) -> None:
        self.asked: list[str] = []
        self._yes = yes
        self.screen = io.StringIO()
        monkeypatch.setattr(run_command, "confirmed", self._answer)
        monkeypatch.setattr(run_command, "stdout", lambda: Out(self.screen))

    def _answer(self, question: str) -> bool:
        self.asked.append(question)
        return self._yes

    def sees(self, checked: CheckedSpec, spec: Any = SPEC, **more: Any) -> None:
        settings = {"pilot": None, "yes": False, **more}
        approval(Plain(Out(io.StringIO())), [spec], **settings)([checked])


@pytest.mark.parametrize(
    ("realtime", "more", "asked"),
    [
        ([0.1, ASK_FROM_USD], {}, []),
        ([0.1, 1.5], {}, ["This may cost up to $1.50. Start?"]),
        ([0.1, 1.5], {"yes": True}, []),
        (None, {}, ["The cost is unknown. Start?"]),
        (None, {"pilot": 5}, []),
        ([10.0, 20.0], {"pilot": 5}, []),
        ([10.0, 40.0], {"pilot": 5}, ["The pilot may cost up to $2.00. Start?"]),
    ],
)
def test_only_dear_and_unknown_runs_are_asked_about(
    monkeypatch: pytest.MonkeyPatch, realtime: Any, more: dict[str, Any], asked: list[str]
) -> None:
    person = Person(monkeypatch, yes=True)
    person.sees(found(realtime), **more)
    assert person.asked == asked
    assert "100 samples" in person.screen.getvalue()


def test_no_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(monkeypatch, yes=False)
    with pytest.raises(Declined) as caught:
        person.sees(found([1.0, 30.0]))
    assert caught.value.exit_code == 4


def test_a_budget_limits_what_may_be_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(monkeypatch, yes=False)
    person.sees(found([1.0, 30.0]), SPEC.changed(budget=0.5))
    assert person.asked == []


def test_runs_without_an_estimate_are_not_mentioned(monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(monkeypatch, yes=False)
    person.sees(CheckedSpec(Path("x"), 100))
    assert person.asked == []
    assert person.screen.getvalue() == ""


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("y\n", True), (" YES \n", True), ("\n", False), ("", False), ("no\n", False)],
)
def test_anything_but_yes_is_no(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, answer: bool
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert confirmed("Start?") is answer
    assert capsys.readouterr().err == "Start? [y/N] "


def test_without_a_terminal_nobody_is_asked() -> None:
    assert not can_ask(json=False)
    assert not can_ask(json=True)
