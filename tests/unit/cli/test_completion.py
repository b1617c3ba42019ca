"""What the Tab key offers; zsh and fish are asked in tests/terminal/test_shells.py."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from argcomplete.finders import CompletionFinder

from evalbench.engine.config import registry
from evalbench.tui.cli.commands import COMMANDS
from evalbench.tui.cli.completing import script
from evalbench.tui.cli.main import main
from tests.completing import CASES, Typing, path_with_evalbench


def _offered(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What argcomplete's protocol answers about a line."""
    out = folder / "out"
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    monkeypatch.setenv("_ARGCOMPLETE_SUPPRESS_SPACE", "1")
    monkeypatch.setenv("_ARGCOMPLETE_STDOUT_FILENAME", str(out))
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_POINT", str(len(line)))
    with contextlib.suppress(SystemExit):
        assert main([]) == 0
    return out.read_text().split("\v") if out.exists() and out.stat().st_size else []


@pytest.fixture
def folder(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (home / "runs" / "20261128-quick-1").mkdir(parents=True)
    # It takes a file descriptor that is pytest's.
    monkeypatch.setattr(CompletionFinder, "_init_debug_stream", lambda self: None)
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "notes.txt").touch()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(("line", "wanted"), CASES, ids=[line for line, _ in CASES])
def test_a_line_is_completed(
    line: str, wanted: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sorted(_offered(line, folder.parent, monkeypatch)) == sorted(wanted)


def test_every_command_and_flag_is_offered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def offered(line: str) -> set[str]:
        return set(_offered(line, folder.parent, monkeypatch))

    assert offered("evalbench ") == set(COMMANDS)
    benchmark, provider = registry.benchmark_class("mmlu"), registry.provider_class("groq")
    flags = offered("A=1 ./bin/evalbench run mmlu --model groq/x -")
    assert flags >= {option.flag for option in (*benchmark.options, *provider.options)}
    assert flags >= {"--model", "--limit", "--budget", "--json"}


def test_a_file_of_ones_own_adds_its_filters(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["new-benchmark", "mine"]) == 0
    assert _offered("evalbench run mine.toml --gr", folder.parent, monkeypatch) == ["--group"]


def test_a_mistake_earlier_in_the_line_offers_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _offered("evalbench run missing.toml --li", folder.parent, monkeypatch) == []


def test_files_are_offered_whatever_they_are_called(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")  # without bash
    monkeypatch.setenv("HOME", str(folder))
    for name in ("my file.csv", "a:b.csv", "it's.csv", ".hidden", "new\nline"):
        (folder / name).touch()
    os.close(os.open(os.fsencode(folder) + b"/\xff.csv", os.O_CREAT))
    (folder / "sub").mkdir()
    (folder / "sub" / "data.csv").touch()

    def offered(start: str) -> list[str]:
        return _offered(f"evalbench run mmlu --data {start}", folder.parent, monkeypatch)

    names = ["a:b.csv", "it\\'s.csv", "my\\ file.csv", "notes.txt", "sub/"]
    assert offered("") == names
    assert offered(".h") == [".hidden"]
    assert offered('"my') == ["my file.csv"]
    assert offered("sub/") == ["sub/data.csv"]
    assert offered("~/su") == ["~/sub/"]
    assert offered("missing/") == []
    assert _offered("evalbench run mmlu --run-dir ", folder.parent, monkeypatch) == ["sub/"]


def test_the_command_prints_a_script(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out.startswith("#compdef evalbench\n")
    assert main(["completion", "powershell"]) == 1


def test_bash_asks_at_the_tab_key(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(script("bash"))
    setup = "bind 'set enable-bracketed-paste off'; PS1='> '; source ./script"
    path = path_with_evalbench(tmp_path)
    with Typing(["bash", "--norc", "-i"], setup, tmp_path, PATH=path) as bash:
        bash.completes("evalbench resu", "me ")
        bash.completes("evalbench run mmlu --fam", "ily ")
        bash.completes("evalbench run mmlu --family=ch", "at ")
        bash.completes("evalbench run mmlu --model anthr", "opic/")
