"""What is pasted into a field of one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input

from evalbench.engine.calls.options import Option
from evalbench.tui.palette import PaletteInput
from evalbench.tui.widgets.form import Field
from evalbench.tui.widgets.layout import LineInput, PlainInput
from tests.pilot.driving import until


class OneField(App[int]):
    """An app with one field."""

    def __init__(self, make: Callable[[], Any]) -> None:
        super().__init__()
        self._make = make

    def compose(self) -> ComposeResult:
        yield self._make()


def a_field(*, many: bool) -> Field:
    return Field(Option("tag", str, () if many else "", "words", many=many), {})


async def pasted(pilot: Pilot[int], text: str) -> str:
    """What is in the field then."""
    pilot.app.post_message(events.Paste(text))
    await pilot.pause()
    return pilot.app.query_one(Input).value


@pytest.mark.parametrize(
    ("make", "between"),
    [
        (LineInput, " "),
        (PlainInput, " "),
        (PaletteInput, " "),
        (lambda: LineInput(password=True), " "),
        (lambda: a_field(many=False), " "),
        (lambda: a_field(many=True), ", "),
    ],
)
async def test_pasted_lines_are_joined_and_that_is_said(
    make: Callable[[], Any], between: str
) -> None:
    async with OneField(make).run_test(notifications=True) as pilot:
        await pilot.press("tab")
        await until(pilot, lambda: pilot.app.focused, "the focus")
        assert await pasted(pilot, "\r\n  first \n\nsecond\t2\n") == f"first{between}second 2"
        told = [toast.message for toast in pilot.app._notifications]
        assert told == ["2 pasted lines were joined into one"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("\nsk-abc\n", "sk-abc"),
        ("  sk-abc\r\n", "sk-abc"),
        ("to be continued ", "to be continued "),
        ("a\x1b[31mb\x07\u202ec", "abc"),
        ("\n \n", ""),
    ],
)
async def test_one_line_is_pasted_without_what_would_not_show(text: str, kept: str) -> None:
    async with OneField(LineInput).run_test(notifications=True) as pilot:
        await pilot.press("tab")
        await until(pilot, lambda: pilot.app.focused, "the focus")
        assert await pasted(pilot, text) == kept
        assert not pilot.app._notifications


async def test_what_is_pasted_replaces_what_is_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    async with OneField(lambda: LineInput("a bad name")).run_test() as pilot:
        await pilot.press("tab", "home", "right", "right", *["shift+right"] * 3)
        assert await pasted(pilot, "good") == "a good name"
        # What was copied in the app, by its own key.
        pilot.app.copy_to_clipboard("\nbetter\n")
        await pilot.press("space", "ctrl+v")
        await pilot.pause()
        assert pilot.app.query_one(Input).value == "a good better name"
