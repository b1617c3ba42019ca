"""OpenSeeSimE from the command line: pictures and frames reach models, and are counted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evalbench.engine.journal import JournalReader
from tests.e2e.commandline import CommandLine
from tests.simulator.handle import Handle

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-api03-" + "x" * 80}


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
