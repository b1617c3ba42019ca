"""A runtime folder of a test's own, where kept workers wait."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evalbench.engine.kept_workers import kept_workers, unload


@contextmanager
def runtime_folder(patch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder; what still waits there ends with it.

    pytest's own folders have names that are too long for a socket's address.
    """
    folder = Path(tempfile.mkdtemp(prefix="eb-"))
    patch.setenv("XDG_RUNTIME_DIR", str(folder))
    try:
        yield folder / "evalbench"
        for one in kept_workers():
            unload(one)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
