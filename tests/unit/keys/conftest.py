"""A keychain of our own for every test here."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.keys import log_scrubbing

PLUGINS = Path(__file__).parents[2] / "plugins"


class FakeKeychain:
    """Which backend answers, and what it was asked."""

    def __init__(self, file: Path, use: Callable[[str], None]) -> None:
        self.file = file
        self.use = use

    def held(self) -> dict[str, str]:
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def requests(self) -> list[list[Any]]:
        log = Path(f"{self.file}.requests")
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture(autouse=True)
def keychain(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKeychain:
    """An empty keychain in a file, and an environment without keys."""
    for name in log_scrubbing.provider_variables():
        monkeypatch.delenv(name, raising=False)
    path = os.pathsep.join(filter(None, [str(PLUGINS), os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", path)

    def use(backend: str) -> None:
        monkeypatch.setenv("PYTHON_KEYRING_BACKEND", f"evalbench_keyrings.{backend}")

    use("InFile")
    file = tmp_path / "keychain.json"
    monkeypatch.setenv("FAKE_KEYCHAIN", str(file))
    return FakeKeychain(file, use)
