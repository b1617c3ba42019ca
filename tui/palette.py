"""The command palette: commands, settings, themes; runs, benchmarks and models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from textual.app import ComposeResult
from textual.command import Command as Option
from textual.command import (
    CommandInput,
    CommandList,
    CommandPalette,
    DiscoveryHit,
    Hit,
    Hits,
    Provider,
)
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import LoadingIndicator

from evalbench.engine.config import registry
from evalbench.engine.terminal_text import one_line
from evalbench.tui.commands import commands
from evalbench.tui.repaint import DirtyLines
from evalbench.tui.screens.page import Page
from evalbench.tui.state.fuzzy import fitting, fitting_first
from evalbench.tui.state.model_cache import kept_models
from evalbench.tui.state.preferences import BANDWIDTHS
from evalbench.tui.state.user_keys import keys_words
from evalbench.tui.widgets.layout import LaidOutOnce, LineInput

if TYPE_CHECKING:
    from textual.app import RenderResult
    from textual.events import Mount

    from evalbench.tui.app_interface import AppInterface


class PaletteInput(CommandInput, LineInput):
    """What to look for."""


class PaletteList(CommandList, LaidOutOnce):
    """What is found."""


class Busy(LoadingIndicator):
    """Textual's is drawn sixteen times a second, shown or not."""

    def on_mount(self, event: Mount) -> None:
        """Keep it from starting its timer."""
        event.prevent_default()

    def render(self) -> RenderResult:
        """A word."""
        return "searching…"


class Palette(CommandPalette):
    """Textual's, with a field that leaves the layout alone, and less to render."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """See the base class."""
        super().__init__(*args, **named)
        self._compositor = DirtyLines()

    def compose(self) -> ComposeResult:
        """The field, and what it finds."""
        with Vertical(id="--container"):
            with Horizontal(id="--input"):
                yield PaletteInput(placeholder=self._placeholder, select_on_focus=False)
            with Vertical(id="--results"):
                yield PaletteList()
                yield Busy()


@dataclass(frozen=True)
class KeepTheme:
    """Keeps a theme when called; until then it is only previewed."""

    app: AppInterface
    name: str

    def __call__(self) -> None:
        """Keep it."""
        self.app.prefer(theme=self.name)


_FEWEST_LETTERS = 2
_MOST_FOUND = 30
"""Number of letters from which runs, benchmarks and models are offered."""


class _Offer(NamedTuple):
    title: str
    more: str
    do: Callable[[], Any]

    @property
    def words(self) -> str:
        return f"{self.title}: {self.more}"


class CommandsProvider(Provider):
    """Commands of the page below the palette, global commands, settings, then themes.

    Runs, benchmarks and models are searched too. Their names are shown literally, whatever they
    contain.
    """

    async def startup(self) -> None:
        """Collect the commands, and read the cached model lists in a thread."""
        self._offers = list(self._available())
        self._models = await asyncio.to_thread(_known_models)
        self._kept: list[_Offer] | None = None

    def _found(self) -> Iterator[_Offer]:
        """Runs, benchmarks and models, which are offered only for typed text."""
        app = cast("AppInterface", self.app)
        for line in app.runs():
            title = f"Run {one_line(line.name)} × {one_line(line.model)}"
            more = ", ".join(filter(None, [line.state, line.score, line.age, line.folder.id]))
            yield _Offer(title, more, partial(app.open_run, line.folder))
        for name in registry.benchmark_names():
            do = partial(app.set_up_run, benchmark=name)
            yield _Offer(f"New run of {name}", "benchmark", do)
        for name, title in self._models:
            do = partial(app.set_up_run, model=name)
            yield _Offer(f"New run with {one_line(name)}", one_line(title) or "model", do)

    def _available(self) -> Iterator[_Offer]:
        app, page = cast("AppInterface", self.app), self.screen
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
        if isinstance(page, Page):
            for title, more, do in page.places():
                yield _Offer(title, more, do)
        for bandwidth in BANDWIDTHS:
            do = partial(app.prefer, bandwidth=bandwidth)
            yield _Offer(f"Bandwidth {bandwidth}", "setting", do)
        mouse = app.preferences.mouse
        words = "setting, from the next start"
        yield _Offer(
            f"Mouse {'off' if mouse else 'on'}", words, partial(app.prefer, mouse=not mouse)
        )
        for name in app.own_themes:
            yield _Offer(f"Theme {name}", "tried here, kept by enter", KeepTheme(app, name))

    async def discover(self) -> Hits:
        """All commands, before anything is typed."""
        for offer in self._offers:
            yield DiscoveryHit(Content(offer.words), offer.do, offer.words)

    async def search(self, query: str) -> Hits:
        """The matching ones."""
        matcher = self.matcher(query)
        # A match in the title ranks above one in the explanation.
        titles = [offer.title for offer in self._offers]
        others = [offer.words for offer in self._offers]
        for place, number in enumerate(fitting_first(titles, others, query)):
            offer = self._offers[number]
            # What could be markup is not highlighted: Textual would parse it.
            plain = "[" in offer.words
            shown = Content(offer.words) if plain else matcher.highlight(offer.words)
            yield Hit(1 + 1 / (1 + place), shown, offer.do, offer.words)
        if len(query.strip()) < _FEWEST_LETTERS:
            return
        # Once per opening of the palette, not for every letter.
        offers = self._kept = self._kept or list(self._found())
        # Scattered letters mean less here: there are many names.
        for place in fitting([offer.words for offer in offers], query)[:_MOST_FOUND]:
            offer = offers[place]
            # Below every command, in order of relevance.
            score = 0.001 * (1 - place / (len(offers) + 1))
            # Not highlighted: Textual would parse markup in an untrusted name.
            yield Hit(score, Content(offer.words), offer.do, offer.words)


def _known_models() -> list[tuple[str, str]]:
    """Id and title of every model in the cached lists."""
    kept = [kept_models(provider) for provider in registry.provider_names()]
    return [(model.id, model.title) for one in kept if one for model in one.models]


def tried_theme(event: CommandPalette.OptionHighlighted) -> str:
    """The theme under the palette's cursor; empty if it is on something else."""
    option = event.highlighted_event.option
    if isinstance(option, Option) and isinstance(option.hit.command, KeepTheme):
        return option.hit.command.name
    return ""
