"""Keychains for tests, chosen by PYTHON_KEYRING_BACKEND; no test asks a real one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import InitError, KeyringLocked, PasswordDeleteError


class InFile(KeyringBackend):
    """Keeps passwords in the file named by FAKE_KEYCHAIN and notes every request beside it."""

    priority = 1.0
    name = "a file"

    def _held(self) -> dict[str, str]:
        path = Path(os.environ["FAKE_KEYCHAIN"])
        held: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
        return held

    def _note(self, what: str) -> None:
        environment = {name: os.environ[name] for name in os.environ if name.endswith("_API_KEY")}
        with Path(os.environ["FAKE_KEYCHAIN"] + ".requests").open("a") as file:
            file.write(json.dumps([what, sys.argv, environment]) + "\n")

    def get_password(self, service: str, username: str) -> str | None:
        self._note("get")
        sys.stdout.write("a library that prints to standard output\n")
        return self._held().get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._note("set")
        held = self._held() | {f"{service} {username}": password}
        Path(os.environ["FAKE_KEYCHAIN"]).write_text(json.dumps(held))

    def delete_password(self, service: str, username: str) -> None:
        held = self._held()
        if held.pop(f"{service} {username}", None) is None:
            raise PasswordDeleteError("not there")
        Path(os.environ["FAKE_KEYCHAIN"]).write_text(json.dumps(held))


class Silent(InFile):
    """Never answers, like a Secret Service that is not there; and starts a process that stays."""

    def get_password(self, service: str, username: str) -> str | None:
        dialog = subprocess.Popen(["sleep", "600"])
        Path(os.environ["FAKE_KEYCHAIN"]).write_text(str(dialog.pid))
        threading.Event().wait()
        raise AssertionError

    def set_password(self, service: str, username: str, password: str) -> None:
        self.get_password(service, username)


class Locked(InFile):
    """Cannot be unlocked."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("Failed to unlock the collection!")

    def set_password(self, service: str, username: str, password: str) -> None:
        self.get_password(service, username)


class LockedOverSsh(InFile):
    """What macOS answers where it may show no dialog."""

    def get_password(self, service: str, username: str) -> str | None:
        raise RuntimeError("Can't get password from keychain: (-25308, 'Unknown Error')")


class Dismissed(InFile):
    """A keychain that was never set up, and whose set-up dialog was dismissed."""

    def get_password(self, service: str, username: str) -> str | None:
        raise InitError("Failed to create the collection: Prompt dismissed..")


class Repeating(InFile):
    """Fails, and says the secret while it does."""

    def set_password(self, service: str, username: str, password: str) -> None:
        raise ValueError(f"no room for {password}\nmore words")


class Forgetful(InFile):
    """Takes a password and loses it."""

    def set_password(self, service: str, username: str, password: str) -> None:
        pass


class Crashing(InFile):
    """Ends the process that asks."""

    def get_password(self, service: str, username: str) -> str | None:
        os._exit(7)


class PlainText(InFile):
    """Like the plain-text store of keyrings.alt: works, but is not recommended."""

    priority = 0.5
