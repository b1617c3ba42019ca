"""Commands in odd surroundings: streams, home, current folder and limits that are not as usual."""

from __future__ import annotations

import itertools
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from evalbench.engine.runs.folder import all_runs
from tests.e2e.commandline import LONG_S, CommandLine, Finished

pytestmark = pytest.mark.slow

SMALL = ("run", "synthetic", "--model", "scripted/good", "--size", "20", "--no-ui")
NAMELESS = """
import pwd, runpy, sys

def nobody(_):
    raise KeyError("uid not found")

pwd.getpwuid = pwd.getpwnam = nobody
runpy.run_module("evalbench.tui.cli.main", run_name="__main__")
"""
"""Runs the command line as a user that the system has no name for."""


def in_shell(cli: CommandLine, before: str, words: tuple[str, ...], after: str = "") -> Finished:
    """A command with a shell around it."""
    command = shlex.join([sys.executable, "-m", "evalbench.tui.cli.main", *words])
    done = subprocess.run(
        ["bash", "-c", f"{before} {command} {after}"],
        env=cli.env,
        cwd=cli.home.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


CLOSED = [
    " ".join(closed)
    for number in (1, 2, 3)
    for closed in itertools.combinations(("<&-", ">&-", "2>&-"), number)
]


@pytest.mark.parametrize("closed", CLOSED)
def test_streams_that_are_closed_from_the_start(cli: CommandLine, closed: str) -> None:
    for words in (("--version",), ("runs",), ()):
        done = in_shell(cli, "", words, closed)
        assert (done.code, done.err) == (0, ""), words
        assert bool(done.out) == (" >&-" not in f" {closed}"), words
    # A mistake is still one.
    assert in_shell(cli, "", ("show",), closed).code == 1


def test_a_run_without_any_stream_keeps_its_journal_to_itself(cli: CommandLine) -> None:
    assert in_shell(cli, "", SMALL, "<&- >&- 2>&-").code == 0
    (run,) = cli.runs()
    assert (run.status().state, run.status().done) == ("complete", 20)
    assert "20 of 20" in cli("show", "last").out


@pytest.mark.parametrize("words", [("--help",), ("run", "--help"), ("runs",), ("man",), SMALL])
def test_output_that_a_full_disk_takes_none_of(cli: CommandLine, words: tuple[str, ...]) -> None:
    done = in_shell(cli, "", words, ">/dev/full")
    assert done.code == 5
    assert "not all output could be written: No space left" in done.err
    assert "Traceback" not in done.err


def test_errors_that_a_full_disk_takes_none_of(cli: CommandLine) -> None:
    assert in_shell(cli, "", ("--version",), "2>/dev/full").code == 0
    assert in_shell(cli, "", ("show",), "2>/dev/full").code == 1
    assert in_shell(cli, "", ("--version",), ">/dev/full 2>/dev/full").code == 5


@pytest.mark.parametrize("words", [("--help",), ("man",), SMALL])
def test_a_reader_that_has_seen_enough(cli: CommandLine, words: tuple[str, ...]) -> None:
    done = in_shell(cli, "set -o pipefail;", words, "| head -n 1")
    assert (done.code, done.err) == (0, "")
    assert done.out.count("\n") == 1


def test_a_user_without_a_name_or_a_home(cli: CommandLine) -> None:
    def homeless(*words: str, **env: str) -> Finished:
        kept = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH")
        whole = cli.env
        cli.env = {name: whole[name] for name in kept if name in whole} | env
        try:
            return cli.finish(cli.start_python("-c", NAMELESS, *words))
        finally:
            cli.env = whole

    able: tuple[tuple[str, ...], ...] = (
        ("--help",), ("--version",), ("completion", "bash"), ("benchmarks",)
    )  # fmt: skip
    unable: tuple[tuple[str, ...], ...] = (("runs",), SMALL, ("doctor",), ("show", "last"))
    for words in able:
        assert homeless(*words).code == 0
    for words in unable:
        done = homeless(*words)
        assert done.code == 1
        assert done.err.startswith("error: there is no home folder for this user")
        assert "set HOME or EVALBENCH_HOME" in done.err
        assert "Traceback" not in done.err
    assert homeless(*SMALL, EVALBENCH_HOME=str(cli.home)).code == 0
    done = homeless("runs", EVALBENCH_HOME="~/eval")
    assert (done.code, "is not known" in done.err) == (1, True)
    done = homeless("export", "last", "-o", "~/x.json", EVALBENCH_HOME=str(cli.home))
    assert (done.code, "is not known" in done.err) == (1, True)


def test_a_home_that_is_a_file(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    home = {"HOME": str(tmp_path / "file"), "EVALBENCH_HOME": ""}
    assert cli("runs", **home).code == 0
    done = cli(*SMALL, **home)
    assert done.code == 1
    assert "Not a directory" in done.err
    assert "EVALBENCH_HOME" in done.err
    assert "Traceback" not in done.err


def test_a_current_folder_that_was_deleted(cli: CommandLine) -> None:
    gone = "mkdir gone; cd gone; rmdir ../gone;"
    assert in_shell(cli, gone, SMALL).code == 0
    assert in_shell(cli, gone, ("show", "last")).code == 0
    for words in (("report", "last", "-o", "x.html"), (*SMALL, "--run-dir", "here")):
        done = in_shell(cli, gone, words)
        assert done.code == 1
        assert done.err.startswith("error: ")
        assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "env",
    [
        {"LANG": "C", "LC_ALL": "C"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii:strict"},
        {"TERM": ""},
    ],
)
def test_terminals_that_lack_characters(cli: CommandLine, env: dict[str, str]) -> None:
    done = cli(*SMALL, **env)
    assert (done.code, done.err) == (0, "")
    for words in (("show", "last"), ("runs",), ("benchmarks",)):
        assert cli(*words, **env).code == 0


@pytest.mark.parametrize("files", [7, 10])
def test_hardly_any_open_files(cli: CommandLine, files: int) -> None:
    done = in_shell(cli, f"ulimit -n {files};", SMALL)
    assert done.code == 5
    assert "Too many open files" in done.err
    assert f"{files} files" in done.err
    assert "ulimit -n 4096" in done.err
    assert "Traceback" not in done.err


def test_temporary_files_that_have_no_place(cli: CommandLine) -> None:
    cli(*SMALL)
    # Nowhere may a file grow.
    done = in_shell(cli, "ulimit -f 0; trap '' XFSZ;", ("export", "last", "-o", "x.json"))
    assert done.code == 5
    assert "Traceback" not in done.err


def test_all_that_is_kept_is_for_its_user_alone(cli: CommandLine) -> None:
    cli(*SMALL)
    cli("export", "last", "-o", str(cli.home / "out.json"))
    cli("report", "last")
    for path in cli.home.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_nothing_leaves_a_core_dump(slow: CommandLine) -> None:
    done = in_shell(
        slow,
        "ulimit -c unlimited;" if os.geteuid() == 0 else "ulimit -S -c $(ulimit -H -c);",
        ("run", "synthetic", "--model", "scripted/good", "--concurrency", "2", "--detach"),
    )
    assert done.code == 0
    (run,) = all_runs(slow.home / "runs")
    pid = run.live_pid()
    assert pid
    if not hasattr(psutil.Process, "rlimit"):
        pytest.skip("this system does not tell the limits of other processes")
    assert psutil.Process(pid).rlimit(psutil.RLIMIT_CORE) == (0, 0)
