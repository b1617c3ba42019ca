"""New run: choose a benchmark, a provider, a model and settings, see the cost, and start."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Container

from evalbench.engine.benchmarks.lm_eval.index import LM_EVAL
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.errors import EvalbenchError
from evalbench.engine.hardware import devices as room
from evalbench.engine.hardware.devices import DeviceMemory
from evalbench.engine.keys import looks_like_key
from evalbench.tui.clipboard import copy
from evalbench.tui.commands import commands
from evalbench.tui.screens.choose import Choose
from evalbench.tui.screens.dialogs import Confirm, Enter, Trouble
from evalbench.tui.screens.fixing import FixingPage
from evalbench.tui.screens.key_entry import set_key
from evalbench.tui.screens.new_panels import SETTLED_S, EstimatePanel, Pickers
from evalbench.tui.screens.probe import Probe
from evalbench.tui.screens.starting import start
from evalbench.tui.state.cli_child import run_command
from evalbench.tui.state.draft import Draft, Fix, fault_words, help_words
from evalbench.tui.state.key_places import ask_key_places, keys_stamp
from evalbench.tui.state.model_cache import Model
from evalbench.tui.state.money_words import Estimate, at_most, estimate_lines, question
from evalbench.tui.state.offered import Offer, Offered
from evalbench.tui.state.plugins import load_known
from evalbench.tui.state.run_choices import (
    Choice,
    Place,
    about_answering,
    about_benchmark,
    about_model,
    about_provider,
    benchmark_choices,
    model_choices,
    provider_choices,
    task_choices,
)
from evalbench.tui.state.setups import (
    Setup,
    check_name,
    delete_setup,
    load_setups,
    rename_setup,
    save_setup,
)
from evalbench.tui.state.user_keys import keys_words
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.form import Field, Form
from evalbench.tui.widgets.picker import Picker
from evalbench.tui.widgets.table import Column
from evalbench.tui.widgets.text import Plain
from evalbench.tui.widgets.topline import TopLine

_FIRST_CHOICE = ("quickstart", "local/smollm2-135m-instruct")
"""The initial choice before anything was ever chosen: it needs no key and costs nothing."""

_SAVE, _RENAME, _DELETE, _KEEP = "save", "rename", "delete", "kept "
"""Lines of the list of set-ups."""

_KEY = next(command for command in commands("new") if command.id == "new.key")


class NewRunPage(FixingPage):
    """Sets up one run. Everything is queried from child processes; nothing here blocks on them."""

    SCOPE: ClassVar[str] = "new"
    DEFAULT_CSS = """
    NewRunPage #about { height: 3; padding: 0 2; color: $text-muted; }
    NewRunPage.-narrow.-tall #about, NewRunPage #about.-more { height: 4; }
    NewRunPage #lower { height: 1fr; }
    NewRunPage #form {
        height: 1fr; border: round $panel-lighten-2; border-title-color: $text-primary;
    }
    NewRunPage #result { height: 5; padding: 0 2; }
    NewRunPage #result.-more, NewRunPage.-tall #result { height: 8; }
    NewRunPage.-tall Pickers { height: 35%; min-height: 12; max-height: 24; }
    NewRunPage.-wide FieldGrid { grid-size: 3; }
    NewRunPage.-tall.-middling #lower, NewRunPage.-tall.-wide #lower { layout: horizontal; }
    NewRunPage.-tall.-middling #form, NewRunPage.-tall.-wide #form { width: 2fr; height: 1fr; }
    NewRunPage.-tall.-middling #result, NewRunPage.-tall.-wide #result {
        width: 1fr; height: 1fr; border: round $panel-lighten-2; padding: 0 1;
        border-title-color: $text-primary;
    }
    """

    def __init__(
        self, model: str = "", spec: RunSpec | None = None, *, benchmark: str = ""
    ) -> None:
        """Begin with the last choices, or with a draft that was not started.

        Args:
            model: ``provider/name`` to begin with instead.
            spec: a run's spec whose choices and settings to begin with instead.
            benchmark: benchmark to begin with instead.
        """
        super().__init__()
        self._draft = Draft()
        self._preset, self._spec, self._preset_benchmark = model, spec, benchmark
        self._offered = Offered()
        self._keys_seen = 0
        self._room: DeviceMemory | None = None
        self._asked: tuple[str, ...] = ()
        self._stood_in = False

    def compose(self) -> ComposeResult:
        """Pickers, details of the line under the cursor, settings, cost."""
        yield TopLine("New run")
        yield Pickers(id="pickers")
        yield Plain(id="about")
        with Container(id="lower"):
            yield Form(id="form")
            yield EstimatePanel(self._estimate_lines, self._error_lines, id="result")
        yield Footer()

    def on_mount(self) -> None:
        """Show the page; the choices appear once they are loaded."""
        form = self.query_one(Form)
        form.border_title = "settings"
        form.after["base_url"] = self._after_address
        for picker in self.query(Picker):
            picker.show_loading()
        self._picker("benchmark").take_focus()
        self._load()
        self._look_for_room()

    def _picker(self, name: str) -> Picker:
        return self.query_one(f"#{name}", Picker)

    # -- catalogue -----------------------------------------------------------------

    @work
    async def _load(self) -> None:
        draft, preferences = self._draft, self.the_app.preferences
        draft.known = await asyncio.to_thread(load_known)
        kept = self.the_app.draft
        for words in draft.known.broken:
            self.notify(words, severity="warning", timeout=10, markup=False)
        first_benchmark, first_model = _FIRST_CHOICE
        wanted = preferences.benchmark or first_benchmark
        draft.benchmark = wanted if draft.known.benchmark(wanted) else ""
        draft.choose_model(preferences.model or first_model)
        if kept:
            draft.benchmark, draft.typed = kept.benchmark, kept.typed
            draft.choose_model(f"{kept.provider}/{kept.model}")
        if draft.known.benchmark(self._preset_benchmark):
            draft.benchmark = self._preset_benchmark
        if self._preset:
            draft.choose_provider(self._preset.partition("/")[0])
            draft.choose_model(self._preset)
        if self._spec:
            draft.take(self._spec)
        self.the_app.draft = draft
        if draft.provider not in draft.known.providers:
            draft.choose_model("")
        await self._show_benchmarks()
        self._show_providers()
        for name in ("benchmark", "provider", "model"):
            self._picker(name).choose(getattr(draft, name))
        self._ask_models()
        self._look_for_keys()
        await self._changed()

    @work(exclusive=True, group="keys")
    async def _look_for_keys(self) -> None:
        self._keys_seen = keys_stamp()
        try:
            self._offered.keys = await ask_key_places()
        except EvalbenchError as error:
            self.notify(error.what, severity="warning", markup=False)
            return
        self._show_providers()
        self._tell_state()
        self._tell_about()

    def on_screen_resume(self) -> None:
        """A key may have been set meanwhile."""
        super().on_screen_resume()
        if self._draft.known.providers and keys_stamp() != self._keys_seen:
            self._look_for_keys()

    async def _show_benchmarks(self) -> None:
        known = self._draft.known
        tasks = await asyncio.to_thread(task_choices, known)
        self._picker("benchmark").show(benchmark_choices(known), further=tasks)

    def _show_providers(self) -> None:
        choices = provider_choices(self._draft.known, self._offered.keys)
        self._picker("provider").show(choices)

    # -- models --------------------------------------------------------------------

    @work(exclusive=True, group="models")
    async def _ask_models(self, *, pause: float = 0.0) -> None:
        """Show the cached list at once and request a new one."""
        provider = self._draft.provider
        self._asked = self._draft.asking_words()
        if not provider or self._draft.address_problem:
            return
        await asyncio.sleep(pause)
        await self._offered.ask(provider, self._draft.asking_words(), self._show_models)

    def _show_models(self) -> None:
        # The response may arrive when the page is partly gone.
        if not self.query("#model"):
            return
        draft, picker = self._draft, self._picker("model")
        problem = draft.address_problem
        offer = Offer() if problem else self._offered.of(draft.provider)
        choices = model_choices(offer, draft.needs(), self._place())
        empty = draft.as_fields(offer.empty_words()) if draft.provider else ""
        picker.show(choices, empty=problem or empty)
        picker.border_title = "model" + (
            f" · {words}" if (words := offer.words(time.time())) else ""
        )
        only = choices[0].ident if len(choices) == 1 else ""
        if only and not draft.model and not picker.filtered:
            draft.model = only
            picker.choose(only)
            self._settle()
        elif offer.trouble and not draft.model:
            self._settle()
        self._tell_about()

    @work(exclusive=True, group="room")
    async def _look_for_room(self) -> None:
        """Determine the free memory for local models; a driver may be slow to respond."""
        self._room = await asyncio.to_thread(room.device_memory)
        self._show_models()

    def _place(self) -> Place:
        return Place(self._room, self._draft.given())

    def tick(self) -> None:
        """Nothing here changes with time."""

    def action_reload(self) -> None:
        """See ``commands.py``."""
        self._look_for_room()
        self._ask_models()

    # -- choosing ------------------------------------------------------------------

    @on(Picker.Chosen, "#benchmark")
    async def _benchmark_chosen(self, event: Picker.Chosen) -> None:
        if event.ident == LM_EVAL:
            self._seek_task()
            return
        self._draft.benchmark = event.ident
        await self._took(event.picker)
        self._show_models()

    @work(exclusive=True, group="tasks")
    async def _seek_task(self) -> None:
        """Offer the tasks of lm-evaluation-harness, whose index may have to be made."""
        if not self._draft.known.tasks:
            self.notify("reading the tasks of lm-evaluation-harness, once: a few seconds")
            try:
                await run_command("benchmarks", "--search", LM_EVAL)
            except EvalbenchError as error:
                self.the_app.tell_trouble(error)
                return
            self._draft.known = await asyncio.to_thread(load_known)
            await self._show_benchmarks()
        self._picker("benchmark").seek(f"{LM_EVAL}/ ")

    @on(Picker.Chosen, "#provider")
    async def _provider_chosen(self, event: Picker.Chosen) -> None:
        if event.ident != self._draft.provider:
            self._draft.choose_provider(event.ident)
            self._picker("model").choose("")
            self._show_models()
            self._ask_models()
        await self._took(event.picker)
        if self._draft.lacks_address:
            await self.query_one(Form).reveal("base_url")
        else:
            self._picker("model").take_focus()

    def _after_address(self) -> None:
        """Enter in the address: next comes the model."""
        if self._draft.address_problem:
            return
        self._ask_models()
        self._picker("model").take_focus()

    @on(Picker.Chosen, "#model")
    async def _model_chosen(self, event: Picker.Chosen) -> None:
        takes_address = "base_url" in self._draft.options()
        if takes_address and re.match("https?://", event.ident):
            self._draft.typed["base_url"] = event.ident
            event.picker.clear()
            event.picker.take_focus()
            await self._changed()
            self._ask_models()
            return
        if looks_like_key(event.ident):
            words = "that is a key, not a model; press ctrl+t to set a key"
            self.notify(words, severity="error", markup=False)
            event.picker.clear()
            event.picker.take_focus()
            return
        self._draft.model = event.ident
        await self._took(event.picker)

    async def _took(self, picker: Picker) -> None:
        """Mark what was chosen; the focus moves to the next choice, or to the settings."""
        picker.clear()
        picker.choose(
            {
                "benchmark": self._draft.benchmark,
                "provider": self._draft.provider,
                "model": self._draft.model,
            }[picker.id or ""]
        )
        await self._changed()

    @on(Picker.Moved)
    def _moved(self, event: Picker.Moved) -> None:
        if event.picker.has_focus_within:
            self._fold(folded=False)
            self._tell_about(event.picker)

    def _fold(self, *, folded: bool) -> None:
        """Shrink the pickers on a low screen; the settings and what they lead to need the lines."""
        pickers = self.query_one(Pickers)
        if folded != pickers.has_class("-folded"):
            pickers.fold(folded=folded)
            self.query("#about, #result").set_class(folded, "-more")

    def _tell_about(self, picker: Picker | None = None) -> None:
        """Details of the line under the cursor of the focused picker."""
        if picker is None:
            picker = next((one for one in self.query(Picker) if one.has_focus_within), None)
        if picker is None:
            return
        ident = picker.current.ident if picker.current else ""
        match picker.id:
            case "benchmark":
                words = about_benchmark(self._draft.known, ident)
            case "provider":
                words = about_provider(self._draft.known, self._offered.keys, ident)
            case _:
                offer = self._offered.of(self._draft.provider)
                hint = self._key_hint(offer.trouble)
                about = about_model(offer, ident, self._draft.needs(), self._place(), hint)
                words = self._draft.as_fields(about)
        self.query_one("#about", Plain).show(words)

    # -- settings ------------------------------------------------------------------

    def focus_moved(self) -> None:
        """Explain what has the focus, and give it room on a low screen."""
        if option := Field.option_of(self.focused):
            self._fold(folded=self.has_class("-short"))
            self.query_one("#about", Plain).show(help_words(option))
        elif any(one.has_focus_within for one in self.query(Picker)):
            self._fold(folded=False)
            self._tell_about()
        elif self.focused:
            self.query_one("#about", Plain).show("")

    @on(Field.Changed)
    async def _field_changed(self, event: Field.Changed) -> None:
        if bool(self._draft.stand_in) != self._stood_in:
            await self._changed()
        else:
            self._settle()
        if self._draft.asking_words() != self._asked:
            self._ask_models(pause=SETTLED_S)
        if event.name in self._draft.deciding:
            self._show_models()

    async def _changed(self) -> None:
        """A choice was made: the settings may change."""
        self._stood_in = bool(self._draft.stand_in)
        await self._show_form()
        self._settle()

    def _settle(self) -> None:
        """Show the command line and errors now, and the estimate once nothing changes any more."""
        draft, takes = self._draft, self.query_one(EstimatePanel)
        faults = {
            name: draft.as_fields(fault_words(error)) for name, error in draft.faults().items()
        }
        self.query_one(Form).show_faults(
            {
                name: words.removeprefix(f"{name.replace('_', '-')} ")
                for name, words in faults.items()
            }
        )
        takes.tell_command(draft.command())
        self._tell_state()
        no_list = None if draft.model else self._offered.of(draft.provider).trouble
        self.offer(draft.fix(no_list, self._model()))
        problems = [f"✗ {words}" for words in faults.values()]
        problems += [draft.missing] if draft.missing else []
        if problems:
            takes.tell([*problems, *self.fix_words()], bad=bool(faults))
        else:
            takes.estimate_soon(draft.words())

    def _model(self) -> Model | None:
        """The chosen model, if it is listed."""
        return self._offered.of(self._draft.provider).model(self._draft.model)

    def _estimate_lines(self, found: Estimate) -> list[str]:
        """The estimate, with a way to one of the cost if it is unknown."""
        if found["realtime"] is None:
            self.offer(Fix("price"))
        return estimate_lines(found, ", ".join(self.fix_words()))

    def _error_lines(self, error: EvalbenchError) -> list[str]:
        """Why there is no estimate, in the page's terms, with a way to fix it."""
        self.offer(self._draft.fix(error, self._model()))
        lines = [f"✗ {error.what}"]
        lines += [f"why: {error.why}"] if error.why else []
        if not self.fix and (hint := self._key_hint(error) or error.hint):
            lines += [f"try: {hint}"]
        return [*map(self._draft.as_fields, lines), *self.fix_words()]

    def _key_hint(self, error: EvalbenchError | None) -> str:
        """What to press if a key is missing; empty if that is not what is wrong."""
        if error is None or not self._draft.lacks_key(error):
            return ""
        key = keys_words(_KEY, self.the_app.preferences.keymap)
        return f"{key} sets the key of {self._draft.provider}" if key else ""

    def offer(self, fix: Fix | None) -> None:
        """Offer it, and show the setting it concerns at the top if it is not shown yet."""
        super().offer(fix)
        # A field that is there, and perhaps typed in, stays where it is.
        shown = fix and self.query(f"#field-{fix.setting}")
        if fix and not shown and fix.setting not in self._draft.called_for:
            self._draft.called_for.append(fix.setting)
            self.call_later(self._show_form)

    async def _show_form(self) -> None:
        await self.query_one(Form).show(self._draft.sections(), self._draft.typed)

    async def action_fix(self) -> None:
        """See ``commands.py``."""
        if self.fix is None:
            return
        fix = self.fix
        if fix.value:
            self._draft.typed[fix.setting] = fix.value
            await self._changed()
            self._show_models()
            if self._draft.asking_words() != self._asked:
                self._ask_models()
        self._reveal(fix.setting)

    async def _tell_trouble(self, error: EvalbenchError) -> None:
        """Say why the run could not be started, and show what has to be changed."""
        self.offer(self._draft.fix(error, self._model()))
        words = self._draft.as_fields
        hint = self._key_hint(error) or words(error.hint)
        shown = EvalbenchError(words(error.what), why=words(error.why), hint=hint)
        if await self.app.push_screen_wait(Trouble(shown, self.fix.words if self.fix else "")):
            await self.action_fix()

    def _tell_state(self) -> None:
        self.query_one(EstimatePanel).tell_state(about_answering(self._draft, self._offered.keys))
        self.query_one(TopLine).tell(right=self._draft.title)

    def action_estimate(self) -> None:
        """See ``commands.py``."""
        self._settle()

    def places(self) -> Sequence[tuple[str, str, Callable[[], Any]]]:
        """Every setting."""
        return [
            (f"Set {option.flag[2:]}", option.help, partial(self._reveal, name))
            for name, option in self._draft.options().items()
        ]

    # -- acting --------------------------------------------------------------------

    def _ready(self) -> bool:
        """Whether everything is chosen and valid; if not, focus what is missing."""
        draft = self._draft
        if draft.missing:
            self.notify(draft.missing, severity="warning", markup=False)
            if draft.known_benchmark and (draft.stand_in or draft.full_model):
                self._reveal("judge")
                return False
            lacking = "model" if draft.known_provider else "provider"
            self._picker(lacking if draft.known_benchmark else "benchmark").take_focus()
            return False
        for name, error in draft.faults().items():
            self.notify(draft.as_fields(error.what), severity="warning", markup=False)
            self._reveal(name)
            return False
        return True

    @work
    async def _reveal(self, name: str) -> None:
        await self.query_one(Form).reveal(name)

    @work(exclusive=True, group="start")
    async def action_start(self) -> None:
        """See ``commands.py``."""
        if not self._ready():
            return
        draft = self._draft
        words = draft.words()
        if not draft.free and not await self._agreed():
            return
        self.the_app.prefer(benchmark=draft.benchmark, model=draft.full_model)
        if await start(self.the_app, ("run", *words), self._tell_trouble):
            self.the_app.draft = draft.next_one()

    async def _agreed(self) -> bool:
        """Ask before an expensive run, or one of unknown cost; the rule of the command line."""
        takes = self.query_one(EstimatePanel)
        try:
            estimate = await takes.estimate(self._draft.words())
        except EvalbenchError as error:
            await self._tell_trouble(error)
            return False
        asked = question(at_most(estimate, self._draft.given().get("budget")))
        if not asked:
            return True
        sure = Confirm(asked, yes="Start", note=self._draft.title)
        agreed = await self.app.push_screen_wait(sure)
        return agreed is True

    async def action_clear(self) -> None:
        """See ``commands.py``."""
        self._draft.typed.clear()
        self._draft.called_for.clear()
        if self._draft.lacks_address:
            # It was a model of the server that is forgotten with its address.
            self._draft.model = ""
            self._picker("model").choose("")
        await self._changed()
        self._show_models()
        self.query_one(Form).scroll_home(animate=False)
        self._picker("benchmark").take_focus()

    # -- saved set-ups -------------------------------------------------------------

    @work(exclusive=True, group="setups")
    async def action_setups(self) -> None:
        """See ``commands.py``."""
        draft = self._draft
        try:
            kept = {one.name: one for one in await asyncio.to_thread(load_setups)}
        except EvalbenchError as error:
            self.the_app.tell_trouble(error)
            return
        choices = []
        for name, one in kept.items():
            what = " × ".join(filter(None, (one.benchmark, one.model)))
            choices.append(Choice(f"{_KEEP}{name}", (name, what), f"{name} {what}"))
        first = [Choice(_SAVE, ("Save this set-up…", draft.title), "save this set-up")]
        acts = ((_RENAME, "Rename one…"), (_DELETE, "Delete one…")) if kept else ()
        last = [Choice(ident, (words, ""), words) for ident, words in acts]
        columns = (Column("set-up", 30), Column("of"))
        asked = Choose("Set-ups", columns, [*first, *choices, *last])
        chosen = await self.app.push_screen_wait(asked)
        try:
            if chosen == _SAVE:
                await self._save_setup(kept)
            elif chosen in (_RENAME, _DELETE):
                which = Choose("Rename" if chosen == _RENAME else "Delete", columns, choices)
                name = (await self.app.push_screen_wait(which) or "").removeprefix(_KEEP)
                if name and chosen == _RENAME:
                    await self._rename_setup(name, kept)
                elif name:
                    delete_setup(name)
                    self.notify(f"deleted {name}", markup=False)
            elif chosen:
                await self._take_setup(kept[chosen.removeprefix(_KEEP)])
        except EvalbenchError as error:
            self.the_app.tell_trouble(error)

    async def _save_setup(self, kept: Collection[str]) -> None:
        draft = self._draft
        typed = await self.app.push_screen_wait(
            Enter(
                "Name of this set-up",
                value=draft.benchmark,
                note="one of the same name is replaced; keys are never part of it",
                check=check_name,
            )
        )
        if typed is None:
            return
        name = check_name(typed)
        save_setup(Setup(name, draft.benchmark, draft.full_model, draft.typed))
        self.notify(f"{'replaced' if name in kept else 'saved'} {name}", markup=False)

    async def _rename_setup(self, name: str, kept: Collection[str]) -> None:
        def free(text: str) -> None:
            if (new := check_name(text)) in kept and new != name:
                raise ValueError(f"there is a set-up {new!r}")

        asked = Enter("New name of this set-up", value=name, check=free)
        if (typed := await self.app.push_screen_wait(asked)) is not None:
            rename_setup(name, check_name(typed))
            self.notify(f"{name} is now {check_name(typed)}", markup=False)

    async def _take_setup(self, setup: Setup) -> None:
        draft = self._draft
        known = draft.known.benchmark(setup.benchmark)
        draft.benchmark = setup.benchmark if known else ""
        draft.choose_model(setup.model)
        draft.typed = dict(setup.typed)
        draft.called_for = ["base_url"] if "base_url" in setup.typed else []
        for name in ("benchmark", "provider", "model"):
            self._picker(name).clear()
            self._picker(name).choose(getattr(draft, name))
        self._ask_models()
        await self._changed()

    def action_probe(self) -> None:
        """See ``commands.py``."""
        if self._ready():
            self.app.push_screen(Probe(self._draft.full_model, self._draft.probe_words()))

    def action_copy(self) -> None:
        """See ``commands.py``."""
        copy(self.the_app, self._draft.command(), "command")

    @work(exclusive=True, group="key")
    async def action_key(self) -> None:
        """See ``commands.py``."""
        places = self._offered.keys.get(self._draft.provider)
        if places is None:
            self.notify("this provider takes no key", markup=False)
            return
        given = self._draft.given()
        flags = ("--base-url", given["base_url"]) if "base_url" in given else ()
        if await set_key(self.the_app, places, given.get("key") or "default", flags):
            self._look_for_keys()
            self._ask_models()

    # -- back ----------------------------------------------------------------------

    @property
    def begun(self) -> bool:
        """Whether a picker's filter is in use, or the settings have the focus."""
        filtered = any(one.filtered and one.has_focus_within for one in self.query(Picker))
        return filtered or self.query_one(Form).has_focus_within

    def step_back(self) -> None:
        """Clear the filter; from the settings, go to the pickers."""
        for picker in self.query(Picker):
            if picker.filtered and picker.has_focus_within:
                picker.clear()
                return
        self._picker("model").take_focus()
