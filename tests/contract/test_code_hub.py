"""Problems about programs from the Hugging Face hub: at the given revision, or the newest."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.simulator.dataset_hub import DatasetHub

NAME = "someone/contests-mutated"
REVISION = "0123456789abcdef0123456789abcdef01234567"
pytestmark = pytest.mark.slow

FETCH = """
import json, sys
from pathlib import Path
from evalbench.engine.benchmark import DataSource
from evalbench.engine.benchmarks.code_reasoning.data import Selection, read_problems
from evalbench.engine.errors import DataError

try:
    source = DataSource(None, Path(sys.argv[1]))
    data = read_problems(source, Selection(sys.argv[2], sys.argv[3], 0, False))
except DataError as error:
    print(json.dumps({"error": [error.what, error.why, error.hint]}))
else:
    items = [[item.inputs, item.gold, dict(item.tags)] for item in data.items]
    print(json.dumps({"items": items, "shared": data.shared, "from": [data.origin, data.revision]}))
"""


def _row(name: str, mutant: str | None) -> dict[str, Any]:
    return {
        "id": name,
        "function_name": "f",
        "code": "def f(x):\n    return x + 1",
        "input": "f(x=3)",
        "output": "4",
        "difficulty": "easy",
        "metrics": {"loc": 2, "coverage": None},
        "mutated_code": mutant,
        "mutated_output": mutant and "2",
        "mutation_info": {"mutation_type": "arithmetic", "mutation_id": 0},
    }


@pytest.fixture
def files() -> dict[str, bytes]:
    import pyarrow
    import pyarrow.parquet

    rows = [_row("a", "def f(x):\n    return x - 1"), _row("b", None)]
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    return {"README.md": b"", "data/train-00000-of-00001.parquet": file.getvalue()}


def _fetch(endpoint: str, home: Path, name: str, split: str = "train") -> dict[str, Any]:
    run = subprocess.run(
        [sys.executable, "-c", FETCH, str(home / "downloads"), name, split],
        env={**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(home / "hf")},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert run.returncode == 0, run.stderr
    result: dict[str, Any] = json.loads(run.stdout)
    return result


@pytest.mark.parametrize("given", [NAME, f"{NAME}@main", f"{NAME}@{REVISION}"])
def test_the_rows_arrive_with_the_commit_they_are_of(
    tmp_path: Path, files: dict[str, bytes], given: str
) -> None:
    with DatasetHub(NAME, REVISION, files) as hub:
        data = _fetch(hub.url, tmp_path, given)
    assert data["from"] == [NAME, REVISION]
    ((inputs, gold, tags),) = data["items"]
    assert inputs["calls"] == ["f(x=3)"]
    assert gold == {"original": ["4"], "mutated": ["2"]}
    assert tags == {"difficulty": "easy", "mutation": "arithmetic"}
    assert data["shared"] == {"index": {"a": 0}, "rows": 2, "left_out": 1}


def test_a_data_set_that_is_not_there_is_an_error_with_a_cure(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    with DatasetHub(NAME, REVISION, files) as hub:
        missing = _fetch(hub.url, tmp_path, "someone/else")["error"]
        split = _fetch(hub.url, tmp_path, NAME, "test")["error"]
    for what, why, hint in (missing, split):
        assert "could not be fetched from the Hugging Face hub" in what
        assert why
        assert "--data PATH" in hint
