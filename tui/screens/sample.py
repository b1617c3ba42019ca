"""One sample: its prompts, the replies, how they were parsed and scored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, ClassVar, NamedTuple

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widget import Widget

from evalbench.engine.calls import MediaPart
from evalbench.engine.errors import JournalError
from evalbench.engine.journal import CallRow
from evalbench.engine.runs.batch_lines import BatchedCall
from evalbench.engine.runs.browse import SampleBrowser, SampleLine
from evalbench.engine.runs.folder import RunFolder
from evalbench.tui.clipboard import copy
from evalbench.tui.pager import edit, page
from evalbench.tui.screens.dialogs import Dialog
from evalbench.tui.screens.page import Page
from evalbench.tui.screens.seeking import SeekingPage
from evalbench.tui.state import figures
from evalbench.tui.state.run_folders import epochs_of
from evalbench.tui.state.run_follower import RunFollower
from evalbench.tui.state.sample_rows import place_of
from evalbench.tui.state.sample_view import (
    Block,
    SampleView,
    raw_words,
    sample_facts,
    sample_view,
    whole_words,
)
from evalbench.tui.widgets.focus import Scroll
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.layout import Column
from evalbench.tui.widgets.pairs import Pair, Pairs
from evalbench.tui.widgets.picture import Picture
from evalbench.tui.widgets.text import LONGEST, MOST_LINES, LongText, Plain
from evalbench.tui.widgets.topline import TopLine

_LOOK_EVERY = 4
"""A sample in progress is read again at every fourth tick."""


class Fold(Vertical, can_focus=True):
    """A title with a text that can be folded."""

    DEFAULT_CSS = """
    Fold { height: auto; }
    Fold > #fold-title { color: $text-muted; }
    Fold:focus > #fold-title { color: $text-primary; text-style: bold; }
    Fold > .body { display: none; }
    Fold.-open > .body { display: block; }
    """
    BINDINGS = [Binding("enter,space", "turn", "Fold", show=False)]

    def __init__(self, block: Block) -> None:
        super().__init__()
        self._block = block

    def compose(self) -> ComposeResult:
        """The title; the text is added when it is first opened."""
        yield Plain(self._title(), id="fold-title")

    def _title(self) -> str:
        mark = "▾" if self.has_class("-open") else "▸"
        size = figures.counted(len(self._block.text), "character")
        return f"{mark} {self._block.title} · {size}"

    def open(self, opened: bool = True) -> None:
        """Unfold it, or fold it."""
        if opened and not self.query(".body"):
            self.mount(long_text(self._block.text, "body"))
        self.set_class(opened, "-open")
        self.query_one("#fold-title", Plain).show(self._title())

    def show(self, block: Block) -> None:
        """Replace the text; another one is folded at first."""
        if block != self._block:
            self._block = block
            self.query(".body").remove()
            self.set_class(False, "-open")
            self.query_one("#fold-title", Plain).show(self._title())

    def action_turn(self) -> None:
        """Toggle it."""
        self.open(not self.has_class("-open"))

    def on_click(self, event: events.Click) -> None:
        """A click on the title toggles it."""
        if event.y == 0:
            self.action_turn()


class Everything(Scroll):
    """A sample's content. Long texts are laid out as the user scrolls to them."""

    _at_work = _upwards = _ends = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Prepare the next part before the end of the last one is reached."""
        super().watch_scroll_y(old_value, new_value)
        if not self._at_work:
            self._upwards = new_value < old_value
            self._ends = self._ends and not self._upwards
        self.call_after_refresh(self._go_on)

    def watch_virtual_size(self) -> None:
        """Stay at the end: what was mounted for it may get its height only after a refresh."""
        if self._ends:
            self.scroll_end(animate=False, immediate=True)
        self.call_after_refresh(self._go_on)

    async def _go_on(self) -> None:
        above = self.region.y - self.size.height
        below = self.region.bottom + self.size.height
        for text in self.query(LongText):
            gap = text.gap
            if self._at_work or gap is None or not above <= gap.region.y <= below:
                continue
            if self._ends and (text.tail is None or text.tail >= self.size.height):
                # That is where it was before the end came into view.
                continue
            if self._upwards and text.ends:
                await self._keeping_place(text)
            else:
                await text.more()

    async def _keeping_place(self, text: LongText) -> None:
        """Lay out a part above what is read, which stays where it is."""
        self._at_work = True
        high = self.virtual_size.height

        def stay() -> None:
            more = self.virtual_size.height - high
            self.scroll_to(y=self.scroll_y + more, animate=False, immediate=True)
            self._at_work = False

        await text.before()
        self.call_after_refresh(stay)

    def action_scroll_end(self) -> None:
        """Go to the end at once: of a long text there, only the last part is laid out."""
        self.call_next(self._end)

    async def _end(self) -> None:
        last = self.region.y - self.scroll_y + self.virtual_size.height - self.size.height
        for text in self.query(LongText):
            if text.gap and not text.ends and text.region.bottom >= last:
                await text.before()
        self._ends = True
        self.call_after_refresh(self.scroll_end, animate=False, immediate=True)


class SamplePage(SeekingPage):
    """One sample of a run.

    Attributes:
        number: number of the sample shown, from 1.
    """

    SCOPE: ClassVar[str] = "sample"
    DEFAULT_CSS = """
    SamplePage #all { padding: 0 1; }
    SamplePage #facts { height: auto; margin: 1 0; }
    SamplePage.-wide #facts {
        dock: right; width: 64; height: 100%; margin: 0; padding: 1 1 1 2; overflow-y: auto;
        border-left: vkey $panel-lighten-2;
    }
    SamplePage .call { color: $text-primary; text-style: bold; margin-top: 1; }
    SamplePage .asked { height: auto; border-left: outer $panel-lighten-2; padding-left: 1; }
    SamplePage .answered { height: auto; border-left: outer $primary; padding-left: 1; }
    SamplePage .part { color: $text-muted; }
    SamplePage .body { height: auto; padding: 0 0 0 2; margin-bottom: 1; }
    SamplePage .exact { text-wrap: nowrap; text-overflow: ellipsis; }
    SamplePage .took { height: auto; padding-left: 2; margin-bottom: 1; }
    """

    def __init__(self, folder: RunFolder, row: int, rows: Sequence[int] | None = None) -> None:
        """``rows``: numbers of the samples to step through, in order; default: all."""
        super().__init__()
        self.number = row
        self._watch = RunFollower(folder)
        self._samples = SampleBrowser(folder.journal)
        self._samples.headline.follow(self._watch.status.metrics)
        self._epochs = epochs_of(folder)
        self._rows = rows
        self._view: SampleView | None = None
        self._shown: tuple[SampleLine, list[CallRow], bool] | None = None
        self._ticks = 0
        self._widgets: list[Widget] = []
        self._shapes: list[tuple[object, ...]] = []

    def compose(self) -> ComposeResult:
        """Top line, everything in one column, footer."""
        yield TopLine(f"Sample {self.number}")
        yield Everything(id="all")
        yield Footer()

    async def on_mount(self) -> None:
        """Read and show it."""
        self.query_one("#all").focus()
        if self._rows is None:
            try:
                self._rows = self._samples.rows()
            except JournalError:
                self._rows = (self.number,)
        await self._look()

    # -- showing -----------------------------------------------------------------

    def tick(self) -> None:
        """Follow a sample in progress."""
        if not self.is_mounted or self._rows is None:
            return
        self._ticks += 1
        ended = self._watch.look() and self._watch.ended
        if ended or (self._ticks % _LOOK_EVERY == 0 and self._unfinished()):
            self.call_next(self._look)

    def _unfinished(self) -> bool:
        """Whether more may become known of it, or it could not be read while the run went on."""
        if self._shown is None:
            return not self._watch.ended
        line, calls, live = self._shown
        waits = len(line.scores) < self._epochs or any(call.reply is None for call in calls)
        return live and waits

    async def _look(self) -> None:
        """Read the sample, and draw it if anything has changed."""
        live = not self._watch.ended
        try:
            found = self._samples.sample(self.number)
        except JournalError as error:
            await self._draw([_text(f"{error.what}\n{error.why}", "bad")])
            return
        if found is None:
            self._view = self._shown = None
            await self._draw([_text("This sample is no longer part of the run.", "dim")])
        elif (*found, live) != self._shown:
            self._shown = (*found, live)
            self._view = sample_view(*found, self._samples.headline, live=live)
            await self._draw(list(_parts(self._view)))
        self._tell()

    async def _draw(self, parts: Sequence[_Part]) -> None:
        """Show these parts: in the widgets that are there, if they are alike."""
        whole = self.query_one("#all", Scroll)
        shapes = [(part.group, *part.shape) for part in parts]
        with self.app.batch_update():
            if shapes == self._shapes:
                for widget, part in zip(self._widgets, parts, strict=True):
                    part.renew(widget)
                return
            self._widgets, self._shapes = [], shapes
            await whole.remove_children()
            await whole.mount_all(self._made(parts))

    def _made(self, parts: Sequence[_Part]) -> Iterator[Widget]:
        """New widgets for the parts, those of a group in one column."""
        for group, members in groupby(parts, lambda part: part.group):
            made = [part.make() for part in members]
            self._widgets += made
            if group:
                yield Column(*made, classes=group[0])
            else:
                yield from made

    def _tell(self) -> None:
        rows = self._rows or ()
        place = place_of(rows, self.number) + 1
        left = f"Sample {figures.count(self.number)}"
        right = f"{figures.count(place)} of {figures.count(len(rows))} listed"
        if self._view and self._view.in_flight:
            right = f"in flight · {right}"
        self.query_one(TopLine).tell(left, right)

    # -- acting ------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable commands that do not apply here."""
        rows = self._rows or ()
        allowed = {
            "next": bool(rows) and self.number != rows[-1],
            "previous": bool(rows) and self.number != rows[0],
            "copy": self._view is not None and bool(self._view.reply),
            "batch": bool(self._watch.status.batches),
            "raw": self._shown is not None,
            "pager": self._view is not None,
            "editor": self._view is not None,
        }
        return True if allowed.get(action, True) else None

    def why_not(self, action: str) -> str:
        """See the base class."""
        return {
            "next": "this is the last one listed",
            "previous": "this is the first one listed",
            "copy": "there is no reply",
            "batch": "this run has no batches",
        }.get(action, "there is nothing to show")

    async def action_next(self) -> None:
        """See ``commands.py``."""
        await self._step(1)

    async def action_previous(self) -> None:
        """See ``commands.py``."""
        await self._step(-1)

    async def _step(self, by: int) -> None:
        rows = self._rows or ()
        place = place_of(rows, self.number) + by
        if not 0 <= place < len(rows):
            return
        self.number = rows[place]
        await self._go()

    def browsed(self) -> SampleBrowser:
        """See the base class."""
        return self._samples

    def listed(self) -> tuple[Sequence[int], int]:
        """See the base class."""
        return self._rows or (), self.number

    async def go_to(self, number: int) -> None:
        """See the base class."""
        self.number = number
        await self._go()

    async def _go(self) -> None:
        """Show the sample with this number from its beginning."""
        self._view = self._shown = None
        await self._look()
        self.query_one("#all", Scroll).scroll_home(animate=False)
        self.refresh_bindings()

    def action_copy(self) -> None:
        """See ``commands.py``."""
        if self._view:
            copy(self.the_app, self._view.reply, "the reply")

    def action_pager(self) -> None:
        """See ``commands.py``."""
        if self._view:
            page(self.the_app, whole_words(self._view))

    def action_editor(self) -> None:
        """See ``commands.py``."""
        if self._view:
            edit(self.the_app, whole_words(self._view))

    async def action_raw(self) -> None:
        """See ``commands.py``."""
        if self._shown:
            title = f"Sample {figures.count(self.number)}, raw"
            await self.app.push_screen(RawPage(title, raw_words(self._shown[1])))

    @work(exclusive=True, group="batch")
    async def action_batch(self) -> None:
        """See ``commands.py``."""
        from evalbench.engine.runs.batch_lines import batched_calls

        try:
            calls = await asyncio.to_thread(batched_calls, self._watch.folder, self.number)
        except JournalError as error:
            self.notify(error.what, severity="error", markup=False)
            return
        await self.app.push_screen(BatchLines(calls))

    def action_unfold(self) -> None:
        """See ``commands.py``."""
        folds = list(self.query(Fold))
        opened = not all(fold.has_class("-open") for fold in folds)
        for fold in folds:
            fold.open(opened)


_Group = tuple[str, int]
"""The class of a column of widgets, and the number of its call."""


class _Part(NamedTuple):
    """Something shown in one widget; one that shows a part of the same shape can be kept."""

    group: _Group | None
    shape: tuple[object, ...]
    make: Callable[[], Widget]
    renew: Callable[[Any], None]


def _parts(view: SampleView) -> Iterator[_Part]:
    """Everything about a sample: its result, then its calls."""
    yield _pairs([*sample_facts(view), ("id", view.id, "dim")], id="facts")
    if not view.calls:
        yield _text("No calls yet. The question:", "part")
        yield _text(view.question, "body")
    for number, call in enumerate(view.calls):
        yield _text(call.title, "call")
        for block in call.asked:
            yield from _block(block, ("asked", number))
        for block in call.answered:
            yield from _block(block, ("answered", number))
        if call.facts:
            facts = [(name, text, "") for name, text in call.facts]
            yield _pairs(facts, "took", ("answered", number))


def _block(block: Block, group: _Group) -> Iterator[_Part]:
    if block.folded:
        yield _folded(block, group)
        return
    yield _text(block.title, "part", group)
    if block.media is not None:
        yield _picture(block.media, group)
        return
    classes = " ".join(filter(None, ["body", block.tone]))
    yield _text(block.text, classes, group, exact=block.exact)


def _text(text: str, classes: str, group: _Group | None = None, *, exact: bool = False) -> _Part:
    shown = text.strip("\n")
    # Of a long text, any number of parts may have been laid out.
    shape = (classes, exact, shown if _is_long(shown) else "")
    return _Part(
        group,
        shape,
        lambda: long_text(shown, classes, exact=exact),
        lambda widget: widget.show(shown) if isinstance(widget, Plain) else None,
    )


def _pairs(
    pairs: Sequence[Pair], classes: str = "", group: _Group | None = None, *, id: str | None = None
) -> _Part:
    def make() -> Pairs:
        made = Pairs(pairs, id=id)
        made.set_classes(classes)
        return made

    return _Part(group, (Pairs, id, classes), make, lambda widget: widget.show(pairs))


def _folded(block: Block, group: _Group) -> _Part:
    return _Part(group, (Fold,), lambda: Fold(block), lambda widget: widget.show(block))


def _picture(media: MediaPart, group: _Group) -> _Part:
    return _Part(group, (Picture, media), lambda: Picture(media), lambda widget: None)


def long_text(text: str, classes: str, *, exact: bool = False) -> Widget:
    """A text of any length, without leading and trailing new lines."""
    text = text.strip("\n")
    if _is_long(text):
        return LongText(text, classes=classes, exact=exact)
    return Plain(text, classes=f"{classes} exact" if exact else classes)


def _is_long(text: str) -> bool:
    return len(text) > LONGEST or text.count("\n") > MOST_LINES


class BatchLines(Dialog[None]):
    """Request and result of each call, as stored in the run's folder. Escape closes it."""

    DEFAULT_CSS = """
    BatchLines > #box { width: 96%; height: 90%; }
    BatchLines .title { text-style: bold; margin-top: 1; }
    BatchLines .what { color: $text-muted; }
    """

    def __init__(self, calls: Sequence[BatchedCall]) -> None:
        super().__init__()
        self._calls = calls

    def compose(self) -> ComposeResult:
        """All of them, one below the other."""
        with Everything(id="box"):
            if not self._calls:
                yield Plain("No call of this sample was sent in a batch.")
            for call in self._calls:
                yield from _batched_call(call)

    def on_mount(self) -> None:
        """Focus the text, so that it can be scrolled at once."""
        self.query_one("#box").focus()


def _batched_call(call: BatchedCall) -> Iterator[Widget]:
    where = f"batch {call.batch}, line {call.line}" + (f" ({call.job})" if call.job else "")
    yield Plain(f"{call.role} {call.model} · {call.step} · {where}", classes="title")
    yield Plain("sent", classes="what")
    yield long_text(call.request.strip() or "its file is missing from the run's folder", "line")
    yield Plain("received", classes="what")
    yield long_text(call.result.strip() or "nothing yet", "line")


class RawPage(Page):
    """A scrollable text; hidden characters in it are made visible."""

    SCOPE: ClassVar[str] = "raw"
    DEFAULT_CSS = """
    RawPage #all { padding: 0 1; }
    """

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """Top line, text, footer."""
        yield TopLine(self._title, "hidden characters are written ⟨U+…⟩")
        with Everything(id="all"):
            yield long_text(self._text, "body")
        yield Footer()

    def on_mount(self) -> None:
        """Focus the text."""
        self.set_focus(self.query_one("#all"))

    def action_copy(self) -> None:
        """See ``commands.py``."""
        copy(self.the_app, self._text, "the text")

    def action_pager(self) -> None:
        """See ``commands.py``."""
        page(self.the_app, self._text)

    def action_editor(self) -> None:
        """See ``commands.py``."""
        edit(self.the_app, self._text)
