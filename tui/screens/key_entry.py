"""Storing a key in the keychain: typed into a dialog and passed to a child's standard input."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical

from evalbench.engine.errors import EvalbenchError
from evalbench.engine.keys import KeychainState, probe
from evalbench.engine.keys.keychain import Answer as Keychain
from evalbench.tui.screens.dialogs import Confirm, Dialog, Enter, Trouble
from evalbench.tui.state.cli_child import Line, run_command
from evalbench.tui.state.key_places import KeyPlaces
from evalbench.tui.state.session_keys import drop, hold
from evalbench.tui.widgets.text import Plain

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

    from evalbench.tui.app_interface import AppInterface


class Clock(Plain):
    """Elapsed seconds: a sign of activity."""

    DEFAULT_CSS = """
    Clock { color: $text-muted; }
    """

    def on_mount(self) -> None:
        """Update the count."""
        self._began = time.monotonic()
        self._tell()
        self.set_interval(1.0, self._tell)

    def _tell(self) -> None:
        self.show(f"{time.monotonic() - self._began:.0f} s")


class KeyWork(Dialog[Line]):
    """Runs a ``keys`` command; returns what it reported, including an ``error``, or None.

    Escape cancels it, even while the keychain waits to be unlocked.
    """

    def __init__(self, title: str, words: Sequence[str], secret: str = "") -> None:
        super().__init__()
        self._title, self._words = title, tuple(words)
        self._secret = secret

    def compose(self) -> ComposeResult:
        """Progress text."""
        with Vertical(id="box"):
            yield Plain(self._title, classes="title")
            yield Plain("asking", id="step")
            yield Clock()
            yield Plain("escape: cancel", classes="dim")

    def on_mount(self) -> None:
        """Begin at once."""
        self._run()

    @work
    async def _run(self) -> None:
        secret, self._secret = self._secret, ""
        asked = run_command("keys", *self._words, secret=secret, on_line=self._tell, accept=(0, 5))
        del secret
        try:
            lines = await asked
        except EvalbenchError as error:
            await self.app.push_screen_wait(Trouble(error))
            self.dismiss(None)
            return
        answers = [line for line in lines if line["event"].startswith("key")]
        failed = next((line for line in lines if line["event"] == "error"), None)
        if failed and not answers:
            trouble = EvalbenchError(failed["what"], why=failed["why"], hint=failed["try"])
            await self.app.push_screen_wait(Trouble(trouble))
        self.dismiss(answers[0] if answers else failed)

    def _tell(self, line: Line) -> None:
        if line["event"] == "note":
            self.query_one("#step", Plain).show(line["text"])


class Looking(Dialog[Keychain]):
    """Finds out whether there is a keychain; detecting a missing one takes time."""

    def compose(self) -> ComposeResult:
        """Progress text."""
        with Vertical(id="box"):
            yield Plain("Looking for this machine's keychain", classes="title")
            yield Clock()
            yield Plain("escape: cancel", classes="dim")

    def on_mount(self) -> None:
        """Begin at once."""
        self._look()

    @work
    async def _look(self) -> None:
        self.dismiss(await asyncio.to_thread(probe))


_NO_PLACE = (KeychainState.NO_KEYCHAIN, KeychainState.TIMED_OUT, KeychainState.FAILED)
"""Answers of a keychain that cannot store a key."""


async def set_key(
    app: AppInterface, places: KeyPlaces, name: str = "default", flags: Sequence[str] = ()
) -> bool:
    """Ask for a key and store it in the keychain. Call it from a worker.

    If there is no keychain, the user is told before looking for the key, and can use it until the
    app closes.

    Args:
        app: the app that shows the dialogs.
        places: the provider's key places.
        name: the key's name in the keychain.
        flags: how to test it.

    Returns:
        Whether the key can be used now.
    """
    keychain = await app.push_screen_wait(Looking())
    if keychain is None:
        return False
    title = f"{places.provider} key" + (f" {name!r}" if name != "default" else "")
    kept = keychain.state not in _NO_PLACE
    if not kept:
        also = name in ("default", places.variable)
        session = await _agrees_to_session(app, keychain, title, also=also)
        if session is None:
            return False
        kept = not session
    note = f"Keys are made at {places.page}. " if places.page else ""
    note += (
        "It is stored in the keychain and never shown again."
        if kept
        else "It is used until this app closes, and by runs that are started until then."
    )
    secret = await app.push_screen_wait(Enter(title, note=note, password=True))
    if not secret:
        return False
    if not kept:
        if name != "default":
            return await _hold_for_session(app, places.provider, secret, name)
        return await _use_for_session(app, places.provider, secret, flags)
    asking = KeyWork(
        f"Trying and keeping the {title}", ("set", places.provider, "--name", name, *flags), secret
    )
    del secret
    answer = await app.push_screen_wait(asking)
    if answer is None or answer["event"] == "error":
        return False
    text = answer["what"] or "the key is stored in the keychain"
    app.notify(text, timeout=6, markup=False)
    for one in answer["notes"]:
        app.notify(one, severity="warning", timeout=10, markup=False)
    return True


async def _agrees_to_session(
    app: AppInterface, keychain: Keychain, title: str, *, also: bool
) -> bool | None:
    """Whether to use a key until the app closes; otherwise the keychain is tried anyway.

    None: neither. ``also``: whether it can be used without being kept.
    """
    silent = keychain.state is KeychainState.TIMED_OUT
    if not also and silent:
        return False
    if not also:
        error = EvalbenchError(
            "there is no keychain here, and only a keychain keeps several keys of one provider",
            why=keychain.why,
            hint="see docs/keychains.md, Machines without a keychain",
        )
        await app.push_screen_wait(Trouble(error))
        return None
    lacks = {
        KeychainState.TIMED_OUT: "This machine's keychain does not answer",
        KeychainState.FAILED: "This machine's keychain does not work",
    }.get(keychain.state, "There is no keychain on this machine")
    note = f"{keychain.why[:1].upper()}{keychain.why[1:]}. " if keychain.why else ""
    note += "See docs/keychains.md for how to have one. "
    note += (
        "It may wait for you to unlock it: no waits for that."
        if silent
        else "Without it the app forgets the key when it closes."
    )
    question = f"{lacks}. Use the {title} for this session only?"
    sure = Confirm(question, yes="This session", note=note, harmless=True)
    answer = await app.push_screen_wait(sure)
    return answer if silent else answer or None


async def _hold_for_session(app: AppInterface, provider: str, secret: str, variable: str) -> bool:
    """Pass a secret besides the key on; it is tried only together with the others."""
    try:
        hold(provider, secret, variable)
    except EvalbenchError as error:
        await app.push_screen_wait(Trouble(error))
        return False
    finally:
        del secret
    app.notify(f"{variable} is used until the app closes", timeout=6, markup=False)
    return True


async def _use_for_session(
    app: AppInterface, provider: str, secret: str, flags: Sequence[str]
) -> bool:
    """Pass a key to commands started from now on, unless it is rejected, or its test cancelled."""
    try:
        names = hold(provider, secret)
    except EvalbenchError as error:
        await app.push_screen_wait(Trouble(error))
        return False
    finally:
        del secret
    answer = await app.push_screen_wait(
        KeyWork(f"Trying the {provider} key", ("test", provider, *flags))
    )
    if answer is None or answer["event"] == "error" or answer["rejected"]:
        drop(names)
        if answer is not None and answer["event"] != "error":
            trouble = EvalbenchError(answer["what"], why=answer["why"], hint=answer["try"])
            await app.push_screen_wait(Trouble(trouble))
        return False
    words = answer["what"] if answer["ok"] else f"the key could not be tried: {answer['what']}"
    severity: SeverityLevel = "information" if answer["ok"] else "warning"
    app.notify(
        f"{words}; it is used until the app closes", severity=severity, timeout=8, markup=False
    )
    return True
