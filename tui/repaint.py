"""Tracks what the terminal shows, so that only changed cells are written again.

Textual writes whole regions, and the whole screen after every layout change. That is tens of
kilobytes for a key that changes one line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from evalbench.tui.state.glyphs import substitutes

_APART = 8
"""Unchanged cells between two changes that are written too: moving the cursor costs as much."""

_MOST_STYLES = 4096
_TEXT = "\0"

_Cell = tuple[str, str]
"""A character and the sequences around it; the second cell of a wide one has no character."""

_CHARACTER = itemgetter(0)

_Run = tuple[int, int, Sequence[_Cell]]
"""Cells to be written, and the line and the column of the first."""

_Line = list[_Cell] | list[Segment] | None
"""The content of a line: by cell, as one opaque write, or unknown."""


class DirtyLines(Compositor):
    """Renders only the dirty lines of dirty widgets, and nothing that these cover.

    Textual renders all lines of all widgets between the first change and the last one, and all
    widgets of a scrolled container that one of the changes is in.
    """

    def render_partial_update(self) -> ChopsUpdate | None:
        """See the base class."""
        spans = list(self._regions_to_spans(self._dirty_regions))
        self._dirty_regions.clear()
        if not spans:
            return None
        cuts = self.cuts
        chops: list[dict[int, Strip]] = [{} for _ in cuts]
        for crop in _rectangles(spans):
            lines = crop.line_range
            rendered = self._render_chops(crop, lines.__contains__)
            for y in lines:
                for x, strip in rendered[y].items():
                    if strip is not None or x not in chops[y]:
                        chops[y][x] = strip
        return ChopsUpdate(chops, spans, [line[1:] for line in cuts])

    def _get_renders(
        self, crop: Region | None = None
    ) -> Iterable[tuple[Region, Region, list[Strip]]]:
        covered = False
        # From the front to the back.
        for widget, (region, clip) in self.visible_widgets.items():
            shown = region.intersection(clip)
            if crop is not None:
                if not shown.overlaps(crop):
                    continue
                covered = shown.contains_region(crop)
                top, bottom = max(shown.y, crop.y), min(shown.bottom, crop.bottom)
                shown = Region(shown.x, top, shown.width, bottom - top)
            if shown:
                yield region, shown, widget.render_lines(shown.translate(-region.offset))
            if covered:
                return


def _rectangles(spans: Iterable[tuple[int, int, int]]) -> Iterator[Region]:
    """Spans (line, start, end), as far as possible joined with equal ones in the lines below."""
    columns: dict[tuple[int, int], list[int]] = {}
    for y, start, end in sorted(spans):
        columns.setdefault((start, end), []).append(y)
    for (start, end), lines in columns.items():
        begin = 0
        for place in range(1, len(lines) + 1):
            if place == len(lines) or lines[place] != lines[place - 1] + 1:
                yield Region(start, lines[begin], end - start, place - begin)
                begin = place


class Painted:
    """What was written to the terminal, line by line.

    Attributes:
        lost: whether another program or a resize may have changed what the terminal shows, and no
            whole screen was written since.
    """

    def __init__(self) -> None:
        self.lost = False
        self._lines: list[_Line] = []
        self._width = 0
        self._styles: dict[Style | None, str] = {}
        self._substitutes = substitutes()

    def forget(self) -> None:
        """Write everything the next time."""
        self.lost = True
        self._lines = []

    def less(self, update: CompositorUpdate) -> CompositorUpdate:
        """An update that has the same effect on the terminal."""
        return _Less(update, self)

    # -- what is written -----------------------------------------------------------

    def whole(self, update: LayoutUpdate, console: Console) -> str:
        """The sequences for a whole screen."""
        self.lost = False
        left, top, width, height = update.region
        lines = [[part for strip in line for part in strip] for line in update.strips]
        if left or top or any(map(_acts, lines)):
            self._lines = []
            return update.render_segments(console)
        if width != self._width or height != len(self._lines):
            self._width = width
            self._lines = [None] * height
        runs: list[_Run] = []
        for y, parts in enumerate(lines):
            before = self._lines[y]
            if before is None:
                runs.append((y, 0, self._cells(parts, console)))
            elif before != parts:
                now = self._cells(parts, console)
                runs += _changes(y, 0, self._known(before, console), now)
            self._lines[y] = parts
        return _written(runs)

    def spans(self, update: ChopsUpdate, console: Console) -> str:
        """The sequences for parts of some lines."""
        found = [(y, list(_parts(update, y, x1, x2))) for y, x1, x2 in update.spans]
        if any(y >= len(self._lines) for y, _ in found) or any(
            _acts(parts) for _, pieces in found for _, parts in pieces
        ):
            self._lines = []
            return update.render_segments(console)
        runs: list[_Run] = []
        for y, pieces in found:
            before = self._lines[y]
            if before is None:
                # If a line is not fully known, the next whole screen settles it.
                runs += [(y, x, self._cells(parts, console)) for x, parts in pieces]
                continue
            known = self._known(before, console)
            for x, parts in pieces:
                now = self._cells(parts, console)
                runs += _changes(y, x, known[x : x + len(now)], now)
                known[x : x + len(now)] = now
            self._lines[y] = known
        return _written(runs)

    def _known(self, line: Sequence[_Cell] | Sequence[Segment], console: Console) -> list[_Cell]:
        if line and isinstance(line[0], Segment):
            return self._cells(line, console)  # type: ignore[arg-type]
        return list(line)  # type: ignore[arg-type]

    def _cells(self, parts: Iterable[Segment], console: Console) -> list[_Cell]:
        cells: list[_Cell] = []
        for text, style, _ in parts:
            around = self._around(style, console)
            if text.isascii():
                cells += [(character, around) for character in text]
                continue
            for character in text.translate(self._substitutes):
                wide = cell_len(character)
                if not wide and cells:
                    cells[-1] = (cells[-1][0] + character, cells[-1][1])
                else:
                    cells.append((character, around))
                    cells += [("", around)] * (wide - 1)
        return cells

    def _around(self, style: Style | None, console: Console) -> str:
        """The sequences of a style, before and after its text."""
        around = self._styles.get(style)
        if around is None:
            if len(self._styles) > _MOST_STYLES:
                self._styles.clear()
            system = console._color_system
            plain = style is None or system is None
            around = _TEXT if plain else Strip.render_style(style, _TEXT, system)  # type: ignore[arg-type]
            self._styles[style] = around
        return around


class _Less(CompositorUpdate):
    """Another update, without what is already on the terminal."""

    def __init__(self, update: CompositorUpdate, painted: Painted) -> None:
        self._update, self._painted = update, painted

    def render_segments(self, console: Console) -> str:
        """See the base class."""
        if isinstance(self._update, LayoutUpdate):
            return self._painted.whole(self._update, console)
        if isinstance(self._update, ChopsUpdate):
            return self._painted.spans(self._update, console)
        self._painted.forget()
        return self._update.render_segments(console)


def _changes(y: int, left: int, old: Sequence[_Cell], new: Sequence[_Cell]) -> Iterator[_Run]:
    """What has to be written to turn a part of a line into another."""
    if old == new:
        return
    if len(old) != len(new) or not all(map(_is_narrow, (old, new))):
        # Terminals disagree on the width of some characters: no part is written alone.
        yield y, left, new
        return
    changed = [x for x, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
    at = 0
    while at < len(changed):
        begin = end = changed[at]
        while at < len(changed) and changed[at] - end <= _APART:
            end = changed[at]
            at += 1
        yield y, left + begin, new[begin : end + 1]


def _is_narrow(cells: Sequence[_Cell]) -> bool:
    """Whether each cell is one character."""
    return set(map(len, map(_CHARACTER, cells))) <= {1}


def _written(runs: Sequence[_Run]) -> str:
    """The sequences that write them, grouped by style: the colours of a cell take forty bytes."""
    written = []
    text, last = "", _TEXT
    for y, x, cells in sorted(runs, key=lambda run: run[2][0][1] if run[2] else ""):
        text += _move(x, y)
        for character, around in cells:
            if around != last:
                written.append(last.replace(_TEXT, text) if text else "")
                text, last = "", around
            text += character
    written.append(last.replace(_TEXT, text) if text else "")
    return "".join(written)


def _move(x: int, y: int) -> str:
    return f"\x1b[{y + 1};{x + 1}H"


def _acts(parts: Sequence[Segment]) -> bool:
    """Whether there is more than text: a picture that the terminal draws itself."""
    return any(control or "\x1b" in text for text, _, control in parts)


def _parts(update: ChopsUpdate, y: int, x1: int, x2: int) -> Iterator[tuple[int, list[Segment]]]:
    """Where in a line something is drawn, and what: everything between two columns."""
    for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
        if strip is not None and x < x2 and end > x1:
            yield x, list(strip.crop(0, min(end, x2) - x))
