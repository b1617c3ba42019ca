"""The full-screen app: pages, themes, the one timer, and shutdown."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from textual import events, work
from textual._compositor import CompositorUpdate
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.command import Provider
from textual.notifications import Notify, SeverityLevel
from textual.screen import Screen
from textual.timer import Timer

from evalbench.engine.compat import override
from evalbench.engine.errors import EvalbenchError, nearest
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.terminal_text import one_line
from evalbench.tui.app_interface import AppInterface
from evalbench.tui.bindings import bindings, is_no_key, textual_keymap
from evalbench.tui.repaint import Painted
from evalbench.tui.screens.home import HomePage
from evalbench.tui.screens.page import Page
from evalbench.tui.state.preferences import Preferences, is_low_bandwidth, save_preferences
from evalbench.tui.state.stop_requests import Stops
from evalbench.tui.state.user_keys import key_words
from evalbench.tui.themes import DEFAULT, load_shipped, load_themes
from evalbench.tui.typing_order import Passed, Typed, TypingOrder

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.actions import ActionParseResult
    from textual.command import CommandPalette
    from textual.dom import DOMNode

    from evalbench.tui.state.ended_runs import Ends
    from evalbench.tui.state.run_list import RunLine

NORMAL_S, LOW_BANDWIDTH_S = 0.25, 0.5
"""Seconds between updates of what a page shows."""

_COLLECT = (700, 10, 200)
"""Thresholds of the garbage collector: automatic full collections are rare."""
_ENOUGH_WORK = 4
"""Number of young-generation collections after which a full one is worthwhile."""
_AT_REST_S = 2.0
"""Seconds without a key press or mouse move after which the app counts as idle."""

_ATTENTION_S = 2.0
"""Seconds between checks of all runs, for the terminal's title and for runs that have ended."""

_AT_ONCE = ("ctrl+q", "ctrl+c")
"""Keys that never wait for others."""

TRY_AFTER_S = 0.3
"""Seconds after which a theme under the palette's cursor is previewed."""

_LONGEST_TOAST = 1000

_PAGES = {
    "help": "HelpPage",
    "leaderboard": "LeaderboardPage",
    "keys": "KeysPage",
    "machine": "MachinePage",
    "providers": "ProvidersPage",
    "batches": "BatchesPage",
    "custom_benchmark": "OwnPage",
    "models": "ModelsPage",
    "new": "NewRunPage",
    "settings": "SettingsPage",
}
"""Pages that open without arguments, by module of ``screens``; loaded when first opened."""


def _palette() -> type[Provider]:
    from evalbench.tui.palette import CommandsProvider

    return CommandsProvider


class EvalbenchApp(AppInterface):
    """An observer of the runs on this machine: it reads their folders and leaves requests there.

    Attributes:
        crash: the exception that ended the app, if any. Never shown with its local variables, which
            may hold a key.
    """

    TITLE = "evalbench"
    CSS_PATH = "app.tcss"
    # Terminals suspend on ctrl+z, which cannot be rebound.
    BINDINGS = [*bindings("app"), Binding("ctrl+z", "suspend_process", show=False, system=True)]
    COMMANDS = {_palette}
    COMMAND_PALETTE_BINDING = "ctrl+p"
    ENABLE_COMMAND_PALETTE = True

    def __init__(
        self,
        preferences: Preferences | None = None,
        *,
        run: RunFolder | None = None,
        low_bandwidth: bool = False,
    ) -> None:
        preferences = preferences or Preferences()
        shipped = load_shipped(preferences.theme)
        themes = [shipped] if shipped else load_themes()[0]
        # NO_COLOR leaves greys, and no colour code at all if the terminal's own colours are used.
        # Textual decides that in here, before it knows the theme.
        ansi = any(theme.ansi for theme in themes if theme.name == preferences.theme)
        self._themed = False
        super().__init__(ansi_color=True if ansi else None)
        self.preferences = preferences
        self.low_bandwidth = low_bandwidth
        self.crash: Exception | None = None
        self.draft = None
        self.stops = Stops()
        self._entry = run
        self._painted = Painted()
        self._typing = TypingOrder(self)
        self._parent_process = os.getppid()
        self._timer: Timer | None = None
        self._trying: Timer | None = None
        self._settled = False
        self._tidies = False
        self._last_input = 0.0
        self._attention_due = 0.0
        self._ends: Ends | None = None
        self._title_told = ""
        for theme in themes:
            self.register_theme(theme)
        known = preferences.theme in [theme.name for theme in themes]
        self.set_reactive(App.theme, preferences.theme if known else DEFAULT)
        self._themed = True
        self._variables = self.get_css_variables()
        self.stylesheet.set_variables(self._variables)
        self.set_reactive(App.ansi_color, None)
        self.set_keymap(textual_keymap(self.preferences.keymap))

    @property
    @override
    def for_a_run(self) -> bool:
        return self._entry is not None

    # -- life cycle --------------------------------------------------------------

    def get_default_screen(self) -> Screen[Any]:
        """Home is below every other page."""
        return HomePage()

    async def on_mount(self) -> None:
        """Open the first page, start the timer, handle signals."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            # Outside the main thread (in a test or a web server) there are none to handle.
            with suppress(ValueError, RuntimeError, NotImplementedError):
                loop.add_signal_handler(number, self.exit, 0)
        # After fg the screen is empty.
        self.app_resume_signal.subscribe(self, lambda _: self.action_redraw())
        self._pace()
        self.call_after_refresh(self._settle)
        if self._entry:
            await self.open_run(self._entry)

    def _settle(self) -> None:
        """Deferred work after the first frame; once."""
        if self._settled:
            return
        self._settled = True
        for problem in [*self.preferences.problems, *self.theme_problems]:
            self.notify(problem, severity="warning", timeout=10, markup=False)
        if (wanted := self.preferences.theme) not in self.own_themes:
            words = f"there is no theme {one_line(wanted)!r}, {nearest(wanted, self.own_themes)}"
            self.notify(words, severity="warning", markup=False)
        if not gc.isenabled():
            # Objects from the start are never garbage, and scanning them takes as long as several
            # frames; the rest is scanned too, so that happens when idle.
            gc.freeze()
            gc.set_threshold(*_COLLECT)
            gc.enable()
            self._tidies = True

    def _pace(self) -> None:
        """Update as often as the connection allows."""
        if self._timer:
            self._timer.stop()
        self._timer = self.set_interval(
            LOW_BANDWIDTH_S if self.low_bandwidth else NORMAL_S, self._tick
        )

    def _tick(self) -> None:
        if os.getppid() != self._parent_process:
            # The process that would restore the terminal is gone, and a shell may have taken it:
            # without this, its settings could no longer be changed.
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            self.exit(0)
            return
        if event := self._typing.overdue():
            self.call_later(self._type, event)
        for words in self.stops.look():
            self.notify(words, timeout=15, markup=False)
        if self.is_running and isinstance(page := self.screen, Page):
            page.tick()
        if len(self.screen_stack) > 1:
            # A page that is covered before its first frame gets no callback.
            self._settle()
        if self._settled and time.monotonic() >= self._attention_due:
            self._attention_due = time.monotonic() + _ATTENTION_S
            self._tell_elsewhere()
        if self._tidies:
            self._tidy()

    def _tell_elsewhere(self) -> None:
        """Show the runs' progress in the terminal's title, and ring the bell when one has ended."""
        from evalbench.tui import attention
        from evalbench.tui.screens.run import RunPage
        from evalbench.tui.state.ended_runs import Ends, end_words, title_words

        lines = self.runs()
        self._ends = self._ends or Ends()
        for line in self._ends.look(lines):
            attention.call(self, end_words(line))
            self.notify(end_words(line), title="a run has ended", timeout=10, markup=False)
        shown = [page.view.folder.path for page in self._pages() if isinstance(page, RunPage)]
        for line in self._ends.failed_hooks(lines):
            if line.folder.path not in shown:
                words = f"{line.name} × {line.model}: {line.hook_problem}"
                self.notify(words, severity="warning", timeout=15, markup=False)
        words = title_words(lines, shown[-1] if shown else None)
        if words != self._title_told:
            if not self._title_told:
                attention.keep_title(self)
            self._title_told = words
            attention.tell_title(self, words)

    async def on_unmount(self) -> None:
        """Restore the terminal's original title."""
        if self._title_told:
            from evalbench.tui import attention

            attention.give_title_back(self)

    def _tidy(self) -> None:
        """Collect garbage if there may be some and the app is idle."""
        quiet = time.monotonic() - self._last_input > _AT_REST_S
        if quiet and gc.get_count()[2] >= _ENOUGH_WORK:
            gc.collect()

    async def on_event(self, event: events.Event) -> None:
        """Record the time of the last user activity, and hand keys over one by one."""
        if isinstance(event, events.InputEvent):
            self._last_input = time.monotonic()
        if isinstance(event, Typed) and self._in_turn(event):
            if not self._typing.waits(event):
                await self._type(event)
            return
        if isinstance(event, events.Resize):
            # Terminals scroll and cut their content in different ways, even if the size is soon
            # what it was.
            self._painted.forget()
        await super().on_event(event)

    def _in_turn(self, event: Typed) -> bool:
        """Whether the event just came in and is not a key that never waits."""
        at_once = isinstance(event, events.Key) and event.key in _AT_ONCE
        return bool(self.screen_stack) and not event.is_forwarded and not at_once

    async def _type(self, event: Typed) -> None:
        await super().on_event(event)
        self._typing.follow(event)

    async def on_passed(self, message: Passed) -> None:
        """A key has been handled: the next one, if one waits."""
        if event := self._typing.passed(message):
            await self._type(event)

    def _watch_app_focus(self, focus: bool) -> None:
        """A browser gives its focus after the first page is there, which then focuses nothing."""
        super()._watch_app_focus(focus)
        if focus:
            self.screen._update_auto_focus()

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action. Of one that its page disables, the page says so."""
        page = default_namespace
        if isinstance(page, Page) and isinstance(action, str):
            target, name, parameters = self._parse_action(action, page, namespaces)
            if target is page and page.check_action(name, parameters) is None:
                page.tell_disabled(name)
                return True
        return await super().run_action(action, default_namespace, namespaces)

    def action_redraw(self) -> None:
        """See ``commands.py``."""
        self._painted.forget()
        self.refresh()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Write to the terminal only what has changed."""
        # Textual also passes updates, which are not what its annotation says.
        shown: Any = renderable
        if isinstance(renderable, CompositorUpdate) and not self.is_inline:
            shown = self._painted.less(renderable)
        super()._display(screen, shown)
        if self._painted.lost and not self.is_headless:
            # Textual paints nothing if the layout is as before.
            screen.refresh()

    def _fatal_error(self) -> None:
        """End after an exception without printing local variables, as Textual would."""
        self.crash = self._exception
        self._close_messages_no_wait()

    # -- pages -------------------------------------------------------------------

    @override
    async def open_page(self, name: str) -> None:
        module = import_module(f"evalbench.tui.screens.{name}")
        kind: type[Page] = getattr(module, _PAGES[name])
        for depth, screen in enumerate(reversed(self.screen_stack)):
            if type(screen) is kind:
                for _ in range(depth):
                    await self.pop_screen()
                return
        await self.push_screen(kind())

    @override
    async def open_run(self, folder: RunFolder) -> None:
        from evalbench.tui.screens.run import RunPage

        page = self.screen
        if not (isinstance(page, RunPage) and page.view.folder.path == folder.path):
            await self.push_screen(RunPage(folder))

    @override
    async def set_up_run(self, *, benchmark: str = "", model: str = "") -> None:
        from evalbench.tui.screens.new import NewRunPage

        await self.push_screen(NewRunPage(model, benchmark=benchmark))

    @override
    async def edit_run(self, folder: RunFolder) -> None:
        from evalbench.tui.screens.new import NewRunPage

        try:
            spec = folder.spec()
        except EvalbenchError as error:
            self.tell_trouble(error)
        else:
            await self.push_screen(NewRunPage(spec=spec))

    @override
    def runs(self) -> list[RunLine]:
        home = self.screen_stack[0] if self.screen_stack else None
        return home.runs() if isinstance(home, HomePage) else []

    def pop_screen(self) -> AwaitComplete:
        """Close the top page; its background work must not find it partly gone."""
        if isinstance(self.screen, Page):
            self.workers.cancel_node(self.screen)
        return super().pop_screen()

    async def action_home(self) -> None:
        """See ``commands.py``."""
        while len(self.screen_stack) > 1:
            await self.pop_screen()

    async def action_new(self) -> None:
        """See ``commands.py``."""
        await self.open_page("new")

    async def action_models(self) -> None:
        """See ``commands.py``."""
        await self.open_page("models")

    async def action_machine(self) -> None:
        """See ``commands.py``."""
        await self.open_page("machine")

    async def action_own(self) -> None:
        """See ``commands.py``."""
        await self.open_page("custom_benchmark")

    async def action_batches(self) -> None:
        """See ``commands.py``."""
        await self.open_page("batches")

    async def action_keys(self) -> None:
        """See ``commands.py``."""
        await self.open_page("keys")

    async def action_providers(self) -> None:
        """See ``commands.py``."""
        await self.open_page("providers")

    async def action_settings(self) -> None:
        """See ``commands.py``."""
        await self.open_page("settings")

    async def action_help(self) -> None:
        """Help for the open page; closes it if it is help itself."""
        from evalbench.tui.screens.help import HelpPage

        if isinstance(self.screen, HelpPage):
            await self.pop_screen()
        elif isinstance(self.screen, Page):
            await self.push_screen(HelpPage(self.screen.SCOPE))

    def action_command_palette(self) -> None:
        """See ``commands.py``."""
        from evalbench.tui.palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())

    @work(exclusive=True, group="jump")
    async def action_jump(self) -> None:
        """See ``commands.py``."""
        from evalbench.tui.screens.jump import Jump, targets

        page = self.screen
        letters = targets(page, page.focus_chain)
        if (
            isinstance(page, Page)
            and letters
            and (chosen := await self.push_screen_wait(Jump(letters)))
        ):
            page.set_focus(chosen)

    @override
    async def action_back(self) -> None:
        pages = self._pages()
        if pages[-1].begun:
            pages[-1].step_back()
        elif self._entry and len(pages) == 2:
            self.exit(0)
        elif len(pages) > 1:
            await self.pop_screen()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is nothing before Home."""
        if action == "back":
            pages = self._pages()
            return len(pages) > 1 or any(page.begun for page in pages)
        return True

    def _pages(self) -> list[Page]:
        """The stack of pages, without dialogs."""
        return [screen for screen in self.screen_stack if isinstance(screen, Page)]

    @override
    def action_leave(self) -> None:
        self.exit(0)

    @override
    def action_help_quit(self) -> None:
        self.notify("ctrl+q quits; runs keep going", timeout=4, markup=False)

    def get_key_display(self, binding: Binding) -> str:
        """A key's name in the footer."""
        return "" if is_no_key(binding.key) else key_words(binding.key)

    # -- for pages ---------------------------------------------------------------

    @override
    def prefer(self, **changed: Any) -> None:
        for name, value in changed.items():
            setattr(self.preferences, name, value)
        try:
            save_preferences(**changed)
        except EvalbenchError as error:
            self.notify(str(error), severity="warning", markup=False)
        if "keymap" in changed:
            self.set_keymap(textual_keymap(self.preferences.keymap))
        if "theme" in changed:
            self.show_theme()
        if "bandwidth" in changed:
            self.low_bandwidth = is_low_bandwidth(self.preferences)
            self.animation_level = "none" if self.low_bandwidth else "full"
            self._pace()

    def on_command_palette_option_highlighted(
        self, event: CommandPalette.OptionHighlighted
    ) -> None:
        """Preview the theme under the palette's cursor once it rests there.

        A theme repaints the whole screen, so there is no preview if bandwidth is scarce.
        """
        from evalbench.tui.palette import tried_theme

        self._stop_trying()
        name = tried_theme(event) or self.preferences.theme
        if name != self.theme and not self.low_bandwidth:
            self._trying = self.set_timer(TRY_AFTER_S, partial(self.show_theme, name))

    def on_command_palette_closed(self, event: CommandPalette.Closed) -> None:
        """Reset a theme that was only previewed."""
        self._stop_trying()
        self.show_theme()

    def _stop_trying(self) -> None:
        if self._trying:
            self._trying.stop()
            self._trying = None

    @cached_property
    def _themes(self) -> tuple[list[str], list[str]]:
        """Names of all usable themes, and the problems of the others."""
        themes, problems = load_themes()
        for theme in themes:
            self.register_theme(theme)
        return [theme.name for theme in themes], problems

    @property
    @override
    def own_themes(self) -> list[str]:
        return self._themes[0]

    @property
    @override
    def theme_problems(self) -> list[str]:
        return self._themes[1]

    def get_css_variables(self) -> dict[str, str]:
        """The theme's colours. Textual first asks for them before the theme can be known."""
        return super().get_css_variables() if self._themed else {}

    def refresh_css(self, animate: bool = True) -> None:
        """Reload the style sheets if that changes anything: Textual also asks at the start."""
        if (variables := self.get_css_variables()) != self._variables:
            self._variables = variables
            super().refresh_css(animate)

    @override
    def show_theme(self, name: str = "") -> None:
        wanted = name or self.preferences.theme
        self.theme = wanted if wanted in self.own_themes else DEFAULT

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a toast. The text is always shown literally: there is no markup."""
        super().notify(
            one_line(message[:_LONGEST_TOAST]),
            title=one_line(title[:_LONGEST_TOAST]),
            severity=severity,
            timeout=timeout,
            markup=False,
        )

    def on_notify(self, event: Notify) -> None:
        """A toast that says what one on the screen says takes its place."""
        words = event.notification.title, event.notification.message
        for shown in list(self._notifications):
            if (shown.title, shown.message) == words:
                self._unnotify(shown, refresh=False)

    @override
    def tell_trouble(self, error: EvalbenchError) -> None:
        from evalbench.tui.screens.dialogs import Trouble

        self.push_screen(Trouble(error))
