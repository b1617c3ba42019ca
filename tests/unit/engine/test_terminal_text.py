"""External text cannot do anything to a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.terminal_text import clean, one_line, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words, naïve 中文 🙂", "plain words, naïve 中文 🙂"),
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb", "a\nb"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[1;1Hgone", "gone"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\after", "after"),
        ("bell\x07, back\x08space, null\x00", "bell, backspace, null"),
        ("over\rwritten", "overwritten"),
        ("\x9b31mC1", "31mC1"),
        ("\u202egnp.exe\u202c \u2066x\u2069", "gnp.exe x"),
        ("half \ud800 pair", "half  pair"),
    ],
)
def test_only_text_is_left(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text())
def test_nothing_that_a_terminal_acts_on_is_left(text: str) -> None:
    left = set(clean(text)) - {"\n", "\t"}
    assert not [char for char in left if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")]


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


def test_files_show_what_a_terminal_would_act_on() -> None:
    assert visible("naïve\tcell\n\u200e") == "naïve\tcell\n\u200e"
    assert visible("\x1b[31m\x9b\u202e") == r"\x1b[31m\x9b\u202e"
