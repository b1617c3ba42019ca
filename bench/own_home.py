"""A home of evalbench's own for what is measured: nothing of the user's is read or written."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def own_home(plugins: Path | None = None) -> Iterator[Path]:
    """An empty home, in which the app's welcome was seen; gone behind it.

    Args:
        plugins: folder of providers and benchmarks for this process and those it starts.

    What is started compiles into it too, so its first start takes longer than the others.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "config").mkdir()
        draw(home, "full")
        os.environ |= {"EVALBENCH_HOME": folder, "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        if plugins:
            os.environ["PYTHONPATH"] = str(plugins)
            sys.path.insert(0, str(plugins))
        yield home


def draw(home: Path, bandwidth: str) -> None:
    """Let the app in this home draw for ``full`` or ``low`` bandwidth."""
    settings = f'welcomed = true\nbandwidth = "{bandwidth}"\n'
    (home / "config" / "config.toml").write_text(settings)
