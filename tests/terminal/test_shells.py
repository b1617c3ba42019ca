"""zsh and fish complete evalbench's words; bash is asked in tests/unit/cli/test_completion.py."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from evalbench.tui.cli.completing import Tables, tables
from evalbench.tui.cli.shells import fish, zsh
from tests.completing import CASES, Typing

pytestmark = pytest.mark.shells


@pytest.fixture(scope="module")
def known() -> Tables:
    return tables()


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


def test_fish_completes(known: Tables, folder: Path) -> None:
    (folder / "evalbench.fish").write_text(fish(known))
    asks = "\n".join(f"complete -C '{line}'; echo; echo =====" for line, _ in CASES)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source evalbench.fish\n{asks}"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "EVALBENCH_HOME": str(folder / "evalbench"),
        },
    )
    assert done.stderr == ""
    answers = done.stdout.split("=====\n")
    for (line, wanted), answer in zip(CASES, answers, strict=False):
        words = [one.split("\t")[0] for one in answer.split("\n") if one]
        # Where nothing begins so, fish offers what is a little like it.
        words = [word for word in words if word.startswith(line.rpartition(" ")[2])]
        assert sorted(words) == sorted(wanted), line
    assert "run a benchmark" in answers[0]


def test_zsh_completes_by_the_tab_key(known: Tables, folder: Path) -> None:
    (folder / "functions").mkdir()
    (folder / "functions" / "_evalbench").write_text(zsh(known))
    setup = "fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D; PS1='> '"
    home = str(folder / "evalbench")
    with Typing(["zsh", "-f", "-i"], setup, folder, EVALBENCH_HOME=home) as shell:
        for line, wanted in CASES:
            if len(wanted) == 1:
                shell.completes(line, wanted[0].removeprefix(line.split()[-1]))
