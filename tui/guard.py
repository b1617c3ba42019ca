"""Keeping the terminal usable after the app, whatever happens to it.

The app runs in a child process on the same terminal. This process only waits: if the child is
killed, it leaves the alternate screen, releases the mouse and restores the terminal's settings. It
forks before anything is loaded, so that it stays small.
"""

from __future__ import annotations

import os
import signal
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

RESET = (
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l"  # mouse
    "\x1b[?1004l\x1b[?2004l\x1b[?2026l\x1b[?2048l"  # focus, paste, synchronised and resize reports
    "\x1b[<u\x1b[?1049l\x1b[?25h\x1b[0m\r"  # kitty keys, alternate screen, cursor, colours
)
"""Undoes every mode that the app switches on."""

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

_PATIENCE_S = 5
"""Seconds that an app asked to end may take before it is killed."""

_SHELL_S = 0.3
"""Seconds within which a shell that continues a stopped app has done so."""


def guarded(app: Callable[[], int]) -> int:
    """Run ``app`` in a child and make sure that the terminal is restored afterwards.

    Signals for this process go to the child; if it stops itself (Ctrl-Z), this process stops too.
    """
    before = termios.tcgetattr(sys.stdin.fileno())
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        os._exit(_outcome(app))

    def forward(number: int, _frame: Any) -> None:
        _send(child, number)
        signal.alarm(_PATIENCE_S)

    def lose_patience(_number: int, _frame: Any) -> None:
        _send(child, signal.SIGKILL)

    handlers = dict.fromkeys(_FORWARDED, forward) | {signal.SIGALRM: lose_patience}
    earlier = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        code = os.waitstatus_to_exitcode(_outlast(child))
    finally:
        signal.alarm(0)
        for number, handler in earlier.items():
            signal.signal(number, handler)
    restore_terminal(before, modes=code < 0)
    return 128 - code if code < 0 else code


def _outcome(app: Callable[[], int]) -> int:
    """The exit code of the app's process, whatever happens in it."""
    code = 6
    try:
        code = app()
    except KeyboardInterrupt:
        code = 4
    except BaseException:  # noqa: S110  (what can be reported was)
        pass
    for stream in (sys.stdout, sys.stderr):
        # The terminal may be gone.
        with suppress(OSError, ValueError):
            stream.flush()
    return code


def _send(child: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, number)


def _outlast(child: int) -> int:
    """Wait for the child's end; its wait status. Stops and continues together with it."""
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return status
        os.kill(os.getpid(), signal.SIGSTOP)
        status = _go_on(child)
        if not os.WIFCONTINUED(status):
            return status


def _go_on(child: int) -> int:
    """Continue a stopped child; its wait status.

    A shell continues it together with this process. Doing it twice would be wrong: Textual would
    start two keyboard readers, and wait for one when it quits.
    """
    end = time.monotonic() + _SHELL_S
    while time.monotonic() < end:
        changed, status = os.waitpid(child, os.WCONTINUED | os.WNOHANG)
        if changed:
            return status
        time.sleep(0.01)
    _send(child, signal.SIGCONT)
    return os.waitpid(child, os.WCONTINUED)[1]


def restore_terminal(before: list[Any], *, modes: bool) -> None:
    """Restore the terminal's settings, and with ``modes`` also those a killed app left switched on.

    An app that ended normally has switched its modes off; doing that twice would move the cursor.
    """
    # A shell may have taken the terminal already.
    earlier = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        if modes:
            os.write(sys.stdout.fileno(), RESET.encode())
        # Pending mouse reports from the terminal must not reach the shell.
        termios.tcsetattr(
            sys.stdin.fileno(), termios.TCSAFLUSH if modes else termios.TCSADRAIN, before
        )
    except (OSError, termios.error):
        # The terminal is gone, and needs nothing.
        return
    finally:
        signal.signal(signal.SIGTTOU, earlier)
