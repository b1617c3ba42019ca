"""``evalbench import``: from files of another system to a run like any other."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from evalbench.engine.runs.folder import all_runs
from tests.e2e.commandline import CommandLine
from tests.e2e.schema import check_line
from tests.imports import write_json, write_lines

ESCAPE = "\x1b[31mred\x1b]0;title\x07\u202e"


def judgments(path: Path, model: str, judge: str = "gpt-4") -> Path:
    """Ratings of three questions, one of them unreadable."""
    rows = [
        {
            "question_id": question,
            "model": model,
            "judge": [judge, "single-v1"],
            "user_prompt": f"rate {ESCAPE} [bold]this[/bold] {{}}",
            "judgment": f"{ESCAPE}[[{score}]]" if score > 0 else "none",
            "score": score,
            "turn": turn,
            "tstamp": 1.0,
        }
        for question, turn, score in (
            (81, 1, 7), (81, 2, 8), (82, 1, 9), (82, 2, -1), (83, 1, 4.5), (83, 2, 10),
        )
    ]  # fmt: skip
    return write_lines(path, rows)


def failing_results(path: Path) -> Path:
    """A CSV of OpenSeeSimE with one failed call."""
    whole = {
        "question": "Where?", "question_type": "binary", "answer": "Yes",
        "answer_choices": "['Yes', 'No']", "model": "claude", "model_answer": "Yes",
        "explanation": "so", "media_type": "image",
    }  # fmt: skip
    failed = whole | {"model_answer": "None", "explanation": "Error code: 529 - overloaded"}
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(whole))
        table.writeheader()
        table.writerows([whole, failed])
    return path


def clean(text: str) -> bool:
    """Whether a text does nothing to a terminal."""
    return all(char.isprintable() or char == "\n" for char in text)


def test_an_imported_run_is_a_run(cli: CommandLine, shared_data: Path, tmp_path: Path) -> None:
    file = judgments(tmp_path / "gpt-4_single.jsonl", f"vicuna{ESCAPE}", f"gpt-4{ESCAPE}")
    data = str(shared_data / "mt_bench")
    told = cli("import", "fastchat", str(file), "--data", data, "--json")
    assert (told.code, told.err) == (0, "")
    (line,) = told.lines
    check_line(line)
    assert (line["total"], line["failed"]) == (3, 0)
    assert (line["metrics"]["score"]["k"], line["metrics"]["score"]["n"]) == (38.5, 5)
    run = line["run"]

    shown = cli("show", run)
    assert shown.code == 0
    assert clean(shown.out)
    assert f"imported from {file}; no calls were made here" in shown.out
    assert "note: the answers of vicuna-[31mred" in shown.out
    assert "7.700" in shown.out
    (whole,) = cli("show", run, "--json").lines
    check_line(whole, of_show=True)
    assert (whole["state"], whole["exit_code"]) == ("complete", 0)
    assert whole["imported"]["source"] == str(file)
    assert whole["imported"]["notes"] == line["notes"]
    assert whole["metrics"]["unread_judgements"]["k"] == 1

    sample = cli("show", run, "--sample", "1")
    assert sample.code == 0
    assert clean(sample.out)
    assert "[bold]this[/bold] {}" in sample.out
    assert "(this answer is not in the imported files)" in sample.out
    assert run in cli("runs").out

    scored = cli("score", run, "--json")
    (anew,) = scored.lines
    assert (anew["scored"], anew["changed"], anew["kept"]) == (3, 0, 0)
    assert anew["before"] == anew["after"] == whole["metrics"]

    attached = cli("attach", run, "--json")
    assert attached.code == 0
    assert attached.lines[-1]["event"] == "end"
    assert attached.lines[-1]["metrics"]["score"]["k"] == 38.5


def test_nobody_can_be_asked_for_an_imported_run(cli: CommandLine, tmp_path: Path) -> None:
    told = cli("import", "openseesime", str(failing_results(tmp_path / "r.csv")))
    assert told.code == 0
    assert "2 samples, 1 of them failed" in told.out
    (run,) = all_runs(cli.home / "runs")
    before = run.status()
    assert (before.state, before.failed, before.exit_code) == ("complete", 1, 2)
    refused = cli("resume", "last")
    assert refused.code == 1
    assert "was imported; it has no model to call" in refused.err
    assert f"evalbench score {run.id}" in refused.err
    assert run.status() == before
    assert cli("score", "last").code == 0
    assert run.status().metrics == before.metrics


def test_a_file_of_several_models_gives_a_run_for_each(
    cli: CommandLine, shared_data: Path, tmp_path: Path
) -> None:
    one, two = (judgments(tmp_path / f"{name}.jsonl", name) for name in ("one", "two"))
    both = tmp_path / "both.jsonl"
    both.write_bytes(one.read_bytes() + two.read_bytes())
    runs = tmp_path / "runs"
    told = cli(
        "import", "fastchat", str(both), "--data", str(shared_data / "mt_bench"),
        "--run-dir", str(runs), "--json",
    )  # fmt: skip
    assert [line["model"] for line in told.lines] == ["answers/one", "answers/two"]
    assert len(all_runs(runs)) == 2
    assert not (cli.home / "runs").exists()


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """A folder with all kinds of wrong files."""
    write_lines(tmp_path / "rows.jsonl", [{"question_id": 81}])
    write_lines(tmp_path / "empty.jsonl", [])
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text(
        "question,answer,answer_choices,model_answer,explanation\n"
    )
    (tmp_path / "short.csv").write_text("question,answer\nx\n")
    (tmp_path / "nul.jsonl").write_bytes(b"\x00\xff\n")
    (tmp_path / "text.json").write_text("{")
    write_json(tmp_path / "list.json", [])
    write_json(tmp_path / "no-results.json", {"results": []})
    write_json(tmp_path / "deep.json", json.loads("[" * 200 + "]" * 200))
    write_json(tmp_path / "exp" / "config.json", {"model": "m"})
    return tmp_path


@pytest.mark.share(6)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("fastchat", "rows.jsonl"), "name the questions with --data"),
        (("fastchat", "rows.jsonl", "--data", "MT"), "rows.jsonl, row 1: this is no judgment"),
        (("fastchat", "empty.jsonl", "--data", "MT"), "empty.jsonl: there are no results in it"),
        (("fastchat", "nul.jsonl", "--data", "MT"), "nul.jsonl, row 1: this is not JSON"),
        (("fastchat", "gone.jsonl", "--data", "MT"), "there is no such file"),
        (("fastchat", "rows.jsonl", "--data", "exp"), "the folder holds no question.jsonl"),
        (("fastchat", "exp", "--data", "MT"), "this is a folder"),
        (("mmlu-experiment", "exp"), "the folder holds no results.parquet"),
        (("mmlu-experiment", "rows.jsonl"), "this is a file"),
        (("mmlu-experiment", "exp", "--data", "MT"), "--data does not go with mmlu-experiment"),
        (("speceval", "exp"), "name the specification with --data"),
        (("speceval", "exp", "--data", "rows.jsonl"), "a statement needs id and text"),
        (("bedrock", "text.json"), "text.json: this is not JSON"),
        (("bedrock", "list.json"), "there are no results of execution prediction or choice in it"),
        (("bedrock", "deep.json"), "it is nested more than 100 deep"),
        (("bedrock", "no-results.json"), "no-results.json: there are no results in it"),
        (("bedrock", "list.json", "--answers", "exp"), "--answers does not go with bedrock"),
        (("openseesime", "empty.csv"), "there are no results in it"),
        (("openseesime", "header.csv"), "there are no results in it"),
        (("openseesime", "short.csv"), "short.csv, row 1: 1 cell where"),
        (("openseesime", "list.json"), "cannot be read"),
        (("nothing", "list.json"), "nothing"),
        (("openseesime", "x" * 300), "it cannot be read"),
        (("openseesime", "\udcff.csv"), "its name is not UTF-8 text"),
        (("openseesime", "~nobody-of-this-name/x"), "no such file"),
    ],
)
def test_bad_input_is_told_and_leaves_nothing(
    words: tuple[str, ...], told: str, bad: Path, cli: CommandLine, shared_data: Path
) -> None:
    given = [
        str(shared_data / "mt_bench") if word == "MT" else str(bad / word) if place == 1 or
        words[place - 1] in ("--data", "--answers") else word
        for place, word in enumerate(words)
    ]  # fmt: skip
    done = cli("import", *given)
    assert done.code == 1
    assert told in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    assert not all_runs(cli.home / "runs")


def test_a_run_is_written_as_the_files_it_came_from(
    cli: CommandLine, shared_data: Path, tmp_path: Path
) -> None:
    data = str(shared_data / "mt_bench")
    given = judgments(tmp_path / "gpt-4_single.jsonl", f"vicuna{ESCAPE}")
    cli("import", "fastchat", str(given), "--data", data)
    told = cli("export", "last", "-o", str(tmp_path / "out"), "--json")
    [line] = told.lines
    check_line(line)
    answers, judged = (Path(name) for name in line["files"])
    assert judged == tmp_path / "out" / "model_judgment" / "gpt-4_single.jsonl"
    assert answers.parent == tmp_path / "out" / "model_answer"
    again = cli("import", "fastchat", str(judged), "--data", data, "--json")
    score = again.lines[0]["metrics"]["score"]
    assert (score["k"], score["n"]) == (38.5, 5)
    twice = cli("export", "last", "--format", "fastchat", "-o", str(tmp_path / "out"))
    assert (twice.code, "is there already" in twice.err) == (1, True)
    assert clean(cli("export", "last", "-o", str(tmp_path / ESCAPE)).out)
