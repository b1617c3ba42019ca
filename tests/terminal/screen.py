"""A terminal of a given size with a shell in it, as tmux gives."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.e2e.commandline import wait_until

_NOT_OURS = ("TMUX", "COLUMNS", "LINES")
"""Of another terminal: tests that run in several processes are told a size, for one."""


class Terminal:
    """One tmux server with one window, on a socket of its own."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="evalbench-tmux-")
        self._socket = Path(self._folder.name) / "socket"
        self._env = {name: value for name, value in env.items() if name not in _NOT_OURS}

    def open(self, columns: int, rows: int) -> None:
        """Start the shell; returns when it shows its prompt ``ready>``."""
        size = ["-x", str(columns), "-y", str(rows)]
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "sh")
        alias = f"alias evalbench='{sys.executable} -m evalbench.tui.cli.main'"
        self.type(f"{alias}; PS1='ready> '; clear")
        wait_until(lambda: self.screen().strip() == "ready>", "a prompt", 15)

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words],
            env=self._env,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def write(self, text: str) -> None:
        """Type a text."""
        self._tmux("send-keys", "-l", text)

    def type(self, text: str) -> None:
        """Type a line and press Enter."""
        self.write(text)
        self.press("Enter")

    def press(self, key: str) -> None:
        """Press one key, in tmux's names (``C-c``, ``Enter``, ``d``)."""
        self._tmux("send-keys", key)

    def screen(self, *, colours: bool = False) -> str:
        """What is on the screen now, with its escape sequences if asked for.

        Lines come without the blanks at their end.
        """
        return self._tmux("capture-pane", "-p", *(["-e"] if colours else []))

    def wait_for(self, text: str) -> str:
        """The screen, once it shows ``text``."""

        def look() -> str:
            screen = self.screen()
            return screen if text in screen else ""

        try:
            found: str = wait_until(look, f"{text!r} on the screen", 30)
        except BaseException as error:
            error.add_note(self.screen())
            raise
        return found

    def record(self, file: Path) -> None:
        """Write every byte that programs send to the terminal from now on to a file."""
        self._tmux("pipe-pane", "-o", f"cat > {shlex.quote(str(file))}")

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size, as a person pulling at its corner does."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def size(self) -> tuple[int, int]:
        """Columns and rows that programs in the window are told."""
        line = os.open(self.ask("pane_tty"), os.O_RDONLY | os.O_NOCTTY)
        try:
            columns, rows = os.get_terminal_size(line)
        finally:
            os.close(line)
        return columns, rows

    def ask(self, variable: str) -> str:
        """One of tmux's variables of this terminal, for example ``alternate_on``."""
        return self._tmux("display-message", "-p", f"#{{{variable}}}").strip()

    def close(self) -> None:
        """Close the terminal under whatever runs in it. May be called twice."""
        subprocess.run(
            ["tmux", "-S", self._socket, "kill-server"], capture_output=True, check=False
        )
        self._folder.cleanup()
