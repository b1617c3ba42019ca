"""Events in words."""

from __future__ import annotations

import pytest

from evalbench.engine.journal import Event
from evalbench.tui.state.event_words import event_words


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"device": "cpu"}, "model loaded: cpu"),
        ({"device": "cpu", "packs": True}, "model loaded: cpu"),
        (
            {"device": "cpu", "packs": False},
            "model loaded: cpu, not packed (every prompt runs alone: slow)",
        ),
    ],
)
def test_a_model_that_cannot_be_packed_says_so(body: dict[str, object], words: str) -> None:
    assert event_words(Event(1, 0, "model-loaded", 1, body)) == words
