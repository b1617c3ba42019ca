"""The command palette: every command that can be given where one is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from evalbench.tui.commands import Command, commands, keys_of
from evalbench.tui.screens.page import Page


class CommandsProvider(Provider):
    """Commands of the page below the palette, then those that are everywhere."""

    def _commands(self) -> Iterator[tuple[Command, str, str]]:
        """Command, the words it is found by, and its action in Textual's notation."""
        page = self.screen
        keymap = getattr(getattr(page, "the_app", None), "preferences", None)
        chosen = keymap.keymap if keymap else {}
        scopes = [page.SCOPE] if isinstance(page, Page) and page.SCOPE else []
        for scope in [*scopes, "app"]:
            for command in commands(scope):
                keys = ", ".join(keys_of(command, chosen))
                words = f"{command.title}: {command.help}" + (f"  ({keys})" if keys else "")
                yield command, words, ("app." if scope == "app" else "screen.") + command.action

    async def discover(self) -> Hits:
        """All of them, before anything is typed."""
        for command, words, action in self._commands():
            yield DiscoveryHit(words, partial(self.app.run_action, action), help=command.id)

    async def search(self, query: str) -> Hits:
        """Those that match."""
        matcher = self.matcher(query)
        for command, words, action in self._commands():
            if (score := matcher.match(words)) > 0:
                yield Hit(
                    score,
                    matcher.highlight(words),
                    partial(self.app.run_action, action),
                    help=command.id,
                )
