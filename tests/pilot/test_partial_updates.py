"""What is drawn after a key is what a whole new screen would show."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.color import Color
from textual.screen import Screen

from evalbench.tui.app import EvalbenchApp
from evalbench.tui.state.preferences import Preferences
from evalbench.tui.widgets.form import Field, Form
from evalbench.tui.widgets.layout import PlainInput
from evalbench.tui.widgets.picker import Picker
from tests.pilot.driving import until, until_shown

Cells = list[tuple[str, Style | None]]

KEYS = (
    *("tab", "tab", "g", "o", "backspace", "tab", "1", "2", "tab", "x", "shift+tab", "end"),
    *("backspace", *["tab"] * 8, *["shift+tab"] * 11, "down", "down", "tab", "up"),
    *("ctrl+p", "s", "e", "down", "backspace", "escape"),
)


class Terminal:
    """The cells that were displayed: text and style of each, by line.

    Attributes:
        partial: number of updates that were not of the whole screen.
    """

    def __init__(self) -> None:
        self.lines: list[Cells] = []
        self.partial = 0

    def take(self, shown: Any) -> None:
        if isinstance(shown, LayoutUpdate):
            self.lines = [cells(one for strip in line for one in strip) for line in shown.strips]
        elif isinstance(shown, ChopsUpdate):
            self.partial += 1
            for y, left, right in shown.spans:
                for x, strip in shown.chops[y].items():
                    for at, cell in enumerate(cells(strip or ()), x):
                        if left <= at < right:
                            self.lines[y][at] = cell


def cells(segments: Iterable[Segment]) -> Cells:
    """The cells of a line; the second half of a wide character is empty."""
    return [
        (text, segment.style)
        for segment in segments
        for character in segment.text
        for text in (character, "")[: cell_len(character)]
    ]


async def test_partial_updates_show_what_a_whole_one_would(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal, display = Terminal(), EvalbenchApp._display

    def watched(app: EvalbenchApp, screen: Screen[Any], shown: Any) -> None:
        terminal.take(shown)
        display(app, screen, shown)

    monkeypatch.setattr(EvalbenchApp, "_display", watched)
    app = EvalbenchApp(Preferences(welcomed=True, benchmark="synthetic", model="scripted/good"))

    def right() -> bool:
        return terminal.lines == [cells(one) for one in app.screen._compositor.render_strips()]

    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("f3")
        await until_shown(pilot, "limit")
        for key in KEYS:
            await pilot.press(key)
            await until(pilot, right, f"what is shown after {key}")
    assert terminal.partial > len(KEYS) / 2


async def test_between_text_fields_nothing_is_restyled(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = EvalbenchApp(Preferences(welcomed=True, benchmark="synthetic", model="scripted/good"))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("f3")
        await until_shown(pilot, " calls · ")
        await pilot.press("tab", "tab", "tab")
        await until(pilot, lambda: Field.option_of(app.focused), "a setting's field")
        restyled: list[object] = []
        monkeypatch.setattr(
            app.stylesheet, "update_nodes", lambda nodes, **_: restyled.extend(nodes)
        )
        for _ in range(3):
            before = app.focused
            await pilot.press("tab")
            assert app.focused is not before
            assert isinstance(app.focused, PlainInput)
            await until(pilot, lambda: app.focused and app.focused.has_focus, "the focus")
        assert not restyled


async def test_what_has_the_focus_takes_the_colours_of_another_theme(home: Path) -> None:
    app = EvalbenchApp(Preferences(welcomed=True, benchmark="synthetic", model="scripted/good"))

    def lit() -> bool:
        assert isinstance(app.focused, PlainInput)
        around = next(one for one in app.focused.ancestors if isinstance(one, Form | Picker))
        colours = app.theme_variables
        panel, frame = Color.parse(colours["panel"]), Color.parse(colours["primary"])
        return app.focused.styles.background == panel and around.styles.border_top[1] == frame

    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("f3")
        await until_shown(pilot, "limit")
        for key in ("tab", "tab", "tab", "shift+tab"):
            await pilot.press(key)
            for name in ("evalbench-light", "evalbench-dark"):
                app.show_theme(name)
                await until(pilot, lit, f"{name} after {key}")
