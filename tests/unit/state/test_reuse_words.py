"""Replies of earlier runs, in words."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from evalbench.engine.calls import Reply, Reused
from evalbench.engine.journal import Event
from evalbench.engine.record_schemas import BatchStatus
from evalbench.engine.runs.status import Status
from evalbench.tui.state.event_words import event_words
from evalbench.tui.state.reuse_words import reused_words, taken_words
from evalbench.tui.state.run_facts import RunFacts, money_pairs
from evalbench.tui.state.sample_view import reply_facts


@pytest.mark.parametrize(
    ("replies", "by_run", "words"),
    [
        (1, None, "1 reply of earlier runs, which cost nothing here"),
        (1200, {}, "1,200 replies of earlier runs, which cost nothing here"),
        (
            3,
            {"b": 1, "a": 2},
            "3 replies of earlier runs (2 of a, 1 of b), which cost nothing here",
        ),
        (
            14,
            {"a": 5, "b": 4, "c": 3, "d": 1, "e": 1},
            "14 replies of earlier runs (5 of a, 4 of b, 3 of c, and of 2 more), which cost"
            " nothing here",
        ),
    ],
)
def test_how_many_and_of_which_runs(
    replies: int, by_run: Mapping[str, int] | None, words: str
) -> None:
    assert reused_words(replies, by_run) == words


def test_a_reply_says_where_it_was_given() -> None:
    held = Reused("20261128-mmlu-good-1a2b", 1048577, "2026-11-28T11:20:05+00:00")
    words = "taken from run 20261128-mmlu-good-1a2b, given on 2026-11-28 at 11:20:05 UTC"
    assert taken_words(held) == words
    facts = dict(reply_facts(Reply("B", latency_s=2.0, attempts=0, reused=held)))
    assert facts["reused"] == words
    assert "attempts" not in facts["time"]


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        ("reuse-found", {"replies": 40}, "earlier runs hold 40 replies of these models"),
        (
            "reuse-refused",
            {"model": "local/a", "run": "r1", "now": [], "then": []},
            "nothing is taken from run r1: local/a was loaded differently there",
        ),
    ],
)
def test_events_are_told(kind: str, body: dict[str, Any], words: str) -> None:
    assert event_words(Event(1, 0, kind, 1, body)).startswith(words)


def test_what_was_not_paid_stands_beside_what_was() -> None:
    batches: list[BatchStatus] = [
        {"name": f"b{number}", "stage": "ended", "saved": saved}
        for number, saved in enumerate(("0.25", "0.5", ""))
    ]
    status = Status("run", spend_usd=0.75, batches=batches)
    spent = {
        "candidate": Decimal("0.5"),
        "judge/acme/judge": Decimal("0.25"),
        "judge/local/free": Decimal(0),
    }
    pairs = money_pairs(status, RunFacts({}, reused={"a": 2}, spent=spent))
    assert pairs == {
        "spent": "$0.7500",
        "spent on candidate": "$0.5000",
        "spent on judge/acme/judge": "$0.2500",
        "saved by batches": "$0.7500",
        "reused": "2 replies of earlier runs (2 of a), which cost nothing here",
    }
