"""What shells complete, asked of bash itself; zsh and fish are asked in tests/terminal."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from evalbench.engine.config import registry
from evalbench.tui.cli.commands import COMMANDS
from evalbench.tui.cli.completing import tables
from evalbench.tui.cli.grammar import grammar
from evalbench.tui.cli.main import main
from tests.completing import CASES, Typing

Ask = Callable[[str], list[str]]

# As readline calls it, after it has cut the line into words.
_ASK = """
source {script}
while IFS= read -r line; do
    IFS=$'\\t' read -r -a COMP_WORDS <<< "$line"
    [[ $line == *$'\\t' ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
    _evalbench
    echo "${{COMPREPLY[@]}}"
done
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script for bash, as the command prints it."""
    from evalbench.tui.cli.shells import bash

    file = tmp_path_factory.mktemp("completion") / "evalbench.bash"
    file.write_text(bash(tables()))
    return file


def test_the_command_prints_a_script(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert main(["completion", "bash"]) == 0
    assert "complete -F _evalbench evalbench" in capsys.readouterr().out
    assert main(["completion", "powershell"]) == 1


def test_bash_completes(script: Path, tmp_path: Path) -> None:
    (tmp_path / "home" / "runs" / "20261128-quick-1").mkdir(parents=True)
    (tmp_path / "notes.txt").touch()
    lines = [
        "\t".join(line.replace("=", " = ").split()) + ("\t" if line[-1] in " =" else "")
        for line, _ in CASES
    ]
    done = subprocess.run(
        ["bash", "--norc", "-c", _ASK.format(script=script)],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "EVALBENCH_HOME": str(tmp_path / "home")},
    )
    assert done.stderr == ""
    answers = [answer.split() for answer in done.stdout.split("\n")]
    for (line, wanted), answer in zip(CASES, answers, strict=False):
        assert answer == [word.rpartition("=")[2] for word in wanted], line


def test_bash_is_really_asked_by_the_tab_key(script: Path, tmp_path: Path) -> None:
    setup = f"bind 'set enable-bracketed-paste off'; PS1='> '; source {script}"
    with Typing(["bash", "--norc", "-i"], setup, tmp_path) as bash:
        bash.completes("evalbench resu", "me ")
        bash.completes("evalbench run mmlu --fam", "ily ")
        bash.completes("evalbench run mmlu --family=ch", "at ")
        bash.completes("evalbench run mmlu --model anthr", "opic/")


def test_everything_that_parsers_take_is_offered() -> None:
    found = tables()
    assert set(COMMANDS) <= {word for word, _ in found[""]}
    for name in COMMANDS:
        offered = {word for word, _ in found[name]}
        for argument in grammar(name).arguments:
            assert offered >= set(argument.flags)
            for flag in argument.flags if argument.metavar else ():
                assert f"{name} {flag}" in found
    for name in registry.benchmark_names():
        options = registry.benchmark_class(name).options
        assert {word for word, _ in found[f"b:{name}"]} >= {option.flag for option in options}
    for name in registry.provider_names():
        for option in registry.provider_class(name).options:
            if option.choices:
                values = [word for word, _ in found[f"p:{name} {option.flag}"]]
                assert values == list(option.choices)
