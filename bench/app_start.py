"""CPU time from exec to the first frame of the app, beside a Textual app that says hello.

    python -m bench.app_start [--rounds 9] [--runs 0]

Both run on a pseudo-terminal of 120×40 with an own home and compiled modules
(user and system time of all their processes, guard included). ``--runs`` puts
so many finished runs on Home. ``evalbench --help`` is measured too, beside a Python that
does nothing. Prints medians and their ratios. Linux only.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "plugins"))

from bench.figures import Figure, declare, tell
from bench.made_run import make
from bench.on_pty import OnPty
from bench.own_home import own_home

HELLO = """
from textual.app import App
from textual.widgets import Static

class Hello(App):
    def compose(self):
        yield Static("hello world")

Hello().run()
"""


def first_frame(words: Sequence[str], text: str, env: dict[str, str]) -> float:
    """CPU seconds until ``text`` is on the screen."""
    app = OnPty([sys.executable, *words], env, 120, 40)
    try:
        app.read(60, until=text)
        return app.cpu_s()
    finally:
        app.close()


def whole(words: Sequence[str], env: dict[str, str]) -> float:
    """CPU seconds of a whole command."""
    child = subprocess.Popen([sys.executable, *words], env=env, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, words
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9, help="starts of each, in turns")
    parser.add_argument("--runs", type=int, default=0, help="finished runs on Home")
    declare(parser)
    args = parser.parse_args()
    ours: list[float] = []
    theirs: list[float] = []
    helps: list[float] = []
    nothing: list[float] = []
    with own_home() as home:
        for _ in range(args.runs):
            make(home / "runs", 20)
        env = dict(os.environ)
        app = ("-m", "evalbench.tui.cli.main")
        title = "scripted" if args.runs else "No runs yet"
        for number in range(args.rounds + 1):
            pair = first_frame(app, title, env), first_frame(("-c", HELLO), "hello world", env)
            asked = whole((*app, "--help"), env), whole(("-c", "pass"), env)
            if number:  # the first start compiles
                helps.append(asked[0])
                nothing.append(asked[1])
                ours.append(pair[0])
                theirs.append(pair[1])
    own, hello = statistics.median(ours), statistics.median(theirs)
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, {args.runs} runs on Home")
    print(f"app         {own:.3f} s CPU to the first frame ({min(ours):.3f}–{max(ours):.3f})")
    print(f"hello world {hello:.3f} s ({min(theirs):.3f}–{max(theirs):.3f})")
    print(f"ratio       {own / hello:.2f}")
    said, bare = statistics.median(helps), statistics.median(nothing)
    print(f"--help      {said:.3f} s CPU; a Python that does nothing {bare:.3f} s")
    figures = [
        Figure("`evalbench --help`, CPU", said, "s", 0.15, beside="python -c pass",
               beside_value=bare),
        Figure("first frame of the app, CPU", own, "s", 0.4, beside="Textual's hello world",
               beside_value=hello, note=f"{args.runs} runs on Home"),
    ]  # fmt: skip
    tell(args.figures, figures)


if __name__ == "__main__":
    main()
