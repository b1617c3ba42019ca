"""Mistakes, changed runs and broken files: what is said, and that nothing is done."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.e2e.commandline import CommandLine
from tests.e2e.schema import check_line

SMALL = ("run", "synthetic", "--model", "scripted/good", "--size", "40")
LONG = ("run", "synthetic", "--model", "scripted/good", "--concurrency", "2", "--detach")


@pytest.mark.share(5)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("runn",), "did you mean run"),
        (("--verson",), "did you mean --version"),
        (("run", "synthetik", "--model", "scripted/good"), "did you mean synthetic"),
        (("run", "synthetic", "--model", "scriptd/good"), "did you mean scripted"),
        (("run", "synthetic", "--model", "good"), "a model is written provider/name"),
        (("run", "synthetic", "--model", "scripted/good", "--limitt", "3"), "did you mean --limit"),
        (("run", "synthetic", "--model", "scripted/good", "--limit", "0"), "at least 1"),
        (("run", "synthetic", "--model", "scripted/good", "--limit", "x"), "a whole number"),
        (("run", "synthetic", "--model", "scripted/good", "--mood", "bad"), "plain, refusing"),
        (("run", "synthetic", "--model", "scripted/good", "--limit"), "expected one argument"),
        (("run", "synthetic", "--model", "scripted/good", "more"), "one word too many"),
        (("run", "synthetic", "--model", "scripted/good", "--group", "zz"), "no group 'zz'"),
        (("run", "synthetic", "--model", "scripted/good", "--data", "nowhere"), "nowhere"),
        (("run", "nowhere.toml"), "cannot read nowhere.toml"),
        (("run",), "required: BENCHMARK|FILE.toml"),
        (("show",), "required: RUN"),
        (("show", "nothing"), "there is no run 'nothing'"),
        (("resume", "nothing"), "there is no run 'nothing'"),
        (("data", "fetsh", "synthetic"), "there is no 'fetsh'"),
        (("models", "scriptd"), "did you mean scripted"),
        (("benchmarks", "synthetik"), "did you mean synthetic"),
    ],
)
def test_a_mistake_costs_one_line_and_exit_code_1(
    cli: CommandLine, words: tuple[str, ...], said: str
) -> None:
    done = cli(*words)
    assert done.code == 1
    assert done.err.startswith("error: ")
    assert said in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    assert cli.runs() == []


def test_an_unknown_model_is_told_with_the_nearest_before_a_run_exists(cli: CommandLine) -> None:
    done = cli("run", "synthetic", "--model", "scripted/goood", "--json")
    assert done.code == 5
    assert "did you mean good?" in done.err
    check_line(done.lines[-1])
    assert done.lines[-1]["exit_code"] == 5
    assert cli.runs() == []


def test_a_malformed_row_is_named_and_no_run_is_left(cli: CommandLine, tmp_path: Path) -> None:
    data = tmp_path / "riddles.jsonl"
    good = json.dumps({"question": "Which?", "answer": "A", "group": "a"})
    data.write_text(f'{good}\n{good}\n{{"question": "Which?"\n{good}\n')
    done = cli("run", "synthetic", "--model", "scripted/good", "--data", str(data))
    assert done.code == 1
    assert "riddles.jsonl, row 3: not a riddle" in done.err
    assert cli.runs() == []


def test_an_unusable_run_dir_is_told(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = cli(*SMALL, "--run-dir", str(tmp_path / "file" / "runs"))
    assert done.code == 1
    assert "cannot make a run folder" in done.err
    assert "--run-dir" in done.err


def test_a_second_engine_is_refused(slow: CommandLine) -> None:
    slow.env["SCRIPTED_LATENCY"] = "1"  # so that the run outlasts a busy machine
    slow(*LONG)
    run = slow.only_run()
    pid = run.live_pid()
    done = slow("resume", run.id)
    assert done.code == 1
    assert f"already being driven by process {pid}" in done.err
    assert f"evalbench attach {run.id}" in done.err
    assert run.live_pid() == pid


def test_changed_settings_are_refused_then_accepted_and_marked(slow: CommandLine) -> None:
    slow(*LONG)
    run = slow.answering()
    stopped = slow("stop", "last")
    assert stopped.code == 0
    done_before = run.status().done
    assert 0 < done_before < 500

    refused = slow("resume", "last", "--temperature", "0.5")
    assert refused.code == 1
    assert "temperature was not set, is now 0.5" in refused.err
    assert f"{done_before} finished samples would keep scores" in refused.err
    assert "--accept-changes" in refused.err
    assert run.spec().get("temperature") is None
    assert run.status().done == done_before

    accepted = slow(
        "resume", "last", "--temperature", "0.5", "--accept-changes", "--json",
        SCRIPTED_LATENCY="0",
    )  # fmt: skip
    assert accepted.code == 0
    assert accepted.lines[-1]["mixed"] is True
    assert accepted.lines[-1]["done"] == 500
    assert run.spec().get("temperature") == 0.5
    assert "mixed" in slow("show", "last").out


def test_settings_that_decide_nothing_just_change(slow: CommandLine) -> None:
    slow(*LONG)
    run = slow.answering()
    slow("pause", "last")
    assert run.status().state == "paused"
    done = slow("resume", "last", "--concurrency", "50", "--mood", "refusing", "--json")
    assert done.code == 0
    assert done.lines[-1]["mixed"] is False
    assert run.spec().get("concurrency") == 50
    assert done.lines[-1]["outcomes"]["refused"] > 0


def test_a_resume_does_not_need_the_data_file_any_more(slow: CommandLine, tmp_path: Path) -> None:
    data = tmp_path / "riddles.jsonl"
    rows = [{"question": f"Which {n}?", "answer": "A", "group": "a"} for n in range(300)]
    data.write_text("\n".join(json.dumps(row) for row in rows))
    slow("run", "synthetic", "--model", "scripted/good", "--data", str(data), "--detach",
         "--concurrency", "2")  # fmt: skip
    slow.answering()
    slow("stop", "last")
    data.unlink()
    done = slow("resume", "last", "--concurrency", "60", "--json")
    assert done.code == 0, done.err
    assert done.lines[-1]["done"] == 300


@pytest.mark.share(2)
@pytest.mark.parametrize("words", [("show", "last"), ("resume", "last")])
def test_a_newer_journal_is_refused(cli: CommandLine, words: tuple[str, ...]) -> None:
    cli(*SMALL)
    journal = cli.only_run().journal
    with sqlite3.connect(journal) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    before = journal.read_bytes()
    done = cli(*words)
    assert done.code == 1
    assert "written by a newer evalbench" in done.err
    assert "upgrade evalbench" in done.err
    assert journal.read_bytes() == before


def test_usage_errors_are_json_lines_too(cli: CommandLine) -> None:
    done = cli("run", "synthetik", "--json")
    assert done.code == 1
    (line,) = done.lines
    check_line(line)
    assert "did you mean synthetic" in line["try"]


BROKEN = """
import sys
from evalbench.tui.cli import main, runs

def execute(args):
    secret = "sk-secret-value"
    return len(5)

runs.execute = execute
sys.exit(main.main(["runs"]))
"""


def test_a_crash_is_reported_to_a_file_without_variables(cli: CommandLine) -> None:
    done = cli.finish(cli.start_python("-c", BROKEN))
    assert done.code == 6
    assert done.err.startswith("error: evalbench crashed: TypeError")
    assert "Traceback" not in done.err
    (report,) = (cli.home / "cache" / "crashes").iterdir()
    assert "in execute" in report.read_text()
    assert "sk-secret-value" not in report.read_text()
    assert report.stat().st_mode & 0o077 == 0


@pytest.mark.share(2)
@pytest.mark.parametrize("value", ["x", 2**63])
def test_a_run_that_was_edited_is_listed_as_unreadable_and_ends_no_list(
    cli: CommandLine, value: object
) -> None:
    cli(*SMALL)
    run = cli.only_run()
    status = json.loads((run.path / "status.json").read_text())
    status["done"] = value
    (run.path / "status.json").write_text(json.dumps(status))
    cli(*SMALL)
    told = cli("runs")
    assert (told.code, told.err) == (0, "")
    assert f"{run.id} cannot be read: status.json: done should be a whole number" in told.out
    assert f"try: mend it, or remove it: rm -r {run.path}" in told.out
    good, bad = cli("runs", "--json").lines
    assert (good["state"], bad["state"]) == ("complete", "unreadable")
    assert bad["problem"].startswith("status.json: done should be a whole number")
    shown = cli("show", run.id)
    assert shown.code == 0
    assert "unreadable" in shown.out
