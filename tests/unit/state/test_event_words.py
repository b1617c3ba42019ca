"""Events in words."""

from __future__ import annotations

import re

import pytest

from evalbench.engine.journal import Event
from evalbench.tui.state.batch_words import count_words
from evalbench.tui.state.event_words import event_words


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"device": "cpu"}, "model loaded: cpu"),
        ({"device": "cpu", "packs": True}, "model loaded: cpu"),
        ({"device": "cpu", "kept": True}, "model is still loaded: cpu"),
        (
            {"device": "cpu", "packs": False},
            "model loaded: cpu, not packed (every prompt runs alone: slow)",
        ),
    ],
)
def test_a_model_that_cannot_be_packed_says_so(body: dict[str, object], words: str) -> None:
    assert event_words(Event(1, 0, "model-loaded", 1, body)) == words


def test_a_budget_that_is_reached_is_told_as_money() -> None:
    body = {"next_call_usd": "0.020569200", "left_usd": "0"}
    assert event_words(Event(1, 0, "budget-reached", 1, body)) == (
        "the budget is reached: the next call may cost $0.0206 and $0.00 is left"
    )
    unknown = event_words(Event(1, 0, "budget-reached", 1, {"next_call_usd": "much"}))
    assert "an unknown amount and an unknown amount" in unknown


def test_a_model_that_stays_says_how_to_free_it() -> None:
    body = {"seconds": 600, "memory": 2_000_000_000}
    assert event_words(Event(1, 0, "model-kept", 1, body)) == (
        "the model stays loaded for 10:00 (2.0 GB); evalbench models unload frees it"
    )


def test_a_changed_price_says_which_one_counts() -> None:
    before, now = {"input": "0.4", "output": "1.6"}, {"input": "1", "output": "4"}
    body = {"role": "candidate", "before": before, "now": now}
    assert event_words(Event(1, 0, "price-changed", 1, body)) == (
        "the price of the candidate has changed since the run began, from 0.4 in and 1.6 out to"
        " 1 in and 4 out US dollars per million tokens; spend and budget go by the first until"
        " --price says otherwise"
    )


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("cut-off", {}),
        ("batch-submitted", {"batch": 1, "id": "b"}),
        ("batch-not-fetched", {"batch": 1}),
        ("batch-resent", {"batch": 1}),
        ("batch-too-small", {"least": 100}),
        ("batch-asks-again", {"batch": 1}),
        ("batch-missing", {"batch": 1}),
        ("reuse-found", {"replies": 1}),
    ],
)
def test_one_is_told_as_one(kind: str, body: dict[str, object]) -> None:
    words = event_words(Event(1, 0, kind, 1, {"calls": 1, **body}))
    assert re.search(r"\b1 (call|reply)\b", words)
    assert not re.search(r"\b1 (calls|replies)\b", words)


def test_an_estimate_and_a_list_of_batches_tell_one_as_one() -> None:
    assert count_words({"requests": 1}) == "1 call"
    assert count_words({"requests": 1200}) == "1,200 calls"


def test_calls_that_a_batch_sends_again_say_why() -> None:
    body: dict[str, object] = {"calls": 24, "batch": "b1", "why": "the model refuses temperature"}
    assert event_words(Event(1, 0, "batch-asks-again", 1, body)) == (
        "without a reply in batch b1, sent again: 24 calls (the model refuses temperature)"
    )
