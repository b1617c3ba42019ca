"""Install commands in messages: of the way in which this copy was installed."""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
import sys
import tomllib
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import evalbench_tui
from evalbench.engine import installed
from evalbench.engine.config.spec import check_spec, make_spec
from evalbench.engine.errors import UsageError
from evalbench.engine.installed import install_command, packages_of, require

METADATA = """Metadata-Version: 2.4
Name: evalbench-tui
Version: 0.1.0
Requires-Dist: rich<16,>=14
Requires-Dist: openai[aiohttp]<4,>=3; extra == "openai"
Requires-Dist: together<4,>=3; extra == 'together'
Requires-Dist: evalbench-tui[openai,together]; extra == "providers"
"""


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that holds nothing but this distribution; its prefix."""
    place = tmp_path / "lib" / "site-packages"
    info = place / "evalbench_tui-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(METADATA)
    monkeypatch.setattr(sys, "path", [str(place), *sys.path])
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


def came_from(environment: Path, direct: dict[str, Any]) -> None:
    (info,) = environment.glob("lib/*/*.dist-info")
    (info / "direct_url.json").write_text(json.dumps(direct))


PIP = [sys.executable, "-m", "pip", "install"]


def test_each_source_is_named_as_pip_takes_it(environment: Path) -> None:
    checkout = environment / "a checkout"
    checkout.mkdir()
    wheel = environment / "evalbench_tui-0.1.0-py3-none-any.whl"
    wheel.touch()
    commit = {"vcs": "git", "commit_id": "abc"}
    for direct, words in (
        (
            {"url": checkout.as_uri(), "dir_info": {"editable": True}},
            ["--editable", f"{checkout}[openai]"],
        ),
        ({"url": checkout.as_uri(), "dir_info": {}}, [f"{checkout}[openai]"]),
        ({"url": wheel.as_uri(), "archive_info": {}}, [f"{wheel}[openai]"]),
        (
            {"url": "https://host.test/it", "vcs_info": commit},
            ["evalbench-tui[openai] @ git+https://host.test/it@abc"],
        ),
        (
            {"url": "https://host.test/it.whl", "archive_info": {}},
            ["evalbench-tui[openai] @ https://host.test/it.whl"],
        ),
        # A wheel that is gone, and a copy from an index that need not be reachable.
        ({"url": "file:///nowhere/it.whl"}, ["openai[aiohttp]<4,>=3"]),
        ({}, ["openai[aiohttp]<4,>=3"]),
    ):
        came_from(environment, direct)
        assert shlex.split(install_command("openai")) == [*PIP, *words]


def test_extras_of_extras_are_followed(environment: Path) -> None:
    assert packages_of("providers") == ["openai[aiohttp]<4,>=3", "together<4,>=3"]
    assert packages_of("nothing") == []


def test_tools_that_keep_an_environment_of_their_own(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came_from(environment, {"url": environment.as_uri(), "dir_info": {}})
    receipt = environment / "uv-receipt.toml"
    receipt.write_text('[tool]\nrequirements = [{ name = "evalbench-tui", extras = ["local"] }]\n')
    # What was asked for before stays.
    want = ["uv", "tool", "install", f"{environment}[local,openai]"]
    assert shlex.split(install_command("openai")) == want
    receipt.unlink()
    (environment / "pipx_metadata.json").write_text("{}")
    want = ["pipx", "inject", environment.name, "openai[aiohttp]<4,>=3"]
    assert shlex.split(install_command("openai")) == want
    (environment / "pipx_metadata.json").unlink()
    monkeypatch.setattr(installed, "find_spec", lambda name: None)
    want = ["uv", "pip", "install", "--python", sys.executable, f"{environment}[openai]"]
    assert shlex.split(install_command("openai")) == want


def test_what_is_missing_is_named_with_the_command(environment: Path) -> None:
    require("openai", "asking", "json", "shlex")
    with pytest.raises(UsageError) as error:
        require("openai", "asking", "json", "made_up_a", "made_up_b.c")
    assert (
        error.value.what == "asking needs made_up_a and made_up_b.c, which this installation lacks"
    )
    assert error.value.hint == install_command("openai")


@pytest.mark.parametrize(
    ("module", "model"),
    [
        ("anthropic", "anthropic/claude-sonnet-5"),
        ("boto3", "bedrock/some"),
        ("google.genai", "vertex/gemini-3-pro"),
        ("torch", "local/smollm2-135m-instruct"),
    ],
)
def test_a_missing_package_stops_a_run_before_it_begins(
    monkeypatch: pytest.MonkeyPatch, module: str, model: str
) -> None:
    monkeypatch.setattr(
        "evalbench.engine.installed.find_spec",
        lambda name: None if name == module else find_spec(name),
    )
    with pytest.raises(UsageError) as error:
        check_spec(make_spec("quickstart", model))
    assert f"needs {module}" in error.value.what
    assert "install" in error.value.hint


def test_every_extra_that_the_code_names_exists() -> None:
    root = Path(__file__).parents[3]
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["name"] == installed.DISTRIBUTION
    known = project["optional-dependencies"]
    named = set()
    for room in ("engine", "providers", "tui", "evalbench"):
        for file in (root / room).rglob("*.py"):
            text = file.read_text("utf-8")
            for call in ("install_command(", "require("):
                for piece in text.split(call)[1:]:
                    if piece[0] in "\"'":
                        named.add(piece[1:].partition(piece[0])[0])
    assert named >= {"data", "gpu", "local", "stats", "vision", "web"}
    assert named <= set(known)


# -- beside the other distribution of the same name ---------------------------------------------


def other_installed(environment: Path, source: bytes) -> None:
    """The other distribution; ``source`` is what it says that its package holds."""
    info = environment / "lib" / "site-packages" / "evalbench-1.0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: evalbench\nVersion: 1.0.1\n")
    digest = base64.urlsafe_b64encode(hashlib.sha256(source).digest()).decode().rstrip("=")
    (info / "RECORD").write_text(f"evalbench/__init__.py,sha256={digest},{len(source)}\n")


def package_holds(environment: Path, source: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = environment / "lib" / "site-packages" / "evalbench"
    folder.mkdir()
    (folder / "__init__.py").write_bytes(source)
    module = ModuleType("evalbench")
    module.__spec__ = ModuleSpec("evalbench", None, origin=str(folder / "__init__.py"))
    monkeypatch.setitem(sys.modules, "evalbench", module)


@pytest.mark.parametrize(("found", "mark", "code"), [(b"theirs", "error", 1), (b"ours", "warn", 0)])
def test_the_other_distribution_of_this_name_is_named_at_the_start(
    environment: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    found: bytes,
    mark: str,
    code: int,
) -> None:
    monkeypatch.setattr(sys, "argv", ["evalbench", "--version"])
    assert evalbench_tui.main() == 0
    assert capsys.readouterr().err == ""
    other_installed(environment, b"theirs")
    package_holds(environment, found, monkeypatch)
    assert evalbench_tui.main() == code
    told = capsys.readouterr()
    assert told.err.startswith(mark)
    assert "evalbench 1.0.1" in told.err
    assert "pip uninstall --yes evalbench" in told.err
    assert bool(told.out) == (code == 0)


def test_an_earlier_copy_of_this_project_is_no_other(environment: Path) -> None:
    other_installed(environment, b"")
    (info,) = environment.glob("lib/*/evalbench-*.dist-info")
    (info / "entry_points.txt").write_text("[console_scripts]\nevalbench = evalbench.tui:main\n")
    assert evalbench_tui._other() == ""
