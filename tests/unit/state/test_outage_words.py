"""How a provider that is down is told to people."""

from __future__ import annotations

from typing import Any

import pytest

from evalbench.engine.journal import Event
from evalbench.tui.state.event_words import event_tone, event_words


@pytest.mark.parametrize(
    ("kind", "body", "words", "tone"),
    [
        (
            "provider-down",
            {"reason": "Overloaded", "what": "Acme has no capacity just now"},
            "the provider stopped responding: Overloaded: Acme has no capacity just now",
            "warn",
        ),
        ("provider-back", {"after_s": 3600.5}, "the provider responds again after 1:00:00", ""),
    ],
)
def test_it_is_told_that_a_provider_is_down_and_back(
    kind: str, body: dict[str, Any], words: str, tone: str
) -> None:
    event = Event(1, 0, kind, 1, body)
    assert event_words(event).startswith(words)
    assert event_tone(event) == tone
