"""OpenSeeSimE from the command line: pictures and frames reach models, and are counted."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
from pathlib import Path

import psutil
import pytest

from evalbench.engine.calls import Outcome
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import RunFolder
from tests.contract.local import tiny
from tests.e2e.commandline import CommandLine, wait_until
from tests.simulator.handle import Handle

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-api03-" + "x" * 80, "GOOGLE_API_KEY": "AIza" + "g" * 35}


@pytest.fixture
def rows(shared_data: Path, tmp_path: Path) -> Path:
    """Six rows over five media, one of them broken."""
    folder, media = tmp_path / "few", shared_data / "openseesime" / "media"
    folder.mkdir()
    names = ("fluid_File_2.png", "fluid_File_3.png", "structural_File_2.gif", "broken.png")
    for name in names[:3]:
        shutil.copy(media / name, folder)
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    lines = []
    for number, name in enumerate((*names, names[0], names[2])):
        video = name.endswith(".gif")
        row = {
            "file_name": name, "source_file": name[:-4], "question": f"Is it bent ({number})?",
            "question_type": "Binary", "question_id": number, "answer": "Yes",
            "answer_choices": ["Yes", "No"], "media_type": "video" if video else "image",
            "image": None if video else name, "video": name if video else None,
        }  # fmt: skip
        lines.append(json.dumps(row) + "\n")
    (folder / "rows.jsonl").write_text("".join(lines))
    return folder


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("model", "path"),
    [("anthropic/claude-haiku-4-5", "anthropic"), ("compatible/mine", "custom")],
)
def test_pictures_and_frames_are_asked_about(
    cli: CommandLine, sim: Handle, rows: Path, model: str, path: str
) -> None:
    sim.rule("Is it bent", text="Yes\nIt is bent.")
    done = cli(
        "run", "openseesime", "--model", model, "--base-url", sim.base_url(path),
        "--data", str(rows), "--frames", "3", "--max-side", "256", "--price", "1/5", "--json",
        **KEYS,
    )  # fmt: skip
    assert done.code == 2, done.err
    end = done.lines[-1]
    assert (end["metrics"]["accuracy"]["k"], end["metrics"]["accuracy"]["n"]) == (5, 5)
    assert (end["failed"], end["metrics"]["majority"]["value"]) == (1, 1.0)
    [run] = cli.runs()
    with JournalReader(run.journal) as journal:
        calls = [call for row in journal.samples() for call in journal.calls(row.row)]
        failed = [s for s in journal.scores() if s.outcome == "error"]
    assert len(calls) == 5
    assert "BrokenMedia" in failed[0].detail["error"]
    frames = [len(call.prompt.messages[0].parts) - 1 for call in calls]
    assert sorted(frames) == [1, 1, 1, 3, 3]
    estimated = cli(
        "estimate", "openseesime", "--model", model, "--data", str(rows), "--frames", "3",
        "--max-side", "256", "--price", "1/5", "--json", "--base-url", sim.base_url(path),
    )  # fmt: skip
    assert estimated.lines[0]["roles"][0]["images"] == [9, 9]


@pytest.mark.slow
def test_a_model_that_takes_videos_is_shown_them_whole(
    cli: CommandLine, sim: Handle, shared_data: Path, tmp_path: Path
) -> None:
    folder, film = tmp_path / "films", "fluid_File_1.mp4"
    folder.mkdir()
    shutil.copy(shared_data / "openseesime" / "media" / film, folder)
    row = {
        "file_name": film, "source_file": "fluid_File_1", "question": "Is it bent?",
        "question_type": "Binary", "question_id": 1, "answer": "Yes",
        "answer_choices": ["Yes", "No"], "media_type": "video", "image": None, "video": film,
    }  # fmt: skip
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
    sim.rule("Is it bent", text="Yes\nIt is bent.")
    asked = (
        "run", "openseesime", "--data", str(folder), "--video", "native", "--json", "--yes",
    )  # fmt: skip
    done = cli(
        *asked, "--model", "google/gemini-2.5-flash", "--base-url", sim.base_url("google"), **KEYS
    )
    assert done.code == 0, done.err
    assert done.lines[-1]["metrics"]["accuracy"]["k"] == 1
    [sent] = [e["body"] for e in sim.entries() if e["path"].endswith(":generateContent")]
    [shown] = [part for part in sent["contents"][0]["parts"] if "inlineData" in part]
    assert shown["inlineData"]["mimeType"] == "video/mp4"
    assert base64.b64decode(shown["inlineData"]["data"]) == (folder / film).read_bytes()

    refused = cli(
        *asked, "--model", "anthropic/claude-haiku-4-5", "--base-url", sim.base_url("anthropic"),
        **KEYS,
    )  # fmt: skip
    assert refused.code == 1
    assert "'video' calls" in refused.err


@pytest.mark.local
@pytest.mark.timeout(300)
def test_a_model_of_this_machine_sees_and_a_kill_repeats_no_answer(
    cli: CommandLine, rows: Path, tmp_path: Path
) -> None:
    model = f"local/{tiny.make_llava(tmp_path / 'llava')}"
    options = (
        "--data", str(rows), "--frames", "3", "--max-side", "256", "--epochs", "4",
        "--max-tokens", "16",
    )  # fmt: skip
    started = cli.start("run", "openseesime", "--model", model, *options)
    run = cli.only_run()
    wait_until(lambda: answers(run), "an answer")
    pid, worker = run.live_pid(), run.status().gauges["worker_pid"]
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    cli.finish(started)
    wait_until(lambda: not psutil.pid_exists(worker), "the worker's end")
    before = answers(run)
    assert 0 < len(before) < 20
    resumed = cli("resume", run.id, "--json")
    assert resumed.code == 2, resumed.err
    assert (resumed.lines[-1]["done"], resumed.lines[-1]["failed"]) == (24, 4)
    after = answers(run)
    assert len(after) == 20
    assert before.items() <= after.items()
    with JournalReader(run.journal) as journal:
        loaded = [event.body for event in journal.events() if event.kind == "model-loaded"]
    assert [info["images"] for info in loaded] == [True, True]
    estimated = cli("estimate", "openseesime", "--model", model, *options, "--json")
    role = estimated.lines[0]["roles"][0]
    assert (role["images"], role["image_tokens"]) == ([36, 36], [36 * 16, 36 * 16])
    assert role["input_tokens"][0] < run.status().input_tokens


def answers(run: RunFolder) -> dict[tuple[int, int], str]:
    """What was answered, by row of the sample and epoch; each is there once."""
    with JournalReader(run.journal) as journal:
        calls = [call for row in journal.samples() for call in journal.calls(row.row)]
    found: dict[tuple[int, int], str] = {}
    for call in calls:
        # What was in flight at the kill has an error in its place.
        if call.reply and call.reply.outcome is not Outcome.ERROR:
            assert (call.row, call.key.epoch) not in found
            found[call.row, call.key.epoch] = call.reply.text
    return found


def test_a_model_that_reads_only_text_is_refused_before_anything_is_asked(
    cli: CommandLine, rows: Path
) -> None:
    done = cli("run", "openseesime", "--model", "local/smollm2-135m-instruct", "--data", str(rows))
    assert done.code == 1
    assert "reads text only" in done.err
    assert cli.runs() == []


@pytest.mark.slow
def test_a_run_outlives_its_pictures(cli: CommandLine, sim: Handle, rows: Path) -> None:
    sim.rule("Is it bent", text="No\nIt is straight.")
    cli(
        "run", "openseesime", "--model", "compatible/mine", "--base-url", sim.base_url("custom"),
        "--data", str(rows), "--frames", "2", "--max-side", "128", "--json",
    )  # fmt: skip
    shutil.rmtree(cli.home / "cache" / "media")
    shutil.rmtree(rows)
    done = cli("score", "last", "--json")
    assert (done.lines[0]["scored"], done.lines[0]["kept"]) == (5, 1)
    assert "Is it bent (0)" in cli("show", "last", "--sample", "1").out
