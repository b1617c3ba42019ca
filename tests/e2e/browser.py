"""Chromium without a window, driven by its own DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import itertools
import os
import re
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

LONG_S = 200.0
_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[>=()][0-9A-B]?)")
_FLAGS = (
    "--headless",
    "--no-sandbox",  # as root there is none
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--remote-debugging-port=0",
    "--window-size=1000,700",
)


class Browser:
    """One tab. Collects what its page receives over web sockets and where it asks for things.

    Attributes:
        asked: addresses that answered.
        wanted: every address that anything was asked of, answered or not.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._received = ""
        self.asked: list[str] = []
        self.wanted: list[str] = []
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for message in self._socket:
            body = message.json()
            if waiting := self._answers.pop(body.get("id", 0), None):
                waiting.set_result(body)
            elif body.get("method") == "Network.webSocketFrameReceived":
                frame = body["params"]["response"]
                if frame["opcode"] == 2:
                    data = base64.b64decode(frame["payloadData"])
                    self._received += data.decode("utf-8", "replace")
            elif body.get("method") == "Network.requestWillBeSent":
                self.wanted.append(body["params"]["request"]["url"])
            elif body.get("method") == "Network.responseReceived":
                self.asked.append(body["params"]["response"]["url"])

    async def tell(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol; its result."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        body = await asyncio.wait_for(answer, LONG_S)
        assert "error" not in body, body
        result: dict[str, Any] = body["result"]
        return result

    async def open(self, address: str) -> None:
        """Go to an address."""
        await self.tell("Network.enable")
        await self.tell("Page.enable")
        await self.tell("Page.navigate", url=address)

    async def pretend_phone(self, width: int, height: int) -> None:
        """From the next page on, be a phone of this size in its own pixels, with touch."""
        await self.tell(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=0,
            mobile=True,
        )
        await self.tell("Emulation.setTouchEmulationEnabled", enabled=True)

    async def value(self, expression: str) -> Any:
        """What an expression is in the page, as JSON."""
        told = await self.tell("Runtime.evaluate", expression=expression, returnByValue=True)
        return told["result"]["value"]

    async def click(self, x: int, y: int) -> None:
        """Press and release the left button of the mouse."""
        for kind in ("mousePressed", "mouseReleased"):
            await self.tell(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
            )

    async def press(self, key: str, code: int) -> None:
        """Press a key: its name, and its number in browsers."""
        for kind in ("keyDown", "keyUp"):
            await self.tell(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code
            )

    def written(self) -> str:
        """All that the terminal in the page was told to write, without escape sequences."""
        return _SEQUENCES.sub("", self._received)

    async def until_written(self, text: str) -> None:
        """Wait until the page's terminal was told to write ``text``."""
        await until(lambda: text in self.written(), repr(text), self.written)

    async def picture(self) -> bytes:
        """The page as a PNG."""
        return base64.b64decode((await self.tell("Page.captureScreenshot"))["data"])


async def until(condition: Callable[[], Any], what: str, note: Callable[[], str] = str) -> None:
    """Wait for a condition; fails when it does not come true in time."""
    end = time.monotonic() + LONG_S
    while not condition():
        if time.monotonic() > end:
            pytest.fail(f"waited {LONG_S} s in vain for {what}\n{note()}")
        await asyncio.sleep(0.05)


@asynccontextmanager
async def chromium(folder: Path) -> AsyncIterator[Browser]:
    """A browser with a fresh profile in ``folder``, and one tab."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    assert program, "chromium is not installed"
    profile = folder / "profile"
    child = subprocess.Popen(
        [program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(folder)},
    )
    try:
        door = profile / "DevToolsActivePort"
        await until(lambda: door.exists() and door.read_text().count("\n"), "the browser")
        port = door.read_text().split()[0]
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                tabs = [tab for tab in await answer.json() if tab["type"] == "page"]
            async with session.ws_connect(
                tabs[0]["webSocketDebuggerUrl"], max_msg_size=0
            ) as socket:
                yield Browser(socket)
    finally:
        child.terminate()
        child.wait(LONG_S)
