"""What pages, dialogs and the palette may ask of the app, which imports them and not they it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.app import App

if TYPE_CHECKING:
    from evalbench.engine.errors import EvalbenchError
    from evalbench.engine.runs.folder import RunFolder
    from evalbench.tui.state.draft import Draft
    from evalbench.tui.state.preferences import Preferences
    from evalbench.tui.state.run_list import RunLine
    from evalbench.tui.state.stop_requests import Stops


class AppInterface(App[int]):
    """Implemented by :class:`evalbench.tui.app.EvalbenchApp`, with the rest of Textual's app.

    Attributes:
        low_bandwidth: whether to draw less.
        preferences: the user's; change them with :meth:`prefer`.
        draft: a new run being set up, whether or not its page is open.
        stops: runs asked to stop from here.
    """

    low_bandwidth: bool
    preferences: Preferences
    draft: Draft | None
    stops: Stops

    @property
    def for_a_run(self) -> bool:
        """Whether it was opened to show one run."""
        raise NotImplementedError

    @property
    def own_themes(self) -> list[str]:
        """Names of the usable themes: ours and the user's."""
        raise NotImplementedError

    @property
    def theme_problems(self) -> list[str]:
        """Problems of the user's other themes, in words."""
        raise NotImplementedError

    def runs(self) -> list[RunLine]:
        """The current state of all runs."""
        raise NotImplementedError

    async def open_page(self, name: str) -> None:
        """Bring a page to the top: the open one of this kind, or a new one."""
        raise NotImplementedError

    async def open_run(self, folder: RunFolder) -> None:
        """Open the page of a run, unless it is already on top."""
        raise NotImplementedError

    async def set_up_run(self, *, benchmark: str = "", model: str = "") -> None:
        """Set up a new run with a benchmark, or with a model."""
        raise NotImplementedError

    async def edit_run(self, folder: RunFolder) -> None:
        """Set up a new run with the settings of an existing one."""
        raise NotImplementedError

    async def action_back(self) -> None:
        """Go back one step: out of the app from the run it was opened for; nowhere from Home."""
        raise NotImplementedError

    def action_leave(self) -> None:
        """Quit the app. Runs are separate processes and continue."""
        raise NotImplementedError

    def action_help_quit(self) -> None:
        """The action of ctrl+c if nothing is selected: say how to quit."""
        raise NotImplementedError

    def prefer(self, **changed: Any) -> None:
        """Change preferences, now and for later sessions."""
        raise NotImplementedError

    def show_theme(self, name: str = "") -> None:
        """Show a theme without saving it; without a name, the user's own choice again."""
        raise NotImplementedError

    def tell_trouble(self, error: EvalbenchError) -> None:
        """Show an error; the app continues."""
        raise NotImplementedError
