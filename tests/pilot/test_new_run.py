"""The New run page: choosing by keyboard, settings and their faults, what it takes, the start."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from evalbench.engine.benchmarks.lm_eval import index
from evalbench.engine.errors import EvalbenchError
from evalbench.engine.runs.folder import all_runs
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.screens.new import NewRunPage
from evalbench.tui.screens.new_panels import EstimatePanel
from evalbench.tui.state import offered
from evalbench.tui.state.model_cache import ModelList
from evalbench.tui.state.preferences import Preferences, load_preferences
from evalbench.tui.state.setups import Setup, delete_setup, load_setups, save_setup
from evalbench.tui.widgets.form import Field, Form
from evalbench.tui.widgets.picker import Picker
from tests.pilot.driving import shown, until, until_shown, until_told
from tests.simulator.handle import Handle

SIZES = ((80, 24), (120, 40), (200, 60))


@pytest.fixture(autouse=True)
def no_engine_left(home: Path) -> Iterator[None]:
    yield
    for folder in all_runs(home / "runs"):
        if pid := folder.live_pid():
            os.kill(pid, signal.SIGKILL)


def an_app(**chosen: Any) -> EvalbenchApp:
    return EvalbenchApp(Preferences(welcomed=True, **chosen))


def page(pilot: Pilot[int]) -> NewRunPage:
    assert isinstance(pilot.app.screen, NewRunPage)
    return pilot.app.screen


async def opened(pilot: Pilot[int]) -> NewRunPage:
    """The page, once it knows what is installed."""
    await pilot.press("f3")
    await until(
        pilot,
        lambda: isinstance(pilot.app.screen, NewRunPage) and pilot.app.screen.query(Field),
        "the settings",
    )
    return page(pilot)


async def write(pilot: Pilot[int], name: str, text: str) -> None:
    """Type into the field of a setting."""
    await page(pilot)._reveal(name).wait()
    await pilot.pause()
    entry = page(pilot).query_one(f"#field-{name} Input", Input)
    await until(pilot, lambda: entry.has_focus, f"the field {name}")
    entry.value = text
    await pilot.pause()


def command(pilot: Pilot[int]) -> str:
    """The command line that is shown."""
    return page(pilot)._draft.command()


async def test_a_run_is_chosen_and_started_by_keyboard_alone(home: Path) -> None:
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press(*"synth", "enter", *"scripted", "enter")
        await until_shown(pilot, "better")
        await pilot.press(*"goo", "enter")
        await until(pilot, lambda: app.focused and isinstance(app.focused, Input), "a field")
        await pilot.press(*"20")
        await until_shown(pilot, "20 samples")
        assert "evalbench run synthetic --model scripted/good --limit 20" in shown(app)
        await pilot.press("f9")
        await until_shown(pilot, "The cost is unknown. Start?")
        await pilot.press("y")
        folder = (await until(pilot, lambda: all_runs(home / "runs"), "a run folder"))[0]
        await until(pilot, lambda: folder.status().state == "complete", "the end of the run")
        await until(pilot, lambda: not isinstance(app.screen, NewRunPage), "the page of the run")
    assert (folder.spec().benchmark, folder.spec().model) == ("synthetic", "scripted/good")
    assert folder.spec().get("limit") == 20
    kept = load_preferences()
    assert (kept.benchmark, kept.model) == ("synthetic", "scripted/good")


async def test_what_is_typed_lands_where_the_key_before_it_leads(home: Path) -> None:
    app = an_app(benchmark="synthetic", model="scripted/good")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await page(pilot)._reveal("limit").wait()
        # All keys are there before the app works off the first, as on a busy machine.
        for key in ("1", "2", "tab", "3", "enter", "7", "shift+tab", "4"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(
            pilot,
            lambda: "--limit 12 --epochs 4 --concurrency 7" in command(pilot),
            "12, 4 and 7 in their fields",
        )
        for picker in ("benchmark", "provider", "model"):
            assert not page(pilot)._picker(picker).filtered
        page(pilot)._picker("benchmark").take_focus()
        for key in (*"mmlu", "enter", *"scripted", "enter", *"better", "enter", "5"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: "run mmlu --model scripted/better" in command(pilot), "choices")
        await until(pilot, lambda: "--limit 5" in command(pilot), "the letter in the field")


async def test_a_server_of_ones_own_is_set_up_by_what_the_page_offers(
    home: Path, sim: Handle
) -> None:
    app = an_app(benchmark="mmlu", model="scripted/good")
    async with app.run_test(size=(80, 24)) as pilot:
        # All keys are there before the app works off the first, as on a busy machine: before the
        # page knows what is installed.
        keys = ("tab", *"own", "space", *"server", "enter", *sim.base_url("vllm"), "enter", *"mine")
        for key in ("f3", *keys):
            character = {"space": " "}.get(key, key if len(key) == 1 else None)
            app.post_message(events.Key(key, character))
        await until(pilot, lambda: isinstance(app.screen, NewRunPage), "the page")
        typed = page(pilot)._picker("model").query_one(Input)
        await until(pilot, lambda: typed.value == "mine", "the typed name")
        assert not page(pilot)._picker("provider").filtered
        assert "✗ --" not in shown(app)
        await pilot.press("enter")
        # The family goes by what such a server can answer.
        await until(pilot, lambda: "--base-url" in command(pilot), "the address")
        await until_shown(pilot, "no key; often not needed")
        filled = command(pilot)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not isinstance(app.screen, NewRunPage), "Home")
        await opened(pilot)
        await until(pilot, lambda: command(pilot) == filled, "what was filled in")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: "--base-url" not in command(pilot), "an empty form")


async def test_a_wrong_address_is_told_at_its_field_with_a_way_out(home: Path, sim: Handle) -> None:
    app = an_app(benchmark="quickstart", model="compatible/")
    whole = sim.base_url("custom")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await page(pilot).query_one(Form).reveal("base_url")
        await pilot.press(*whole.removeprefix("http://"), "enter")
        await until_shown(pilot, "✗ must begin with http:// or https://")
        await until_shown(pilot, f"ctrl+g: use base-url {whole}")
        assert page(pilot).query_one(Form).has_focus_within
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "✗ must" not in shown(app), "an address that will do")
        await until_shown(pilot, "1 listed")
        assert f"--base-url {whole}" in command(pilot)
        await pilot.press("ctrl+n")
        await until_shown(pilot, "first: base-url, below.")
        assert "listed" not in shown(app)
        assert "any-model" not in shown(app)
        closed = "http://127.0.0.1:9/v1"
        await page(pilot).query_one(Form).reveal("base_url")
        await pilot.press(*closed, "enter")
        await until_shown(pilot, "✗ cannot reach the server")
        await until_shown(pilot, "ctrl+g: go to base-url")
        await pilot.press("ctrl+g")
        field = page(pilot).query_one("#field-base_url", Field)
        await until(pilot, lambda: field.has_focus_within, "the address")


async def test_no_is_no(home: Path) -> None:
    app = an_app(benchmark="synthetic", model="scripted/good")
    async with app.run_test() as pilot:
        await opened(pilot)
        await pilot.press("f9")
        await until_shown(pilot, "The cost is unknown. Start?")
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, NewRunPage), "the page")
    assert all_runs(home / "runs") == []


@pytest.mark.slow
async def test_what_is_free_is_started_without_a_question(home: Path) -> None:
    app = an_app(benchmark="synthetic", model="scripted/good")
    async with app.run_test() as pilot:
        await opened(pilot)
        await write(pilot, "price", "0/0")
        await until_shown(pilot, "cost nothing")
        await pilot.press("f9")
        await until(pilot, lambda: all_runs(home / "runs"), "a run folder")


@pytest.mark.slow
async def test_a_preset_model_and_any_typed_name(home: Path) -> None:
    app = an_app(benchmark="synthetic", model="scripted/good")
    async with app.run_test(size=(120, 40)) as pilot:
        await app.push_screen(NewRunPage(model="scripted/better"))
        await until_shown(pilot, "synthetic × scripted/better")
        page(pilot).query_one("#model", Picker).take_focus()
        await pilot.press(*"gud")
        await until_shown(pilot, "use gud")
        await pilot.press("enter")
        await until_shown(pilot, "scripted has no model 'gud'")
        await until_shown(pilot, "try: did you mean good?")


async def test_a_bad_value_is_told_in_place_with_what_would_do(home: Path) -> None:
    app = an_app(benchmark="synthetic", model="scripted/good")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await write(pilot, "limit", "many")
        await until_shown(pilot, "✗ takes a whole number, not 'many'")
        assert "try: leave limit empty for the default" in page(pilot).query_one(EstimatePanel).text
        await pilot.press("f9")
        await pilot.pause()
        assert isinstance(app.screen, NewRunPage)
        assert page(pilot).query_one("#field-limit").has_focus_within
        await write(pilot, "limit", "30")
        await until_shown(pilot, "30 samples")
        assert "✗" not in shown(app)
        # What only the benchmark knows is wrong comes with the estimate.
        await write(pilot, "group", "no-such-group")
        await until_shown(pilot, "no-such-group")
        await until(pilot, lambda: "✗" in shown(app), "the fault")
    assert all_runs(home / "runs") == []


@pytest.mark.slow
async def test_settings_become_flags_only_where_they_differ(home: Path) -> None:
    app = an_app(benchmark="synthetic", model="scripted/good")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        await write(pilot, "seed", "0")
        await write(pilot, "tag", 'one, "two, three"')
        page(pilot).query_one("#field-shuffle").take_focus()  # type: ignore[attr-defined]
        await pilot.press("space")
        await write(pilot, "wording", "question")
        assert command(pilot) == (
            "evalbench run synthetic --model scripted/good --wording question"
            " --shuffle --tag one --tag 'two, three'"
        )
        await pilot.press("f10")
        await until_shown(pilot, "command copied")
        assert app.clipboard == command(pilot)


@pytest.mark.slow
async def test_the_estimate_is_called_off_when_something_changes(home: Path) -> None:
    app = an_app(benchmark="synthetic", model="scripted/good")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await until_shown(pilot, "500 samples")
        await write(pilot, "limit", "10")
        assert "500 samples" not in shown(app)
        assert "estimating" in shown(app)
        await until_shown(pilot, "10 samples")


@pytest.mark.slow
async def test_tasks_of_lm_eval_are_found_by_typing(home: Path) -> None:
    index.index_path().parent.mkdir(parents=True)
    names = ["arc_x", "arc_chat", *(f"task_{number}" for number in range(500))]
    entry = ["TASK", "", "multiple_choice", "", "allenai/science", []]
    index.index_path().write_bytes(orjson.dumps(dict.fromkeys(names, entry)))
    app = an_app(benchmark="synthetic", model="scripted/good")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        benchmark = page(pilot)._picker("benchmark")
        benchmark.take_focus()
        assert "task_1" not in shown(app)
        await pilot.press(*"science arc")
        await until_shown(pilot, "2 of ")
        assert "arc_x: multiple_choice  allenai/science" in shown(app)
        await pilot.press("enter")
        await until_shown(pilot, "lm-eval/arc_x × scripted/good")
        await until_shown(pilot, "✗ good")
        await until_shown(pilot, "● lm-eval/arc_x")
        # The family alone is no benchmark: its line begins a search.
        benchmark.take_focus()
        await pilot.press(*"lm-eval", "up", "enter")
        await until(pilot, lambda: benchmark.query_one(Input).value == "lm-eval/ ", "a search")
        await pilot.press(*"chat")
        await until_shown(pilot, "1 of ")
        await pilot.press("enter")
        await until_shown(pilot, "lm-eval/arc_chat × scripted/good")


@pytest.mark.slow
async def test_models_that_cannot_answer_are_greyed_with_the_reason(home: Path) -> None:
    app = an_app(benchmark="mmlu", model="scripted/good")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await until_shown(pilot, "2 listed")
        await until(
            pilot,
            lambda: page(pilot).query("#field-family Select SelectOverlay"),
            "the field of families",
        )
        family = page(pilot).query_one("#field-family Select")
        # As it stands the family goes by the model; once chosen it is kept.
        family.value = "chat"  # type: ignore[attr-defined]
        await until(pilot, lambda: "--family chat" in command(pilot), "the other family")
        family.value = "original"  # type: ignore[attr-defined]
        await until_shown(pilot, "✗ good")
        page(pilot).query_one("#model", Picker).take_focus()
        await until_shown(pilot, "✗ not for this benchmark: it only writes")
        # It has moved to what this choice needs.
        page(pilot).query_one("#field-family Select").value = "chat"  # type: ignore[attr-defined]
        await until(pilot, lambda: "✗ good" not in shown(app), "models that can be used")


@pytest.mark.slow
async def test_no_key_is_said_with_its_cure_and_can_be_set_in_place(
    home: Path, sim: Handle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keychain = tmp_path / "keychain.json"
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "evalbench_keyrings.InFile")
    monkeypatch.setenv("FAKE_KEYCHAIN", str(keychain))
    app = an_app(benchmark="quickstart", model="groq/llama-3.1-8b-instant")
    async with app.run_test(size=(120, 24), notifications=True) as pilot:
        await opened(pilot)
        page(pilot).query_one("#model", Picker).take_focus()
        await until_shown(pilot, "there is no key for groq")
        await until_shown(pilot, "try: ctrl+t sets the key of groq")
        await until_shown(pilot, "realtime · no key yet: ctrl+t sets one")

        await write(pilot, "base_url", sim.base_url("groq"))
        await pilot.press("ctrl+t")
        await until_shown(pilot, "Keys are made at")
        key = "gsk0123456789abcdefghijWXYZ"
        await pilot.press(*key.replace("_", ""), "enter")
        await until_shown(pilot, "Groq accepts the key")
        assert key in keychain.read_text()
        await until_shown(pilot, "key: keychain, default")
        await until_shown(pilot, "llama-3.1-8b-instant")
        await until(pilot, lambda: "listed" in shown(app), "the list")
        assert key not in shown(app)

        await pilot.press("f7")
        await until_shown(pilot, "reply ")
        await until_shown(pilot, "tokens ")
        await pilot.press("escape")
        assert isinstance(app.screen, NewRunPage)


@pytest.mark.slow
async def test_a_probe_that_would_load_a_model_is_refused_with_the_reason(home: Path) -> None:
    app = an_app(benchmark="synthetic", model="local/smollm2-135m-instruct")
    async with app.run_test() as pilot:
        await opened(pilot)
        await pilot.press("f7")
        await until_shown(pilot, "it would have to be loaded")
        await until_shown(pilot, "--limit 1")
        await pilot.press("escape")


async def test_going_back_clears_letters_then_leaves_the_settings_then_the_page(
    home: Path,
) -> None:
    app = an_app(benchmark="synthetic", model="scripted/good")
    async with app.run_test() as pilot:
        await opened(pilot)
        await pilot.press(*"mm", "escape")
        await pilot.pause()
        benchmark = page(pilot).query_one("#benchmark", Picker)
        assert not benchmark.filtered
        assert benchmark.current
        assert benchmark.current.ident == "synthetic"
        await write(pilot, "limit", "7")
        await pilot.press("escape")
        await until(
            pilot, lambda: page(pilot).query_one("#model", Picker).has_focus_within, "the pickers"
        )
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, NewRunPage), "home")


@pytest.mark.share(3)
@pytest.mark.parametrize("size", SIZES)
async def test_the_page_holds_everything_at_every_size(home: Path, size: tuple[int, int]) -> None:
    app = an_app(benchmark="synthetic", model="scripted/good")
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await until_shown(pilot, "500 samples")
        screen = await until_shown(pilot, "● good")
        for words in ("benchmark", "provider", "limit", "realtime · needs no key", "F9 Start"):
            assert words in screen
        for line in screen.splitlines():
            assert len(line) <= size[0]
        await pilot.resize_terminal(60, 16)
        await pilot.pause()
        await pilot.resize_terminal(*size)
        await until_shown(pilot, "F9 Start")


@pytest.mark.slow
async def test_names_of_models_are_shown_as_text_whatever_is_in_them(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_fresh_list(provider: str, *flags: str) -> ModelList:
        raise EvalbenchError("[/] no \x1b[2J list", hint="[b]wait")

    monkeypatch.setattr(offered, "ask_models", no_fresh_list)
    odd = ["[red]x[/]", "[/", "a\x1b[2Jb", "z\u200dj\u202er", "nul\x00", "long" * 5000, "漢字"]
    lines = [
        {
            "id": f"scripted/{name}",
            "provider": "scripted",
            "name": name,
            "title": f"[link=x]{name}",
            "context_tokens": 1,
            "retires": "[bold]",
            "notes": name,
            "price": None,
            "able": {"choose": False, "reason": name, "untaken": {"seed": name}},
        }
        for name in odd
    ]
    file = home / "cache" / "model-lists" / "scripted.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(orjson.dumps({"when": 1, "lines": lines}))
    app = an_app(benchmark="mmlu", model=f"scripted/{odd[0]}")
    async with app.run_test() as pilot:
        await opened(pilot)
        await until_shown(pilot, "[red]x[/]")
        picker = page(pilot).query_one("#model", Picker)
        picker.take_focus()
        for name in odd:
            picker.choose(name)
            await pilot.pause()
            await pilot.press("enter")
            await pilot.pause()
            screen = shown(app)
            assert "\x1b" not in screen
            assert "\x00" not in screen
            picker.take_focus()
        await pilot.press("f8")
        await until(
            pilot, lambda: "estimating" not in shown(app), "an estimate or why there is none"
        )
        await write(pilot, "desc", "[/] \x1b[2J")
        assert "\x1b" not in shown(app)


@pytest.mark.slow
async def test_the_mouse_does_the_same(home: Path) -> None:
    app = an_app(benchmark="quickstart", model="scripted/good")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await until_shown(pilot, "● good")

        def line_of(text: str) -> int:
            return next(y for y, line in enumerate(shown(app).splitlines()) if text in line)

        await pilot.click(offset=(5, line_of("  mmlu ")))
        await until_shown(pilot, "MMLU: 57 subjects")
        assert page(pilot)._draft.benchmark == "quickstart"
        await pilot.click(offset=(5, line_of("  mmlu ")))
        await until_shown(pilot, "evalbench run mmlu --model")
        await pilot.click(offset=(5, line_of(" more")))
        await until_shown(pilot, "▾ ")
        assert page(pilot).query("#field-qps")


async def test_a_setup_is_kept_taken_renamed_and_forgotten(home: Path) -> None:
    app = an_app(benchmark="quickstart", model="local/smollm2-135m-instruct")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await write(pilot, "limit", "7")
        await pilot.press("ctrl+y")
        await until_shown(pilot, "Save this set-up")
        await pilot.press("enter")
        await until_shown(pilot, "Name of this set-up")
        app.screen.query_one("#value", Input).value = "seven [/] only"
        await pilot.press("enter")
        await until(pilot, load_setups, "the set-up")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: "--limit" not in command(pilot), "no limit")
        await pilot.press("ctrl+y")
        await until_shown(pilot, "seven [/] only")
        await pilot.press("down", "enter")
        await until(pilot, lambda: "--limit 7" in command(pilot), "the limit again")
        await pilot.press("ctrl+y")
        await until_shown(pilot, "Rename one")
        await pilot.press("escape")
        await until(pilot, lambda: "Rename one" not in shown(app), "the page")
        save_setup(Setup("taken", "mmlu", "", {}))
        await pilot.press("ctrl+y")
        await until_shown(pilot, "Rename one")
        await pilot.press("down", "down", "down", "enter")
        await until(pilot, lambda: "Save this set-up" not in shown(app), "those to rename")
        await until_shown(pilot, "seven [/] only")
        await pilot.press("enter")
        await until_shown(pilot, "New name of this set-up")
        app.screen.query_one("#value", Input).value = "taken"
        await pilot.press("enter")
        await until_shown(pilot, "there is a set-up 'taken'")
        app.screen.query_one("#value", Input).value = "eight [/]"
        await pilot.press("enter")
        await until_told(pilot, "seven [/] only is now eight [/]")
        assert [(one.name, one.typed) for one in load_setups()] == [
            ("eight [/]", {"limit": "7"}),
            ("taken", {}),
        ]
        delete_setup("taken")
        await pilot.press("ctrl+y")
        await until_shown(pilot, "Delete one")
        await pilot.press("z", "z")
        await until_shown(pilot, "No matches")
        await pilot.press("backspace", "backspace")
        await until_shown(pilot, "Delete one")
        await pilot.press("down", "down", "down", "enter")
        await until(pilot, lambda: "Save this set-up" not in shown(app), "those to delete")
        await until_shown(pilot, "eight [/]")
        await pilot.press("enter")
        await until(pilot, lambda: not load_setups(), "nothing kept")
        await until_told(pilot, "deleted eight [/]")
