"""A table of any number of rows that draws only visible ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from evalbench.engine.compat import override
from evalbench.engine.terminal_text import one_line
from evalbench.tui.bindings import bindings
from evalbench.tui.state.cells import cell
from evalbench.tui.widgets.focus import PaintsFocus
from evalbench.tui.widgets.text import plain


class Column(NamedTuple):
    """A column. Width 0: shares the remaining width; ``drop``: dropped first if space is tight.

    Columns with a higher ``drop`` are dropped before those with a lower one; 0 is always kept.
    Space is tight while a sharing column would get less than its ``least``. It gets no more than
    its ``most``, so that figures stay near their names; what no column takes is left at the end.
    """

    title: str
    width: int = 0
    right: bool = False
    drop: int = 0
    least: int = 8
    most: int = 0


Cell = str | tuple[str, str]
"""A cell's text, or text and tone: one of :data:`TONES`."""

TONES = ("dim", "good", "bad", "warn", "strong")


class Rows(Protocol):
    """A table's data source. Queried only for visible rows.

    A row with a single cell in a table of several columns is written across all of them.
    """

    def __len__(self) -> int:
        """How many rows there are."""
        ...

    def row(self, index: int) -> Sequence[Cell]:
        """The cells of one row, one for each column."""
        ...


class ListRows(Rows):
    """Rows in memory."""

    def __init__(self, rows: Sequence[Sequence[Cell]] = ()) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @override
    def row(self, index: int) -> Sequence[Cell]:
        return self._rows[index]


# In Textual, ``ScrollView.scroll_to`` takes less than that of its base class.
class Table(  # pyright: ignore[reportIncompatibleMethodOverride]
    ScrollView, PaintsFocus, can_focus=True
):
    """Rows with a fixed header and a cursor.

    Foreign text is safe in every cell. Call :meth:`show` if the rows may have changed: only
    differences are drawn. It paints its own scrollbar: Textual's is a widget, and the screen is
    laid out again whenever that comes or goes.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES = {
        "table--head",
        "table--cursor",
        "table--focused",
        "table--bar",
        "table--thumb",
        *(f"table--{tone}" for tone in TONES),
    }
    DEFAULT_CSS = """
    Table {
        height: 1fr;
        background: $background;
        overflow: hidden;
    }
    Table .table--bar { color: $panel-lighten-2; }
    Table .table--thumb { color: $text-muted; }
    Table .table--head { text-style: bold; color: $text-muted; }
    Table .table--cursor {
        background: $block-cursor-blurred-background;
        color: $block-cursor-blurred-foreground;
        text-style: $block-cursor-blurred-text-style;
    }
    Table .table--focused {
        background: $block-cursor-background;
        color: $block-cursor-foreground;
        text-style: $block-cursor-text-style;
    }
    Table .table--dim { color: $text-muted; }
    Table .table--good { color: $text-success; }
    Table .table--bad { color: $text-error; }
    Table .table--warn { color: $text-warning; }
    Table .table--strong { text-style: bold; }
    """
    BINDINGS = bindings("list")

    cursor: reactive[int] = reactive(0, repaint=False)
    """Index of the row under the cursor."""

    class Moved(Message):
        """The cursor moved to another row."""

        def __init__(self, table: Table, index: int) -> None:
            super().__init__()
            self.table, self.index = table, index

        @property
        def control(self) -> Table:
            """The table, for ``@on`` selectors."""
            return self.table

    class Opened(Moved):
        """Enter, or a second click, on a row."""

    class HeadClicked(Moved):
        """A click on the header; ``index`` is the column's."""

    def __init__(
        self,
        columns: Sequence[Column],
        rows: Rows | None = None,
        *,
        empty: str = "",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """``empty`` is shown when there are no rows, in as many lines as it needs."""
        super().__init__(id=id, classes=classes)
        self._columns = tuple(columns)
        self._rows: Rows = rows or ListRows()
        self._empty = empty
        self._empty_lines: list[str] = []
        self._widths: list[int] = []
        self._fitted = -1
        self._lit = False
        self._dragging = False
        self._drawn: dict[int, tuple[object, ...]] = {}

    # -- rows --------------------------------------------------------------------

    @property
    def rows(self) -> Rows:
        """The current rows."""
        return self._rows

    @property
    def columns(self) -> Sequence[Column]:
        """The columns, including those dropped for lack of space."""
        return self._columns

    @property
    def dropped(self) -> Sequence[str]:
        """Titles of the columns that are not shown for lack of space."""
        self._fit_columns()
        both = zip(self._columns, self._widths, strict=True)
        return [column.title for column, width in both if not width]

    def cuts(self, index: int) -> bool:
        """Whether a cell of a row is wider than its column."""
        self._fit_columns()
        texts = [one[0] if isinstance(one, tuple) else one for one in self._rows.row(index)]
        return any(
            cell_len(one_line(text)) > wide
            for text, wide in zip(texts, self._widths, strict=False)
            if wide
        )

    def show(self, rows: Rows | None = None, *, empty: str | None = None) -> None:
        """Show these rows, or the changed state of the current ones; keeps the cursor in range."""
        if rows is not None:
            self._rows = rows
        if empty is not None and empty != self._empty:
            self._empty = empty
            self._wrap_empty()
        self._measure()
        if self.cursor >= len(self._rows):
            self.cursor = max(0, len(self._rows) - 1)
        self._refresh_changed()

    def replace_columns(self, columns: Sequence[Column]) -> None:
        """Show other columns; the rows must match them."""
        if tuple(columns) != self._columns:
            self._columns = tuple(columns)
            self._fitted = -1
            self._measure()
            self.refresh()

    def _measure(self) -> None:
        self._fit_columns()
        # No wider than the available space: there is no horizontal scrolling.
        size = Size(0, len(self._rows) + 1)
        if size != self.virtual_size:
            # Nothing outside the table depends on it, so the screen is not laid out again.
            self.set_reactive(Table.virtual_size, size)
            self._scroll_update(size)

    def _fit_columns(self) -> None:
        """Fit the columns to the width, whose last cell is the scrollbar's."""
        width = self.size.width
        if width != self._fitted:
            self._fitted = width
            self._widths = _fit(self._columns, width)
            self._wrap_empty()

    def _wrap_empty(self) -> None:
        """Wrap the text of an empty table, leaving two cells free on either side."""
        room = self.size.width - 4
        self._empty_lines = [line.plain for line in plain(self._empty).wrap(max(1, room))]

    def _refresh_changed(self) -> None:
        """Repaint only lines that have changed."""
        top = int(self.scroll_offset.y)
        for y in range(self.size.height):
            if y in self._drawn and self._drawn[y] != self._fingerprint(y, top):
                self.refresh(Region(0, y, self.size.width, 1))

    def _fingerprint(self, y: int, top: int) -> tuple[object, ...]:
        index = y - 1 + top
        bar = self._bar(y)
        if y == 0 or not 0 <= index < len(self._rows):
            return (y == 0, not len(self._rows) and self._empty, tuple(self._widths), bar)
        row = self._rows.row(index)
        return (*row, index == self.cursor and 1 + self._lit, tuple(self._widths), bar)

    # -- drawing -----------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """The line at ``y`` of the widget; the header is always the first."""
        line = self._content_line(y)
        if part := self._bar(y):
            bar = Segment("┃" if part == "thumb" else "│", self._tone(part))
            return Strip.join([line.crop(0, self.size.width - 1), Strip([bar], 1)])
        return line

    def _content_line(self, y: int) -> Strip:
        self._fit_columns()
        width = self.size.width
        base = self.rich_style
        top = int(self.scroll_offset.y)
        self._drawn[y] = self._fingerprint(y, top)
        index = y - 1 + top
        if y == 0:
            head = [column.title for column in self._columns]
            return self._strip(head, self.get_component_rich_style("table--head"), width)
        if not len(self._rows) and 0 <= y - 2 < len(self._empty_lines):
            text = "  " + cell(self._empty_lines[y - 2], width - 2)
            return Strip([Segment(text, base + self._tone("dim"))], width)
        if index >= len(self._rows):
            return Strip.blank(width, base)
        style = base
        if index == self.cursor:
            name = "table--focused" if self._lit else "table--cursor"
            style = self.get_component_rich_style(name)
        return self._strip(self._rows.row(index), style, width, toned=index != self.cursor)

    def _strip(self, row: Sequence[Cell], style: Style, width: int, *, toned: bool = True) -> Strip:
        segments: list[Segment] = []
        used = 0
        columns, widths = self._columns, self._widths
        if len(row) == 1 < len(columns):
            columns, widths = (Column(""),), [self._fitted - 1]
        for column, wide, content in zip(columns, widths, row, strict=False):
            if not wide:
                continue
            text, tone = content if isinstance(content, tuple) else (content, "")
            own = style + self._tone(tone) if tone and toned else style
            segments.append(Segment(cell(text, wide, right=column.right) + " ", own))
            used += wide + 1
        segments.append(Segment(" " * max(0, width - used), style))
        return Strip(Segment.simplify(segments)).adjust_cell_length(width, style)

    def _tone(self, tone: str) -> Style:
        # Whole, not partial: muted text is blended with its background.
        return self.get_component_rich_style(f"table--{tone}")

    # -- scrollbar ---------------------------------------------------------------

    @property
    def allow_vertical_scroll(self) -> bool:
        """Whether the wheel scrolls."""
        return bool(self.max_scroll_y) and not self._check_disabled()

    def _bar(self, y: int) -> str:
        """Which part of the scrollbar is in this line; empty if there is none."""
        if y == 0 or not self.max_scroll_y:
            return ""
        start, length = self._thumb()
        return "thumb" if start <= y - 1 < start + length else "bar"

    def _thumb(self) -> tuple[int, int]:
        """The first row below the header that the thumb covers, and how many it covers."""
        room = max(1, self.size.height - 1)
        length = max(1, room * room // max(1, len(self._rows)))
        # While it is dragged, rows may go until nothing is left to scroll.
        share = self.scroll_offset.y / (self.max_scroll_y or 1)
        return round(share * (room - length)), length

    def _on_bar(self, event: events.MouseEvent) -> bool:
        place = event.get_content_offset(self)
        return bool(place and self.max_scroll_y and place.y and place.x == self.size.width - 1)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """The scrollbar follows the mouse until the button is released."""
        if self._on_bar(event):
            self._dragging = True
            self.capture_mouse()
            self._drag(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """See :meth:`on_mouse_down`."""
        if self._dragging:
            self._drag(event)

    def on_mouse_up(self) -> None:
        """See :meth:`on_mouse_down`."""
        if self._dragging:
            self._dragging = False
            self.release_mouse()

    def _drag(self, event: events.MouseEvent) -> None:
        _, length = self._thumb()
        room = self.size.height - 1 - length
        y = event.get_content_offset_capture(self).y - 1 - length // 2
        share = max(0.0, min(1.0, y / room if room > 0 else 0.0))
        self._scroll_to_row(round(share * self.max_scroll_y))

    # -- cursor ------------------------------------------------------------------

    def watch_cursor(self, before: int, now: int) -> None:
        """Repaint both rows and keep the cursor in view."""
        self._keep_in_view(now)
        self._refresh_changed()
        if before != now:
            self.post_message(self.Moved(self, now))

    def validate_cursor(self, wanted: int) -> int:
        """Stay within the rows."""
        return max(0, min(wanted, len(self._rows) - 1))

    def _keep_in_view(self, index: int) -> None:
        page = max(1, self.size.height - 1)
        top = int(self.scroll_offset.y)
        if index < top:
            self._scroll_to_row(index)
        elif index >= top + page:
            self._scroll_to_row(index - page + 1)

    def _scroll_to_row(self, index: int) -> None:
        self.scroll_to(y=index, animate=False, immediate=True, force=True)

    def action_down(self) -> None:
        """See ``commands.py``."""
        self.cursor += 1

    def action_up(self) -> None:
        """See ``commands.py``."""
        self.cursor -= 1

    def action_page_down(self) -> None:
        """See ``commands.py``."""
        self.cursor += max(1, self.size.height - 2)

    def action_page_up(self) -> None:
        """See ``commands.py``."""
        self.cursor -= max(1, self.size.height - 2)

    def action_first(self) -> None:
        """See ``commands.py``."""
        self.cursor = 0

    def action_last(self) -> None:
        """See ``commands.py``."""
        self.cursor = len(self._rows) - 1

    def action_open(self) -> None:
        """See ``commands.py``."""
        if len(self._rows):
            self.post_message(self.Opened(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        """Select a row; a click on the selected one opens it."""
        place = event.get_content_offset(self)
        if place is None or self._on_bar(event):
            return
        index = place.y - 1 + int(self.scroll_offset.y)
        if place.y == 0 and (column := self._column_at(place.x)) is not None:
            self.post_message(self.HeadClicked(self, column))
        if place.y == 0 or index >= len(self._rows):
            return
        if index == self.cursor:
            self.action_open()
        self.cursor = index

    def _column_at(self, x: int) -> int | None:
        """The column at this position."""
        for place, width in enumerate(self._widths):
            if width and x <= width:
                return place
            x -= width + 1 if width else 0
        return None

    # -- external changes --------------------------------------------------------

    def on_resize(self) -> None:
        """Fit the columns again."""
        self._measure()
        self.refresh()
        self._keep_in_view(self.cursor)

    @override
    def light(self, lit: bool) -> None:
        """The cursor changes its look."""
        self._lit = lit
        self._refresh_changed()


def _fit(columns: Sequence[Column], width: int) -> list[int]:
    """Column widths in ``width`` cells, with a cell between them; 0 for dropped columns."""
    kept = [True] * len(columns)

    def needed() -> int:
        return sum(
            (column.width or column.least) + 1
            for column, keep in zip(columns, kept, strict=True)
            if keep
        )

    for number in sorted(range(len(columns)), key=lambda n: -columns[n].drop):
        if needed() > width and columns[number].drop:
            kept[number] = False
    fixed = sum(c.width + 1 for c, keep in zip(columns, kept, strict=True) if keep)
    flexible = [n for n, c in enumerate(columns) if kept[n] and not c.width]
    spare = max(0, width - fixed)
    shares: dict[int, int] = {}
    # Those with the smallest limit first: others share what they leave.
    for place, number in enumerate(sorted(flexible, key=lambda n: columns[n].most or width)):
        share = -(-spare // (len(flexible) - place))
        shares[number] = max(1, min(share, columns[number].most or share))
        spare -= shares[number]
    return [
        column.width or shares[number] if keep else 0
        for number, (column, keep) in enumerate(zip(columns, kept, strict=True))
    ]
