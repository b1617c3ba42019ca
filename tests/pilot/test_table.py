"""The table, with any number of rows, by keys, wheel and clicks; the picker over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from rich.cells import cell_len
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input

from evalbench.tui.state.run_choices import Choice
from evalbench.tui.widgets.picker import Picker
from evalbench.tui.widgets.table import Cell, Column, ListRows, Table
from tests.pilot.driving import shown, until, until_shown

MANY = 1_000_000
COLUMNS = (Column("n", 9, right=True), Column("mark", 4, drop=1), Column("text", least=10))


class Numbers:
    """Numbered rows that remember which of them were asked for."""

    def __init__(self, count: int, text: str = "row") -> None:
        self.count, self.text = count, text
        self.asked: set[int] = set()

    def __len__(self) -> int:
        return self.count

    def row(self, index: int) -> Sequence[Cell]:
        self.asked.add(index)
        return (str(index), ("ok", "good"), f"{self.text} {index}")


class Shell(App[None]):
    """One table and what it said."""

    def __init__(self, rows: Numbers | ListRows, columns: Sequence[Column] = COLUMNS) -> None:
        super().__init__()
        self.rows, self.columns = rows, columns
        self.moved: list[int] = []
        self.opened: list[int] = []

    def compose(self) -> ComposeResult:
        yield Table(self.columns, self.rows, empty="Nothing here.")

    @property
    def table(self) -> Table:
        return self.query_one(Table)

    def on_table_moved(self, event: Table.Moved) -> None:
        self.moved.append(event.index)

    def on_table_opened(self, event: Table.Opened) -> None:
        self.opened.append(event.index)


def lines(app: App[None]) -> list[str]:
    return shown(app).splitlines()


def in_view(app: Shell) -> range:
    top = int(app.table.scroll_offset.y)
    return range(top, top + app.table.size.height - 1)


async def press(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.pause()


async def test_only_rows_in_view_are_asked_for() -> None:
    rows = Numbers(MANY)
    app = Shell(rows)
    async with app.run_test(size=(60, 20)) as pilot:
        assert lines(app)[0].split() == ["n", "mark", "text"]
        assert lines(app)[1].split()[:-1] == ["0", "ok", "row", "0"]
        await press(pilot, "G")
        assert lines(app)[-1].split()[:-1] == ["999999", "ok", "row", "999999"]
        await press(pilot, "g")
        assert lines(app)[1].split()[:-1] == ["0", "ok", "row", "0"]
        assert len(rows.asked) <= 2 * 20


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("keys", "cursor"),
    [
        (("down", "j"), 2),
        (("end",), MANY - 1),
        (("G", "up", "k"), MANY - 3),
        (("pagedown",), 18),
        (("ctrl+d", "ctrl+u"), 0),
        (("pagedown", "pagedown", "pageup"), 18),
        (("up", "home", "pageup"), 0),
    ],
)
async def test_keys_move_the_cursor_and_keep_it_in_view(keys: tuple[str, ...], cursor: int) -> None:
    app = Shell(Numbers(MANY))
    async with app.run_test(size=(60, 20)) as pilot:
        await press(pilot, *keys)
        assert app.table.cursor == cursor
        assert cursor in in_view(app)
        await press(pilot, "enter")
        assert app.opened == [cursor]


async def test_the_cursor_is_seen_without_colour() -> None:
    app = Shell(Numbers(3))
    async with app.run_test(size=(60, 20)):
        strips = app.screen._compositor.render_strips()
        styles = [{segment.style for segment in strips[y]} for y in (1, 2)]
        assert styles[0] != styles[1]


async def test_clicks_select_and_then_open() -> None:
    app = Shell(Numbers(MANY))
    async with app.run_test(size=(60, 20)) as pilot:
        await press(pilot, "end")
        await pilot.click(Table, offset=(5, 3))
        chosen = app.table.cursor
        assert chosen == in_view(app)[2]
        assert app.opened == []
        await pilot.click(Table, offset=(5, 3))
        assert app.opened == [chosen]
        await pilot.click(Table, offset=(5, 0))
        assert app.table.cursor == chosen


async def test_a_click_below_the_last_row_does_nothing() -> None:
    app = Shell(Numbers(3))
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.click(Table, offset=(5, 10))
        assert app.table.cursor == 0
        assert app.opened == []


async def test_the_wheel_scrolls_and_leaves_the_cursor() -> None:
    app = Shell(Numbers(MANY))
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot._post_mouse_events([events.MouseScrollDown], widget=Table)
        await until(pilot, lambda: app.table.scroll_offset.y > 0, "the list to scroll")
        assert app.table.cursor == 0
        await press(pilot, "down")
        assert 1 in in_view(app)


async def test_the_scrollbar_shows_the_place_and_is_dragged() -> None:
    app = Shell(Numbers(1000))
    async with app.run_test(size=(60, 20)) as pilot:
        assert [line[-1] for line in lines(app)[1:4]] == ["┃", "│", "│"]
        await pilot.mouse_down(Table, offset=(59, 1))
        await pilot.hover(Table, offset=(59, 19))
        assert app.table.scroll_offset.y == 1000 - 19
        assert [line[-1] for line in lines(app)[-2:]] == ["│", "┃"]
        await pilot.mouse_up(Table, offset=(59, 19))
        await pilot.hover(Table, offset=(59, 5))
        assert app.table.scroll_offset.y == 1000 - 19
        assert app.table.cursor == 0


async def test_other_rows_do_not_lay_out_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out = []
    app = Shell(Numbers(1000))
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        refresh = app.screen._refresh_layout

        def counted(*told: Any) -> None:
            laid_out.append(told)
            refresh(*told)

        monkeypatch.setattr(app.screen, "_refresh_layout", counted)
        for count in (5, 0, 2000):
            app.table.show(Numbers(count))
            await pilot.pause()
        assert lines(app)[1].split()[-1] == "┃"
        assert not laid_out


async def test_rows_that_come_and_go_keep_the_cursor_where_they_can() -> None:
    rows = Numbers(50)
    app = Shell(rows)
    async with app.run_test(size=(60, 20)) as pilot:
        await press(pilot, "end")
        rows.count = 200
        app.table.show()
        await pilot.pause()
        assert app.table.cursor == 49
        await press(pilot, "end")
        assert app.table.cursor == 199
        rows.count = 5
        app.table.show()
        await until(pilot, lambda: app.table.cursor == 4, "the cursor to stay within the rows")
        assert 4 in in_view(app)
        assert lines(app)[5].split() == ["4", "ok", "row", "4"]
        rows.count = 0
        app.table.show(empty="All gone.")
        await pilot.pause()
        assert "All gone." in shown(app)
        await press(pilot, "enter", "down", "G")
        assert app.table.cursor == 0
        assert app.opened == []


async def test_what_an_empty_table_says_is_never_cut() -> None:
    app = Shell(Numbers(0))
    async with app.run_test(size=(30, 12)) as pilot:
        app.table.show(empty="No batch is out, and none was sent before.\nx shows \x1b[31mthose.")
        await until_shown(pilot, "x shows those.")
        said = ["No batch is out, and none", "was sent before.", "x shows those."]
        assert [line.strip() for line in lines(app)[2:6]] == [*said, ""]
        await pilot.resize_terminal(60, 12)
        await until_shown(pilot, "No batch is out, and none was sent before.")
        app.table.show(empty="Nothing.")
        await pilot.pause()
        assert [line.strip() for line in lines(app)[2:5]] == ["Nothing.", "", ""]


async def test_what_changed_is_drawn_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Numbers(50)
    app = Shell(rows)
    async with app.run_test(size=(60, 20)) as pilot:
        drawn: list[int] = []
        really = app.table.render_line

        def render_line(y: int) -> object:
            drawn.append(y)
            return really(y)

        monkeypatch.setattr(app.table, "render_line", render_line)
        # Whatever the start has left to draw.
        app.table.refresh()
        await until(pilot, lambda: drawn, "the first frames")
        await pilot.pause()
        drawn.clear()
        app.table.show()
        await pilot.pause()
        assert drawn == []
        await press(pilot, "down")
        assert set(drawn) == {1, 2}
        drawn.clear()
        rows.text = "other"
        app.table.show()
        await until(pilot, lambda: "other 3" in shown(app), "the new text")
        assert 0 not in drawn


@pytest.mark.share(3)
@pytest.mark.parametrize("width", [1, 2, 5, 9, 16, 24, 25, 40, 200])
async def test_any_width_is_filled_exactly(width: int) -> None:
    rows = ListRows([("1", "漢字漢字", "漢字かな" * 80), ("2", "e\u0301\u0301", "\t[/foo]\x1b[1m")])
    app = Shell(rows)
    async with app.run_test(size=(width, 6)) as pilot:
        await press(pilot, "down")
        for line in app.screen._compositor.render_strips():
            assert sum(segment.cell_length for segment in line) == width
            assert cell_len("".join(segment.text for segment in line)) == width


async def test_columns_are_dropped_before_others_lose_their_room() -> None:
    app = Shell(Numbers(3))
    async with app.run_test(size=(26, 6)) as pilot:
        assert lines(app)[0].split() == ["n", "mark", "text"]
        await pilot.resize_terminal(24, 6)
        await until(pilot, lambda: "mark" not in shown(app), "the column to go")
        assert lines(app)[1].split() == ["0", "row", "0"]
        await pilot.resize_terminal(60, 6)
        await until(pilot, lambda: "mark" in shown(app), "the column to come back")


async def test_the_cursor_stays_in_view_when_the_terminal_shrinks() -> None:
    app = Shell(Numbers(MANY))
    async with app.run_test(size=(60, 40)) as pilot:
        await press(pilot, "pagedown")
        assert app.table.cursor == 38
        await pilot.resize_terminal(60, 10)
        await until(pilot, lambda: app.table.size.height == 10, "the new size")
        await until(pilot, lambda: 38 in in_view(app), "the cursor in view")


async def test_a_row_of_one_cell_goes_across_all_columns() -> None:
    rows = ListRows([("1", "x", "y"), (("something long that needs all the room", "bad"),)])
    app = Shell(rows)
    async with app.run_test(size=(60, 6)):
        assert "something long that needs all the room" in shown(app)


async def test_moving_is_told_once() -> None:
    app = Shell(Numbers(10))
    async with app.run_test(size=(60, 20)) as pilot:
        await press(pilot, "down", "down", "down", "up")
        assert app.moved == [1, 2, 3, 2]
        await press(pilot, "home", "home", "up")
        assert app.moved == [1, 2, 3, 2, 0]


async def test_a_folded_picker_shows_what_is_chosen_later() -> None:
    picker = Picker("model", (Column("name"),), hint="Type to filter", id="model")

    class Folded(App[None]):
        def compose(self) -> ComposeResult:
            yield picker

    async with Folded().run_test():
        picker.show([Choice("gpt", ("gpt",), "gpt")])
        picker.fold(True)
        assert picker.query_one(Input).placeholder == "Type to filter"
        picker.choose("gpt")
        assert picker.query_one(Input).placeholder == "gpt"
        picker.fold(False)
        assert picker.query_one(Input).placeholder == "Type to filter"
