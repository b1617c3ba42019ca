"""The user's own command at the end of a run: read without a shell, told by its environment."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from evalbench.engine.errors import UsageError
from evalbench.engine.process import end_hook
from evalbench.engine.process.end_hook import read_command, run_hook
from evalbench.engine.runs.status import State
from tests.pretending import ACCURACY, pretend

pytestmark = pytest.mark.usefixtures("home")

TELL = """
import json, os, sys
told = {k: v for k, v in os.environ.items() if k.startswith("EVALBENCH_")}
open(sys.argv[1], "w").write(json.dumps({"words": sys.argv[2:], "told": told}))
"""


def test_a_command_is_words_and_nothing_of_a_shell() -> None:
    program, *words = read_command("sh -c 'echo $HOME; x' \"a b\" `c`")
    assert os.path.isabs(program)
    assert words == ["-c", "echo $HOME; x", "a b", "`c`"]
    for wrong, why in (("no-such-program x", "no program here"), ("", "nothing"), ("'", "read")):
        with pytest.raises(UsageError) as told:
            read_command(wrong)
        assert why in str(told.value)


async def test_the_run_is_told_of_in_the_environment(home: Path, tmp_path: Path) -> None:
    # A model may be called anything; its name is a value, never a part of a command.
    engine = pretend(model="openai/$(touch oops); x\n\x1b[31m")
    metrics = {"accuracy": {**ACCURACY, "value": 0.25}}
    engine.status(State.COMPLETE, done=3, total=3, metrics=metrics, exit_code=0)
    out = tmp_path / "told.json"
    await run_hook([sys.executable, "-c", TELL, str(out), "a $X b"], engine.folder)
    found = json.loads(out.read_text())
    assert found["words"] == ["a $X b"]
    told = found["told"]
    assert told["EVALBENCH_RUN"] == engine.folder.id
    assert (told["EVALBENCH_STATE"], told["EVALBENCH_SCORE"]) == ("complete", "0.25")
    assert told["EVALBENCH_EXIT_CODE"] == "0"
    assert "\x1b" not in told["EVALBENCH_MODEL"]


PYTHON = (sys.executable, "-c")


async def test_how_a_command_failed_is_given_and_logged(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = pretend()
    engine.status(State.FAILED)
    with caplog.at_level("INFO", "evalbench"):
        for command, problem in (
            (["/no/such/program"], "could not be started: No such file or directory"),
            ([*PYTHON, "raise SystemExit(3)"], "ended with exit code 3"),
            ([*PYTHON, "raise SystemExit('1\\n\\x1b[31mtwo')"], "ended with exit code 1: two"),
            ([*PYTHON, "import os; os.abort()"], "was ended by signal 6"),
        ):
            assert await run_hook(command, engine.folder) == f"the --on-end command {problem}"
            assert caplog.records[-1].getMessage() == f"the --on-end command {problem}"
        assert (
            await run_hook([*PYTHON, "import sys; sys.stderr.write('told')"], engine.folder) == ""
        )
    assert "the --on-end command said: told" in [one.getMessage() for one in caplog.records]


async def test_a_command_that_hangs_is_killed_and_what_it_left_running_is_not_waited_for(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = pretend()
    engine.status(State.FAILED)
    sleeps = "import time; time.sleep(60)"
    leaves = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {sleeps!r}])"
    began = time.monotonic()
    assert await run_hook([*PYTHON, leaves], engine.folder) == ""
    assert time.monotonic() - began < 50
    monkeypatch.setattr(end_hook, "LONGEST_S", 0.05)
    killed = await run_hook([*PYTHON, sleeps], engine.folder)
    assert killed == "the --on-end command was killed after 0 s"
