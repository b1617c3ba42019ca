"""Text from any source, shown literally: never markup, no control characters."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from evalbench.engine.errors import counted
from evalbench.engine.terminal_text import clean
from evalbench.tui.widgets.layout import Column, LaidOutOnce

LONGEST = 20_000
"""Maximum characters of one text laid out at a time; more would stall the screen."""

MOST_LINES = 1000
"""Maximum lines of one text laid out."""


def plain(text: str, style: str = "") -> Content:
    """External text as content without markup; very long text is cut, with a note."""
    # Cut first: cleaning a megabyte takes as long as many frames.
    kept = _first(text, 0)
    shown = clean(kept)
    if len(kept) < len(text):
        shown += f"\n… {counted(len(text) - len(kept), 'more character')}"
    return Content(shown).stylize(style) if style else Content(shown)


def _first(text: str, start: int) -> str:
    """The part of a text from ``start`` on that is laid out at a time."""
    kept = text[start : start + LONGEST]
    if kept.count("\n") > MOST_LINES:
        return "\n".join(kept.split("\n", MOST_LINES)[:MOST_LINES])
    if start + LONGEST < len(text):
        # Cut between two lines or words, if there are any.
        end = max(kept.rfind("\n", LONGEST // 2), 0) or kept.rfind(" ", LONGEST // 2)
        kept = kept[:end] if end > 0 else kept
    return kept


def _last(text: str, end: int, least: int) -> str:
    """The part of a text up to ``end`` that is laid out at a time, from ``least`` on."""
    start = max(least, end - LONGEST)
    kept = text[start:end]
    if kept.count("\n") > MOST_LINES:
        return "\n".join(kept.rsplit("\n", MOST_LINES)[1:])
    if start > least:
        # Cut between two lines or words, if there are any.
        half = LONGEST // 2
        cut = kept.find("\n", 0, half) + 1 or kept.find(" ", 0, half) + 1
        kept = kept[cut:]
    return kept


class Plain(Static, LaidOutOnce):
    """A block of text that is never read as markup. Redraws only if the text changed."""

    def __init__(
        self, text: str = "", *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(plain(text), markup=False, id=id, classes=classes)
        self._shown = text

    def show(self, text: str) -> None:
        """Replace the text."""
        if text != self._shown:
            before, self._shown = self._shown, text
            # A layout change rewrites the whole screen.
            room = self._room_of(text)
            self.update(plain(text), layout=room is None or room != self._room_of(before))

    def _room_of(self, text: str) -> tuple[int, int] | None:
        """Columns and rows of a text as far as they matter; None while unknown."""
        styles, width = self.styles, self.content_size.width
        if not self.is_mounted or not width:
            return None
        shown = plain(text)
        if styles.width and styles.width.is_auto:
            lines = shown.split()
            return max((line.cell_length for line in lines), default=0), len(lines)
        if not (styles.height and styles.height.is_auto):
            return 0, 0
        rows = len(shown.wrap(width))
        least, most = styles.min_height, styles.max_height
        if least and least.cells is not None:
            rows = max(rows, least.cells)
        if most and most.cells is not None:
            rows = min(rows, most.cells)
        return 0, rows


class LongText(Column):
    """A text of any length, laid out in parts: from its beginning on, and from its end back.

    What is between them is laid out by calls to :meth:`more` and :meth:`before`.

    Attributes:
        left: number of characters that are not laid out yet.
    """

    DEFAULT_CSS = """
    LongText { height: auto; }
    LongText > Plain { height: auto; }
    LongText > .-exact { text-wrap: nowrap; text-overflow: ellipsis; }
    LongText > .left { color: $text-muted; }
    """

    def __init__(self, text: str, *, classes: str = "", exact: bool = False) -> None:
        """``exact``: whether its lines are a table and must not be wrapped."""
        super().__init__(classes=classes)
        self._text, self._at, self._end = text, 0, len(text)
        self._part_classes = "-exact" if exact else ""

    @property
    def left(self) -> int:
        """See the class."""
        return self._end - self._at

    @property
    def ends(self) -> bool:
        """Whether its end is laid out."""
        return self._end < len(self._text)

    @property
    def tail(self) -> int | None:
        """Rows between the gap and the end; None while they do not have their places."""
        parts = list(self.children)
        rows = [part.size.height for part in parts[parts.index(self.gap) + 1 :]] if self.gap else []
        return sum(rows) if all(rows) else None

    @property
    def gap(self) -> Plain | None:
        """The line that says how much is left, between the two ends; None if nothing is."""
        return next(iter(self.query(".left").results(Plain)), None)

    def compose(self) -> ComposeResult:
        """The first part, and how much is left."""
        yield self._part()
        if self.left:
            yield Plain(self._left_words(), classes="left")

    def _part(self) -> Plain:
        start = self._at
        part = _first(self._text[: self._end], start)
        self._at += len(part)
        return self._made(part, after=start > 0, before=self.ends and not self.left)

    def _made(self, part: str, *, after: bool, before: bool) -> Plain:
        """A part, without the new line or space that separates it from parts next to it."""
        if after and part[:1] in ("\n", " "):
            part = part[1:]
        if before and part[-1:] in ("\n", " "):
            part = part[:-1]
        return Plain(part, classes=self._part_classes)

    def _left_words(self) -> str:
        return f"… {counted(self.left, 'more character')}: scroll on"

    async def more(self) -> None:
        """Lay out the part before the gap; does nothing while it is being made, or removed."""
        gap = self.gap
        if not self.left or gap is None or not self.is_attached:
            return
        await self.mount(self._part(), before=gap)
        await self._tell(gap)

    async def before(self) -> None:
        """Lay out the part after the gap; the first time, that is the end of the text."""
        gap = self.gap
        if not self.left or gap is None or not self.is_attached:
            return
        inner = self.ends
        part = _last(self._text, self._end, self._at)
        self._end -= len(part)
        shown = self._made(part, after=not self.left, before=inner)
        await self.mount(shown, after=gap)
        await self._tell(gap)

    async def _tell(self, gap: Plain) -> None:
        if self.left:
            gap.show(self._left_words())
        elif gap.is_attached:
            await gap.remove()
