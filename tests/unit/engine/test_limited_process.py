"""Work in a child process with limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.limited_process import LimitedProcess, LimitExceeded

LOADS_MUCH = """
import mmap
from evalbench.engine.limited_process import serve

held = []

def load(size):
    if not held:
        held.append(mmap.mmap(-1, 1 << 30))

serve(lambda size: [len(held), len(bytearray(size))], load)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="no other system limits a process's memory")
def test_the_memory_of_libraries_is_not_that_of_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loads_much.py").write_text(LOADS_MUCH)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    child = LimitedProcess("loads_much")
    results = child.results([64 << 20, 600 << 20])
    assert next(results) == [1, 64 << 20]
    with pytest.raises(LimitExceeded, match="512 MB of memory"):
        next(results)
    child.close()
