"""What stands against showing the app in a browser is told in words."""

from __future__ import annotations

import socket
import sys

import pytest

from evalbench.engine.installed import install_command
from evalbench.tui.cli.main import main

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra seems to be installed."""
    monkeypatch.setitem(sys.modules, "textual_serve", type(sys)("textual_serve"))
    monkeypatch.setitem(sys.modules, "textual_serve.server", type(sys)("textual_serve.server"))


def test_without_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "textual_serve", None)
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    assert main(["--web"]) == 1
    said = capsys.readouterr().err
    assert "textual-serve is not installed" in said
    assert install_command("web") in said


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("port", ["-1", "65536", "99999999999"])
def test_a_port_that_cannot_be(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--web", f"--port={port}"]) == 1
    said = capsys.readouterr().err
    assert f"--port cannot be {port}" in said
    assert "from 1024 to 65535" in said


@pytest.mark.usefixtures("installed")
def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["--web", "--port", str(port)]) == 1
    said = capsys.readouterr().err
    assert f"port {port} on 127.0.0.1 cannot be used" in said
    assert "something else listens there" in said
