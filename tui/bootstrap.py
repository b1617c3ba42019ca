"""Opening the full-screen app so that the terminal is usable afterwards, whatever happens.

The app runs in a child process on the same terminal. This process only waits:
when the child is killed, it leaves the alternate screen, gives the mouse back
and restores the terminal's settings.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from evalbench.engine.errors import UsageError, nearest
from evalbench.tui.state.preferences import Preferences, load_preferences
from evalbench.tui.state.theme_files import theme_names

if TYPE_CHECKING:
    from evalbench.engine.runfolder import RunFolder

RESET = (
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l"  # mouse
    "\x1b[?1004l\x1b[?2004l\x1b[?2026l\x1b[?2048l"  # focus, paste, synchronised and resize reports
    "\x1b[<u\x1b[?1049l\x1b[?25h\x1b[0m\r"  # kitty keys, alternate screen, cursor, colours
)
"""What undoes every mode that the app switches on."""

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

_PATIENCE_S = 5
"""How long an app that was told to end may take before it is killed."""


def show(
    *,
    run: RunFolder | None = None,
    theme: str | None = None,
    low_bandwidth: bool | None = None,
    mouse: bool = True,
) -> int:
    """Show the app until it is left; returns its exit code. See ``cli.app.open_app``.

    Raises:
        UsageError: there is no such theme.
    """
    preferences = load_preferences()
    if theme:
        if theme not in (names := theme_names()):
            raise UsageError(f"there is no theme {theme!r}", cure=nearest(theme, names))
        preferences.theme = theme
    preferences.mouse = preferences.mouse and mouse
    low = is_low_bandwidth(preferences) if low_bandwidth is None else low_bandwidth
    prepare_environment(low=low)

    def app() -> int:
        return _run_app(preferences, run, low=low)

    if os.environ.get("TEXTUAL_DRIVER"):
        return app()
    return guarded(app)


def is_low_bandwidth(preferences: Preferences) -> bool:
    """Whether to draw less: as the user prefers, and unless told otherwise over SSH."""
    if preferences.bandwidth == "auto":
        return bool(os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"))
    return preferences.bandwidth == "low"


def prepare_environment(*, low: bool) -> None:
    """Set Textual's switches. They are read when it is imported."""
    os.environ.setdefault("TEXTUAL_FPS", "15" if low else "30")
    if low:
        os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
        os.environ.setdefault("TEXTUAL_SMOOTH_SCROLL", "0")


def _run_app(preferences: Preferences, run: RunFolder | None, *, low: bool) -> int:
    from evalbench.tui.app import EvalbenchApp

    app = EvalbenchApp(preferences, run=run, low_bandwidth=low)
    # What imports have made is never garbage; to look through it takes as long as several frames.
    gc.freeze()
    code = app.run(mouse=preferences.mouse)
    if app.crash is not None:
        from evalbench.tui.cli.problems import report

        return report(app.crash, ["app"])
    return code or 0


def guarded(app: Callable[[], int]) -> int:
    """Run ``app`` in a child and see to it that the terminal is as it was before.

    Signals for this process go to the child; when it stops itself (Ctrl-Z),
    this process stops too.
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
    held = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        code = os.waitstatus_to_exitcode(_outlast(child))
    finally:
        signal.alarm(0)
        for number, handler in held.items():
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
    except BaseException as error:
        from evalbench.tui.cli.problems import report

        code = report(error, ["app"]) if isinstance(error, Exception) else code
    for stream in (sys.stdout, sys.stderr):
        # The terminal may be gone.
        with suppress(OSError, ValueError):
            stream.flush()
    return code


def _send(child: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, number)


def _outlast(child: int) -> int:
    """Wait for the child's end; its wait status. Stops and goes on together with it."""
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return status
        os.kill(os.getpid(), signal.SIGSTOP)
        _send(child, signal.SIGCONT)


def restore_terminal(before: list[Any], *, modes: bool) -> None:
    """Give the terminal its settings back, and with ``modes`` what a killed app left switched on.

    An app that ended by itself has switched its modes off; to do that twice
    would move the cursor.
    """
    # A shell may have taken the terminal already.
    held = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        if modes:
            os.write(sys.stdout.fileno(), RESET.encode())
        # What the terminal still reports about the mouse must not reach the shell.
        termios.tcsetattr(
            sys.stdin.fileno(), termios.TCSAFLUSH if modes else termios.TCSADRAIN, before
        )
    except (OSError, termios.error):
        # The terminal is gone, and needs nothing.
        return
    finally:
        signal.signal(signal.SIGTTOU, held)
