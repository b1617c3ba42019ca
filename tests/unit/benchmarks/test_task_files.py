"""The names in task files are read as lm-evaluation-harness reads them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalbench.engine.benchmarks.lm_eval import index
from evalbench.engine.benchmarks.lm_eval.task_files import files_in, read_task_files

FILES = {
    "a/base": "dataset_path: own/data\noutput_type: multiple_choice\ntag: [odd, even]\n",
    "a/one.yaml": "include: base\ntask: one\ndoc_to_text: !function own.text\n",
    "a/two.yaml": "include: [base, more]\ntask: two\ntask_alias: Two\n",
    "a/more": "output_type: generate_until\ndataset_name: small\n",
    "b/again.yaml": "task: one\noutput_type: loglikelihood\n",
    "b/all.yaml": "group: all\ntask:\n  - one\n  - group: inner\n    task: [two, {task: three}]\n",
    "b/class.yaml": "class: !function own.Own\ntask: own\ntag: odd\n",
    "b/round.yaml": "include: round.yaml\ntask: round\n",
    "b/twice.yaml": "include: [../a/base, ../a/base]\ntask: twice\n",
    "b/broken.yaml": "task: [\n",
    "b/list.yaml": "[task]\n",
    "b/other.yaml": "dataset_path: x\n",
    "__pycache__/task.yaml": "task: compiled\n",
    ".git/task.yaml": "task: hidden\n",
    "a/node_modules/task.yaml": "task: theirs\n",
    "env/pyvenv.cfg": "",
    "env/lib/task.yaml": "task: installed\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_names_kinds_data_and_members(folder: Path) -> None:
    assert read_task_files(folder, files_in(folder)) == {
        "one": ["TASK", "a/one.yaml", "multiple_choice", "", "own/data ", ["even", "odd"]],
        "odd": ["TAG", "", "generate_until", "", " ", ["one", "own", "two"]],
        "even": ["TAG", "", "generate_until", "", " ", ["one", "two"]],
        "two": [
            *("TASK", "a/two.yaml", "generate_until", "Two", "own/data small", ["even", "odd"]),
        ],
        "all": ["GROUP", "b/all.yaml", "generate_until", "", " ", ["one", "two", "three"]],
        "own": ["PY_TASK", "b/class.yaml", "generate_until", "", " ", ["odd"]],
    }


def test_a_folder_of_ones_own_is_read_once_until_a_file_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def counted(base: Path, files: list[Path]) -> object:
        read.append(base)
        return read_task_files(base, files)

    monkeypatch.setattr(index, "library_tasks", lambda: folder / "library")
    monkeypatch.setattr(index, "read_task_files", counted)
    first = index.tasks_in(str(folder))
    assert index.tasks_in(str(folder)) is first
    assert len(read) == 1
    changed = folder / "a/one.yaml"
    changed.write_text("task: uno\n")
    os.utime(changed, ns=(1, 1))
    assert "uno" in index.tasks_in(str(folder))
