"""Commands that look: runs, show, benchmarks, models, data, doctor; and stop and pause."""

from __future__ import annotations

import json
import re
from pathlib import Path

from evalbench.engine.journal import JournalReader
from tests.e2e.commandline import CommandLine
from tests.e2e.schema import check_line

SMALL = ("run", "synthetic", "--model", "scripted/good", "--size", "40")
LONG = ("run", "synthetic", "--model", "scripted/good", "--concurrency", "2", "--detach")


def test_runs_lists_the_newest_first_by_tag(cli: CommandLine) -> None:
    assert "no run in" in cli("runs").out
    cli(*SMALL, "--tag", "first", "--desc", "one")
    cli(*SMALL, "--tag", "second")
    listed = cli("runs", "--json").lines
    for line in listed:
        check_line(line)
    assert [line["tags"] for line in listed] == [["second"], ["first"]]
    assert [line["desc"] for line in listed] == ["", "one"]
    table = cli("runs").out.splitlines()
    assert table[0].split() == ["id", "state", "benchmark", "model", "score", "done", "age"]
    assert table[1].split()[:4] == [listed[0]["id"], "complete", "synthetic", "scripted/good"]
    assert "40/40" in table[1]
    only = cli("runs", "--tag", "first", "--json").lines
    assert [line["id"] for line in only] == [listed[1]["id"]]


def test_show_tells_settings_scores_and_record(cli: CommandLine) -> None:
    cli(*SMALL, "--limit", "20")
    run = cli.only_run()
    (line,) = cli("show", "last", "--json").lines
    check_line(line, of_show=True)
    assert (line["id"], line["state"], line["pid"]) == (run.id, "complete", None)
    assert line["spec"]["common"]["limit"] == 20
    assert line["record"]["data"]["count"] == 40
    assert line["metrics"]["accuracy"]["n"] == 20
    shown = cli("show", run.id[-4:]).out
    for words in (
        "limit    20",
        "size     40",
        "20 of 20 done",
        "accuracy",
        "data hash",
        str(run.path),
    ):
        assert words in shown


def test_show_of_a_live_run_has_its_engine_and_grouped_scores(slow: CommandLine) -> None:
    slow(*LONG)
    run = slow.answering()
    (line,) = slow("show", "last", "--json").lines
    assert line["pid"] == run.live_pid()
    assert line["state"] == "running"
    assert 0 < line["metrics"]["accuracy"]["n"] < 500


def test_one_sample_is_shown_with_its_question_reply_and_reading(cli: CommandLine) -> None:
    cli(*SMALL)
    run = cli.only_run()
    with JournalReader(run.journal) as journal:
        (stored,) = journal.samples(3, 1)
        reply = journal.calls(3)[0].reply
    assert reply
    shown = cli("show", "last", "--sample", "3").out
    assert stored.sample.id in shown
    assert stored.sample.inputs["question"] in shown
    assert f"[reply, ok]\n  {reply.text}\n" in shown
    assert f"letter parser: {reply.text}" in shown
    assert re.findall("^--- .*", shown, re.MULTILINE) == [
        "--- candidate scripted/good",
        "--- score: parsed",
    ]
    (line,) = cli("show", "last", "--sample", stored.sample.id, "--json").lines
    check_line(line)
    assert line["number"] == 3
    assert line["calls"][0]["reply"]["text"] == reply.text
    missing = cli("show", "last", "--sample", "41")
    assert missing.code == 1
    assert "give a number from 1 to 40" in missing.err


def test_text_of_a_data_set_cannot_move_the_cursor(cli: CommandLine, tmp_path: Path) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07 [bold]Which[/bold] %s {0} one\u202e?"
    source = tmp_path / "riddles.jsonl"
    source.write_text(json.dumps({"question": evil, "answer": "A", "group": "\x1b[31mred"}))
    assert cli("run", "synthetic", "--model", "scripted/good", "--data", str(source)).code == 0
    for words in (
        ("show", "last", "--sample", "1"),
        ("data", "stats", "synthetic", "--data", str(source)),
    ):
        shown = cli(*words).out
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
        assert "red" in shown
    assert " [bold]Which[/bold] %s {0} one?" in cli("show", "last", "--sample", "1").out
    (line,) = cli("show", "last", "--sample", "1", "--json").lines
    assert line["inputs"]["question"] == evil


def test_stop_and_pause_wait_for_the_rest(slow: CommandLine) -> None:
    slow(*LONG)
    run = slow.answering()
    paused = slow("pause", run.id)
    assert paused.code == 0
    assert f"{run.id} is paused" in paused.out
    assert f"evalbench resume {run.id}" in paused.out
    assert run.live_pid() is None
    again = slow("stop", run.id)
    assert again.code == 0
    assert f"no engine drives {run.id}; it is paused" in again.out
    resumed = slow("resume", run.id, SCRIPTED_LATENCY="0")
    assert resumed.code == 0
    assert run.status().state == "complete"


def test_refused_answers_are_asked_again_on_request(cli: CommandLine) -> None:
    cli(*SMALL, "--mood", "refusing")
    untouched = cli("resume", "last", "--json")
    assert untouched.lines[-1]["outcomes"]["refused"] == 40
    again = cli("resume", "last", "--retry", "refused", "--mood", "plain", "--json")
    assert again.code == 0
    assert again.lines[-1]["outcomes"] | {"ok": 40, "refused": 0} == again.lines[-1]["outcomes"]


def test_benchmarks_are_listed_and_explained(cli: CommandLine) -> None:
    assert "Synthetic riddles" in cli("benchmarks").out
    shown = cli("benchmarks", "synthetic").out
    for words in ("--size", "how many samples", "--group", "only this group", "accuracy"):
        assert words in shown
    lines = cli("benchmarks", "--json").lines
    assert {"synthetic", "two-turn", "mmlu"} <= {line["name"] for line in lines}
    for line in lines:
        check_line(line)


def test_models_are_listed(cli: CommandLine) -> None:
    shown = cli("models", "scripted").out
    assert "scripted/good" in shown
    assert "8,192" in shown
    lines = cli("models", "scripted", "--json").lines
    assert [line["id"] for line in lines] == ["scripted/good", "scripted/better"]
    for line in lines:
        check_line(line)


def test_data_is_fetched_verified_and_counted(cli: CommandLine, tmp_path: Path) -> None:
    rows = [
        {"question": "Which?", "answer": "A", "group": "a"},
        {"question": "Which?", "answer": "A", "group": "a"},
        {"question": "What?", "answer": "B", "group": "b"},
    ]
    source = tmp_path / "riddles.jsonl"
    source.write_text("\n".join(json.dumps(row) for row in rows))
    words = ("synthetic", "--data", str(source))
    missing = cli("data", "verify", *words)
    assert missing.code == 1
    assert "evalbench data fetch synthetic" in missing.err
    assert "3 samples from riddles.jsonl" in cli("data", "fetch", *words).out
    assert "3 samples agree with their hash" in cli("data", "verify", *words).out
    counted = cli("data", "stats", *words).out
    assert "exact repeats of an earlier sample: 1" in counted
    assert [line.split() for line in counted.splitlines()[-2:]] == [["a", "2"], ["b", "1"]]

    (prepared,) = (cli.home / "cache" / "data").glob("*.jsonl")
    text = prepared.read_text()
    prepared.write_text(text.replace("What?", "Who??"))
    harmed = cli("data", "verify", *words)
    assert harmed.code == 1
    assert "row 3: the sample does not belong to its id" in harmed.err
    prepared.write_text("".join(text.splitlines(keepends=True)[:2]))
    assert "the file differs from its header" in cli("data", "verify", *words).err


def test_data_settings_choose_the_data(cli: CommandLine) -> None:
    assert "7 samples from made up" in cli("data", "fetch", "synthetic", "--size", "7").out
    assert cli("data", "verify", "synthetic", "--size", "8").code == 1


def test_doctor_finds_nothing_essential_wrong(cli: CommandLine) -> None:
    done = cli("doctor")
    assert done.code == 0, done.out
    assert "ready to run" in done.out
    assert str(cli.home / "runs") in done.out
    [line] = [line for line in done.out.splitlines() if "benchmarks: " in line]
    assert {"mmlu,", "quickstart,"} <= set(line.split())
    assert not cli.home.exists()


def test_doctor_says_when_nothing_can_be_written(cli: CommandLine, tmp_path: Path) -> None:
    done = cli("doctor", EVALBENCH_HOME="/proc/nowhere")
    assert done.code == 1
    assert "bad  runs: /proc/nowhere/runs" in done.out
    assert "set EVALBENCH_HOME" in done.out


def test_a_run_is_scored_anew_for_free(cli: CommandLine) -> None:
    cli("run", "synthetic", "--model", "scripted/good", "--limit", "12", "--no-ui")
    done = cli("score", "last", "--json")
    assert done.code == 0, done.err
    [line] = done.lines
    check_line(line)
    assert (line["scored"], line["changed"], line["kept"]) == (12, 0, 0)
    assert line["before"] == line["after"]
    assert "12 scores recomputed" in cli("score", "last").out
