"""A terminal without room for a page says so, wherever the page beneath is scrolled to."""

from __future__ import annotations

import pytest

from evalbench.tui.app import EvalbenchApp
from evalbench.tui.state.preferences import Preferences
from tests.pilot.driving import until_shown


@pytest.mark.share(2)
@pytest.mark.parametrize("key", ["f2", "f3", "f4", "f6"])
async def test_the_notice_stays_in_sight(key: str) -> None:
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(20, 5)) as pilot:
        await pilot.press(key)
        await until_shown(pilot, "60×16.")
        app.screen.scroll_end(animate=False, force=True, immediate=True)
        await pilot.pause()
        await until_shown(pilot, "60×16.")
