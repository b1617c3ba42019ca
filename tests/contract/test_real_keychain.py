"""The keychain against a real Secret Service, and against one that never answers.

Each test has a session bus of its own, so nobody's keychain is touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from evalbench.engine.calls import KeyNeed
from evalbench.engine.errors import KeyUnavailable
from evalbench.engine.keys import UNATTENDED_S, find_key, list_keys, remove_key, set_key
from evalbench.engine.keys.keychain import KeychainState, fetch, store

pytestmark = pytest.mark.keychain

NEED = KeyNeed(("ACME_API_KEY",))
KEY = "sk-acme-0123456789abcdef"
LIMIT_S = 60.0
# Other tests may be at work beside these; what never answers takes far longer.
BESIDE_S = 40.0

SILENT_SERVICE = """
import sys
from jeepney import DBus, message_bus
from jeepney.io.blocking import open_dbus_connection
connection = open_dbus_connection("SESSION")
connection.send_and_get_reply(message_bus.RequestName("org.freedesktop.secrets"))
print("owned", flush=True)
while True:
    connection.receive()
"""


@pytest.fixture
def bus(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A session bus, with the homes of whatever it starts in a folder that goes away."""
    for tool in ("dbus-run-session", "gnome-keyring-daemon"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    # Not tmp_path: the names of sockets may not be long.
    root = tempfile.mkdtemp(prefix="eb")
    os.chmod(root, 0o700)
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, root)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("PYTHON_KEYRING_BACKEND", raising=False)
    monkeypatch.delenv("ACME_API_KEY", raising=False)
    with _running(
        ["dbus-run-session", "--", "sh", "-c", "echo $DBUS_SESSION_BUS_ADDRESS; cat"]
    ) as (session):
        assert session.stdout
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", session.stdout.readline().strip())
        yield
    shutil.rmtree(root, ignore_errors=True)


@contextmanager
def _running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    with ExitStack() as stack:
        stack.callback(child.wait, 10)
        stack.callback(os.killpg, child.pid, 15)
        yield child


@pytest.fixture
def keyring(bus: None) -> Iterator[None]:
    """An unlocked gnome-keyring."""
    command = ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"]
    with _running(command) as daemon:
        assert daemon.stdin
        daemon.stdin.write("a password of this test\n")
        daemon.stdin.close()
        end = time.monotonic() + LIMIT_S
        while fetch("acme/default", LIMIT_S).state is not KeychainState.ABSENT:
            assert time.monotonic() < end, "gnome-keyring did not come up"
        yield


@pytest.mark.usefixtures("keyring")
def test_set_get_and_remove_against_gnome_keyring() -> None:
    set_key("acme", KEY, timeout=LIMIT_S)
    set_key("acme", KEY + "-work", "work", timeout=LIMIT_S)
    assert fetch("acme/default", LIMIT_S).backend.startswith("SecretService")
    assert find_key("acme", NEED, timeout=LIMIT_S)[1] == KEY
    assert find_key("acme", NEED, "work", timeout=LIMIT_S)[1] == KEY + "-work"
    set_key("acme", KEY + "-new", timeout=LIMIT_S)
    assert find_key("acme", NEED, timeout=LIMIT_S)[1] == KEY + "-new"
    assert remove_key("acme", timeout=LIMIT_S) is True
    assert fetch("acme/default", LIMIT_S).state is KeychainState.ABSENT
    assert [ref.name for ref in list_keys()] == ["work"]


@pytest.mark.usefixtures("bus")
def test_a_keyring_that_nobody_can_unlock_is_locked_or_timed_out() -> None:
    # Nobody gave it a password and there is no screen for its dialog.
    answer = store("acme/default", KEY, LIMIT_S)
    assert answer.state in (KeychainState.LOCKED, KeychainState.TIMED_OUT)


@pytest.mark.usefixtures("bus")
def test_a_secret_service_that_never_answers_delays_nothing_by_more_than_its_limit() -> None:
    with _running([sys.executable, "-c", SILENT_SERVICE]) as service:
        assert service.stdout
        assert service.stdout.readline().strip() == "owned"
        begun = time.monotonic()
        with pytest.raises(KeyUnavailable) as caught:
            find_key("acme", NEED)
        taken = time.monotonic() - begun
    assert caught.value.state == "timed out"
    assert "export ACME_API_KEY" in caught.value.hint
    assert taken < UNATTENDED_S + BESIDE_S
