"""Keys one after the other: each is handled where the one before it has left the focus.

Textual passes a key on to the widget that has the focus when the key arrives. What the key does may
happen much later on a busy machine, so that of ``/abc`` the letters would be commands of the list
instead of text for its filter.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from textual import events
from textual.dom import DOMNode
from textual.message import Message

if TYPE_CHECKING:
    from textual.app import App
    from textual.screen import Screen
    from textual.widget import Widget

Typed = events.Key | events.Paste

_HELD_S = 5.0
"""Seconds that keys wait at most for the one before."""


class Passed(Message):
    """Follows a key from its widget to the app; everything before it has been handled then."""

    def __init__(self, typed: Typed) -> None:
        super().__init__()
        self.typed = typed


class TypingOrder:
    """What was typed and waits, and the key that is being handled."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._waiting: deque[Typed] = deque()
        self._handled: Typed | None = None
        self._since = 0.0
        self._follows: DOMNode | None = None
        self._seen_on: Screen[Any] | None = None

    def waits(self, event: Typed) -> bool:
        """Whether an event has to wait; if not, it is the one that is being handled."""
        if self._handled is None:
            self._begin(event)
            return False
        self._waiting.append(event)
        return True

    def _begin(self, event: Typed) -> None:
        self._handled, self._since = event, time.monotonic()
        self._follows, self._seen_on = self._receiver, None

    def follow(self, event: Typed) -> None:
        """The event has been passed on: send a message after it."""
        if event is self._handled:
            self._send()

    def _send(self) -> None:
        assert self._handled
        if not (self._follows and self._follows.post_message(Passed(self._handled))):
            self._follows = None

    @property
    def _receiver(self) -> Widget:
        return self._app.focused or self._app.screen

    def passed(self, message: Passed) -> Typed | None:
        """The message is back. What the key caused must be through as well; then, the next event.

        Actions post messages from where the key was, and a screen that they open gives the focus.
        """
        if message.typed is not self._handled:
            return None
        if self._seen_on is not self._app.screen:
            self._follows, self._seen_on = self._receiver, self._app.screen
            self._send()
            if self._follows is not None:
                return None
        return self._next()

    def overdue(self) -> Typed | None:
        """The next event, if what is being handled takes too long or cannot report any more."""
        if self._handled is None:
            return None
        lost = self._follows is None or not self._follows.is_attached
        late = time.monotonic() - self._since > _HELD_S
        return self._next() if lost or late else None

    def _next(self) -> Typed | None:
        self._handled = None
        if not self._waiting:
            return None
        event = self._waiting.popleft()
        self._begin(event)
        return event
