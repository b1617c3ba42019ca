"""Every tutorial does what it says, typed as it stands there."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.commandline import PLUGINS, CommandLine, plain_environment
from tests.simulator.handle import Handle
from tests.stranger.documented import ROOT
from tests.stranger.walking import missing, steps, walk, with_command

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
HOUR_S = 3600.0
QUESTIONS = [
    {"question_id": number, "category": category, "turns": [f"Say {number}.", "Say it again."]}
    for number, category in enumerate(("writing", "roleplay", "stem", "humanities"), 81)
]


@pytest.fixture
def reader(
    tmp_path: Path, home: Path, sim: Handle, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, str]]:
    """A reader's environment: a home of its own, a keychain, the simulator for hosted models."""
    data = tmp_path / "mt_bench"
    data.mkdir()
    (data / "question.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)))
    env = plain_environment() | {
        "PYTHONPATH": str(PLUGINS),
        "TERM": "dumb",
        "COLUMNS": "100",
        "EVALBENCH_HOME": str(home),
        "PYTHON_KEYRING_BACKEND": "evalbench_keyrings.InFile",
        "FAKE_KEYCHAIN": str(tmp_path / "keychain.json"),
        "DOOR_URLS": json.dumps({name: sim.base_url(name) for name in ("openai", "anthropic")}),
        "DOOR_DATA": json.dumps({"mt-bench": str(data)}),
        "DOOR_LOCAL": "scripted/good",
    }
    line = CommandLine(home, env)
    yield with_command(tmp_path / "bin", sys.executable, env)
    line.clean_up()


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=[page.stem for page in TUTORIALS])
def test_a_tutorial_does_what_it_says(
    page: Path, tmp_path: Path, sim: Handle, reader: dict[str, str]
) -> None:
    def morning_comes(command: str) -> None:
        if command.startswith("evalbench collect"):
            sim.advance(8 * HOUR_S)

    folder = tmp_path / "here"
    folder.mkdir()
    sim.batch(running=2 * HOUR_S)
    walk(page, folder, reader, morning_comes)


@pytest.mark.parametrize("page", TUTORIALS, ids=[page.stem for page in TUTORIALS])
def test_a_tutorial_has_steps_that_show_something(page: Path) -> None:
    found = list(steps(page))
    assert len(found) >= 4
    assert sum(bool(step.shown) for step in found) >= 3


def test_a_page_is_read_as_steps(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Do:\n\n    $ one \\\n          two\n    out … put\n    more\n\nand\n\n"
        "    $ cat > x <<'END'\n    $ no\n    END\n    $ ask\n      more\n    (type) yes\n"
    )
    one, two, three = steps(page)
    assert (one.command, one.shown) == ("one \\\n      two", ["out … put", "more"])
    assert two.command == "cat > x <<'END'\n$ no\nEND"
    assert (three.command, three.typed) == ("ask\nmore", "yes\n")
    assert missing(one.shown, "out of  my\nput\nand more") == ""
    assert missing(one.shown, "more out put") == "more"
