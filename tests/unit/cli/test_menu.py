"""What Ctrl-C asks, on a pseudo-terminal."""

from __future__ import annotations

import os
import select
import signal
import termios
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from evalbench.tui.cli import menu
from evalbench.tui.cli.signals import Signals


class Keyboard:
    """The far side of the pseudo-terminal that is standard input."""

    def __init__(self, far: int, near: int) -> None:
        self._far = far
        self.near = near

    def press(self, keys: str) -> None:
        os.write(self._far, keys.encode())

    def arrived(self) -> None:
        """Wait until the terminal holds a line: the kernel passes it on in its own time."""
        ready, _, _ = select.select([self.near], [], [], 10)
        assert ready

    def hang_up(self) -> None:
        os.close(self._far)


Keys = Callable[[], None] | None


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keyboard]:
    far, near = os.openpty()
    with ExitStack() as stack:
        stack.callback(lambda: os.close(near))
        monkeypatch.setattr("sys.stdin", stack.enter_context(os.fdopen(os.dup(near))))
        yield Keyboard(far, near)


def _ask(keys: Keys = None, *, tied: bool = False, signals: Signals | None = None) -> str:
    """Ask, and let ``keys`` be pressed once the question is up."""
    waiting = [keys] if keys else []

    def still_running() -> bool:
        if waiting:
            waiting.pop()()
        return True

    return menu.ask(signals or Signals(), tied=tied, still_running=still_running)


@pytest.mark.parametrize(
    ("keys", "choice"), [("d", "detach"), ("S", "stop"), ("c", "watch"), ("xy s", "stop")]
)
def test_one_key_chooses(keyboard: Keyboard, keys: str, choice: str) -> None:
    assert _ask(lambda: keyboard.press(keys)) == choice


def test_keys_pressed_before_the_question_choose_nothing(keyboard: Keyboard) -> None:
    keyboard.press("s\n")
    keyboard.arrived()
    assert _ask(lambda: keyboard.press("c")) == "watch"


def test_a_tied_run_cannot_be_left(keyboard: Keyboard, capsys: pytest.CaptureFixture[str]) -> None:
    assert _ask(lambda: keyboard.press("dc"), tied=True) == "watch"
    assert "leave it running" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "tied", "choice"),
    [
        (signal.SIGINT, False, "detach"),
        (signal.SIGHUP, False, "detach"),
        (signal.SIGTERM, False, "stop"),
        (signal.SIGINT, True, "stop"),
    ],
)
def test_a_signal_decides(
    keyboard: Keyboard, number: signal.Signals, tied: bool, choice: str
) -> None:
    with Signals() as signals:
        signal.raise_signal(number)
        assert _ask(tied=tied, signals=signals) == choice


def test_a_run_that_ends_needs_no_answer(keyboard: Keyboard) -> None:
    assert menu.ask(Signals(), tied=False, still_running=lambda: False) == "watch"


def test_a_terminal_that_closes_leaves_the_run(keyboard: Keyboard) -> None:
    assert _ask(keyboard.hang_up) == "detach"


def test_the_terminal_is_as_before(keyboard: Keyboard) -> None:
    before = termios.tcgetattr(keyboard.near)
    _ask(lambda: keyboard.press("c"))
    assert termios.tcgetattr(keyboard.near) == before


def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert not menu.on_terminal()
