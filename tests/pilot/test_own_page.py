"""The page of a benchmark of one's own: prompts, the score of a reply, and a file that changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input, TextArea

from evalbench.engine.benchmarks.custom.example import files_of
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.state.preferences import Preferences
from tests.pilot.driving import until, until_shown


async def test_prompts_and_scores_follow_the_file(tmp_path: Path) -> None:
    for name, body in files_of("choice", "capitals").items():
        (tmp_path / name).write_bytes(body)
    file = tmp_path / "capitals.toml"
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await app.action_own()
        app.screen.query_one("#file", Input).value = str(file)
        await pilot.press("enter")
        await until_shown(pilot, "Which planet is closest to the Sun?")
        reply = app.screen.query_one("#reply", TextArea)
        assert app.focused is reply
        reply.text = "I think it is Mercury."
        await until_shown(pilot, "accuracy 1, accuracy_strict 0")
        await pilot.press("f8")
        await until_shown(pilot, "How many legs does a spider have?")
        await until_shown(pilot, "unparsed: accuracy 0")
        file.write_text(file.read_text().replace("{{ question }}", "{{ qestion }}"))
        await until_shown(pilot, "did you mean question?")
        # The table is followed too.
        table = tmp_path / "capitals.csv"
        table.write_text(table.read_text().replace("question", "qestion", 1))
        await until_shown(pilot, "How many legs does a spider have?")


async def test_a_pasted_reply_brings_no_control_characters() -> None:
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(100, 30)) as pilot:
        await app.action_own()
        reply = app.screen.query_one("#reply", TextArea)
        reply.focus()
        await until(pilot, lambda: app.focused is reply, "the focus")
        app.post_message(events.Paste("one\x1b[2J \x07two\u202e\n\tthree"))
        await until(pilot, lambda: reply.text == "one two\n\tthree", "what was pasted")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_question_is_in_view_below_its_examples(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    for name, body in files_of("number", "sums").items():
        (tmp_path / name).write_bytes(body)
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=size) as pilot:
        await app.action_own()
        app.screen.query_one("#file", Input).value = str(tmp_path / "sums.toml")
        await pilot.press("enter")
        await until_shown(pilot, "What do 2 books and 3 pens cost?")
        asked = app.screen.query_one("#asked")
        await pilot.press(*"#### 22")
        await until_shown(pilot, "ok: accuracy 1")
        await until_shown(pilot, "read: 22")
        await pilot.press("shift+tab", "home")
        await until(pilot, lambda: asked.scroll_y == 0, "the prompt's beginning")


async def test_a_reply_typed_while_the_file_is_read_goes_into_its_field(tmp_path: Path) -> None:
    for name, body in files_of("number", "sums").items():
        (tmp_path / name).write_bytes(body)
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.action_own()
        field = app.screen.query_one("#file", Input)
        field.value = str(tmp_path / "none.toml")
        await pilot.press("enter")
        await until(pilot, lambda: app.focused is field, "the name to be corrected")
        field.value = str(tmp_path / "sums.toml")
        await pilot.press("enter", *"22")
        assert app.screen.query_one("#reply", TextArea).text == "22"
        await until_shown(pilot, "ok: accuracy 1")
