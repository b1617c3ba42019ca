"""OpenSeeSimE and MT-bench from the Hugging Face hub: at one commit, in part, and once more."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmarks.mt_bench.data import QUESTIONS, REFERENCES, SPACE
from evalbench.engine.benchmarks.openseesime.data import SETS
from evalbench.engine.benchmarks.openseesime.hub import WINDOW, Draw
from tests.simulator.dataset_hub import DatasetHub

NAME = SETS["structural-mini"]
REVISION = "0123456789abcdef0123456789abcdef01234567"
SHARDS, ROWS = 4, 10
pytestmark = pytest.mark.slow

FETCH = """
import json, sys
from pathlib import Path
from evalbench.engine.config import registry
from evalbench.engine.benchmark import DataSource
from evalbench.engine.benchmarks.openseesime import hub as openseesime_hub
from evalbench.engine.errors import DataError
from evalbench.engine.calls.options import parse_options

openseesime_hub.WINDOW = 5
for line in sys.stdin:
    benchmark, place, options = json.loads(line)
    cls = registry.benchmark_class(benchmark)
    items, told = [], {}
    try:
        bench = cls(parse_options(cls.options, options, benchmark), seed=5)
        data = bench.prepare(DataSource(None, Path(place)))
        for item in data.items:
            items.append([item.inputs, item.gold, dict(item.tags)])
        told = {"from": [data.origin, data.revision]}
    except DataError as error:
        told = {"error": str(error)}
    print(json.dumps({**told, "items": items}), flush=True)
"""


class Preparing:
    """Prepares data in a process of its own, as a preflight does; the hub's clients load slowly."""

    def __init__(self, endpoint: str, home: Path) -> None:
        self._home = home
        env = {"HF_ENDPOINT": endpoint, "HF_HOME": str(home / "hf"), "EVALBENCH_HOME": str(home)}
        self._child = subprocess.Popen(
            [sys.executable, "-c", FETCH],
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Preparing:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.communicate(timeout=60)

    def __call__(self, benchmark: str, place: str = "downloads", **options: Any) -> dict[str, Any]:
        assert self._child.stdin
        assert self._child.stdout
        request = [benchmark, str(self._home / place), options]
        self._child.stdin.write(json.dumps(request) + "\n")
        self._child.stdin.flush()
        answer: dict[str, Any] = json.loads(self._child.stdout.readline())
        return answer


def shard(number: int) -> bytes:
    """A file of rows with a small picture each, as the hub's own tools write it."""
    import datasets
    from PIL import Image

    rows = []
    for n in range(ROWS):
        picture = io.BytesIO()
        Image.new("RGB", (8, 8), (number, n, 0)).save(picture, "PNG")
        rows.append(
            {
                "file_name": f"beam_{number}_{n}.png", "source_file": f"beam_{number}_{n}",
                "question": f"Is it bent ({number}, {n})?", "question_type": "Binary",
                "question_id": n, "answer": "Yes", "answer_choices": ["Yes", "No"],
                "correct_choice_idx": 0, "media_type": "image",
                "image": {"bytes": picture.getvalue(), "path": None},
            }
        )  # fmt: skip
    table = datasets.Dataset.from_list(rows).cast_column("image", datasets.Image())
    file = io.BytesIO()
    table.to_parquet(file)
    return file.getvalue()


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """A set of four files."""
    names = [f"data/test-{n:05d}-of-{SHARDS:05d}.parquet" for n in range(SHARDS)]
    return {"README.md": b"", **{name: shard(n) for n, name in enumerate(names)}}


@pytest.fixture(scope="module")
def hub(files: dict[str, bytes]) -> Iterator[DatasetHub]:
    """A hub with that set."""
    with DatasetHub(NAME, REVISION, files) as served:
        yield served


@pytest.fixture(scope="module")
def prepare(hub: DatasetHub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preparing]:
    """What prepares data from it."""
    with Preparing(hub.url, tmp_path_factory.mktemp("home")) as preparing:
        yield preparing


def test_a_draw_that_was_cut_goes_on_where_it_was(
    hub: DatasetHub, prepare: Preparing, tmp_path: Path
) -> None:
    wanted = 30
    order = Draw(NAME, REVISION, wanted, 5).shards(SHARDS)
    names = [f"data/test-{n:05d}-of-{SHARDS:05d}.parquet" for n in order]
    whole = prepare("openseesime", str(tmp_path / "whole"), rows=wanted)
    # The first file tells the columns, whatever the order.
    hub.broken = {names[2]} - {min(names)}
    cut = prepare("openseesime", str(tmp_path / "cut"), rows=wanted)
    hub.broken.clear()
    hub.sent.clear()
    again = prepare("openseesime", str(tmp_path / "cut"), rows=wanted)
    assert again == whole
    assert whole["from"] == [NAME, REVISION]
    assert len({inputs["question"] for inputs, _, _ in whole["items"]}) == wanted
    assert "start again, what was read is kept" in cut["error"]
    assert cut["items"] == whole["items"][: len(cut["items"])]
    assert ROWS < len(cut["items"]) <= 2 * ROWS
    assert not hub.sent[names[0]]
    assert not list((tmp_path / "cut").glob("openseesime-*"))
    (medium,) = whole["items"][0][0]["media"]
    assert (medium["width"], medium["type"]) == (8, "image/png")


def test_few_rows_leave_most_files_alone(
    hub: DatasetHub, prepare: Preparing, files: dict[str, bytes]
) -> None:
    draw = Draw(NAME, REVISION, 3, 5)
    assert len(draw.places()) == 3
    assert max(draw.places()) < draw.reads == 15
    assert Draw(NAME, REVISION, 5_000, 5).reads == 5_000 + WINDOW
    assert draw.places() != Draw(NAME, REVISION, 3, 6).places()
    hub.sent.clear()
    few = prepare("openseesime", rows=3, revision=REVISION)
    assert (len(few["items"]), few["from"]) == (3, [NAME, REVISION])
    assert len({name for name in files if name.endswith(".parquet") and hub.sent[name]}) <= 2
    every = prepare("openseesime", rows=99)
    assert len({inputs["question"] for inputs, _, _ in every["items"]}) == SHARDS * ROWS
    missing = prepare("openseesime", rows=3, revision="none-such")
    assert "--revision" in missing["error"]
    other = prepare("openseesime", rows=3, set="fluid-mini")
    assert "cmudrc/OpenSeeSimE-Fluid-Mini could not be streamed" in other["error"]


def test_the_questions_of_mt_bench_are_of_one_commit(tmp_path: Path, shared_data: Path) -> None:
    own = shared_data / "mt_bench"
    files = {
        QUESTIONS: (own / "question.jsonl").read_bytes(),
        REFERENCES: (own / "reference_answer" / "gpt-4.jsonl").read_bytes(),
    }
    with (
        DatasetHub(SPACE, REVISION, files, "spaces") as hub,
        Preparing(hub.url, tmp_path) as prepare,
    ):
        newest = prepare("mt-bench")
        hub.sent.clear()
        pinned = prepare("mt-bench", revision=REVISION)
        assert not hub.sent[QUESTIONS]
        missing = prepare("mt-bench", revision="v9")
    assert newest == pinned
    assert newest["from"] == [SPACE, REVISION]
    assert len(newest["items"]) == 80
    assert sum("references" in inputs for inputs, _, _ in newest["items"]) == 30
    assert "--revision" in missing["error"]
