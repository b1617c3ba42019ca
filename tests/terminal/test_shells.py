"""zsh and fish complete evalbench's words; for bash see tests/unit/cli/test_completion.py."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from evalbench.tui.cli.completing import script
from tests.completing import BY_SHELLS, Typing, path_with_evalbench

pytestmark = pytest.mark.shells


@pytest.fixture(autouse=True)
def _shells() -> None:
    for name in ("zsh", "fish"):
        if not shutil.which(name):
            pytest.skip(f"{name} is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "evalbench" / "runs" / "20261128-quick-1").mkdir(parents=True)
    (tmp_path / "notes.txt").touch()
    return tmp_path


def test_fish_completes(folder: Path) -> None:
    (folder / "evalbench.fish").write_text(script("fish"))
    asks = "\n".join(f"complete -C '{line}'; echo; echo =====" for line, _ in BY_SHELLS)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source evalbench.fish\n{asks}"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env={
            "PATH": path_with_evalbench(folder),
            "HOME": str(folder),
            "EVALBENCH_HOME": str(folder / "evalbench"),
        },
    )
    assert done.stderr == ""
    answers = done.stdout.split("=====\n")
    for (line, wanted), answer in zip(BY_SHELLS, answers, strict=False):
        words = [one.split("\t")[0] for one in answer.split("\n") if one]
        # Where nothing begins so, fish offers what is a little like it.
        words = [word for word in words if word.startswith(line.rpartition(" ")[2])]
        assert sorted(words) == sorted(wanted), line
    assert "run a benchmark" in answers[0]


def test_zsh_completes_by_the_tab_key(folder: Path) -> None:
    (folder / "functions").mkdir()
    (folder / "functions" / "_evalbench").write_text(script("zsh"))
    setup = "fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D; PS1='> '"
    home, path = str(folder / "evalbench"), path_with_evalbench(folder)
    with Typing(["zsh", "-f", "-i"], setup, folder, EVALBENCH_HOME=home, PATH=path) as shell:
        for line, wanted in BY_SHELLS:
            if len(wanted) == 1:
                shell.completes(line, wanted[0].removeprefix(line.split()[-1]))
