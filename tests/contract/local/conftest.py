"""Tiny models, built once per session where torch is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.local import tiny
from tests.contract.local.driver import Worker
from tests.contract.local.reference import Plain


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random llama of three layers with a context of 512 tokens."""
    return tiny.make_llama(tmp_path_factory.mktemp("models") / "llama")


@pytest.fixture(scope="session")
def plain(llama: Path) -> Plain:
    """That model, run the obvious way."""
    return Plain(llama)


@pytest.fixture(scope="session")
def worker(llama: Path) -> Iterator[Worker]:
    """A worker for that model that many tests share, because starting one takes seconds.

    It remembers what it has computed: a test that counts tokens needs texts of its own.
    """
    with Worker(str(llama)) as running:
        yield running
