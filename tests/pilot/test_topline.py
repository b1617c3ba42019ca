"""The first line of a page, at every width."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult

from evalbench.tui.widgets.topline import TopLine
from tests.pilot.driving import shown


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("right", ["", "3 runs", "quickstart × 日本語のモデル", "wide 語" * 40])
async def test_both_sides_fit_in_cells(width: int, right: str) -> None:
    class OneLine(App[int]):
        CSS = "TopLine { height: 1; }"

        def compose(self) -> ComposeResult:
            yield TopLine("Home", right)

    async with OneLine().run_test(size=(width, 3)) as pilot:
        line = shown(pilot.app).splitlines()[0]
        assert line.startswith(" evalbench")
        if right:
            assert cell_len(line) == width - 1
            assert line.endswith(right if cell_len(right) < width - 20 else "…")
