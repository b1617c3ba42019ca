"""A form generated from declared options: one field each, with its default, help and error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

from rich.segment import Segment
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Checkbox, Input, Select

from evalbench.engine.calls.options import Option
from evalbench.engine.config.roles import JUDGE
from evalbench.tui.state.cells import cell
from evalbench.tui.state.draft import FIRST_TITLE, MORE, Section, default_words
from evalbench.tui.widgets.focus import Lights
from evalbench.tui.widgets.layout import PlainInput
from evalbench.tui.widgets.text import Plain


class Tick(Checkbox):
    """A checkbox, distinguished by glyph and word, not by colour alone."""

    BUTTON_LEFT = "["
    BUTTON_RIGHT = "]"
    DEFAULT_CSS = """
    Tick {
        width: auto; height: 1; border: none; padding: 0; background: $background;
        &:focus { border: none; }
        & > .toggle--button, &.-on > .toggle--button {
            color: $foreground; background: $background;
        }
    }
    """

    def __init__(self, on: bool) -> None:
        super().__init__(_yes_no(on), on, compact=True)

    @property
    def BUTTON_INNER(self) -> str:  # type: ignore[override]  # noqa: N802 - Textual's name
        """The text between the brackets."""
        return "x" if self.value else " "

    def watch_value(self) -> None:
        """Update the word."""
        self.label = _yes_no(self.value)
        super().watch_value()


NAME_WIDTH = 19
"""Cells for the name of a field."""


def _yes_no(on: bool) -> str:
    return "yes" if on else "no"


class Field(Lights):
    """One setting: its name, its input control, and any error.

    It paints its name itself. A form has dozens of fields, and whatever is a widget costs time in
    every layout, and in every frame.
    """

    # Priority, so that it runs before the next key, which is meant for the next field.
    BINDINGS = [Binding("enter", "go_on", show=False, priority=True)]

    ALLOW_SELECT = False
    COMPONENT_CLASSES = {"field--name", "field--lit", "field--bad"}
    DEFAULT_CSS = """
    Field { width: 1fr; height: auto; }
    Field .field--name { color: $text-muted; }
    Field .field--lit { color: $text-primary; text-style: bold; }
    Field .field--bad { color: $text-error; }
    Field Select { width: 1fr; height: 1; }
    Field SelectCurrent Static#label, Field SelectCurrent .arrow { color: $text-muted; }
    Field .fault { height: auto; }
    """

    class Changed(Message):
        """The user typed or chose something."""

        def __init__(self, name: str, text: str) -> None:
            super().__init__()
            self.name, self.text = name, text

    def __init__(
        self,
        option: Option,
        typed: MutableMapping[str, str],
        hint: str = "",
        *,
        name_width: int = NAME_WIDTH,
    ) -> None:
        """Create it with what was typed.

        Args:
            option: the setting.
            typed: typed text by setting name; updated by this field.
            hint: placeholder of the empty field; default: the effective default.
            name_width: cells for its name.
        """
        super().__init__(id=f"field-{option.name}")
        self._name_width = name_width
        self._lit = False
        self._fault = ""
        self.option = option
        self._typed = typed
        self._hint = hint or default_words(option)
        self._text = typed.get(option.name, "")

    def compose(self) -> ComposeResult:
        """The control, to the right of the name; any error is put below."""
        control = self._control()
        control.styles.margin = (0, 0, 0, self._name_width)
        yield control

    def render_line(self, y: int) -> Strip:
        """The name, in the control's line."""
        width, base = self.size.width, self.rich_style
        if y:
            return Strip.blank(width, base)
        part = "bad" if self._fault else "lit" if self._lit else "name"
        name = cell(self.option.flag[2:], self._name_width - 1)
        style = self.get_component_rich_style(f"field--{part}")
        return Strip([Segment(name, style)]).adjust_cell_length(width, base)

    def _repaint_name(self) -> None:
        self.refresh(Region(0, 0, self._name_width, 1))

    def _control(self) -> Input | Select[str] | Checkbox:
        option = self.option
        if option.type is bool:
            on = self._text == "yes" if self._text else bool(option.default)
            return Tick(on)
        if option.choices and not (option.many or option.path):
            return Select(
                [(choice, choice) for choice in option.choices],
                prompt=self._hint,
                # A default that is one of the choices is listed once, as that choice.
                allow_blank=option.by_model or option.default not in option.choices,
                value=self._chosen(),
                compact=True,
            )
        # Without validators, validating only restyles it at every key.
        field = PlainInput(self._text, placeholder=self._hint, compact=True, validate_on=())
        field.between = ", " if option.many else " "
        return field

    def _chosen(self) -> Any:
        """The selected entry of a list of choices."""
        option = self.option
        offered = (self._text,) if option.by_model else (self._text, option.default)
        known = [text for text in offered if text in option.choices]
        return known[0] if known else Select.NULL

    @on(Input.Changed)
    def _input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._tell(event.value)

    @on(Select.Changed)
    def _selected(self, event: Select.Changed) -> None:
        event.stop()
        given = "" if event.value is Select.NULL else str(event.value)
        option = self.option
        untouched = given == option.default and not self._text and not option.by_model
        self._tell("" if untouched else given)

    @on(Checkbox.Changed)
    def _ticked(self, event: Checkbox.Changed) -> None:
        event.stop()
        self._tell("yes" if event.value else "no")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enter opens a choice and toggles a checkbox; it submits only text fields."""
        return action != "go_on" or bool(self.query(Input))

    def action_go_on(self) -> None:
        """Enter in a text field."""
        form = next(one for one in self.ancestors if isinstance(one, Form))
        form.after.get(self.option.name, self.screen.focus_next)()

    def _tell(self, text: str) -> None:
        if text != self._text:
            self._text = self._typed[self.option.name] = text
            self.post_message(self.Changed(self.option.name, text))

    @staticmethod
    def option_of(widget: Widget | None) -> Option | None:
        """The setting of the field that a widget is in; None if it is in none."""
        around = widget.ancestors if widget else ()
        return next((one.option for one in around if isinstance(one, Field)), None)

    def light_within(self, lit: bool) -> None:
        """Its name is lit."""
        self._lit = lit
        self._repaint_name()

    def put(self, text: str) -> None:
        """Set this value, without a message."""
        control = self.query("Input, Select, Tick").first()
        untold = isinstance(control, Input) and control.value != self._text
        if text == self._text or untold:
            # Text being typed at this moment is newer.
            return
        self._text = text
        if isinstance(control, Input):
            control.value = text
        elif isinstance(control, Select):
            control.value = self._chosen()
        elif isinstance(control, Tick):
            control.value = text == "yes" if text else bool(self.option.default)

    def show_fault(self, fault: str) -> None:
        """Show an error; none if the text is empty."""
        if fault == self._fault:
            return
        before, self._fault = self._fault, fault
        if bool(fault) != bool(before):
            self._repaint_name()
        line = next(iter(self.query(".fault").results(Plain)), None)
        if line is None and fault:
            self.mount(Plain(f"✗ {fault}", classes="fault bad"))
        elif line is not None and fault:
            line.show(f"✗ {fault}")
        elif line is not None:
            line.remove()

    def take_focus(self) -> None:
        """Focus the control."""
        self.screen.set_focus(self.query("Input, Select, Tick").first())


class FieldGrid(Vertical):
    """Fields side by side, as many as fit."""

    DEFAULT_CSS = """
    FieldGrid { layout: grid; grid-size: 2; grid-gutter: 0 3; grid-rows: auto; height: auto; }
    """


class Fold(Plain, can_focus=True):
    """The title of a foldable section."""

    DEFAULT_CSS = """
    Fold { width: auto; color: $text-muted; }
    Fold:focus { color: $text-primary; text-style: bold reverse; }
    """
    BINDINGS = [("enter", "turn", "Open"), ("space", "turn", "Open")]

    class Turned(Message):
        """Unfold it, or fold it."""

    def action_turn(self) -> None:
        """Toggles with enter and space."""
        self.post_message(self.Turned())

    def on_click(self) -> None:
        """Toggles with the mouse."""
        self.action_turn()


class Box(Vertical):
    """One section: its title and its fields."""

    DEFAULT_CSS = """
    Box { height: auto; margin-bottom: 1; }
    """

    def __init__(
        self,
        section: Section,
        typed: MutableMapping[str, str],
        *,
        is_open: bool,
        name_width: int,
    ) -> None:
        super().__init__()
        self._name_width = name_width
        self.section, self.is_open = section, is_open
        self._typed = typed

    def compose(self) -> ComposeResult:
        """The first section needs no title; the last one is folded."""
        if self.section.title == MORE:
            yield Fold(self._fold_words())
        elif self.section.title != FIRST_TITLE:
            yield Plain(self.section.title, classes="title")
        if self.is_open:
            fields = [self._field(option) for option in self.section.options]
            yield from (field for field in fields if _is_long(field.option))
            yield FieldGrid(*(field for field in fields if not _is_long(field.option)))

    def _fold_words(self) -> str:
        words = f"{len(self.section.options)} more"
        return f"▾ {words}, press enter to collapse" if self.is_open else f"▸ {words}"

    def _field(self, option: Option) -> Field:
        hint = self.section.hints.get(option.name, "")
        return Field(option, self._typed, hint, name_width=self._name_width)

    async def become(self, section: Section) -> None:
        """Show these settings. Existing fields stay, and keep the focus."""
        before, self.section = self.section, section
        for fold in self.query(Fold):
            fold.show(self._fold_words())
        if not self.is_open:
            return
        kept = [
            option
            for option in before.options
            if option in section.options
            and before.hints.get(option.name) == section.hints.get(option.name)
        ]
        for field in self.query(Field):
            if field.option not in kept:
                await field.remove()
        grid = self.query_one(FieldGrid)
        for place, option in enumerate(section.options):
            if option in kept:
                continue
            if _is_long(option):
                await self.mount(self._field(option), before=grid)
                continue
            alike = [one for one in section.options[:place] if not _is_long(one)]
            at = len(alike) if len(alike) < len(grid.children) else None
            await grid.mount(self._field(option), before=at)


def _is_long(option: Option) -> bool:
    """Whether its text needs a line of its own, and comes first: judges, named folders."""
    return option.name in (JUDGE, "name", "base_url", "header") or option.path == "named"


class Form(VerticalScroll, Lights, can_focus=False):
    """Sections of fields. Changes are reported with :class:`Field.Changed`.

    Attributes:
        after: what enter in a field does, by its name; by default, the next field is focused.
    """

    DEFAULT_CSS = """
    Form { padding: 0 1; scrollbar-size-vertical: 1; }
    """

    def __init__(self, *, id: str, name_width: int = NAME_WIDTH) -> None:
        """``name_width``: cells for the names of its fields."""
        super().__init__(id=id)
        self._name_width = name_width
        self._sections: list[Section] = []
        self._typed: MutableMapping[str, str] = {}
        self._faults: Mapping[str, str] = {}
        self.after: dict[str, Callable[[], object]] = {}
        self._open = False
        self._building = asyncio.Lock()

    async def show(self, sections: Sequence[Section], typed: MutableMapping[str, str]) -> None:
        """Show these settings with what was typed. Existing fields stay as they are.

        From now on, typed text is first written to ``typed`` and then reported.
        """
        self._sections, self._typed = list(sections), typed
        async with self._building:
            await self._build()
            for field in self.query(Field):
                field.put(typed.get(field.option.name, ""))
        if self.has_focus_within:
            # Fields that came or went above have moved it.
            self.call_after_refresh(self._show_focused)

    def _show_focused(self) -> None:
        if self.is_attached and self.has_focus_within and (focused := self.screen.focused):
            focused.scroll_visible(animate=False)

    async def _build(self) -> None:
        """Creating a field takes milliseconds, so sections that are still right are kept.

        Until it is done, fields may be there whose controls are not: hold the lock.
        """
        async with self.batch():
            wanted = {one.title: one for one in self._sections}
            for box in self.query(Box):
                if (section := wanted.get(box.section.title)) is None or (
                    box.is_open != self._is_open(section)
                ):
                    await box.remove()
                elif section != box.section:
                    await box.become(section)
            shown = {box.section.title for box in self.query(Box)}
            for place, section in enumerate(self._sections):
                if section.title not in shown:
                    new = Box(
                        section,
                        self._typed,
                        is_open=self._is_open(section),
                        name_width=self._name_width,
                    )
                    await self.mount(new, before=place if place < len(self.children) else None)
        self._tell_faults()

    def _is_open(self, section: Section) -> bool:
        return section.title != MORE or self._open

    @on(Fold.Turned)
    async def _fold(self) -> None:
        self._open = not self._open
        async with self._building:
            await self._build()
        fold = self.query_one(Fold)
        fold.focus()
        fold.scroll_visible(animate=False, top=self._open)

    def show_faults(self, faults: Mapping[str, str]) -> None:
        """Show each field's error, also if the field is recreated later."""
        self._faults = faults
        if not self._building.locked():
            self._tell_faults()

    def _tell_faults(self) -> None:
        for field in self.query(Field):
            field.show_fault(self._faults.get(field.option.name, ""))

    async def reveal(self, name: str) -> None:
        """Focus the field with this name, opening its section first."""
        async with self._building:
            if not self._open and not self.query(f"#field-{name}"):
                self._open = True
                await self._build()
            for field in self.query(f"#field-{name}").results(Field):
                field.take_focus()
