"""The entry point: overview, version, help, and how light it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalbench.engine.installed import version
from evalbench.tui.cli.commands import COMMANDS
from evalbench.tui.cli.main import main

UNNEEDED = {"rich", "orjson", "asyncio", "sqlite3", "zstandard"}
HEAVY = {"torch", "pandas", "datasets", "textual", "aiohttp", "transformers", "numpy", "pyarrow"}


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_without_a_command_the_overview(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    shown = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert name in shown
        assert command.summary in shown


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"evalbench {version()}\n"


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help_with_examples(
    name: str, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: evalbench {name}")
    assert name == "doctor" or f"\n  evalbench {name} " in shown


def test_help_of_a_benchmark_has_its_own_flags(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    assert main(["run", "mmlu", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--subject" in shown
    assert "settings of mmlu" in shown
    assert main(["run", "--help"]) == 0
    assert "--subject SUBJECT" not in capsys.readouterr().out


def test_windows_is_told_to_use_wsl(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert main(["--help"]) == 1
    assert "WSL2" in capsys.readouterr().err


def _modules(*words: str) -> set[str]:
    code = (
        "import sys; from evalbench.tui.cli.main import main; main(sys.argv[1:]);"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    # Measuring coverage loads modules of its own.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True, env=env
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [("--help",), ("--version",)])
def test_help_and_version_load_nothing_but_the_command_line(words: tuple[str, ...]) -> None:
    assert not _modules(*words) & (UNNEEDED | HEAVY)


@pytest.mark.parametrize("words", [("run", "mmlu", "--help"), ("runs",), ("benchmarks",)])
def test_commands_load_nothing_heavy(words: tuple[str, ...], home: Path) -> None:
    assert not _modules(*words) & HEAVY


def test_the_default_model_is_said_plainly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    from evalbench.engine.errors import UsageError

    def refuse(*_: object, **__: object) -> None:
        raise UsageError("enough")

    monkeypatch.setattr("evalbench.tui.cli.run.launch_runs", refuse)
    assert main(["run", "quickstart"]) == 1
    assert "no --model given: asking local/smollm2-135m-instruct" in capsys.readouterr().out
    assert main(["run", "quickstart", "--model", "local/smollm2-135m-instruct"]) == 1
    assert "no --model given" not in capsys.readouterr().out
