"""Driving the app in a test, and reading what it shows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

LONG_S = 200.0


def shown(app: App[Any]) -> str:
    """The text on the screen, as a person would read it."""
    lines = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in line).rstrip() for line in lines)


async def until(
    pilot: Pilot[Any], condition: Callable[[], Any], what: str, seconds: float = LONG_S
) -> Any:
    """The first true value of ``condition``; fails, with the screen, when there is none in time."""
    end = time.monotonic() + seconds
    pause = 0.01
    while not (value := condition()):
        if time.monotonic() > end:
            pytest.fail(f"waited {seconds} s in vain for {what}:\n{shown(pilot.app)}")
        await pilot.pause()
        await asyncio.sleep(pause)
        pause = min(2 * pause, 0.08)  # a look at the screen costs as much as many a wait
    return value


async def until_shown(pilot: Pilot[Any], text: str) -> str:
    """The screen, once it shows ``text``."""

    def look() -> str:
        screen = shown(pilot.app)
        return screen if text in screen else ""

    found: str = await until(pilot, look, repr(text))
    return found


async def until_told(pilot: Pilot[Any], text: str) -> None:
    """A toast with ``text`` came; toasts are cleared then, so that they cover nothing."""
    app = pilot.app
    await until(pilot, lambda: any(text in toast.message for toast in app._notifications), text)
    app.clear_notifications()
    await pilot.pause()
