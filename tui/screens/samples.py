"""Samples: every question of a run and its result, with filters."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from rich.cells import cell_len
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.timer import Timer
from textual.widgets import Input

from evalbench.engine.errors import EvalbenchError, JournalError
from evalbench.engine.paths import expand
from evalbench.engine.process.launch import RETRY
from evalbench.engine.runs.browse import (
    ORDERS,
    VALUE,
    Facets,
    SampleBrowser,
    SampleFacts,
    TextSearch,
)
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.rows import gold_text
from evalbench.tui.clipboard import copy
from evalbench.tui.screens.choose import Choose
from evalbench.tui.screens.dialogs import Confirm, Enter
from evalbench.tui.screens.sample import SamplePage
from evalbench.tui.screens.seeking import SeekingPage
from evalbench.tui.state import figures
from evalbench.tui.state.cells import widest
from evalbench.tui.state.query import Fields, parse_query
from evalbench.tui.state.run_choices import Choice
from evalbench.tui.state.run_folders import epochs_of
from evalbench.tui.state.run_follower import RunFollower
from evalbench.tui.state.run_list import RESUMABLE
from evalbench.tui.state.sample_query import SampleFilter, fields_of, matching, sample_fields
from evalbench.tui.state.sample_rows import EXTRAS, VALUE_WIDTH, SampleRows, place_of
from evalbench.tui.state.sample_words import STATE_WORDS, question_words
from evalbench.tui.state.spending import as_others, is_free
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.layout import LineInput
from evalbench.tui.widgets.table import Column, Table
from evalbench.tui.widgets.text import Plain
from evalbench.tui.widgets.topline import TopLine

_HEAD = (
    Column("", 1),
    Column("outcome", 9),
    Column("score", 6),
)
_READ, _GOLD = Column("read as", 9), Column("gold", 9)
_WIDE_TEXT = 18
"""Width of these two on wide screens."""
_QUESTION, _LEAST_QUESTION = Column("question", least=28), 20
"""The question, and its least width next to columns that were chosen."""
_GROUP = (Column("group"), Column("", 14), Column("samples", 9, right=True))
_NUMBER_WIDTH, _TAG_WIDTH = 7, 18
_MOST_TAGS = 2
_LOOKED_AT = 64
"""Samples that the width of a tag's column is taken from."""

_SEARCH_S, _REST_S = 0.02, 0.005
"""How long a search works at a time, and how long other tasks run in between."""
_SHOW_EVERY_S = 0.25
_TYPED_S = 0.2
"""Seconds without a key press before a search starts."""
_SCAN_AGAIN_S = 1.0
_SCAN_SHARE = 20
"""A live run is scanned again after this many times the time that scanning took."""

RETRYABLE = tuple(outcome.value for outcome in RETRY)
"""Outcomes that ``resume --retry`` can retry."""

_ORDER_NAMES = {
    "": "number",
    "score": "score",
    "seconds": "latency",
    "input_tokens": "tokens in",
    "output_tokens": "out",
    "cost": "cost",
}
"""Display names of orders, by their names in ``browse.ORDERS``: column titles."""


def _order_name(name: str) -> str:
    """The display name of an order or an optional column."""
    return _ORDER_NAMES.get(name) or name.removeprefix(VALUE)


def _extra_width(name: str) -> int:
    """The width of an optional column."""
    return EXTRAS[name][0] if name in EXTRAS else VALUE_WIDTH


def _extra_title(name: str, arrow: str) -> str:
    """An optional column's title; of a long one the end, which tells judges apart."""
    title, room = _order_name(name), _extra_width(name) - len(arrow)
    while cell_len(title) > room:
        title = "…" + title.removeprefix("…")[1:]
    return title + arrow


def _sorted_title(column: Column, arrow: str) -> str:
    """A title with the arrow of the order, which is never what is cut."""
    title = column.title + arrow
    return title if cell_len(title) <= column.width else column.title + arrow.strip()


def _kept(name: str) -> str:
    """An optional column's name in the preferences, where names are separated by spaces."""
    return name.replace(" ", "-")


_EXAMPLE = "words, outcome:failed, score:wrong, subject:law, latency>5"
_NOTHING_YET = "No samples yet: the run is still reading its data."
_NONE = "This run has no samples."
_NO_MATCH = "No matching samples. Press x to show all."


class SamplesPage(SeekingPage):
    """The samples of one run."""

    SCOPE: ClassVar[str] = "samples"
    DEFAULT_CSS = """
    SamplesPage #find-line { height: 1; display: none; }
    SamplesPage #find-line Plain { width: auto; padding: 0 1; }
    SamplesPage #find { border: none; height: 1; padding: 0; width: 1fr; }
    SamplesPage #narrowed { display: none; height: 1; padding: 0 1; color: $text-accent; }
    SamplesPage #narrowed.-on { display: block; }
    """

    def __init__(self, folder: RunFolder, narrowed: SampleFilter | None = None) -> None:
        """``narrowed``: the initial filter."""
        super().__init__()
        self._watch = RunFollower(folder)
        status = self._watch.status
        self._samples = SampleBrowser(folder.journal)
        self._samples.headline.follow(status.metrics)
        self._epochs = epochs_of(folder)
        self._tags: tuple[str, ...] = ()
        self._tag_widths: dict[str, int] = {}
        self._gold = True
        self._all: Sequence[int] = ()
        self._filter = SampleFilter()
        self._narrowed = narrowed
        self._fields: Fields[SampleFacts] | None = None
        self._problem = ""
        self._order, self._descending = "", False
        self._from_first = False
        self._extras: tuple[str, ...] = ()
        self._values: tuple[str, ...] = ()
        self._rows = SampleRows(self._samples, (), live=not self._watch.ended)
        self._search: TextSearch | None = None
        self._looking = ""
        self._scan_due = 0.0
        self._typing: Timer | None = None
        self._text_before = ""
        self._opened: SamplePage | None = None

    def compose(self) -> ComposeResult:
        """Top line, search text, active filters, table, footer."""
        yield TopLine(f"Samples of {self._watch.id}")
        with Horizontal(id="find-line"):
            yield Plain("filter")
            yield LineInput(id="find", placeholder=_EXAMPLE)
        yield Plain(id="narrowed")
        yield Table(
            (Column("", _NUMBER_WIDTH), *_HEAD, _READ, _GOLD, _QUESTION),
            empty=_NOTHING_YET,
            id="samples",
        )
        yield Footer()

    def on_mount(self) -> None:
        """Everything is shown at first; that needs no scan."""
        self.set_focus(self.query_one(Table))
        chosen = self.the_app.preferences.columns.split()
        if any(word.startswith(VALUE) for word in chosen):
            self._values = self._value_columns()
        self._extras = tuple(name for name in self._offered if _kept(name) in chosen)
        self._show_all()
        if self._narrowed:
            self._set_filter(self._narrowed)

    # -- showing -----------------------------------------------------------------

    def tick(self) -> None:
        """Follow a live run: its new samples, scores of visible ones, matches of the filter."""
        if not self.is_mounted or not (self._watch.look() or self._rows.live):
            return
        live = not self._watch.ended
        self._samples.headline.follow(self._watch.status.metrics)
        if not self._filter.any and not self._order:
            if len(self._rows) < self._watch.status.total // self._epochs:
                self._show_all()
        elif time.monotonic() >= self._scan_due or live != self._rows.live:
            self._narrow()
        if live != self._rows.live:
            self._rows.live = live
            self._rows.forget()
            self.query_one(Table).show()
        elif self._rows.forget_unfinished():
            self.query_one(Table).show()
        self._tell()

    def _show_all(self) -> None:
        try:
            numbers = self._samples.rows()
        except JournalError as error:
            if self._watch.ended:
                self._show((), empty=f"{error.what}. {error.why}")
            return
        self._all = numbers
        if numbers:
            self._set_columns(numbers)
        self._show(numbers)

    def _show_listed(self) -> None:
        """Show all samples as they are; a filter and an order need a scan."""
        if not self._filter.any and not self._order:
            self._show_all()
        else:
            self._tell()
            self._narrow()

    def _in_order(self, numbers: Sequence[int]) -> Sequence[int]:
        """Samples in the chosen order; they are already sorted by number."""
        if not self._order:
            return numbers
        return self._samples.ordered(numbers, self._order, descending=self._descending)

    def _set_columns(self, numbers: Sequence[int]) -> None:
        """Make room for the greatest number, and add a column per tag if there is space left."""
        if not self._tags:
            self._look_at(numbers)
        wide = max(_NUMBER_WIDTH, len(figures.count(numbers[-1])))
        # If space is tight, columns that were chosen are kept longest.
        last = 1 + len(self._extras)
        columns = [
            Column(tag, width, drop=last + 2 + len(self._tags) - place)
            for place, (tag, width) in enumerate(self._tag_widths.items())
        ]
        arrow = " ▾" if self._descending else " ▴"
        by = _order_name(self._order) if self._order else ""
        extras = [
            Column(
                _extra_title(name, arrow if _order_name(name) == by else ""),
                _extra_width(name),
                right=name != "values",
                drop=1 + place,
            )
            for place, name in enumerate(self._extras)
        ]
        number = Column("number", wide, right=True)
        heads = [
            column._replace(title=_sorted_title(column, arrow))
            if column.title and column.title == by
            else column
            for column in (number, *_HEAD)
        ]
        texts = [_READ, _GOLD] if self._gold else [_READ._replace(width=_WIDE_TEXT)]
        if self.has_class("-wide"):
            texts = [column._replace(width=_WIDE_TEXT) for column in texts]
        question = _QUESTION
        if extras:
            texts = [column._replace(drop=last + place) for place, column in enumerate(texts)]
            question = _QUESTION._replace(least=_LEAST_QUESTION)
        self.query_one(Table).replace_columns([*heads, *texts, *extras, *columns, question])

    def on_resize(self, event: events.Resize) -> None:
        """Wide screens have wider columns."""
        if self._all:
            self._set_columns(self._all)

    def _look_at(self, numbers: Sequence[int]) -> None:
        """See in some samples from all parts whether they have right answers, and their tags."""
        some = self._samples.lines(numbers[:: 1 + len(numbers) // _LOOKED_AT]).values()
        self._gold = any(gold_text(line.sample, {}) for line in some)
        tags = [line.sample.tags for line in some]
        names = list(tags[0])[:_MOST_TAGS] if tags else []
        self._tag_widths = {
            name: min(_TAG_WIDTH, widest([name, *(one.get(name, "") for one in tags)]))
            for name in names
        }
        self._tags = tuple(self._tag_widths)

    def _value_columns(self) -> tuple[str, ...]:
        """The optional columns of single values; none while the journal cannot be read."""
        try:
            names = self._samples.value_names()
        except JournalError:
            return ()
        # A single value is the score itself.
        return tuple(VALUE + name for name in names) if len(names) > 1 else ()

    @property
    def _offered(self) -> tuple[str, ...]:
        """Names of all optional columns."""
        return (*EXTRAS, *self._values)

    def _show(self, numbers: Sequence[int], *, empty: str = "") -> None:
        """Show these samples; the cursor stays at its sample, or goes to the next one.

        In another order, it goes to the first.
        """
        table = self.query_one(Table)
        here = self._here()
        if len(numbers) > len(self._rows) > 0 and numbers[: len(self._rows)] == self._rows.numbers:
            self._rows.grow(numbers)
        elif numbers != self._rows.numbers:
            self._rows = self._made_rows(numbers)
        if not empty:
            unread = _NONE if self._watch.ended else _NOTHING_YET
            empty = unread if not self._filter.any else self._looking or _NO_MATCH
        table.show(self._rows, empty=empty)
        if self._from_first:
            table.cursor, self._from_first = 0, False
        elif here is not None and numbers:
            table.cursor = min(place_of(numbers, here), len(numbers) - 1)
        self._tell()

    def _made_rows(self, numbers: Sequence[int]) -> SampleRows:
        return SampleRows(
            self._samples,
            numbers,
            self._tags,
            extras=self._extras,
            epochs=self._epochs,
            gold=self._gold,
            live=not self._watch.ended,
        )

    def _here(self) -> int | None:
        """Number of the sample under the cursor."""
        cursor = self.query_one(Table).cursor
        return self._rows.numbers[cursor] if cursor < len(self._rows) else None

    def _tell(self) -> None:
        """Show how many there are, and which filters apply."""
        everything = self._watch.status.total // self._epochs
        number = len(self._rows)
        text = figures.count(number)
        if self._filter.any:
            text += f" of {figures.count(everything)}"
        text += " sample" if number == 1 and not self._filter.any else " samples"
        if self._order:
            text += f" · by {_order_name(self._order)}"
        if not self._watch.ended:
            text += f" · {self._watch.state}"
        self.query_one(TopLine).tell(right=text)
        narrowed = self.query_one("#narrowed", Plain)
        narrowed.set_class(self._filter.any or bool(self._problem), "-on")
        retries = self._filter.kind in ("error", *RETRYABLE) and self.check_action("retry", ())
        again = self._to_retry()
        asks = f" · r asks {'all ' + figures.count(again) if again > 1 else 'it'} again"
        keys = asks * bool(retries and number) + " · x shows all"
        narrowed.show(self._problem or _filter_words(self._filter) + self._looking + keys)

    @property
    def looking(self) -> bool:
        """Whether a text search is in progress."""
        return bool(self._looking)

    # -- narrowing ---------------------------------------------------------------

    def _set_filter(self, wanted: SampleFilter) -> None:
        if wanted == self._filter:
            return
        if wanted.texts != self._filter.texts:
            self._search = TextSearch(self._samples, *wanted.texts)
        self._filter = wanted
        self.workers.cancel_group(self, "narrow")
        self._looking = ""
        self._show_listed()

    @work(exclusive=True, group="narrow", exit_on_error=False)
    async def _narrow(self) -> None:
        """Apply the filter: a scan in a thread, then the text search in small steps."""
        wanted = self._filter
        began = time.monotonic()
        # Not again before this one is finished, however long it takes.
        self._scan_due = float("inf")
        try:
            fields = self._fields or sample_fields((), ())
            numbers = await asyncio.to_thread(matching, self._samples, wanted, fields)
            if wanted.texts and self._search:
                due = await asyncio.to_thread(self._search.due, numbers)
                seconds = time.monotonic() - began
                self._search.begin(due)
                await self._look_through(numbers, self._search)
            else:
                numbers = await asyncio.to_thread(self._in_order, numbers)
                seconds = time.monotonic() - began
                self._show(numbers)
        except JournalError as error:
            seconds = time.monotonic() - began
            self._show((), empty=f"{error.what}. {error.why}")
        self._scan_due = time.monotonic() + max(_SCAN_AGAIN_S, _SCAN_SHARE * seconds)

    async def _look_through(self, numbers: Sequence[int], search: TextSearch) -> None:
        """Search the text in what was not searched yet; matches are shown meanwhile."""
        shown_at, shown = 0.0, -1
        while not search.done:
            search.go_on(_SEARCH_S)
            await asyncio.sleep(_REST_S)
            if search.done:
                break
            done = search.searched / len(search.rows)
            self._looking = f" · {figures.percent(done)} looked through"
            if time.monotonic() - shown_at > _SHOW_EVERY_S or (shown < 1 <= len(search.found)):
                shown_at, shown = time.monotonic(), len(search.found)
                self._show(search.among(numbers))
                await asyncio.sleep(_REST_S)
        self._looking = ""
        self._show(await asyncio.to_thread(self._in_order, search.among(numbers)))

    async def _facets(self) -> Facets | None:
        """The fields to filter by; None, with a message, if they cannot be read."""
        try:
            return await asyncio.to_thread(self._samples.facets)
        except JournalError as error:
            self.the_app.tell_trouble(error)
            return None

    @work(exclusive=True, group="choose")
    async def action_outcome(self) -> None:
        """See ``commands.py``."""
        if (facets := await self._facets()) is None:
            return
        there = ["", *(name for name in STATE_WORDS if name in facets.outcomes)]
        now = self._filter.outcome
        place = there.index(now) if now in there else 0
        self._set_filter(replace(self._filter, outcome=there[(place + 1) % len(there)]))

    @work(exclusive=True, group="choose")
    async def action_score(self) -> None:
        """See ``commands.py``."""
        if (facets := await self._facets()) is None:
            return
        if facets.graded:
            self.notify("answers of this run are graded, not right or wrong", markup=False)
            return
        following = {None: False, False: True, True: None}
        self._set_filter(replace(self._filter, right=following[self._filter.right]))

    @work(exclusive=True, group="choose")
    async def action_group(self) -> None:
        """See ``commands.py``."""
        if (facets := await self._facets()) is None:
            return
        tags = [
            (name, value, count)
            for name, values in facets.tags.items()
            for value, count in values.items()
        ]
        if not tags:
            self.notify("the samples of this run have no groups", markup=False)
            return
        choices = [
            Choice(str(place), (value, (name, "dim"), figures.count(count)), f"{name} {value}")
            for place, (name, value, count) in enumerate(tags)
        ]
        now = next((str(at) for at, tag in enumerate(tags) if tag[:2] == self._filter.tag), "")
        dialog = Choose("Show one group", _GROUP, choices, chosen=now, hint="Type to filter")
        chosen = await self.app.push_screen_wait(dialog)
        if chosen is not None:
            self._set_filter(replace(self._filter, tag=tags[int(chosen)][:2]))

    def browsed(self) -> SampleBrowser:
        """See the base class."""
        return self._samples

    def listed(self) -> tuple[Sequence[int], int]:
        """See the base class."""
        return self._rows.numbers, self._here() or 0

    async def go_to(self, number: int) -> None:
        """See the base class."""
        self.query_one(Table).cursor = place_of(self._rows.numbers, number)

    @work(exclusive=True, group="choose")
    async def action_go_to(self) -> None:
        """See ``commands.py``."""

        def read(text: str) -> int:
            number = int(text.replace(",", "")) if text.replace(",", "").isdecimal() else 0
            if number not in self._rows.numbers:
                hidden = number in self._all
                raise ValueError(f"the filter hides {text}" if hidden else "no such sample")
            return number

        typed = await self.app.push_screen_wait(Enter("Number of the sample", check=read))
        if typed is not None:
            await self.go_to(read(typed))

    # -- order and columns -------------------------------------------------------

    def _order_by(self, by: str, *, descending: bool) -> None:
        self._from_first = (by, descending) != (self._order, self._descending)
        self._order, self._descending = by, descending
        if self._all:
            self._set_columns(self._all)
        # Until they are sorted they stay as they are.
        self._rows = self._made_rows(self._rows.numbers)
        self.query_one(Table).show(self._rows)
        self._show_listed()

    def action_sort(self) -> None:
        """See ``commands.py``."""
        orders = ("", *ORDERS, *(name for name in self._extras if name.startswith(VALUE)))
        place = orders.index(self._order) if self._order in orders else 0
        by = orders[(place + 1) % len(orders)]
        self._order_by(by, descending=by not in ("", "score"))
        name = _order_name(by)
        first = "greatest first" if self._descending else "least first"
        self.notify(f"by {name}, {first}" if by else "by number", markup=False)

    def action_reverse(self) -> None:
        """See ``commands.py``."""
        if self._order:
            self._order_by(self._order, descending=not self._descending)

    @on(Table.HeadClicked)
    def _head_clicked(self, event: Table.HeadClicked) -> None:
        place = event.index - 1 - len(_HEAD) - (2 if self._gold else 1)
        if 0 <= place < len(self._extras):
            title = _order_name(self._extras[place])
        else:
            title = event.table.columns[event.index].title.rstrip(" ▾▴")
        orders = (*_ORDER_NAMES, *self._values)
        by = next((one for one in orders if _order_name(one) == title), None)
        if by is not None:
            turned = by == self._order and not self._descending
            self._order_by(by, descending=turned or (by != self._order and by not in ("", "score")))

    @work(exclusive=True, group="choose")
    async def action_columns(self) -> None:
        """See ``commands.py``."""
        place = ""
        self._values = await asyncio.to_thread(self._value_columns)
        while True:
            choices = [
                Choice(name, ("shown" if name in self._extras else "–", _order_name(name)), name)
                for name in self._offered
            ]
            dialog = Choose(
                "Columns",
                (Column("", 6), Column("column")),
                choices,
                chosen=place,
                hint="Type to filter",
                keys="enter: show or hide · escape: done",
            )
            if not (place := await self.app.push_screen_wait(dialog) or ""):
                dropped = [title.rstrip(" ▾▴") for title in self.query_one(Table).dropped]
                titles = [_extra_title(name, "") for name in self._extras]
                if lacking := [title for title in titles if title in dropped]:
                    self.notify(f"no room here for {', '.join(lacking)}", markup=False)
                return
            kept = set(self._extras) ^ {place}
            self._extras = tuple(name for name in self._offered if name in kept)
            here = set(map(_kept, self._offered))
            others = (w for w in self.the_app.preferences.columns.split() if w not in here)
            self.the_app.prefer(columns=" ".join([*map(_kept, self._extras), *others]))
            self._order_by(self._order, descending=self._descending)

    # -- actions on the listed samples -------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable commands that do not apply."""
        if action == "retry":
            return True if self._watch.ended and self._retried() is not None else None
        if action == "reverse":
            return True if self._order else None
        if action == "export":
            return True if len(self._rows) else None
        return True

    def why_not(self, action: str) -> str:
        """See the base class."""
        if action == "reverse":
            return "samples are in order of their numbers; sort them first"
        if action == "export":
            return "no sample is listed"
        return "nothing of this kind can be retried" if self._watch.ended else "the run is going on"

    def _retried(self) -> tuple[str, ...] | None:
        """Words for ``resume`` that retry samples of the listed kind; None if impossible."""
        outcome = self._filter.kind
        if outcome in RETRYABLE:
            return "--retry", outcome
        failed = self._watch.status.failed > 0 or self._watch.state in RESUMABLE
        return () if outcome in ("", "error", "waiting") and failed else None

    def _to_retry(self) -> int:
        """How many samples a retry asks again, in every epoch; listed or not."""
        status, outcome = self._watch.status, self._filter.kind
        return status.outcomes.get(outcome, 0) if outcome in RETRYABLE else status.failed

    def _retry_words(self, words: Sequence[str]) -> tuple[str, str]:
        """What a retry is about to do, and what it costs."""
        status, number = self._watch.status, self._to_retry()
        what = self._filter.kind if words else "failed"
        notes = [f"{'All their' if words else 'Only failed'} calls are sent again."]
        if number:
            those = f"the {what} sample" if number == 1 else f"all {number:,} {what} samples"
            question = f"Ask {those} of this run again?"
        else:
            question, notes = "Ask what is not done yet?", []
        if (cost := as_others(status, number)) is not None:
            notes.append(f"About {figures.dollars(cost)}, at what the others cost.")
        elif number and not is_free(status):
            notes.append("What that costs is not known.")
        if self._filter.any and len(self._rows) < number:
            notes.append(f"It is not limited to the {figures.count(len(self._rows))} listed.")
        notes.append("Other samples keep their scores.")
        if undone := status.total - status.done:
            notes.append(f"The {figures.count(undone)} not done yet are asked too.")
        return question, " ".join(notes)

    @work(exclusive=True, group="retry")
    async def action_retry(self) -> None:
        """See ``commands.py``."""
        from evalbench.tui.screens.starting import start

        words = self._retried()
        if words is None:
            return
        question, note = self._retry_words(words)
        if await self.app.push_screen_wait(Confirm(question, yes="Retry", note=note)):
            await start(self.the_app, ("resume", str(self._watch.folder.path), *words))

    def action_copy(self) -> None:
        """See ``commands.py``."""
        here = self._here()
        line = self._samples.lines([here]).get(here) if here is not None else None
        if line:
            copy(self.the_app, question_words(line.sample.inputs), "the question")

    @work(exclusive=True, group="export")
    async def action_export(self) -> None:
        """See ``commands.py``."""
        from evalbench.engine.formats import export_samples

        folder, numbers = self._watch.folder, self._rows.numbers
        count = figures.counted(len(numbers), "sample")
        typed = await self.app.push_screen_wait(
            Enter(
                f"Export the {count} listed to a file",
                value=str(folder.path / "samples.csv"),
                note="ending in .csv or .jsonl; an existing file is replaced",
                check=_check_ending,
            )
        )
        if typed is None:
            return
        try:
            path = expand(typed)
            await asyncio.to_thread(export_samples, folder, set(numbers), path)
        except EvalbenchError as error:
            self.the_app.tell_trouble(error)
        else:
            self.notify(f"{count} written to {path}", timeout=10, markup=False)

    def action_clear(self) -> None:
        """See ``commands.py``."""
        self._problem = ""
        self.query_one("#find", Input).value = ""
        self.query_one("#find-line").display = False
        self.set_focus(self.query_one(Table))
        self._set_filter(SampleFilter())

    def action_filter(self) -> None:
        """See ``commands.py``."""
        self._text_before = self._filter.typed
        self.open_field("#find-line", "#find")

    @on(Input.Changed, "#find")
    def _typed(self, event: Input.Changed) -> None:
        """Search as soon as typing pauses."""
        if self._typing:
            self._typing.stop()
        self._typing = self.set_timer(_TYPED_S, self._find)

    @work(exclusive=True, group="find")
    async def _find(self) -> None:
        typed = self.query_one("#find", Input).value.strip()
        if typed and (self._fields is None or not self._watch.ended):
            try:
                self._fields = await asyncio.to_thread(fields_of, self._samples)
            except JournalError as error:
                self.the_app.tell_trouble(error)
                return
        query = parse_query(typed, self._fields or sample_fields((), ()))
        self._problem = query.problem
        if query.problem:
            self._tell()
            return
        self._set_filter(replace(self._filter, typed=typed, texts=query.words))
        self._tell()

    @on(Input.Submitted, "#find")
    def _found(self) -> None:
        self.query_one("#find-line").display = False
        self.set_focus(self.query_one(Table))
        self._find()

    @property
    def begun(self) -> bool:
        """Going back first leaves the entry, then clears the filter."""
        return self.query_one("#find").has_focus or self._filter.any

    def step_back(self) -> None:
        """Leave the entry, or clear the filter."""
        entry = self.query_one("#find", Input)
        if entry.has_focus:
            entry.value = self._text_before
            self._found()
        else:
            self.action_clear()

    # -- opening -----------------------------------------------------------------

    @on(Table.Opened)
    async def _open(self) -> None:
        if (here := self._here()) is not None:
            self._opened = SamplePage(self._watch.folder, here, self._rows.numbers)
            await self.app.push_screen(self._opened)

    @on(events.ScreenResume)
    def _come_back(self) -> None:
        """Move the cursor to the last viewed sample."""
        if self._opened is not None:
            place = place_of(self._rows.numbers, self._opened.number)
            self.query_one(Table).cursor = place
            self._opened = None


def _check_ending(name: str) -> None:
    if not name.endswith((".csv", ".jsonl")):
        raise ValueError("the name has to end in .csv or .jsonl")


def _filter_words(wanted: SampleFilter) -> str:
    """``only: wrong, subject anatomy, with “text” in it``."""
    parts = []
    if wanted.outcome:
        words = STATE_WORDS[wanted.outcome]
        parts.append(f"{words} with {wanted.error}" if wanted.error else words)
    if wanted.right is not None:
        parts.append("right" if wanted.right else "wrong")
    if wanted.tag:
        parts.append(f"{wanted.tag[0]} {wanted.tag[1]}")
    if wanted.typed:
        quoted = " and ".join(f"“{text}”" for text in wanted.texts)
        plain = set(wanted.typed.split()) <= set(wanted.texts)
        parts.append(f"with {quoted} in it" if plain else wanted.typed)
    return "only " + ", ".join(parts)
