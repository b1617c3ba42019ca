"""Pictures of the app for the README: ``docs/screenshots/*.svg``.

    python docs/screenshots.py

Everything happens in a home of its own, through the real command line: some
runs of the bundled quickstart questions, and one that is going on. Answers
come from a plug-in that knows most of them (``docs/plugins``), so no key and no
weights are needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
PLUGINS = str(_ROOT / "docs" / "plugins")
FOLDER = _ROOT / "docs" / "screenshots"
_SIZE = (120, 40)
_LONG_S = 120.0

RUNS = (
    "run quickstart --model demo/large --price 3/15",
    "run quickstart --model demo/small --price 0.25/1",
    "run quickstart --model demo/small --price 0.25/1 --kind choice",
)
LIVE = "run quickstart --model demo/large --price 3/15 --concurrency 4 --budget 0.02 --detach"


def evalbench(words: str, *, json: bool = True) -> None:
    """Run one command; its failure ends this script."""
    command = [sys.executable, "-m", "evalbench.tui.cli.main", *words.split()] + ["--json"] * json
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


async def take(home: Path) -> None:
    """Walk through the app and keep what it shows."""
    from evalbench.engine.runs.folder import all_runs
    from evalbench.tui.app import EvalbenchApp
    from evalbench.tui.state.preferences import Preferences

    live, *rested = all_runs(home / "runs")
    app = EvalbenchApp(Preferences(welcomed=True, benchmark="quickstart", model="demo/large"))
    async with app.run_test(size=_SIZE) as pilot:

        async def until(condition: Callable[[], Any]) -> None:
            end = time.monotonic() + _LONG_S
            while not condition():
                if time.monotonic() > end:
                    raise TimeoutError(shown())
                await pilot.pause(0.1)

        def shown() -> str:
            strips = app.screen._compositor.render_strips()
            return "\n".join("".join(segment.text for segment in strip) for strip in strips)

        def keep(name: str) -> None:
            picture = app.export_screenshot(title="evalbench")
            # Pictures in a page load nothing; without this they would not even try.
            picture = re.sub(r"@font-face \{.*?\}\n?", "", picture, flags=re.DOTALL)
            (FOLDER / f"{name}.svg").write_text(picture, "utf-8")

        await until(lambda: live.status().done > 9)
        await until(lambda: "complete" in shown() and re.search(r"1\d/72", shown()))
        keep("home")
        await app.open_run(live)
        await until(lambda: live.status().done > 30)
        await until(lambda: re.search(r"\d\d %|\d/72", shown()))
        await pilot.pause(2)
        keep("run")
        await pilot.press("escape")
        await app.open_run(rested[-1])
        await until(lambda: "score and outcomes" in shown())
        await pilot.press("a")
        await until(lambda: "72 samples" in shown())
        await pilot.pause(0.5)
        keep("samples")
        await pilot.press("f3")
        await until(lambda: "evalbench run quickstart" in shown() and "72 calls" in shown())
        await pilot.pause(1)
        keep("new-run")


def main() -> None:
    """Make the runs, then the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "EVALBENCH_HOME": folder,
            "PYTHONPATH": PLUGINS,
            "DEMO_LATENCY": "0.01",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        }
        for name in ("NO_COLOR", "SSH_CONNECTION"):
            os.environ.pop(name, None)
        sys.path.insert(0, PLUGINS)
        for words in RUNS:
            evalbench(f"{words} --yes")
        os.environ["DEMO_LATENCY"] = "2"
        evalbench(f"{LIVE} --yes")
        try:
            asyncio.run(take(Path(folder)))
        finally:
            # On a slow machine it is complete before the pictures are.
            with contextlib.suppress(subprocess.CalledProcessError):
                evalbench("stop last", json=False)


if __name__ == "__main__":
    main()
