"""The command palette: every command that can be given where one is, and the themes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from textual.command import Command as Option
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from evalbench.tui.commands import commands
from evalbench.tui.screens.page import Page
from evalbench.tui.state.keymap import keys_words

if TYPE_CHECKING:
    from evalbench.tui.app import EvalbenchApp


@dataclass(frozen=True)
class KeepTheme:
    """Keeps a theme when called; until then it may be tried."""

    app: EvalbenchApp
    name: str

    def __call__(self) -> None:
        """Keep it."""
        self.app.prefer(theme=self.name)


class _Offer(NamedTuple):
    title: str
    more: str
    do: Callable[[], Any]

    @property
    def words(self) -> str:
        return f"{self.title}: {self.more}"


class CommandsProvider(Provider):
    """Commands of the page below the palette, those that are everywhere, then the themes.

    Nothing from a run, a model or a provider is ever among them.
    """

    def _offers(self) -> Iterator[_Offer]:
        app, page = cast("EvalbenchApp", self.app), self.screen
        here = [page.SCOPE] if isinstance(page, Page) and page.SCOPE else []
        offered = set()
        for scope in [*here, "app"]:
            target = app if scope == "app" else page
            for command in commands(scope):
                if command.action == "command_palette" or (command.title, command.help) in offered:
                    continue
                if not target.check_action(command.action, ()):
                    continue
                offered.add((command.title, command.help))
                keys = keys_words(command, app.preferences.keymap)
                action = ("app." if scope == "app" else "screen.") + command.action
                more = command.help + (f" ({keys})" if keys else "")
                yield _Offer(command.title, more, partial(app.run_action, action))
        for name in app.own_themes:
            yield _Offer(f"Theme {name}", "tried here, kept by enter", KeepTheme(app, name))

    async def discover(self) -> Hits:
        """All of them, before anything is typed."""
        for offer in self._offers():
            yield DiscoveryHit(Content(offer.words), offer.do, offer.words)

    async def search(self, query: str) -> Hits:
        """Those that match."""
        matcher = self.matcher(query)
        for offer in self._offers():
            # A title says it better than an explanation that happens to have the letters.
            score = 2 * matcher.match(offer.title) or matcher.match(offer.words)
            if score > 0:
                yield Hit(score, matcher.highlight(offer.words), offer.do, offer.words)


def tried_theme(event: CommandPalette.OptionHighlighted) -> str:
    """The theme under the palette's cursor; empty when it is on something else."""
    option = event.highlighted_event.option
    if isinstance(option, Option) and isinstance(option.hit.command, KeepTheme):
        return option.hit.command.name
    return ""
