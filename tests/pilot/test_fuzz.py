"""Text from models, data sets and providers crashes no page and gives the terminal no command."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.screen import Screen
from textual.widgets._toast import Toast

from evalbench.engine.errors import UsageError
from evalbench.engine.runs.folder import RunFolder
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.screens import compare
from evalbench.tui.screens.dialogs import Confirm, Enter, Trouble
from evalbench.tui.screens.run import RunPage
from evalbench.tui.screens.sample import Fold, SamplePage
from evalbench.tui.screens.samples import SamplesPage
from evalbench.tui.state.preferences import Preferences
from evalbench.tui.widgets.table import Table
from tests.compared import lines as compared_lines
from tests.nasty import NASTY, STORABLE, nasty_run
from tests.pilot.driving import until, until_shown
from tests.pretending import PretendEngine

_FORBIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
SIZES = [(80, 24), (200, 60)]
PARTS = [dict(list(NASTY.items())[start::7]) for start in range(7)]
"""All texts, dealt out to tests that run side by side."""


def check(app: App[Any]) -> None:
    """No control character in what is drawn, no foreign action, and every line as wide as it is."""
    width = app.size.width
    for line in app.screen._compositor.render_strips():
        text = "".join(segment.text for segment in line)
        assert not _FORBIDDEN.search(text), repr(text)
        assert sum(segment.cell_length for segment in line) == width, repr(text)
        for segment in line:
            meta = segment.style.meta if segment.style else {}
            assert "@click" not in str(meta) or "exit" not in str(meta)
            assert not (segment.style and segment.style.link)


@pytest.fixture
async def engine(home: Path) -> PretendEngine:
    """A live run whose every text is nasty."""
    return await nasty_run()


@pytest.mark.share(2)
@pytest.mark.parametrize("size", SIZES)
async def test_lists_show_nasty_text_as_text(engine: PretendEngine, size: tuple[int, int]) -> None:
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=size) as pilot:
        await until_shown(pilot, "quickstart")
        check(app)
        await app.push_screen(RunPage(engine.folder))
        await until_shown(pilot, "[/foo]")
        check(app)
        await app.push_screen(SamplesPage(engine.folder))
        table = app.screen.query_one(Table)
        await until(pilot, lambda: len(table.rows), "samples")
        for _ in range(4):
            check(app)
            await pilot.press("pagedown")
        await pilot.press("c")
        await until_shown(pilot, "Show one group")
        check(app)
        await pilot.press("down", "enter")
        await until_shown(pilot, "x shows all")
        check(app)


@pytest.mark.slow
async def test_samples_show_nasty_text_as_text(engine: PretendEngine) -> None:
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(80, 24)) as pilot:
        page = SamplePage(engine.folder, 1)
        await app.push_screen(page)

        def at(number: int) -> bool:
            return page.number == number

        def all_open() -> bool:
            return all(fold.has_class("-open") for fold in page.query(Fold))

        for number in range(1, len(STORABLE) + 1):
            await until(pilot, partial(at, number), f"sample {number}")
            check(app)
            await pilot.press("f")
            await until(pilot, all_open, "f")
            await pilot.press("end")
            await pilot.pause()
            check(app)
            await pilot.press("n")


async def test_broken_pictures_and_empty_samples_are_told(engine: PretendEngine) -> None:
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(100, 50)) as pilot:
        await app.push_screen(SamplePage(engine.folder, len(STORABLE) + 1))
        await until_shown(pilot, "No calls yet")
        check(app)
        await pilot.press("n")
        screen = await until_shown(pilot, "cannot be shown")
        assert "image/png, 14 B" in screen
        assert "not a picture" in screen
        assert "its bytes are not in the journal" in screen
        check(app)


@pytest.mark.share(3)
@pytest.mark.parametrize("part", PARTS, ids=", ".join)
async def test_dialogs_and_toasts_show_nasty_text_as_text(home: Path, part: dict[str, str]) -> None:
    app = EvalbenchApp(Preferences(welcomed=True, problems=list(part.values())))

    def has_keyboard(dialog: Screen[Any]) -> bool:
        return dialog.focused is not None

    def has_gone(dialog: Screen[Any]) -> bool:
        return app.screen is not dialog

    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        check(app)
        for text in part.values():
            app.clear_notifications()
            await until(pilot, lambda: not app.screen.query(Toast), "the last toast to go")
            app.notify(text, title=text, markup=False)
            dialogs = (
                Trouble(UsageError(text, why=text, hint=text)),
                Confirm(f"Delete {text}?", yes="Delete", note=text),
                Enter(text, value=text, note=text),
            )
            for dialog in dialogs:
                app.push_screen(dialog)
                await until(pilot, partial(has_keyboard, dialog), "the dialog")
                if dialog is dialogs[0]:
                    await until(pilot, partial(dialog.query, Toast), "the toast")
                check(app)
                dialog.dismiss(None)
                await until(pilot, partial(has_gone, dialog), "its end")


async def test_a_search_for_nasty_text_finds_it(engine: PretendEngine) -> None:
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await app.push_screen(SamplesPage(engine.folder))
        table = app.screen.query_one(Table)
        await until(pilot, lambda: len(table.rows), "samples")
        await pilot.press("slash", *"[@click", "enter")
        await until_shown(pilot, "with “[@click” in it")
        await until(pilot, lambda: len(table.rows) == 1, "the sample")
        check(app)


@pytest.mark.slow
@pytest.mark.share(5)
@pytest.mark.parametrize("part", PARTS, ids=", ".join)
@pytest.mark.parametrize("size", SIZES)
async def test_compared_runs_show_nasty_text_as_text(
    home: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], part: dict[str, str]
) -> None:
    texts = iter(part.values())

    async def run_command(*_words: str, **_: Any) -> list[dict[str, Any]]:
        return compared(next(texts))

    monkeypatch.setattr(compare, "run_command", run_command)
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=size) as pilot:
        for _ in part:
            await app.push_screen(compare.ComparePage([RunFolder(home / name) for name in "ab"]))
            await until_shown(pilot, "1 scored differently")
            check(app)
            await app.pop_screen()


def compared(text: str) -> list[dict[str, Any]]:
    """What ``evalbench compare`` prints of two runs, with a text wherever one can be."""
    lines = compared_lines(
        title=text,
        flips=1,
        differences=[{"what": text, "values": [text, text]}],
        warnings=[text],
    )
    for line in lines:
        if line["event"] == "contender":
            line["model"] = text
        if line["event"] == "comparison":
            line["clustered"]["tag"] = text
    flip = {"id": "1", "numbers": [1, 1], "tags": {text: text}, "scores": [0.0, 1.0]}
    return [*lines, {"event": "flip", **flip, "question": text}]
