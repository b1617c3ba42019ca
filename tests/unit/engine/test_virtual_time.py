"""The clock of these tests itself."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.unit.engine.virtual_time import now, virtual_time


@virtual_time
async def test_an_hour_passes_at_once_and_in_order() -> None:
    began = time.monotonic()
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        woken.append((name, now()))

    await asyncio.gather(sleeper("late", 3600), sleeper("early", 0.5), sleeper("same", 0.5))
    assert woken == [("early", 0.5), ("same", 0.5), ("late", 3600)]
    assert time.monotonic() - began < 60


def test_waiting_for_what_never_comes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.unit.engine.virtual_time._STUCK_S", 0.0)

    @virtual_time
    async def stuck() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(AssertionError, match="nothing will ever happen"):
        stuck()
