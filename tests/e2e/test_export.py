"""``evalbench export``: a run leaves as a file, and is the same run elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

from evalbench.engine.runs.folder import all_runs
from tests.e2e.commandline import CommandLine
from tests.e2e.schema import check_line

SMALL = ("run", "synthetic", "--model", "scripted/good", "--limit", "6", "--json")


def test_a_run_goes_on_elsewhere(cli: CommandLine, tmp_path: Path) -> None:
    assert cli(*SMALL).code == 0
    run = cli.only_run()
    told = cli("export", "last", "-o", str(tmp_path / "run.json"), "--json")
    assert (told.code, told.err) == (0, "")
    [line] = told.lines
    check_line(line)
    assert (line["format"], line["files"]) == ("json", [str(tmp_path / "run.json")])

    # As if it had been stopped before the last two samples were asked.
    whole = json.loads((tmp_path / "run.json").read_bytes())
    for sample in whole["samples"][-2:]:
        sample["calls"] = sample["scores"] = []
    whole["status"] |= {"state": "stopped", "done": 4, "exit_code": 4}
    (tmp_path / "part.json").write_text(json.dumps(whole))
    elsewhere = {"EVALBENCH_HOME": str(tmp_path / "elsewhere")}
    taken = cli("import", "json", str(tmp_path / "part.json"), "--json", **elsewhere)
    assert (taken.code, taken.err) == (0, "")
    [line] = taken.lines
    check_line(line)
    assert line["total"] == 6

    resumed = cli("resume", "last", "--json", **elsewhere)
    assert resumed.code == 0, resumed.err
    end = resumed.lines[-1]
    assert (end["state"], end["done"]) == ("complete", 6)
    [again] = all_runs(tmp_path / "elsewhere" / "runs")
    assert again.status().roles["candidate"]["sent"] == 2
    before = whole["metrics"]["accuracy"]
    assert {part: end["metrics"]["accuracy"][part] for part in ("value", "k", "n")} == {
        part: before[part] for part in ("value", "k", "n")
    }
    [scored] = cli("score", "last", "--json", **elsewhere).lines
    assert (scored["scored"], scored["changed"], scored["kept"]) == (6, 0, 0)
    assert run.id != line["run"]


def test_formats_are_listed_and_what_does_not_fit_is_told(cli: CommandLine, tmp_path: Path) -> None:
    shown = cli("export", "--help").out
    for name in ("json", "csv", "parquet", "junit", "inspect", "lm-eval", "hf-model-card"):
        assert f"\n  {name} " in shown
    assert cli(*SMALL).code == 0
    out = str(tmp_path / "out")
    assert (
        "cannot be written as bedrock"
        in cli("export", "last", "--format", "bedrock", "-o", out).err
    )
    assert "there is no format 'cvs'" in cli("export", "last", "--format", "cvs", "-o", out).err
    done = cli("export", "last", "--format", "junit", "-o", out)
    [run] = (cli.home / "runs").iterdir()
    assert done.out.startswith(f"1 file of {run.name} written to")
    taken = cli("export", "last", "-o", "/dev/null")
    assert (taken.code, "/dev/null is no folder" in taken.err) == (1, True)
    again = cli("export", "last", "--format", "junit", "-o", out)
    assert again.code == 1
    assert "is there already" in again.err
    streamed = cli("export", "last", "--format", "csv", "-o", "-")
    assert (streamed.code, streamed.err) == (0, f"run {run.name}\n")
    assert streamed.out.startswith("run,benchmark,title,model,")
    assert not (cli.home.parent / "-").exists()
    assert "several files" in cli("export", "last", "--format", "lm-eval", "-o", "-").err
    refused = cli("run", "recorded", "--model", "scripted/good")
    assert refused.code == 1
    assert "cannot be asked again here" in refused.err
    wrong = cli("import", "json", str(next((tmp_path / "out").iterdir())))
    assert wrong.code == 1
    assert "this is not JSON" in wrong.err


def test_a_run_is_tagged_after_it_was_started(cli: CommandLine) -> None:
    assert cli(*SMALL, "--tag", "draft").code == 0
    told = cli("tag", "last", "--add", "paper", "--remove", "draft", "--json")
    assert (told.code, told.err) == (0, "")
    [line] = told.lines
    check_line(line)
    assert line == {"event": "tags", "run": cli.only_run().id, "tags": ["paper"]}
    assert cli("runs", "--tag", "paper", "--json").lines[0]["id"] == line["run"]
    assert cli("tag", "last").out == f"{line['run']}: paper\n"
    # A resume is not a new start.
    assert cli("resume", "last", "--json").code == 0
    assert cli.only_run().status().tags == ["paper"]
    refused = cli("tag", "last", "--add", " ")
    assert (refused.code, "a tag cannot be empty" in refused.err) == (1, True)
