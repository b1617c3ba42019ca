"""Handing a key to the keychain: it is typed into a dialog and goes to a child's standard input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical

from evalbench.engine.errors import EvalbenchError
from evalbench.tui.screens.dialogs import Dialog, Enter, Trouble
from evalbench.tui.state.errand import Line, errand
from evalbench.tui.state.key_places import KeyPlaces
from evalbench.tui.widgets.text import Plain

if TYPE_CHECKING:
    from evalbench.tui.app import EvalbenchApp


class KeyWork(Dialog[Line]):
    """Carries out a ``keys`` command; gives back what it told, an ``error`` too, or None.

    Escape calls it off, also while the keychain waits for somebody to unlock it.
    """

    def __init__(self, title: str, words: Sequence[str], secret: str = "") -> None:
        super().__init__()
        self._title, self._words = title, tuple(words)
        self._secret = secret

    def compose(self) -> ComposeResult:
        """What is going on."""
        with Vertical(id="box"):
            yield Plain(self._title, classes="title")
            yield Plain("asking", id="step")
            yield Plain("escape: call it off", classes="dim")

    def on_mount(self) -> None:
        """Begin at once."""
        self._run()

    @work
    async def _run(self) -> None:
        secret, self._secret = self._secret, ""
        asked = errand("keys", *self._words, secret=secret, on_line=self._tell, accept=(0, 5))
        del secret
        try:
            lines = await asked
        except EvalbenchError as error:
            await self.app.push_screen_wait(Trouble(error))
            self.dismiss(None)
            return
        told = [line for line in lines if line["event"].startswith("key")]
        failed = next((line for line in lines if line["event"] == "error"), None)
        if failed and not told:
            trouble = EvalbenchError(failed["what"], why=failed["why"], cure=failed["try"])
            await self.app.push_screen_wait(Trouble(trouble))
        self.dismiss(told[0] if told else failed)

    def _tell(self, line: Line) -> None:
        if line["event"] == "note":
            self.query_one("#step", Plain).show(line["text"])


async def set_key(
    app: EvalbenchApp, places: KeyPlaces, name: str = "default", flags: Sequence[str] = ()
) -> bool:
    """Ask for a key and put it into the keychain. To be called from a worker.

    Args:
        app: where to ask.
        places: whose key.
        name: the key's name in the keychain.
        flags: where to try it.

    Returns:
        Whether the keychain holds it now.
    """
    note = f"Keys are made at {places.page}. " if places.page else ""
    note += "It goes to the keychain and is never shown again."
    title = f"{places.provider} key" + (f" {name!r}" if name != "default" else "")
    secret = await app.push_screen_wait(Enter(title, note=note, password=True))
    if not secret:
        return False
    asking = KeyWork(
        f"Trying and keeping the {title}", ("set", places.provider, "--name", name, *flags), secret
    )
    del secret
    told = await app.push_screen_wait(asking)
    if told is None or told["event"] == "error":
        return False
    said = told["what"] or "the keychain holds the key now"
    app.notify(said, timeout=6, markup=False)
    for one in told["notes"]:
        app.notify(one, severity="warning", timeout=10, markup=False)
    return True
