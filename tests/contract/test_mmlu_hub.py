"""MMLU from the Hugging Face hub: pinned, only what is needed, and from the cache afterwards.

The hub's clients read their environment when they are imported, so each fetch
runs in a process of its own, as it does in the product.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmarks.mmlu.data import HUB_ID, REVISION
from tests.simulator.dataset_hub import DatasetHub

FETCH = """
import json, sys
from pathlib import Path
from evalbench.engine.benchmark import DataSource
from evalbench.engine.benchmarks.mmlu.data import read_data
from evalbench.engine.errors import DataError
try:
    data = read_data(DataSource(None, Path(sys.argv[1])), sys.argv[2], int(sys.argv[3]))
except DataError as error:
    print(json.dumps({"error": [error.what, error.why, error.hint]}))
else:
    items = [[item.inputs, item.gold, dict(item.tags)] for item in data.items]
    print(json.dumps({"items": items, "shared": data.shared, "from": [data.origin, data.revision]}))
"""
CARD = """---
configs:
- config_name: all
  data_files:
  - {split: auxiliary_train, path: all/auxiliary_train-*}
  - {split: test, path: all/test-*}
  - {split: validation, path: all/validation-*}
  - {split: dev, path: all/dev-*}
---
"""


def _row(question: str, subject: str, answer: int) -> dict[str, Any]:
    return {
        "question": question,
        "subject": subject,
        "choices": ["None", "b", "b", "d"],
        "answer": answer,
    }


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    return file.getvalue()


@pytest.fixture
def files() -> dict[str, bytes]:
    splits = {
        "test": [_row("T1?", "anatomy", 0), _row("T2?", "virology", 3), _row("T1?", "anatomy", 0)],
        "validation": [_row("V1?", "anatomy", 1)],
        "dev": [_row(f"D{n}?", s, n % 4) for s in ("anatomy", "virology") for n in range(5)],
        "auxiliary_train": [_row("X?", "", 0)],
    }
    parts = {f"all/{name}-00000-of-00001.parquet": _parquet(rows) for name, rows in splits.items()}
    return {"README.md": CARD.encode(), **parts}


def _fetch(endpoint: str, home: Path, split: str = "test", shots: int = 5) -> dict[str, Any]:
    run = subprocess.run(
        [sys.executable, "-c", FETCH, str(home / "downloads"), split, str(shots)],
        env={**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(home / "hf")},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert run.returncode == 0, run.stderr
    result: dict[str, Any] = json.loads(run.stdout)
    return result


def test_the_pinned_rows_and_examples_arrive_and_nothing_else(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    with DatasetHub(HUB_ID, REVISION, files) as hub:
        data = _fetch(hub.url, tmp_path, shots=2)
        fetched = [request for request in hub.requests if request.startswith("GET /datasets")]
    assert data["from"] == [HUB_ID, REVISION]
    assert data["items"][1] == [
        {"question": "T2?", "choices": ["None", "b", "b", "d"]},
        3,
        {"subject": "virology", "category": "other"},
    ]
    assert len(data["items"]) == 3
    assert [row["question"] for row in data["shared"]["anatomy"]] == ["D0?", "D1?"]
    names = {request.rpartition("/")[2] for request in fetched if request.endswith(".parquet")}
    assert names == {"test-00000-of-00001.parquet", "dev-00000-of-00001.parquet"}
    assert all(f"/resolve/{REVISION}/" in request for request in fetched)


@pytest.mark.slow
def test_what_was_fetched_needs_no_hub_again(tmp_path: Path, files: dict[str, bytes]) -> None:
    with DatasetHub(HUB_ID, REVISION, files) as hub:
        first = _fetch(hub.url, tmp_path)
        seen = len(hub.requests)
        again = _fetch(hub.url, tmp_path, shots=1)
        assert len(hub.requests) == seen
    assert again["items"] == first["items"]
    assert [len(rows) for rows in again["shared"].values()] == [1, 1]


@pytest.mark.slow
def test_a_hub_without_the_data_set_is_an_error_with_a_cure(tmp_path: Path) -> None:
    with DatasetHub("someone/else", REVISION, {}) as hub:
        what, why, hint = _fetch(hub.url, tmp_path)["error"]
    assert what == "cais/mmlu could not be fetched from the Hugging Face hub"
    assert why
    assert "--data PATH" in hint
