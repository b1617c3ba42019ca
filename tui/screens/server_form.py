"""A user-defined server: a form that is written to ``providers.toml``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from textual import on, work
from textual.app import ComposeResult

from evalbench.engine.calls.own_servers import SERVER_SETTINGS
from evalbench.engine.errors import EvalbenchError
from evalbench.engine.keys import known_names
from evalbench.tui.screens.dialogs import Trouble
from evalbench.tui.screens.fixing import FixingPage
from evalbench.tui.screens.key_entry import set_key
from evalbench.tui.state.cli_child import CommandFailed, run_command
from evalbench.tui.state.draft import Fix, address_fault, with_scheme
from evalbench.tui.state.key_places import KeyPlaces
from evalbench.tui.state.server_form import (
    command_words,
    header_variables,
    sections,
    typed_of,
)
from evalbench.tui.state.session_keys import holds
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.form import Field, Form
from evalbench.tui.widgets.text import Plain
from evalbench.tui.widgets.topline import TopLine


class ServerPage(FixingPage):
    """Fields, help for the focused one, and save. Secrets are requested after that."""

    SCOPE: ClassVar[str] = "server"
    DEFAULT_CSS = """
    ServerPage #form { height: 1fr; }
    ServerPage #about { height: 3; padding: 0 2; color: $text-muted; }
    """

    def __init__(self, name: str = "", description: Mapping[str, Any] | None = None) -> None:
        """``name``: name of the server to change; empty: a new one."""
        super().__init__()
        self._server = name
        self._before = typed_of(description or {})
        self._typed = dict(self._before)

    def compose(self) -> ComposeResult:
        """Top line, form, help, footer."""
        yield TopLine(f"Server {self._server}" if self._server else "New server")
        yield Form(id="form", name_width=21)
        yield Plain(id="about")
        yield Footer()

    async def on_mount(self) -> None:
        """Focus the first field."""
        form = self.query_one(Form)
        await form.show(sections(new=not self._server), self._typed)
        await form.reveal("base_url" if self._server else "name")

    def focus_moved(self) -> None:
        """Show what the setting is for."""
        if option := Field.option_of(self.focused):
            self.query_one("#about", Plain).show(option.help)

    @on(Field.Changed)
    def _changed(self) -> None:
        self._check_address()

    def _check_address(self) -> bool:
        """Show whether the address lacks its scheme, with a key that adds it; False if it does."""
        option, text = SERVER_SETTINGS["base_url"].option, self._typed.get("base_url", "")
        fault = address_fault(option, text)
        self.offer(Fix(option.name, with_scheme(text)) if fault else None)
        about = fault.what.removeprefix(f"{option.flag} ") if fault else ""
        words = "; ".join([about, *self.fix_words()])
        self.query_one(Form).show_faults({option.name: words} if fault else {})
        return fault is None

    async def action_fix(self) -> None:
        """See ``commands.py``."""
        if self.fix:
            form, setting = self.query_one(Form), self.fix.setting
            self._typed[setting] = self.fix.value
            await form.show(sections(new=not self._server), self._typed)
            self._check_address()
            await form.reveal(setting)

    @work(exclusive=True, group="save")
    async def action_save(self) -> None:
        """See ``commands.py``."""
        name = self._server or self._typed.get("name", "").strip()
        form = self.query_one(Form)
        if not name:
            form.show_faults({"name": "a server needs a name"})
            await form.reveal("name")
            return
        if not self._check_address():
            await form.reveal("base_url")
            return
        words = command_words(self._typed, self._before)
        if self._server and not words:
            self.app.call_later(self.the_app.action_back)
            return
        action = "edit" if self._server else "add"
        try:
            await run_command("providers", action, name, *words)
        except EvalbenchError as error:
            setting = error.setting if isinstance(error, CommandFailed) else ""
            if setting in [field.option.name for field in self.query(Field)]:
                flag = f"--{setting.replace('_', '-')} "
                parts = (error.what.removeprefix(flag), error.why)
                form.show_faults({setting: "; ".join(filter(None, parts))})
                await form.reveal(setting)
            else:
                await self.app.push_screen_wait(Trouble(error))
            return
        await self._ask_secrets(name)
        self.notify(f"the server {name!r} is in providers.toml; t tests it", markup=False)
        # Not from here: closing the page ends its work.
        self.app.call_later(self.the_app.action_back)

    async def _ask_secrets(self, name: str) -> None:
        """Ask for secrets that headers refer to and that are not set."""
        for variable in header_variables(self._typed):
            known = os.environ.get(variable, "").strip() or holds(variable)
            if not known and variable not in known_names(name):
                await set_key(self.the_app, KeyPlaces(name, variable=variable), variable)
