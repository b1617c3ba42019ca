"""Widgets that do not have the page laid out more often than it needs."""

from __future__ import annotations

from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.screen import Screen

from evalbench.tui.widgets.layout import LineInput
from evalbench.tui.widgets.text import Plain
from tests.pilot.driving import shown, until


class Both(App[None]):
    def compose(self) -> ComposeResult:
        yield LineInput(compact=True)
        yield Plain("one line")


@pytest.fixture
def layouts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Grows with every layout of a page."""
    done: list[Any] = []
    refresh = Screen._refresh_layout

    def counted(screen: Screen[Any], *args: Any, **named: Any) -> None:
        done.append(args)
        refresh(screen, *args, **named)

    monkeypatch.setattr(Screen, "_refresh_layout", counted)
    return done


async def test_what_is_typed_is_in_view_without_a_layout(layouts: list[Any]) -> None:
    app = Both()
    async with app.run_test(size=(20, 5)) as pilot:
        await pilot.press("a")
        layouts.clear()
        await pilot.press(*"bcdefghijklmnopqrstuvwxyz")
        await until(pilot, lambda: "vwxyz" in shown(app), "the end of the text")
        assert not layouts


async def test_a_text_of_more_lines_takes_one_layout(layouts: list[Any]) -> None:
    app = Both()
    async with app.run_test(size=(20, 5)) as pilot:
        await pilot.pause()
        layouts.clear()
        app.query_one(Plain).show("one line\nanother")
        await until(pilot, lambda: "another" in shown(app), "the text")
        await pilot.pause()
        assert len(layouts) == 1
