"""Bytes sent to the terminal and CPU time for each key press, on every page of the app.

    python -m bench.app_keys [--keys 8] [--size 2000]

Runs the app on a 120×40 pseudo-terminal with a home full of finished runs. On each page one key is
pressed repeatedly, each time once the last press has been drawn. Bytes are counted on the master
side. CPU time is user and system time of the app and its guard, minus what they use in as long
without a key, which follows each press. Prints medians. Linux only.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import made_run
from bench.figures import Figure, declare, tell
from bench.on_pty import OnPty
from bench.own_home import own_home

_PLUGINS = Path(__file__).resolve().parents[1] / "tests" / "plugins"
_MOST_KB, _MOST_MS = 3.0, 15.0
_EACH_S = 0.7
"""How long each key has; longer than anything takes to be drawn, and out of step with the checks
that the app makes every two seconds."""

_SHOWN_S = 10.0
"""How long a page may take to show something."""

_TAB, _DOWN, _REDRAW = "\t", "\x1b[B", "\x0c"


@dataclass(frozen=True)
class Page:
    """One page, how to get to it, what it shows then, and the keys that are measured there."""

    name: str
    way: Sequence[str]
    shows: str
    keys: Sequence[tuple[str, str]]
    settle_s: float = 3.0


PAGES = (
    Page("home", (), "complete", [("down", "jk"), ("mark", " ")]),
    Page("run", ("\r",), "score and outcomes", [("down", "jk"), ("tab", _TAB)]),
    Page("charts", ("\r", "v"), "best first", [("down", "jk")]),
    Page("machine", ("m",), "processors", [("down", "jk"), ("tab", _TAB)], 6.0),
    Page("leaderboard", ("l",), "benchmark", [("down", "jk")]),
    Page("compare", (" ", " ", "c"), "scored", [("down", "jk"), ("tab", _TAB)], 8.0),
    Page("samples", ("\r", "a"), "question", [("down", "jk")]),
    Page("sample", ("\r", "a", "\r"), "gold", [("down", "jk"), ("next", "n")]),
    Page(
        "new run",
        ("\x1bOR",),
        "evalbench run",
        [("down", _DOWN), ("tab", _TAB), ("letter", "1"), ("back tab", "\x1b[Z")],
        6.0,
    ),
    Page("models", ("\x1bOS",), "· Models", [("down", "jk")], 6.0),
    Page("keys", ("\x1b[15~",), "provider", [("down", "jk")], 6.0),
    Page("providers", ("p",), "limits", [("down", "jk")], 6.0),
    Page("batches", ("\x1b[24~",), "batch", [("down", "jk")]),
    Page("palette", ("\x10",), "Mark", [("down", _DOWN), ("letter", "ru\x7f\x7f")]),
    Page("settings", ("\x1b[17~",), "theme", [("down", "jk"), ("tab", _TAB)]),
    Page("help", ("\x1bOP",), "command", [("down", "jk")]),
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keys", type=int, default=8, help="how often each key is pressed")
    parser.add_argument("--size", type=int, default=2000, help="samples of the run")
    parser.add_argument("--only", default="", help="pages with these letters in their name")
    declare(parser)
    args = parser.parse_args()
    with own_home(_PLUGINS):
        tell(args.figures, measure(args.keys, args.size, args.only))


def measure(times: int, size: int, only: str) -> list[Figure]:
    """Press the keys of every page, print medians and give them."""
    from evalbench.engine.paths import runs_dir

    runs = runs_dir()
    runs.mkdir(parents=True, exist_ok=True)
    for _ in range(3):
        made_run.make(runs, size)
    figures = []
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, 120×40")
    for page in PAGES:
        if only in page.name:
            for name, kilobytes, milliseconds in _press(page, times):
                print(f"{page.name:<10}{name:<10}{kilobytes:7.2f} KB {milliseconds:7.1f} ms CPU")
                what = f"{name} on {page.name}"
                figures += [
                    Figure(f"app's output a key, {what}", kilobytes, "KB", _MOST_KB),
                    Figure(f"app's CPU a key, {what}", milliseconds, "ms", _MOST_MS),
                ]
    return figures


def _press(page: Page, times: int) -> list[tuple[str, float, float]]:
    """(key's name, kilobytes, CPU milliseconds) of every key."""
    app = OnPty([sys.executable, "-m", "evalbench.tui.cli.main"], dict(os.environ), 120, 40)
    found = []
    try:
        app.read(60, until="complete")
        app.read(1.5)
        for key in page.way[:-1]:
            app.press(key)
            app.read(1.5)
        if page.way:
            app.press(page.way[-1])
            try:
                app.read(_SHOWN_S, until=page.shows)
            except TimeoutError:
                # Only what changed is written: words that both pages show need not be.
                app.press(_REDRAW)
                app.read(60, until=page.shows)
        app.read(page.settle_s)
        for name, keys in page.keys:
            pressed, quiet = [], []
            for number in range(times):
                # A sequence is one key, letters are pressed in turn.
                key = keys if keys.startswith("\x1b") else keys[number % len(keys)]
                pressed.append(_cost(app, key))
                quiet.append(_cost(app, ""))
            sent, used = (statistics.median(one) for one in zip(*pressed, strict=True))
            idle_sent, idle_used = (statistics.median(one) for one in zip(*quiet, strict=True))
            found.append(
                (name, max(0.0, sent - idle_sent) / 1000, 1000 * max(0.0, used - idle_used))
            )
    finally:
        app.close()
    return found


def _cost(app: OnPty, key: str) -> tuple[float, float]:
    """Bytes and CPU seconds of one key, or of so long without one."""
    written, used, begun = app.bytes, app.cpu_s(), time.monotonic()
    if key:
        app.press(key)
    app.read(_EACH_S - (time.monotonic() - begun))
    return app.bytes - written, app.cpu_s() - used


if __name__ == "__main__":
    main()
