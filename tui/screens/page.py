"""What every page of the app has in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.binding import Binding, BindingType
from textual.screen import Screen

from evalbench.tui.commands import commands

if TYPE_CHECKING:
    from evalbench.tui.app import EvalbenchApp


def bindings(scope: str) -> list[BindingType]:
    """Textual bindings of a scope's commands; their ids are what keymaps name."""
    return [
        Binding(
            command.keys,
            command.action,
            command.title,
            show=command.footer,
            tooltip=command.help,
            id=command.id,
        )
        for command in commands(scope)
        if command.keys
    ]


class Page(Screen[None]):
    """A screen that fills the terminal. Its bindings are the commands of its scope.

    :meth:`tick` is called a few times a second while the page is the one on
    top, and only then; what it shows is brought up to date there.
    """

    SCOPE: ClassVar[str] = ""

    HORIZONTAL_BREAKPOINTS = [
        (0, "-narrow"),
        (100, "-middling"),
        (150, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [
        (0, "-short"),
        (32, "-tall"),
    ]

    def __init_subclass__(cls, **named: bool) -> None:
        cls.BINDINGS = bindings(cls.SCOPE)
        super().__init_subclass__(**named)

    @property
    def the_app(self) -> EvalbenchApp:
        """The app, by its own type."""
        return cast("EvalbenchApp", self.app)

    def tick(self) -> None:
        """Bring what is shown up to date. Must be quick: read little, draw what changed."""

    def on_screen_resume(self) -> None:
        """Show the present at once when the page comes back to the top."""
        self.tick()
