"""Compare: how far runs are apart, what else differs, and which samples they disagree on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Container, Vertical

from evalbench.engine.errors import EvalbenchError
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.terminal_text import one_line
from evalbench.tui.screens.page import Page
from evalbench.tui.state import figures
from evalbench.tui.state.cells import cell
from evalbench.tui.state.cli_child import run_command
from evalbench.tui.state.compared import Compared, letter_of, score_words
from evalbench.tui.state.names import apart
from evalbench.tui.state.scatter import draw_scatter
from evalbench.tui.widgets.focus import Scroll
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.lines import Line, Lines
from evalbench.tui.widgets.table import Cell, Column, Table
from evalbench.tui.widgets.topline import TopLine

if TYPE_CHECKING:
    from evalbench.tui.screens.side_by_side import SideBySidePage

MOST_FLIPS = 5_000
"""Maximum samples listed on the page; the command line lists all."""

_MODEL, _LEAST_MODEL = 30, 12
"""Most and least width of a model's name in cells."""
_GAP = 2

_WIDE = 100
"""From this many columns on, the ids of runs are shown."""

_NO_FLIP = "Every run scores every sample the same."


class ComparePage(Page):
    """The result at the top, samples with different scores below."""

    SCOPE: ClassVar[str] = "compare"
    DEFAULT_CSS = """
    ComparePage #result { height: auto; max-height: 70%; padding: 0 1; }
    ComparePage #result Lines { margin-bottom: 1; }
    ComparePage.-short #result Lines { margin-bottom: 0; }
    ComparePage #parts, ComparePage #words { height: auto; layout: vertical; }
    ComparePage #scatter { display: none; }
    ComparePage #scatter.-on { display: block; }
    ComparePage.-wide #parts { layout: horizontal; }
    ComparePage.-wide #words { width: 1fr; }
    ComparePage.-wide #scatter { width: 62; padding-left: 2; }
    ComparePage.-wide.-tall #scatter { display: block; }
    ComparePage.-wide.-tall #scatter.-off { display: none; }
    """

    def __init__(self, folders: Sequence[RunFolder]) -> None:
        super().__init__()
        self._folders = list(folders)
        self._found: Compared | None = None
        self._whose = 0
        self._beside: SideBySidePage | None = None

    def compose(self) -> ComposeResult:
        """Top line, result, samples, footer."""
        yield TopLine("Compare", "comparing…")
        with Scroll(id="result", can_focus=True), Container(id="parts"):
            with Vertical(id="words"):
                yield Lines(id="about")
                yield Lines(id="standings")
                yield Lines(id="pairs")
            yield Lines(id="scatter")
        yield Table((Column("question"),), empty="", id="flips")
        yield Footer()

    def on_mount(self) -> None:
        """Run the comparison through the command line."""
        table = self.query_one(Table)
        self.set_focus(table)
        table.show(empty="Reading the runs and pairing their samples…")
        known = _known(self._folders, self.app.size.width)
        self.query_one("#standings", Lines).show(known)
        self._compare()

    @work(exclusive=True)
    async def _compare(self) -> None:
        paths = [str(folder.path) for folder in self._folders]
        try:
            found = Compared.of(await run_command("compare", *paths, "--flips", str(MOST_FLIPS)))
        except EvalbenchError as error:
            lines = [error.what, error.why, error.hint]
            self.query_one("#about", Lines).show([[(words, "bad")] for words in lines if words])
            self.query_one(TopLine).tell(right="cannot be compared")
            self.query_one(Table).display = False
            return
        self._found = found
        self._show(found)

    # -- showing -----------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        """Show the ids of runs if there is room."""
        if self._found:
            self._show(self._found)

    def _show(self, found: Compared) -> None:
        self.query_one("#about", Lines).show(_about(found))
        self.query_one("#standings", Lines).show(_standings(found, self.app.size.width))
        self.query_one("#pairs", Lines).show(_pairs(found, self.app.size.width))
        self.query_one("#scatter", Lines).show(_scatters(found))
        table = self.query_one(Table)
        letters = [found.letter(run) for run in found.head["runs"]]
        table.replace_columns(
            (
                Column("number", 8, right=True),
                *(Column(letter, 7) for letter in letters),
                Column("", 36 if self.has_class("-wide") else 20, drop=1),
                Column("question"),
            )
        )
        table.show(_Flips(found), empty=_NO_FLIP)
        self._tell()
        self.refresh_bindings()

    def _tell(self) -> None:
        if self._found is None:
            return
        there, shown = self._found.head["flips"], len(self._found.flips)
        words = f"{figures.count(there)} scored differently"
        if shown < there:
            words += f", {figures.count(shown)} listed"
        whose = self._found.letter(self._found.head["runs"][self._whose])
        self.query_one(TopLine).tell(right=f"{words} · o opens {whose}'s sample")

    # -- acting ------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Requires a sample to open."""
        if action == "scatter":
            return True if self._found and next(_drawable(self._found), None) else None
        if action in ("open", "whose", "side"):
            return True if self._found and self._found.flips else None
        return True

    def why_not(self, action: str) -> str:
        """See the base class."""
        if self._found is None:
            return "there is no comparison"
        if action == "scatter":
            return "there is nothing to plot: samples are right or wrong, and have no groups"
        return "no sample is scored differently"

    def action_scatter(self) -> None:
        """See ``commands.py``."""
        scatter = self.query_one("#scatter", Lines)
        if self.has_class("-wide") and self.has_class("-tall"):
            scatter.toggle_class("-off")
        else:
            scatter.toggle_class("-on")
            if scatter.has_class("-on"):
                self.query_one("#result", Scroll).scroll_end(animate=False)

    def action_whose(self) -> None:
        """See ``commands.py``."""
        self._whose = (self._whose + 1) % len(self._folders)
        self._tell()

    @on(Table.Opened)
    async def action_side(self) -> None:
        """See ``commands.py``."""
        cursor = self.query_one(Table).cursor
        if self._found is None or cursor >= len(self._found.flips):
            return
        from evalbench.tui.screens.side_by_side import SideBySidePage

        self._beside = SideBySidePage(self._folders, self._found, cursor)
        await self.app.push_screen(self._beside)

    def on_screen_resume(self) -> None:
        """Move the cursor to the last viewed sample."""
        super().on_screen_resume()
        if self._beside is not None:
            self.query_one(Table).cursor = self._beside.place
            self._beside = None

    async def action_open(self) -> None:
        """See ``commands.py``."""
        cursor = self.query_one(Table).cursor
        if self._found is None or cursor >= len(self._found.flips):
            return
        from evalbench.tui.screens.sample import SamplePage

        numbers = [flip["numbers"][self._whose] for flip in self._found.flips]
        await self.app.push_screen(SamplePage(self._folders[self._whose], numbers[cursor], numbers))


def _about(found: Compared) -> list[Line]:
    lines: list[Line] = [[(found.title(), "strong")], [found.subject()]]
    if alarm := found.alarm():
        lines.append([(f"! {alarm}", "bad")])
    for what, values in found.differences():
        parts = (
            f"{found.letter(run)} {value}"
            for run, value in zip(found.head["runs"], values, strict=True)
        )
        lines.append([("  ", ""), (what, "warn"), "  " + " · ".join(parts)])
    lines += [[(f"! {words}", "bad")] for words in found.head["warnings"]]
    return lines


_STANDINGS = ("", "model", "score", "95 %", "place", "failed", "run")
_EFFORTS = ("", "model", "cost", "tokens in", "out", "latency", "p95")


def _standings(found: Compared, width: int) -> list[Line]:
    """The ranking, and what each run took; ids of runs only if there is room."""
    shown = len(_STANDINGS) - (width < _WIDE)
    tables = [[row[:shown] for row in (_STANDINGS, *found.standings())]]
    if efforts := found.efforts():
        tables.append([_EFFORTS, *efforts])
    return _tables(tables, width)


def _tables(tables: Sequence[Sequence[Sequence[str]]], width: int) -> list[Line]:
    """Tables of letter, model and figures, one below the other; long models are cut."""
    figures_wide = [
        [max(map(len, column)) for column in zip(*table, strict=True)][2:] for table in tables
    ]
    letters = max(len(row[0]) for table in tables for row in table)
    room = width - 2 - letters - max(sum(each) + _GAP * (len(each) + 1) for each in figures_wide)
    models = apart([row[1] for table in tables for row in table[1:]])
    model = max(_LEAST_MODEL, min(_MODEL, room, max(map(cell_len, models))))
    names = {str(name): name for name in models}
    lines: list[Line] = []
    for table, widths in zip(tables, figures_wide, strict=True):
        lines += [[]] if lines else []
        for number, (letter, name, *cells) in enumerate(table):
            # Only ids are text; figures stand below each other.
            right = [title != "run" for title in table[0][2:]]
            columns = zip(cells, widths, right, strict=True)
            words = "".join(" " * _GAP + cell(text, wide, right=end) for text, wide, end in columns)
            tone = "" if number else "dim"
            fitted = cell(names.get(one_line(name), name), model)
            lines.append([(f"{letter:<{letters}} ", "strong"), (fitted, tone), (words, tone)])
    return lines


def _known(folders: Sequence[RunFolder], width: int) -> list[Line]:
    """The runs as far as their statuses tell, until they are compared."""
    head = ("", "model", "score", "95 %", "samples", "failed", "run")
    rows = [head]
    for number, folder in enumerate(folders):
        status = folder.status()
        metric = next(iter(status.metrics.values()), {"value": None})
        rows.append(
            (
                letter_of(number),
                status.model,
                figures.value(metric),
                figures.interval(metric),
                f"{figures.count(status.done)}/{figures.count(status.total)}",
                figures.count(status.failed) if status.failed else "",
                folder.id,
            )
        )
    return _tables([[row[: len(head) - (width < _WIDE)] for row in rows]], width)


def _scatters(found: Compared) -> list[Line]:
    """Each pair's scores against each other; of three or more runs, only the first against each."""
    lines: list[Line] = []
    for pair in _drawable(found):
        names = found.letter(pair["first"]), found.letter(pair["second"])
        for title, points in found.scatters(pair):
            if lines:
                lines.append([])
            lines += draw_scatter(title, points, names, share=found.share)
    return lines


def _drawable(found: Compared) -> Iterator[Mapping[str, Any]]:
    """The pairs that have a scatter."""
    first = found.head["runs"][0]
    return (pair for pair in found.pairs if pair["first"] == first and found.has_scatter(pair))


def _pairs(found: Compared, width: int) -> list[Line]:
    """All of one pair, or a row for each of several; without room, of the p-values only Holm's."""
    if len(found.pairs) == 1:
        facts = found.pair_facts(found.pairs[0])
        return [[(cell(name, 11) + " ", "dim"), words] for name, words in facts]
    widths = (7, 13, 17, 8, 8, 8)
    shown = (0, 1, 2, 4) if width < _WIDE else range(len(widths))
    head = ("", "difference", "95 %", "p", "p Holm", "p BH", "", "detectable")
    rows = [head, *map(found.pair_row, found.pairs)]
    longest = max(len(row[-2]) for row in rows)
    return [
        [
            *((cell(row[at], widths[at]) + " ", "dim" if number == 0 else "") for at in shown),
            (cell(row[-2], longest), "strong"),
            ("  " + row[-1], "dim" if number == 0 else ""),
        ]
        for number, row in enumerate(rows)
    ]


class _Flips:
    """Samples as rows of the table."""

    def __init__(self, found: Compared) -> None:
        self._found = found

    def __len__(self) -> int:
        return len(self._found.flips)

    def row(self, index: int) -> Sequence[Cell]:
        flip = self._found.flips[index]
        return (
            (figures.count(flip["numbers"][0]), "dim"),
            *(self._score(score) for score in flip["scores"]),
            (", ".join(flip["tags"].values()), "dim"),
            flip["question"].lstrip()[:400],
        )

    def _score(self, score: float) -> Cell:
        words = score_words(score, share=self._found.share)
        return words, {"right": "good", "wrong": "bad"}.get(words, "")
