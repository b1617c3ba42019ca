"""The code of docs/extending.md, run as it stands there."""

from __future__ import annotations

import copy
import re
import sys
import tomllib
import types
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest

from evalbench.engine.calls import Call, ModelRef, Outcome, Reply, generate, system, user
from evalbench.engine.calls.options import options_of
from evalbench.engine.config import registry, spec
from evalbench.engine.config.roles import make_provider
from evalbench.engine.config.spec import build_benchmark, make_spec
from evalbench.engine.errors import BadKey, CallRejected, ConnectionFailed, RateLimited
from evalbench.engine.formats import export_runs
from evalbench.engine.journal import Journal, JournalReader, reader, salvage, schema, writer
from evalbench.engine.runs.folder import RunFolder
from tests.finished import finished
from tests.pilot.driving import until_shown
from tests.simulator.handle import Handle
from tests.unit.engine.journals import fill, journal
from tests.unit.engine.plugins import Installed

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.S)
CODE = {
    block.partition("\n")[0].removeprefix("# "): block
    for language, block in BLOCKS
    if language == "python"
}


@pytest.fixture(autouse=True)
def _fresh_home(home: Path) -> Path:
    return home


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The page's own package, installed for this process."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    registry._found.cache_clear()
    package = Installed(site)
    (project,) = (tomllib.loads(block) for language, block in BLOCKS if language == "toml")
    for group, points in project["project"]["entry-points"].items():
        for name, place in points.items():
            module, _, found = place.partition(":")
            package.add(module, CODE[f"{module}.py"], group, **{name: found})
    yield
    registry._found.cache_clear()
    for name in [name for name in sys.modules if name.startswith("acme_")]:
        del sys.modules[name]


@pytest.fixture
def edited(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Adds the page's code to a module of ours, or makes the module; all is undone afterwards."""

    def edit(path: str) -> dict[str, Any]:
        name = "evalbench." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if (Path(__file__).parents[2] / path).exists():
            space = vars(import_module(name))
            for held, value in list(space.items()):
                if isinstance(value, dict | list) and not held.startswith("__"):
                    monkeypatch.setitem(space, held, copy.copy(value))
                else:
                    monkeypatch.setitem(space, held, value)
        else:
            module = types.ModuleType(name)
            monkeypatch.setitem(sys.modules, name, module)
            space = vars(module)
        before = set(space)
        # In brackets: coverage would look for a file.
        exec(compile(CODE[path], f"<{path}>", "exec"), space)
        added.append((space, set(space) - before))
        return space

    added: list[tuple[dict[str, Any], set[str]]] = []
    yield edit
    for space, names in added:
        for name in names:
            del space[name]


def test_every_block_of_the_page_is_run_here() -> None:
    source = Path(__file__).read_text("utf-8")
    named = {path for path in CODE if path.startswith("acme_") or f'"{path}"' in source}
    assert named == set(CODE)
    assert len(CODE) == sum(language == "python" for language, _ in BLOCKS)


@pytest.mark.usefixtures("acme")
async def test_a_provider_in_ten_lines(sim: Handle) -> None:
    assert len(CODE["acme_hub.py"].splitlines()) <= 10
    settings = {"base_url": sim.base_url("custom")}
    provider: Any = make_provider(registry.provider_class("acme"), settings, "acme-" + "k" * 20)
    model = (await provider.models())[0].name
    reply = await provider.answer(Call(ModelRef("acme", model), generate("Hello", max_tokens=500)))
    assert reply.outcome is Outcome.OK
    assert reply.text
    await provider.close()


class _Client:
    def __init__(self, key: str, *, address: str | None, retries: int) -> None:
        assert retries == 0
        self.key = key

    async def ask(self, model: str, turns: Any, *, most: Any, heat: Any, tone: str) -> Any:
        if isinstance(fault := _FAULTS.get(model), Exception):
            raise fault
        body = {"said": f"{tone} {turns[0][1]}", "heat": heat}
        return types.SimpleNamespace(
            text=body["said"], cut=most == 1, tokens_read=3, tokens_written=2, body=body
        )

    async def whoami(self) -> str:
        return f"somebody with {len(self.key)} letters"

    async def close(self) -> None:
        self.key = ""


_SDK = types.ModuleType("riddler_sdk")
vars(_SDK).update(
    Client=_Client,
    Unauthorized=type("Unauthorized", (Exception,), {}),
    TooFast=type("TooFast", (Exception,), {"wait_s": 2.5}),
    Unreachable=type("Unreachable", (Exception,), {}),
)
_FAULTS = {
    "locked": vars(_SDK)["Unauthorized"]("no"),
    "busy": vars(_SDK)["TooFast"](),
    "away": vars(_SDK)["Unreachable"]("no route"),
}


@pytest.mark.usefixtures("acme")
async def test_a_provider_with_an_sdk_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "riddler_sdk", _SDK)
    made = make_spec("capitals", "riddler/sphinx", provider_options={"tone": "warm"})
    provider: Any = made.roles()["candidate"].provider("k" * 9)

    def ask(model: str, messages: Any = "Why?", **params: Any) -> Call:
        return Call(ModelRef("riddler", model), generate(messages, **params))

    reply = await provider.answer(ask("sphinx", temperature=0.5, seed=1))
    assert (reply.text, reply.outcome) == ("warm Why?", Outcome.OK)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 2)
    fates = {note.name: note.fate for note in reply.params}
    assert fates == {"max_tokens": "sent", "temperature": "sent", "seed": "dropped"}
    assert (await provider.answer(ask("sphinx", max_tokens=1))).outcome is Outcome.TRUNCATED
    assert "9 letters" in await provider.check_key()
    for model, error in (("locked", BadKey), ("busy", RateLimited), ("away", ConnectionFailed)):
        with pytest.raises(error) as raised:
            await provider.answer(ask(model))
    with pytest.raises(CallRejected):
        await provider.answer(ask("sphinx", [system("Be kind."), user("Why?")]))
    await provider.close()
    assert raised.value.why == "no route"


def _run_of(benchmark: str, say: Any, **common: Any) -> RunFolder:
    made = make_spec(benchmark, "local/m", **common)
    items = list(build_benchmark(made).prepare(None).items)  # type: ignore[arg-type]
    return finished(made, items, say)


@pytest.mark.usefixtures("acme")
def test_a_benchmark_with_a_choice_and_a_format(edited: Any, tmp_path: Path) -> None:
    run = _run_of("capitals", lambda sample, *_: Reply("B."))
    status = run.status()
    assert status.outcomes["ok"] == 3
    assert status.metrics["accuracy"]["value"] == pytest.approx(1 / 3)
    edited("engine/formats/wrong_ones.py")
    edited("engine/formats/__init__.py")
    done = export_runs([run], "wrong-ones", tmp_path / "out")
    assert done.notes == ["2 of 3 samples are wrong"]
    assert len(done.files[0].read_text().splitlines()) == 2


@pytest.mark.usefixtures("acme")
def test_a_benchmark_with_judges() -> None:
    def say(sample: Any, epoch: int, role: str, step: str, repeat: int) -> Reply:
        if role == "candidate":
            return Reply("An essay.")
        return Reply("Grade: 8" if role.endswith("one") else "No grade from me")

    run = _run_of("essays", say, judge=["local/one", "local/two"])
    assert run.status().metrics["grade"]["value"] == 8
    silent = _run_of("essays", lambda *_: Reply("Hm."), judge=["local/one"])
    assert silent.status().outcomes["unparsed"] == 2


def test_a_setting(edited: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    old, settings = make_spec("quickstart", "local/m").to_json(), spec.RunSettings
    added = edited("engine/config/spec.py")["RunSettings"]
    # The page shows the one field that is new.
    longer: Any = dataclass(frozen=True, kw_only=True)(
        type("RunSettings", (settings,), dict(vars(added)))
    )
    monkeypatch.setattr(spec, "RunSettings", longer)
    monkeypatch.setattr(spec, "COMMON", options_of(longer))
    made = spec.make_spec("quickstart", "local/m", project="moon")
    assert cast(Any, made.settings).project == "moon"
    assert spec.RunSpec.from_json(made.to_json()) == made
    assert cast(Any, spec.RunSpec.from_json(old).settings).project is None


async def test_a_screen(edited: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from evalbench.tui import app as app_module
    from evalbench.tui.app import EvalbenchApp
    from evalbench.tui.bindings import bindings
    from evalbench.tui.state.preferences import Preferences

    edited("tui/commands.py")
    edited("tui/state/room_left.py")
    edited("tui/screens/room.py")
    action = edited("tui/app.py")["action_room"]

    class WithRoom(EvalbenchApp):
        BINDINGS = bindings("app")
        CSS_PATH = str(Path(app_module.__file__).with_name("app.tcss"))
        action_room = action

    app = WithRoom(Preferences(welcomed=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f11")
        screen = await until_shown(pilot, "GB are free at")
        assert "· Room" in screen.splitlines()[0]
        assert "Look" in screen.splitlines()[-1]


async def test_a_column_of_the_journal(
    edited: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    async with journal(path) as opened:
        await fill(opened, range(1, 3))
        call = opened.query(lambda decoder: decoder.db.execute("SELECT id FROM call").fetchone()[0])
    edited("engine/journal/schema.py")
    edited("engine/journal/file.py")
    edited("engine/journal/salvage.py")
    put = edited("engine/journal/writer.py")["put_region"]
    regions = edited("engine/journal/reader.py")["regions"]
    monkeypatch.setattr(Journal, "put_region", put, raising=False)
    with JournalReader(path) as before:
        assert regions(before._decoder) == {}
    assert (schema.VERSION, writer.Journal) == (6, Journal)
    async with journal(path) as opened:
        opened.put_region(call, "north")  # type: ignore[attr-defined]
    salvage.salvage(path, tmp_path / "saved.db")
    for one in (path, tmp_path / "saved.db"):
        with JournalReader(one) as after:
            assert reader.regions(after._decoder) == {"north": 1}  # type: ignore[attr-defined]
