"""The manual page holds what the parsers take; groff and man take it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from evalbench.engine.config import registry
from evalbench.tui.cli.commands import COMMANDS, parser_of
from evalbench.tui.cli.main import main
from evalbench.tui.cli.man import EXIT_CODES, help_of, metavar_of

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture
def page(home: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The page as the command prints it."""
    assert main(["man"]) == 0
    return capsys.readouterr().out


def _part(page: str, heading: str) -> str:
    """What stands below a heading, as plain text."""
    after = page.split(f"\n{heading}\n", 1)[1]
    part = re.split(r"^\.S[HS] ", after, maxsplit=1, flags=re.MULTILINE)[0]
    return re.sub(r"\\f[BIR]", "", part).replace(r"\-", "-").replace(r"\e", "\\").replace(r"\&", "")


def test_every_command_with_all_that_it_takes(page: str) -> None:
    for name, command in COMMANDS.items():
        part = _part(page, f".SS evalbench {name}".replace("-", r"\-"))
        assert command.summary[1:] in part
        lines = part.splitlines()
        for action in parser_of(name, ())._actions:
            if "--help" not in action.option_strings:
                value = "" if action.nargs == 0 else metavar_of(action)
                assert f"{', '.join(action.option_strings)} {value}".strip() in lines
                assert help_of(action) in lines


def test_the_settings_of_benchmarks_and_providers(page: str) -> None:
    for name, options in [
        *((name, registry.benchmark_class(name).options) for name in registry.benchmark_names()),
        *((name, registry.provider_class(name).options) for name in registry.provider_names()),
    ]:
        for option in options:
            assert option.flag in _part(page, f".SS {name}".replace("-", r"\-"))


def test_the_exit_codes_of_the_documentation(page: str) -> None:
    table = (DOCS / "command-line.md").read_text().split("## Exit codes")[1].split("\n## ")[0]
    told = dict(re.findall(r"^\| (\d) \| (.+) \|$", table, re.MULTILINE))
    assert {int(code) for code in told} == set(EXIT_CODES)
    for code, meaning in EXIT_CODES.items():
        assert told[str(code)].startswith(meaning)
        assert meaning in _part(page, ".SH EXIT STATUS")


@pytest.mark.shells
def test_groff_and_man_take_it(page: str, tmp_path: Path) -> None:
    for program in ("groff", "man"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    file = tmp_path / "evalbench.1"
    file.write_text(page)
    check = ["groff", "-Kutf8", "-man", "-Tutf8", "-ww", "-z", str(file)]
    done = subprocess.run(check, capture_output=True, text=True, check=True, timeout=200)
    assert done.stderr == ""
    env = {"PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}
    shown = subprocess.run(
        ["man", "-l", str(file)], capture_output=True, text=True, check=True, timeout=60, env=env
    )
    assert "evalbench - run LLM benchmarks against any model" in shown.stdout
    assert "\n   evalbench doctor\n" in shown.stdout
