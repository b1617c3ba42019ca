"""Offering, by a key, to put right what is wrong with a form."""

from __future__ import annotations

from evalbench.tui.commands import commands
from evalbench.tui.screens.page import Page
from evalbench.tui.state.draft import Fix
from evalbench.tui.state.user_keys import keys_words


class FixingPage(Page):
    """A page with a form; the command ``fix`` of its scope puts right what is wrong there.

    Attributes:
        fix: what is offered now; None if nothing is.
    """

    fix: Fix | None = None

    def offer(self, fix: Fix | None) -> None:
        """Offer this from now on."""
        if fix != self.fix:
            self.fix = fix
            self.refresh_bindings()

    def fix_words(self) -> list[str]:
        """The key and what it does, in one line; none without a fix, or without a key for it."""
        command = next(one for one in commands(self.SCOPE) if one.action == "fix")
        key = keys_words(command, self.the_app.preferences.keymap)
        return [f"{key}: {self.fix.words}"] if self.fix and key else []

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Not every error has a fix to offer."""
        return action != "fix" or self.fix is not None
