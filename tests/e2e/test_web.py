"""``evalbench --web``: the app in a browser, for whoever has the printed address."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import aiohttp
import psutil
import pytest

from tests.e2e.browser import chromium, until
from tests.e2e.commandline import CommandLine

# Cold: processes are counted, and each must be its own command's.
pytestmark = [pytest.mark.slow, pytest.mark.cold]

F4 = ("F4", 115)


class Served:
    """A web server of evalbench that is up."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        assert child.stdout
        self.child = child
        first = child.stdout.readline()
        found = re.fullmatch(r"evalbench is at (http://127\.0\.0\.1:\d+)/\?token=(\S+)\n", first)
        assert found, first + (child.stderr.read() if child.stderr else "")
        self.place, self.token = found.groups()

    @property
    def address(self) -> str:
        return f"{self.place}/?token={self.token}"

    @property
    def socket(self) -> str:
        return self.place.replace("http", "ws") + "/ws?width=90&height=30"

    def apps(self) -> list[psutil.Process]:
        """The apps that it runs."""
        return psutil.Process(self.child.pid).children(recursive=True)


@pytest.fixture
def served(cli: CommandLine) -> Served:
    """The app, served on a free port; the welcome was seen."""
    config = cli.home / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("welcomed = true\n")
    return Served(cli.start("--web", "--port", "0"))


async def test_a_browser_shows_the_app_and_its_keys_work(served: Served, tmp_path: Path) -> None:
    async with chromium(tmp_path) as browser:
        await browser.open(served.address)
        await browser.until_written("evalbench · Home")
        blank = await browser.picture()
        # Without a click first.
        await browser.press(*F4)
        # Only cells that change are written, so words that stand in place of others come in parts.
        await browser.until_written("local/smollm2-135m-instruct")
        assert len(await browser.picture()) != len(blank)
        assert browser.asked
        assert [url for url in browser.asked if not url.startswith(served.place)] == []


async def test_a_phone_shows_all_of_it_and_has_the_keys_it_lacks(
    served: Served, tmp_path: Path
) -> None:
    async with chromium(tmp_path) as browser:
        await browser.pretend_phone(390, 844)
        await browser.open(served.address)
        await browser.until_written("evalbench · Home")
        assert await browser.value("[innerWidth, document.documentElement.scrollWidth]") == [
            390,
            390,
        ]
        screen = await browser.value(
            "document.querySelector('.xterm-screen').getBoundingClientRect().toJSON()"
        )
        keys = await browser.value(
            "document.getElementById('keys').getBoundingClientRect().toJSON()"
        )
        assert screen["right"] <= 390
        assert screen["bottom"] <= keys["top"] < keys["bottom"] <= 844
        await browser.click(int(keys["right"]) - 20, int(keys["top"]) + 20)
        await browser.until_written("Help")
        await browser.until_written("commands and keys of this")


async def test_only_the_printed_address_opens(served: Served) -> None:
    good = {"token": served.token}
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:

        async def status(path: str, query: dict[str, str], **headers: str) -> int:
            url = served.place + path
            async with session.get(
                url, params=query, headers=headers, allow_redirects=False
            ) as answer:
                return answer.status

        assert await status("/", good) == 200
        for path in ("/", "/ws", "/static/js/textual.js", "/download/x"):
            assert await status(path, {}) == 403
            assert await status(path, {"token": served.token[:-1]}) == 403
        assert await status("/", good, Host="attacker.example") == 403
        assert await status("/", good, Origin="http://attacker.example") == 403
        port = served.place.rpartition(":")[2]
        assert await status("/", good, Host=f"localhost:{port}") == 302
        for headers in ({}, {"Origin": "http://attacker.example", **_cookie(served)}):
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(served.socket, headers=headers)
    assert served.apps() == []


def _cookie(served: Served) -> dict[str, str]:
    port = served.place.rpartition(":")[2]
    return {"Cookie": f"evalbench-{port}={served.token}"}


async def _visit(session: aiohttp.ClientSession, served: Served) -> aiohttp.ClientWebSocketResponse:
    """A visitor whose app has drawn Home."""
    async with session.get(served.address) as page:
        assert page.status == 200
    socket = await session.ws_connect(served.socket, headers=_cookie(served))
    drawn = b""
    while b"Home" not in drawn:
        drawn += await socket.receive_bytes(timeout=30)
    return socket


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_the_server_and_its_apps(served: Served, sign: int) -> None:
    async with aiohttp.ClientSession() as session:
        kept = await _visit(session, served)
        apps = served.apps()
        assert len(apps) == 1
        served.child.send_signal(sign)
        await until(lambda: served.child.poll() is not None, "the server's end")
        await kept.close()
    assert served.child.returncode == 0
    assert served.child.stderr
    assert served.child.stderr.read() == ""
    await until(lambda: not any(map(_alive, apps)), "the app's end")


async def test_closing_the_page_ends_its_app(served: Served) -> None:
    async with aiohttp.ClientSession() as session:
        first = await _visit(session, served)
        second = await _visit(session, served)
        assert len(served.apps()) == 2
        await first.close()
        await until(lambda: len(served.apps()) == 1, "the app's end")
        await second.close()
        await until(lambda: not served.apps(), "the other's end")


async def test_an_app_does_not_outlive_a_killed_server(served: Served) -> None:
    async with aiohttp.ClientSession() as session:
        kept = await _visit(session, served)
        apps = served.apps()
        served.child.kill()
        await until(lambda: not any(map(_alive, apps)), "the app's end")
        await kept.close()


async def test_the_app_ends_the_visit(served: Served) -> None:
    async with aiohttp.ClientSession() as session:
        socket = await _visit(session, served)
        await socket.send_json(["stdin", "\x11"])
        await until(lambda: not served.apps(), "the app's end")
        while not socket.closed:
            await socket.receive(timeout=30)


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
