"""``evalbench run`` from start to table, for people and for programs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evalbench.engine.runs.status import State
from tests.e2e.commandline import LONG_S, CommandLine, wait_until
from tests.e2e.schema import check_line

SMALL = ("run", "synthetic", "--model", "scripted/good", "--size", "40")


@pytest.mark.cold
def test_a_piped_run_tells_its_start_its_scores_and_what_next(cli: CommandLine) -> None:
    done = cli(*SMALL)
    assert done.code == 0, done.err
    run = cli.only_run()
    assert f"run {run.id}: synthetic × scripted/good, 40 samples" in done.out
    assert re.search(r"^accuracy +\d+\.\d % +\d+ / 40$", done.out, re.MULTILINE)
    assert "parsed 100.0 % (40) · failed 0" in done.out
    assert str(run.path) in done.out
    assert f"evalbench show {run.id}" in done.out
    assert "\x1b" not in done.out


def test_every_json_line_is_as_documented(slow: CommandLine) -> None:
    done = slow(*SMALL, "--size", "60", "--json", "--concurrency", "4")
    assert done.code == 0, done.err
    for line in done.lines:
        check_line(line)
    kinds = [line["event"] for line in done.lines]
    assert kinds[0] == "start"
    assert {"progress", "started", "ended"} <= set(kinds)
    end = done.lines[-1]
    assert end["event"] == "end"
    assert (end["state"], end["exit_code"], end["done"]) == ("complete", 0, 60)
    assert end["metrics"]["accuracy"]["n"] == 60
    assert end["outcomes"] == {
        "ok": 60, "truncated": 0, "refused": 0, "filtered": 0, "unparsed": 0, "error": 0,
    }  # fmt: skip
    assert end["seconds"] > 0
    assert done.lines[0]["total"] == 60
    assert done.lines[0]["spec"]["options"]["size"] == 60


@pytest.mark.slow
def test_progress_never_runs_backwards(slow: CommandLine) -> None:
    done = slow(*SMALL, "--size", "80", "--json", "--concurrency", "4")
    counts = [line["done"] for line in done.lines if line["event"] in ("progress", "end")]
    assert len(counts) > 3
    assert counts == sorted(counts)


def test_several_models_share_an_engine_and_each_has_its_end(cli: CommandLine) -> None:
    done = cli(*SMALL, "--model", "scripted/better", "--json")
    assert done.code == 0, done.err
    starts = [line for line in done.lines if line["event"] == "start"]
    ends = [line for line in done.lines if line["event"] == "end"]
    assert {line["spec"]["model"] for line in starts} == {"scripted/good", "scripted/better"}
    assert len({line["pid"] for line in starts}) == 1
    assert {line["run"] for line in ends} == {line["run"] for line in starts}
    assert done.lines[-1]["event"] == "end"


def test_the_exit_code_of_several_runs_is_the_highest(cli: CommandLine, tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text(
        '[defaults]\nmodel = "scripted/good"\nbenchmark = "synthetic"\n'
        "[[run]]\noptions = {size = 10}\n"
        '[[run]]\nbenchmark = "two-turn"\noptions = {size = 10}\n'
    )
    # One call in fifteen fails: of forty in all, at least one of the second run's.
    fault = json.dumps({"class": "CallRejected", "every": 15})
    done = cli("run", str(suite), "--json", SCRIPTED_FAULT=fault)
    codes = sorted(line["exit_code"] for line in done.lines if line["event"] == "end")
    assert len(codes) == 2
    assert done.code == codes[-1] == 2


def test_flags_beside_a_suite_are_put_over_its_settings(cli: CommandLine, tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text('[[run]]\nbenchmark = "synthetic"\nmodel = "scripted/good"\nlimit = 30\n')
    done = cli("run", str(suite), "--limit", "5", "--tag", "trial", "--json")
    assert done.lines[-1]["done"] == 5
    assert cli.only_run().status().tags == ["trial"]
    refused = cli("run", str(suite), "--model", "scripted/good")
    assert refused.code == 1
    assert "a suite names its own models" in refused.err


def test_failed_samples_are_told_apart(cli: CommandLine) -> None:
    fault = json.dumps({"class": "CallRejected", "every": 10})
    done = cli(*SMALL, SCRIPTED_FAULT=fault)
    assert done.code == 2
    assert "failed 10.0 % (4)" in done.out
    assert "sample failed: CallRejected" in done.out
    assert re.search(r"evalbench resume \S+ +asks the failed samples again", done.out)


def test_refusals_are_not_wrong_answers(cli: CommandLine) -> None:
    done = cli(*SMALL, "--mood", "refusing", "--json")
    assert done.code == 0
    assert done.lines[-1]["outcomes"]["refused"] == 40


def test_retries_are_told_with_their_reason(cli: CommandLine) -> None:
    fault = json.dumps({"class": "RateLimited", "every": 9, "fields": {"retry_after": 0.1}})
    done = cli(*SMALL, "--json", SCRIPTED_FAULT=fault)
    assert done.code == 0, done.err
    for line in done.lines:
        check_line(line)
    waits = [line for line in done.lines if line["event"] == "wait"]
    assert waits
    assert waits[0]["detail"]["reason"] == "RateLimited"


def test_a_run_that_cannot_go_on_says_why_and_how_to_go_on(cli: CommandLine) -> None:
    fault = json.dumps({"class": "BadKey", "every": 5, "fields": {"hint": "set a good key"}})
    done = cli(*SMALL, SCRIPTED_FAULT=fault)
    assert done.code == 5
    assert "problem: scripted fault" in done.out
    assert "set a good key" in done.out
    run = cli.only_run()
    again = cli("resume", run.id)
    assert again.code == 0
    assert run.status().done == 40


@pytest.mark.cold
def test_detach_returns_and_attach_follows_to_the_end(slow: CommandLine) -> None:
    done = slow(*SMALL, "--detach", "--json", "--concurrency", "4")
    assert done.code == 0
    for line in done.lines:
        check_line(line)
    assert [line["event"] for line in done.lines] == ["start", "detached"]
    run = slow.only_run()
    assert done.lines[-1]["run"] == run.id
    assert done.lines[-1]["pid"] == run.status().pid
    attached = slow("attach", "last", "--json")
    assert attached.code == 0
    for line in attached.lines:
        check_line(line)
    assert attached.lines[-1]["event"] == "end"
    assert attached.lines[-1]["done"] == 40
    later = slow("attach", run.id)
    assert later.code == 0
    assert "complete: synthetic" in later.out


def test_detach_for_people_says_how_to_come_back(slow: CommandLine) -> None:
    done = slow(*SMALL, "--detach")
    run = slow.only_run()
    assert f"evalbench attach {run.id}" in done.out
    assert f"evalbench stop {run.id}" in done.out


@pytest.mark.slow
def test_a_reader_that_goes_away_harms_nothing(slow: CommandLine) -> None:
    child = slow.start(*SMALL, "--json", "--concurrency", "8")
    assert child.stdout
    child.stdout.readline()
    child.stdout.close()
    child.stdout = None
    done = slow.finish(child)
    assert done.code == 0
    assert done.err == ""
    assert slow.only_run().status().state == "complete"


@pytest.mark.share(3)
@pytest.mark.cold
@pytest.mark.parametrize("words", [("runs",), ("show", "last"), ("benchmarks",)])
def test_printing_into_a_closed_pipe_is_quiet(cli: CommandLine, words: tuple[str, ...]) -> None:
    cli(*SMALL)
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [sys.executable, "-m", "evalbench.tui.cli.main", *words],
        env=cli.env,
        stdout=write_end,
        stderr=subprocess.PIPE,
        timeout=LONG_S,
    )
    os.close(write_end)
    assert done.returncode == 0
    assert done.stderr == b""


def test_run_dir_takes_new_runs(cli: CommandLine, tmp_path: Path) -> None:
    done = cli(*SMALL, "--run-dir", str(tmp_path / "elsewhere"), "--json")
    folder = Path(done.lines[0]["folder"])
    assert folder.parent == tmp_path / "elsewhere"
    assert cli.runs() == []
    assert folder.name in cli("runs", "--run-dir", str(tmp_path / "elsewhere")).out
    assert cli("show", str(folder)).code == 0


def test_filters_and_limit_choose_the_samples(cli: CommandLine) -> None:
    done = cli(*SMALL, "--size", "200", "--group", "a", "--group=b", "--limit", "9", "--json")
    assert done.lines[-1]["done"] == 9
    assert done.lines[0]["spec"]["filters"] == {"group": ["a", "b"]}


def test_epochs_multiply_the_samples_and_count_from_one_for_people(cli: CommandLine) -> None:
    done = cli(*SMALL, "--epochs", "3", "--json")
    assert done.lines[0]["total"] == 120
    assert done.lines[-1]["done"] == 120
    shown = cli("show", "last", "--sample", "1").out
    titles = re.findall(r"^--- (?:candidate \S+ · |score of )(epoch \d)", shown, re.MULTILINE)
    assert titles == ["epoch 1", "epoch 2", "epoch 3"] * 2
    (line,) = cli("show", "last", "--sample", "1", "--json").lines
    assert [call["epoch"] for call in line["calls"]] == [0, 1, 2]
    assert [score["epoch"] for score in line["scores"]] == [0, 1, 2]


@pytest.mark.slow
def test_foreground_ends_with_its_command(slow: CommandLine) -> None:
    child = slow.start(*SMALL, "--size", "500", "--foreground", "--concurrency", "2")
    run = slow.answering()
    child.kill()
    child.wait()
    wait_until(lambda: run.live_pid() is None, "the engine to end")
    assert run.status().state == "stopped"


def test_foreground_runs_to_its_end(cli: CommandLine) -> None:
    assert cli(*SMALL, "--foreground").code == 0
    both = cli(*SMALL, "--foreground", "--detach")
    assert both.code == 1
    assert "contradict" in both.err


@pytest.mark.slow
def test_a_suite_run_again_does_only_what_is_missing(cli: CommandLine, tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    table = '[[run]]\nbenchmark = "synthetic"\nmodel = "scripted/{}"\nlimit = 20\n'
    suite.write_text(table.format("good"))
    assert cli("run", str(suite), "--json").code == 0
    [first] = cli.runs()
    suite.write_text(table.format("good") + table.format("better"))
    more = cli("run", str(suite), "--json")
    assert more.code == 0, more.err
    starts = [line for line in more.lines if line["event"] == "start"]
    assert [line["spec"]["model"] for line in starts] == ["scripted/better"]
    assert "1 of the suite's 2 runs are already complete" in more.lines[0]["text"]
    nothing = cli("run", str(suite))
    assert (nothing.code, len(cli.runs())) == (0, 2)
    assert "2 of the suite's 2 runs are already complete" in nothing.out
    first.write_status(replace(first.status(), state=State.STOPPED))
    resumed = cli("run", str(suite), "--json")
    assert [line["run"] for line in resumed.lines if line["event"] == "start"] == [first.id]
    assert cli("run", str(suite), "--again", "--json").code == 0
    assert len(cli.runs()) == 4


def test_an_end_hook_that_fails_is_told_with_the_end_of_the_run(cli: CommandLine) -> None:
    fails = ("--on-end", "sh -c 'sleep 0.3; echo no bell here >&2; exit 3'")
    told = "the --on-end command ended with exit code 3: no bell here"
    done = cli(*SMALL, *fails)
    assert done.code == 0, done.err
    assert f"on-end    {told}\n" in done.out
    run = cli.only_run()
    # A later start clears it; a hook that works is silent.
    done = cli("resume", run.id, "--on-end", "true", "--json")
    assert (done.lines[-1]["event"], done.lines[-1]["hook_problem"]) == ("end", None)
    done = cli("resume", run.id, *fails, "--json")
    assert (done.lines[-1]["event"], done.lines[-1]["hook_problem"]) == ("end", told)
    check_line(done.lines[-1])
    assert run.status().exit_code == 0
