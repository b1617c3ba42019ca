"""What a run takes, what a probe told, and when to ask before money is spent."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from evalbench.tui.state.money_words import at_most, estimate_lines, question
from evalbench.tui.state.probe_words import probe_facts


def estimate(**changed: Any) -> dict[str, Any]:
    prices = {"rates": {"input": "2", "output": "8"}, "source": "table", "model": "m"}
    role = {
        "role": "candidate",
        "model": "x/m",
        "calls": [500.0, 500.0],
        "input_tokens": [70000.0, 110000.0],
        "output_tokens": [500.0, 2000.0],
        "images": [0.0, 0.0],
        "image_tokens": [0.0, 0.0],
        "reused": [0.0, 0.0],
        "prices": prices,
        "realtime": [0.25, 0.75],
    }
    found = {
        "samples": 500,
        "counted": 200,
        "epochs": 1,
        "unfinished": 0,
        "realtime": [0.5, 1.5],
        "batch": [0.25, 0.75],
        "roles": [role | changed.pop("role", {})],
    }
    return found | changed


def test_an_estimate_is_told_in_four_lines() -> None:
    assert estimate_lines(estimate()) == [
        "500 samples, estimated from 200",
        "500 calls · 70–110 k tokens in · 500–2,000 out",
        "cost $0.5000–$1.50 · $0.2500–$0.7500 through a batch API",
        "price $2 in, $8 out per million tokens (table, m)",
    ]


def test_how_a_price_in_batches_is_known_is_told() -> None:
    lines = estimate_lines(estimate(role={"batch_note": "derived: half of it"}))
    assert lines[-1] == "x/m in batches: derived: half of it"


def test_free_and_unknown_are_told_plainly() -> None:
    free = estimate(realtime=[0.0, 0.0], batch=None, epochs=3, counted=500, unfinished=2)
    assert estimate_lines(free) == [
        "500 samples × 3 epochs",
        "500 calls · 70–110 k tokens in · 500–2,000 out",
        "cost nothing",
        "2 samples may take more calls than estimated",
    ]
    unknown = estimate(realtime=None, batch=None, role={"prices": None, "images": [9.0, 9.0]})
    lines = estimate_lines(unknown)
    assert lines[1].endswith("· 9 images")
    lines = estimate_lines(estimate(role={"reused": [12.0, 12.0]}))
    assert lines[1].endswith("· 12 answered by earlier runs")
    lines = estimate_lines(unknown)
    assert lines[2:] == ["cost unknown: no price of x/m is known"]
    lines = estimate_lines(unknown, "ctrl+g: go to price")
    assert lines[2] == "cost unknown: no price of x/m is known · ctrl+g: go to price"


def test_roles_are_named_when_there_are_several() -> None:
    both = estimate()
    both["roles"] = [both["roles"][0], {**both["roles"][0], "role": "judge/x/j"}]
    lines = estimate_lines(both)
    assert [line.partition(" ")[0] for line in lines] == [
        "500",
        "candidate:",
        "judge/x/j:",
        "cost",
        "candidate",
        "judge/x/j",
    ]
    assert all(line.endswith(" out · $0.2500–$0.7500") for line in lines[1:3])


@pytest.mark.parametrize(
    ("cost", "budget", "asked"),
    [
        ([0.2, 1.0], None, ""),
        ([0.2, 1.01], None, "This may cost up to $1.01. Start?"),
        ([2.0, 9.0], Decimal("0.5"), ""),
        ([2.0, 9.0], Decimal(5), "This may cost up to $5.00. Start?"),
        (None, Decimal("0.5"), "The cost is unknown. Start?"),
    ],
)
def test_dear_and_unknown_runs_are_asked_about(
    cost: list[float] | None, budget: Decimal | None, asked: str
) -> None:
    limit = None if budget is None else Decimal(str(budget))
    assert question(at_most(estimate(realtime=cost), limit)) == asked


def probe(**changed: Any) -> dict[str, Any]:
    told = {
        "model": "x/m",
        "text": "Earth\x1b[2J",
        "reasoning": "",
        "outcome": "ok",
        "stop_reason": "stop",
        "provider_model": "m-1",
        "input_tokens": 20,
        "output_tokens": 31,
        "reasoning_tokens": 30,
        "cost_usd": 0.002,
        "latency_s": 0.42,
        "params": {
            "max_tokens": {"fate": "sent", "reason": ""},
            "seed": {"fate": "dropped", "reason": "it takes none"},
        },
    }
    return told | changed


def test_a_probe_is_told_with_what_was_sent_and_left_out() -> None:
    assert probe_facts(probe()) == [
        ("reply", "Earth"),
        ("model", "m-1"),
        ("took", "0.4 s"),
        ("tokens", "20 in, 31 out (30 of them thinking)"),
        ("cost", "$0.0020"),
        ("sent", "max_tokens"),
        ("dropped", "seed (it takes none)"),
    ]


def test_what_a_probe_does_not_know_is_said_so() -> None:
    facts = dict(
        probe_facts(
            probe(
                text="",
                outcome="refused",
                provider_model="",
                input_tokens=None,
                cost_usd=None,
                params={},
            )
        )
    )
    assert facts == {
        "reply": "(nothing)",
        "outcome": "refused stop",
        "took": "0.4 s",
        "tokens": "the provider does not say",
        "cost": "unknown",
    }
