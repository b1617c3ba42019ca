"""The page of the machine: with cards, without any, and with runs at work."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.hardware.gpu import Gpus
from evalbench.engine.kept_workers import KeptWorker
from evalbench.engine.runs.status import State
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.screens import machine as machine_page
from evalbench.tui.screens.machine import MachinePage
from evalbench.tui.screens.run import RunPage
from evalbench.tui.state import machine as machine_state
from evalbench.tui.state.preferences import Preferences
from tests.pilot.driving import shown, until, until_shown
from tests.pretending import pretend

GB = 1_000_000_000


def card(**more: Any) -> dict[str, Any]:
    """One card as NVML tells of it."""
    return {
        "name": "NVIDIA [/] H200", "used": 54 * GB, "peak": 60 * GB, "total": 140 * GB,
        "free": 80 * GB, "utilisation": 87, "temperature": 64, "power": 320.5,
        "power_limit": 700.0, "capability": (9, 0), "uuid": "GPU-1", "processes": {},
        "history": [10, 50, 87], "clock": 1980, "clock_limit": 1980, "memory_clock": 3201, **more,
    }  # fmt: skip


def with_cards(monkeypatch: pytest.MonkeyPatch, cards: list[dict[str, Any]]) -> None:
    monkeypatch.setattr(Gpus, "read", lambda _: cards)


async def test_a_machine_without_a_card_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_cards(gpus: Gpus) -> list[dict[str, Any]]:
        gpus.trouble = "there is no NVIDIA driver"
        return []

    monkeypatch.setattr(Gpus, "read", no_cards)
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("m")
        screen = await until_shown(pilot, "Nothing to read: there is no NVIDIA driver.")
        assert "No active runs." in screen
        assert " GB of " in screen
        # The second reading has something to compare with.
        await until_shown(pilot, "busy of")


async def test_a_card_tells_who_holds_its_memory_and_enter_opens_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = pretend(model="local/some [/] model")
    engine.status(State.RUNNING, gauges={"worker_pid": 4711})
    held = {str(os.getpid()): 50 * GB, "999999999": None}
    with_cards(monkeypatch, [card(processes=held)])
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("m")
        screen = await until_shown(pilot, "held by engine of")
        for words in (
            "NVIDIA [/] H200", "87 % busy", "54.0 GB of 140.0 GB, peak 60.0 GB", "64 °C",
            "320 of 700 W", "1980 of 1980 MHz", "memory 3201 MHz", "50.0 GB",
            "process 999999999  unknown memory", "local/some [/] model", "1 run active here",
        ):  # fmt: skip
            assert words in screen
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RunPage), "the run")


async def test_a_model_that_stays_loaded_can_be_unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    until_s = int(time.time()) + 500
    path = Path("/nowhere.sock")
    # The server that has the model is the worker's child.
    worker = subprocess.Popen(["sh", "-c", "cat; true"], stdin=subprocess.PIPE)
    waits = [KeptWorker(worker.pid, "a", "local/m [/]", "vllm", "cpu", GB, until_s, "1", path)]
    monkeypatch.setattr(machine_state, "kept_workers", lambda: list(waits))
    monkeypatch.setattr(machine_page, "unload", waits.remove)
    with_cards(monkeypatch, [])
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("m")
        screen = await until_shown(pilot, "cat")
        told = {line.split()[0]: line for line in screen.splitlines() if " unloads in " in line}
        assert set(told) == {"loaded", "cat"}
        assert all("local/m [/] (vllm), unloads in " in line for line in told.values())
        await pilot.press("u")
        await until_shown(pilot, "No active runs.")
    worker.communicate()


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_eight_cards_have_a_place(
    monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    with_cards(monkeypatch, [card(name=f"Card {n}", utilisation=n) for n in range(8)])
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=size) as pilot:
        await pilot.press("m")
        await until_shown(pilot, "GPU 0")
        if size[1] > 24:
            assert "GPU 7" in shown(app)
        assert isinstance(app.screen, MachinePage)
        # What a card does not tell is left out.
        with_cards(monkeypatch, [dict.fromkeys(card(), None) | {"name": "Card X", "processes": {}}])
        app.screen._due = 0.0
        await until_shown(pilot, "Card X")
        assert "GPU 0" not in shown(app)


async def test_eight_cards_get_the_room_that_few_processes_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_cards(monkeypatch, [card(uuid=f"GPU-{place}") for place in range(8)])
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("m")
        screen = await until_shown(pilot, "GPU 7")
        assert screen.count("NVIDIA [/] H200") == 8
