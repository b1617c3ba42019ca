"""Progress between a request and a run: data is fetched, the engine starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import work
from textual.app import App, ComposeResult
from textual.containers import Vertical

from evalbench.engine.errors import EvalbenchError
from evalbench.engine.runs.folder import RunFolder
from evalbench.tui.screens.dialogs import Dialog
from evalbench.tui.state.cli_child import Line, run_command
from evalbench.tui.state.event_words import step_words
from evalbench.tui.widgets.text import Plain

if TYPE_CHECKING:
    from evalbench.tui.app_interface import AppInterface


class Starting(Dialog[RunFolder]):
    """Runs a command that starts an engine; returns the (first) run, or None.

    Escape cancels it while nothing has started.

    Attributes:
        error: why it could not start.
    """

    error: EvalbenchError | None = None

    def __init__(self, words: tuple[str, ...]) -> None:
        """``words``: ``run …`` or ``resume …``, without flags on how to run it."""
        super().__init__()
        self._words = words

    def compose(self) -> ComposeResult:
        """Progress text."""
        with Vertical(id="box"):
            yield Plain("Starting", classes="title")
            yield Plain("checking the request", id="step")
            yield Plain("escape: cancel", classes="dim")

    def on_mount(self) -> None:
        """Begin at once."""
        self._start()

    @work
    async def _start(self) -> None:
        try:
            words = (*self._words, "--detach", "--yes")
            lines = await run_command(*words, ask=self._may_send, on_line=self._tell)
        except EvalbenchError as error:
            self.error = error
            self.dismiss(None)
            return
        started = [line for line in lines if line["event"] == "start"]
        self.dismiss(RunFolder(Path(started[0]["folder"])) if started else None)

    async def _may_send(self, line: Line) -> bool:
        return await may_send(self.app, line)

    def _tell(self, line: Line) -> None:
        if line["event"] == "prepare":
            words = step_words(line["what"], line["done"], line["total"])
            self.query_one("#step", Plain).show(words)
        elif line["event"] == "start":
            self.query_one("#step", Plain).show("the engine is running")


async def may_send(app: App[Any], line: Line) -> bool:
    """Ask whether a key may be sent to a host that may come from someone else's file."""
    from evalbench.tui.screens.dialogs import Confirm

    sure = Confirm(
        f"{line['text']}. Is that right?",
        yes="Send",
        note="The run's folder names this address, and the key has never been sent there.",
    )
    return await app.push_screen_wait(sure) is True


async def start(
    app: AppInterface,
    words: tuple[str, ...],
    trouble: Callable[[EvalbenchError], Awaitable[None]] | None = None,
) -> RunFolder | None:
    """Start or resume a run and open its page. Call it from a worker.

    Args:
        app: the app.
        words: the command line.
        trouble: reports why it could not start; default: a dialog.

    Returns:
        The run; None if it was cancelled or could not start (which was reported).
    """
    from evalbench.tui.screens.dialogs import Trouble

    starting = Starting(words)
    folder = await app.push_screen_wait(starting)
    if folder is not None:
        await app.open_run(folder)
    elif starting.error and trouble:
        await trouble(starting.error)
    elif starting.error:
        await app.push_screen_wait(Trouble(starting.error))
    return folder
