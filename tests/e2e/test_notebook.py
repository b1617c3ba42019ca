"""The notebook in docs/, executed as Colab would: in a kernel, cell by cell."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from evalbench.engine.runs.folder import all_runs
from tests.e2e.commandline import plain_environment
from tests.simulator.handle import Handle

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebooks" / "first-run.ipynb"
ELSEWHERE = {"install", "colab", "lost-session"}
"""Tags of cells that are for another machine, or another time."""

KEY = "sk-proj-PLANTEDplantedPLANTED0123456789abcd"

_QUESTIONS = [
    (81, "writing", ["Write a line about a red ball.", "Now about a blue one."], None),
    (101, "reasoning", ["Which is more, 3 or 5?", "And of 7 and 2?"], ["5", "7"]),
]


def tags(cell: Any) -> set[str]:
    return set(cell.metadata.get("tags", ()))


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Questions of our own in FastChat's form."""
    folder = tmp_path / "mt_bench"
    folder.mkdir()
    with (folder / "question.jsonl").open("w", encoding="utf-8") as file:
        for number, category, turns, reference in _QUESTIONS:
            row: dict[str, Any] = {"question_id": number, "category": category, "turns": turns}
            if reference:
                row["reference"] = reference
            file.write(json.dumps(row) + "\n")
    return folder


def test_it_is_kept_without_outputs_and_says_nothing_of_this_machine() -> None:
    book = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert sum("install" in tags(cell) for cell in code) == 1
    assert str(Path.home()) not in NOTEBOOK.read_text("utf-8")


def test_the_key_is_asked_for_once_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    book = nbformat.read(NOTEBOOK, as_version=4)
    [cell] = [cell for cell in book.cells if "key" in tags(cell)]
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    asked = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return KEY

    monkeypatch.setattr("getpass.getpass", ask)
    for judge in ("local/any", "openai/any", "openai/any"):
        exec(cell.source, {"os": os, "JUDGE": judge})
    assert os.environ.pop("OPENAI_API_KEY") == KEY
    assert asked == ["OpenAI key: "]
    assert KEY not in "".join(capfd.readouterr())


@pytest.mark.local
@pytest.mark.timeout(900)
def test_it_runs_from_top_to_bottom(
    home: Path, tmp_path: Path, questions: Path, sim: Handle
) -> None:
    book = nbformat.read(NOTEBOOK, as_version=4)
    book.cells = [cell for cell in book.cells if not tags(cell) & ELSEWHERE]
    [at] = [place for place, cell in enumerate(book.cells) if "parameters" in tags(cell)]
    judge = f"openai/gpt-4.1-nano,base_url={sim.base_url('openai')}"
    settings = f"JUDGE, QUESTIONS, MAX_TOKENS, DATA = {judge!r}, 2, 8, {str(questions)!r}"
    book.cells.insert(at + 1, nbformat.v4.new_code_cell(settings))
    place = tmp_path / "work"
    place.mkdir()
    env = plain_environment() | {
        "EVALBENCH_HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OPENAI_API_KEY": KEY,
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "MPLCONFIGDIR": str(tmp_path / "matplotlib"),
        "TERM": "dumb",
    }
    NotebookClient(
        book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(place)}}
    ).execute(env=env)
    [run] = all_runs(home / "runs")
    status = run.status()
    assert (status.state, status.done, status.failed) == ("complete", 2, 0)
    assert status.metrics["score"]["n"] == 4
    outputs = [output for cell in book.cells for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert "of 10, 95 % interval" in json.dumps(outputs)
    assert (place / "report.html").exists()
    assert list((place / "plots").glob("*.svg"))
    exported = json.loads((place / "mt_bench_results.json").read_text("utf-8"))
    assert len(exported["model_results"]) == 1
    written = [nbformat.writes(book).encode()]
    written += [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(KEY.encode() in text for text in written)
