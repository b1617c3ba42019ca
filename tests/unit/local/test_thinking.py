"""Reasoning of models that think aloud is not their answer."""

from __future__ import annotations

import pytest

from evalbench.providers.local.tokens import split_thinking


@pytest.mark.parametrize(
    ("text", "thinking", "answer"),
    [
        ("B", "", "B"),
        ("<think>\nIs it B?\n</think>\n\nB", "Is it B?", "B"),
        ("Is it B?\n</think>\n\nB", "Is it B?", "B"),
        ("<think>\n\n</think>\n\nB", "", "B"),
        ("<think>\nIs it", "Is it", ""),
        ("  leading space stays", "", "  leading space stays"),
        ("I <think> it is B", "", "I <think> it is B"),
        ("<think>a</think>b</think>c", "a", "b</think>c"),
    ],
)
def test_thinking_is_split_off(text: str, thinking: str, answer: str) -> None:
    assert split_thinking(text) == (thinking, answer)
