"""What a key may do.

Any key is good. A key that holds one of the words below is not, so that a test
of a separate process needs no set-up; a state can also be given to any key.
"""

from __future__ import annotations

from typing import Literal, get_args

State = Literal["good", "missing", "wrong", "noaccess", "nocredit", "nobilling", "spent"]
"""``nocredit``: no money, as the provider really says it; ``nobilling``: as it
documents it, where that differs; ``spent``: a monthly ceiling is reached."""

_STATES: tuple[State, ...] = get_args(State)
WORDS: tuple[State, ...] = ("wrong", "noaccess", "nocredit", "nobilling", "spent")


MONEY: frozenset[str] = frozenset({"nocredit", "nobilling", "spent"})
"""States of keys that are good for whatever costs nothing."""


class Accounts:
    """States of keys."""

    def __init__(self) -> None:
        self._states: dict[str, State] = {}

    def reset(self) -> None:
        """Forget every state that was set."""
        self._states.clear()

    def set(self, key: str, state: State) -> None:
        """Give a key a state.

        Raises:
            ValueError: for a state that does not exist.
        """
        if state not in _STATES:
            raise ValueError(f"a key is one of {', '.join(_STATES)}")
        self._states[key] = state

    def state(self, key: str) -> State:
        """The state of a key, empty for none."""
        if not key:
            return "missing"
        known = self._states.get(key)
        if known is not None:
            return known
        for word in WORDS:
            if word in key:
                return word
        return "good"
