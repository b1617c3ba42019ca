"""Experiment folders of the Claude MMLU Experimenter as runs, with real predictions."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalbench.engine.benchmark import DataSource, Sample
from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.config.spec import build_benchmark, make_spec
from evalbench.engine.errors import DataError
from evalbench.engine.formats import export_runs
from evalbench.engine.formats.mmlu_experiment.reader import read_experiment
from evalbench.engine.formats.recorded import write_run
from evalbench.engine.journal import JournalReader
from tests.finished import finished
from tests.imports import write_json, written

Row = dict[str, Any]
COLUMN = "claude-3-sonnet-20240229/default"


@pytest.fixture(scope="module")
def recorded_rows(shared_data: Path) -> list[Row]:
    """MMLU's test rows, each with what the original's runs predicted, by run."""
    folder = shared_data / "mmlu"
    test, found = (
        pq.read_table(folder / name).to_pylist()
        for name in ("test.parquet", "recorded_predictions.parquet")
    )
    return [{**row, "recorded": said} for row, said in zip(test, found, strict=True)]


def experiment(folder: Path, rows: list[Row], column: str, **config: Any) -> Path:
    """An experiment folder as the original writes it."""
    body = {
        "description": "as it was",
        "model": column.partition("/")[0],
        "save_frequency": 10,
        "df_path": "data/mmlu.parquet",
        "data_hash": "0f" * 16,
        "created_at": "2024-10-01T10:00:00",
        "last_updated": "2024-10-01T12:00:00",
    }
    write_json(folder / "config.json", body | config)
    table = pa.Table.from_pylist(
        [
            {name: row[name] for name in ("question", "subject", "choices", "answer")}
            | {"predicted": row["recorded"][column]}
            for row in rows
        ]
    )
    pq.write_table(table, folder / "results.parquet")
    return folder


def some(rows: list[Row]) -> list[Row]:
    """Every 40th row, every unread one, and all rows that occur more than once."""
    times = Counter((row["question"], *row["choices"], row["subject"]) for row in rows)
    return [
        row
        for place, row in enumerate(rows)
        if place % 40 == 0
        or row["recorded"][COLUMN] == -1
        or times[row["question"], *row["choices"], row["subject"]] > 1
    ]


def test_some_rows_with_all_exact_repeats(
    recorded_rows: list[Row], tmp_path: Path, home: Path
) -> None:
    rows = some(recorded_rows)
    repeats = len(rows) - len({(r["question"], *r["choices"], r["subject"]) for r in rows})
    assert repeats == 27
    recorded = read_experiment(experiment(tmp_path / "exp", rows, COLUMN))
    run = written(recorded)
    right = sum(row["recorded"][COLUMN] == row["answer"] for row in rows)
    unread = sum(row["recorded"][COLUMN] == -1 for row in rows)
    assert unread == 9
    assert run.counts("accuracy") == (right, len(rows))
    assert run.counts("accuracy_strict") == (right, len(rows))
    assert run.counts("unparsed") == (unread, len(rows))
    status, spec = run.folder.status(), run.folder.spec()
    assert (spec.model, spec.settings.desc) == ("answers/claude-3-sonnet-20240229", "as it was")
    assert status.outcomes[Outcome.UNPARSED] == unread


@pytest.mark.slow
@pytest.mark.parametrize(
    "column",
    [COLUMN, "claude-3-sonnet-20240229/duplicatewrong", "deepseek-chat/permuted"],
)
async def test_whole_columns_give_the_recorded_scores(
    column: str,
    recorded_rows: list[Row],
    shared_data: Path,
    tmp_path: Path,
    home: Path,
) -> None:
    expected = json.loads((shared_data / "mmlu" / "recorded_expected.json").read_bytes())[column]
    recorded = read_experiment(experiment(tmp_path / "exp", recorded_rows, column))
    status = (await write_run(recorded)).status()
    accuracy, macro = status.metrics["accuracy"], status.metrics["accuracy_macro"]
    assert (accuracy["k"], accuracy["n"]) == (expected["n_correct"], expected["n"])
    assert accuracy["value"] == pytest.approx(expected["micro"], abs=5e-7)
    assert macro["value"] == pytest.approx(expected["macro_subject"], abs=5e-7)
    assert status.outcomes[Outcome.UNPARSED] == expected["n_unparsed"]


def row(**change: Any) -> Row:
    """One row, in a table of JSON lines."""
    whole = {
        "question": "2 + 2?",
        "subject": "elementary_mathematics",
        "choices": list("4567"),
        "answer": 0,
        "predicted": 0,
    }
    return whole | change


def folder_of(path: Path, rows: list[Row]) -> Path:
    """A folder with its results as JSON lines."""
    write_json(path / "config.json", {"model": "m"})
    (path / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def test_present_configs_and_categories_for_subjects(tmp_path: Path, home: Path) -> None:
    subjects = ("STEM", "Social Sciences", "Law & Ethics", "anatomy")
    rows = [row(subject=subject, predicted=1) for subject in subjects]
    folder = folder_of(tmp_path / "exp", rows)
    model = {"type": "claude", "model": "claude-3-5-sonnet-20241022"}
    write_json(folder / "config.json", {"model": model})
    recorded = read_experiment(folder)
    run = written(recorded)
    assert run.folder.spec().model == "answers/claude-3-5-sonnet-20241022"
    for category in ("STEM", "social sciences", "Law & Ethics", "other"):
        assert run.metrics[f"accuracy/category={category}"]["n"] == 1
    write_json(folder / "config.json", {"model": {"type": "deepseek"}})
    assert read_experiment(folder).spec.model == "answers/deepseek"


def test_a_half_done_experiment_goes_on(tmp_path: Path, home: Path) -> None:
    """What it answered is taken over, the rest is asked, and both go back into its form."""
    rows = [
        row(question="a", predicted=1), row(question="b", predicted=-1, answer=2),
        row(question="c", predicted=None), row(question="d", predicted=3, answer=3),
        row(question="e", predicted=None, answer=0), row(question="a", predicted=0),
    ]  # fmt: skip
    folder = folder_of(tmp_path / "exp", rows)
    spec = make_spec("mmlu", "anthropic/claude-haiku-4-5", data=str(folder))
    bench = build_benchmark(spec)
    told = "\n".join(bench.remarks(folder))
    assert "is taken over; the rest is asked" in told
    assert "--prompt original" in told
    data = bench.prepare(DataSource(folder, tmp_path))
    assert data.origin == "experiment exp"
    asked: list[str] = []

    def say(sample: Sample, *_: object) -> Reply:
        asked.append(sample.inputs["question"])
        return Reply("B")

    run = finished(spec, list(data.items), say, orjson.loads(orjson.dumps(data.shared)))
    assert asked == ["c", "e"]
    with JournalReader(run.journal) as journal:
        metrics = journal.meta("metrics")
    assert (metrics["accuracy"]["k"], metrics["accuracy"]["n"]) == (2, 6)
    assert metrics["unparsed"]["k"] == 1
    out = tmp_path / "out"
    export_runs([run], "mmlu-experiment", out)
    held = pq.read_table(out / "results.parquet").to_pylist()
    assert [one["predicted"] for one in held] == [1, -1, 1, 3, 1, 0]
    config = json.loads((out / "config.json").read_bytes())
    assert config["model"] == {"type": "claude", "model": "claude-haiku-4-5"}
    # As the original checks it when it resumes.
    questions = pandas.read_parquet(out / config["df_path"])
    digest = hashlib.md5(questions.to_string().encode(), usedforsecurity=False).hexdigest()
    assert digest == config["data_hash"]
    assert list(questions.columns) == ["question", "subject", "choices", "answer"]
    assert time.strptime(config["last_updated"], "%Y-%m-%d %H:%M:%S")
    assert read_experiment(out).items


def test_seven_options_and_questions_not_asked_yet(tmp_path: Path, home: Path) -> None:
    rows = [
        row(choices=list("4556677"), answer=6, predicted=6),
        row(choices=list("4556677"), answer=6, predicted=2),
        row(predicted=None),
        row(predicted=None, question="3 + 1?"),
    ]
    recorded = read_experiment(folder_of(tmp_path / "e", rows))
    assert written(recorded).counts("accuracy") == (1, 2)
    assert recorded.notes[-1].startswith("2 questions without a prediction")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"answer": 9}, "its answer is 9"),
        ({"predicted": "B?"}, "B?"),
        ({"choices": "['4', '5']"}, "its choices are"),
    ],
)
def test_a_bad_row_is_named(change: Row, told: str, tmp_path: Path, home: Path) -> None:
    with pytest.raises(DataError, match=told) as caught:
        read_experiment(folder_of(tmp_path / "e", [row(), row(**change)]))
    assert "results.jsonl, row 2: " in str(caught.value)


def test_a_column_that_is_missing_is_named(tmp_path: Path, home: Path) -> None:
    bad = row()
    del bad["predicted"]
    with pytest.raises(DataError, match="it has no 'predicted'"):
        read_experiment(folder_of(tmp_path / "e", [bad]))


def test_a_folder_that_is_no_experiment_is_refused(tmp_path: Path, home: Path) -> None:
    with pytest.raises(DataError, match=r"config\.json: there is no such file"):
        read_experiment(tmp_path)
    write_json(tmp_path / "config.json", {"model": "m"})
    with pytest.raises(DataError, match=r"no results\.parquet"):
        read_experiment(tmp_path)
