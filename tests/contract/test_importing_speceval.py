"""SpecEval's folders as runs: generation, compliance and ranking, in the layouts it writes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.errors import DataError
from evalbench.engine.formats import export_runs
from evalbench.engine.formats.speceval.reader import read_folder
from evalbench.engine.journal import JournalReader
from tests.imports import write_json, written

A, B, JUDGE = "sample-model-a", "org-max-mini", "gpt-4.1-2025-04-14"


@pytest.fixture
def sample(shared_data: Path, home: Path) -> Path:
    """The small complete sample, with a home of its own."""
    return shared_data / "speceval" / "sample"


@pytest.fixture
def spec(sample: Path) -> Path:
    """Its specification."""
    return sample / "specs" / "sample.jsonl"


def answers(sample: Path, model: str) -> dict[tuple[str, str], str]:
    """What a model answered, by statement and input."""
    (results,) = (sample / "generations" / model).glob("*/results")
    return {
        (file.stem, one["input_text"]): one["output_text"]
        for file in results.glob("*.json")
        for one in json.loads(file.read_bytes())
    }


@pytest.mark.parametrize("model", [A, B])
def test_generation_folders(model: str, sample: Path, spec: Path) -> None:
    expected = json.loads((sample / "expected.json").read_bytes())
    recorded = read_folder(sample / "generations" / model, spec)
    run = written(recorded)
    said = answers(sample, model).values()
    assert len(recorded.items) == len(said) == expected["outputs"][model]
    errors = sum(text.startswith("ERROR:") for text in said)
    empty = sum(not text.strip() for text in said)
    assert run.folder.status().failed == errors
    assert run.counts("answered") == (len(said) - errors - empty, len(said) - errors)
    assert run.folder.spec().model == f"answers/{model}"


def test_the_newest_of_several_generations_is_taken(
    sample: Path, spec: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(sample / "generations" / A, tmp_path / "openai" / A)
    newer = folder / "20250301_120000" / "results"
    said = [{"original_index": 4, "input_text": "How far?", "output_text": "5 km"}]
    write_json(newer / "metric_units.json", said)
    write_json(newer.parent / "metadata" / "batch_1.json", {"batch_id": "batch_1"})
    recorded = read_folder(folder, spec)
    assert [item.inputs["input"] for item, _ in recorded.items] == ["How far?"]
    assert recorded.items[0][0].inputs["index"] == 4
    assert recorded.notes == ["of 2 runs the newest was taken, 20250301_120000"]


def test_folders_of_several_models_are_refused(sample: Path, spec: Path) -> None:
    with pytest.raises(DataError, match="results of several runs"):
        read_folder(sample / "generations", spec)


# -- compliance ------------------------------------------------------------------


def compliance(base: Path, sample: Path, decide: Callable[[int], bool | None]) -> Path:
    """A judge's folder about model B."""
    folder = base / "spec_sample" / f"judge_{JUDGE}" / B
    by_statement: dict[str, list[dict[str, Any]]] = {}
    for place, ((statement, given), said) in enumerate(sorted(answers(sample, B).items())):
        entry = {
            "input": given,
            "output": said,
            "compliant": decide(place),
            "confidence": 0.75,
            "explanation": "as in ```json\n{}\n``` it is",
        }
        by_statement.setdefault(statement, []).append(entry)
    for statement, entries in by_statement.items():
        body = {
            "metadata": {"model": B, "statement_id": statement, "batch_ids": ["b"]},
            "results": entries,
        }
        write_json(folder / "results" / f"{statement}.json", body)
    return folder


def test_compliance_is_pooled_over_entries_repeated_inputs_included(
    sample: Path, spec: Path, tmp_path: Path
) -> None:
    folder = compliance(tmp_path, sample, lambda place: (True, False, None)[place % 3])
    file = folder / "results" / "no_dosage.json"
    body = json.loads(file.read_bytes())
    body["results"] += [body["results"][0] | {"compliant": True}] * 3
    write_json(file, body)
    entries = [
        entry
        for file in (folder / "results").glob("*.json")
        for entry in json.loads(file.read_bytes())["results"]
        if not entry["output"].startswith("ERROR:")
    ]
    recorded = read_folder(folder, spec)
    run = written(recorded)
    decisions = [entry["compliant"] for entry in entries]
    assert run.counts("compliance") == (decisions.count(True), len(entries))
    assert run.counts("compliance/statement=no_dosage")[1] == 5
    assert run.counts("unread_judgements") == (decisions.count(None), len(entries))
    stored = run.folder.spec()
    assert (stored.model, stored.get("judge")) == (f"answers/{B}", (f"answers/{JUDGE}",))
    # The tree names the specification, as it did there.
    done = export_runs([run.folder], None, tmp_path / "out", short_names=True)
    assert {path.parent for path in done.files} == {
        tmp_path / "out" / "spec_sample" / f"judge_{JUDGE}" / B / "results"
    }
    with JournalReader(run.folder.journal) as journal:
        parsed = [
            score.detail["parsed"]["speceval-compliance/1"][f"answers/{JUDGE}"]
            for score in journal.scores()
            if "parsed" in score.detail
        ]
    assert {one["confidence"] for one in parsed if one["compliant"] is not None} == {0.75}


# -- ranking ---------------------------------------------------------------------

RAW = {1: "Model: A", -1: "Model: B", 0: "Model: equal"}


def ranking(
    folder: Path, sample: Path, names: tuple[str, str], rank: Callable[[int], int], **change: Any
) -> Path:
    """The folder of one ordered pair; ``rank`` is of the input's place among those in common."""
    one, two = (answers(sample, name) for name in names)
    by_statement: dict[str, list[dict[str, Any]]] = {}
    for place, (statement, given) in enumerate(sorted(one.keys() & two.keys())):
        entry = {
            "input": given,
            "output_a": one[statement, given],
            "output_b": two[statement, given],
            "rank": rank(place),
            "raw_judge_response": RAW[rank(place)],
        }
        by_statement.setdefault(statement, []).append(entry | change)
    for statement, entries in by_statement.items():
        meta = {
            "ranking_judge_model_info": "openai/judge",
            "model_a": names[0],
            "model_b": names[1],
            "org_spec_name": "sample",
            "statement_id": statement,
            "batch_id": "b",
            "timestamp": "t",
        }
        write_json(
            folder / "results" / f"{statement}.json", {"metadata": meta, "rankings": entries}
        )
    return folder


FORWARD = (1, 1, 1, -1, -1, 0, 0, 1, -1, 0, 1, 1)
BACKWARD = (-1, -1, 1, 1, 0, 0, 1, -1, -1, 0, 0, -1)


def final(forward: int, backward: int) -> int:
    """The rank that holds in both orders, as in the original's aggregation of all pairs."""
    return forward if forward == -backward else 0


@pytest.mark.parametrize("raw", [True, False])
def test_both_orders_of_a_ranking_are_found_by_what_the_files_say(
    raw: bool, sample: Path, spec: Path, tmp_path: Path
) -> None:
    base = tmp_path / "spec_sample" / f"judge_{JUDGE}"
    change = {} if raw else {"raw_judge_response": None}
    folder = ranking(base / f"{B}x{A}", sample, (B, A), FORWARD.__getitem__, **change)
    # Its name says nothing; beside it is another pair of a name that could be taken for it.
    ranking(base / "second", sample, (A, B), BACKWARD.__getitem__, **change)
    other = {"metadata": {"model_a": A, "model_b": "org-max"}, "rankings": []}
    write_json(base / f"{A}x{B}" / "results" / "no_dosage.json", other)
    (base / "notes").mkdir()
    recorded = read_folder(folder, spec)
    run = written(recorded)
    said = {name: answers(sample, name) for name in (A, B)}
    common = sorted(said[A].keys() & said[B].keys())
    whole = [
        place
        for place, key in enumerate(common)
        if not any(said[name][key].startswith("ERROR:") for name in said)
    ]
    finals = [final(FORWARD[place], BACKWARD[place]) for place in whole]
    assert len(recorded.items) == len(common) == 12
    assert run.folder.status().failed == len(common) - len(whole)
    n = len(finals)
    assert run.counts(f"win_rate/contestant={B}") == (finals.count(1), n)
    assert run.counts(f"win_rate/contestant={A}") == (finals.count(-1), n)
    assert run.counts(f"tie_rate/contestant={A}") == (finals.count(0), n)
    flips = sum(FORWARD[place] * BACKWARD[place] == 1 for place in whole)
    assert run.counts("position_flips") == (flips, n)
    unread = 0 if raw else sum([FORWARD[p] == 0 for p in whole] + [BACKWARD[p] == 0 for p in whole])
    assert run.counts("unread_judgements") == (unread, 2 * n)
    assert run.folder.spec().get("judge") == (f"answers/{JUDGE}",)


def test_one_order_alone_gives_ties_and_says_so(sample: Path, spec: Path, tmp_path: Path) -> None:
    folder = ranking(tmp_path / f"{A}x{B}", sample, (A, B), FORWARD.__getitem__)
    recorded = read_folder(folder, spec)
    run = written(recorded)
    wins, n = run.counts(f"win_rate/contestant={A}")
    assert wins == 0
    assert run.counts(f"tie_rate/contestant={A}") == (n, n)
    assert any("12 pairs judged in one order only" in note for note in recorded.notes)
    assert run.folder.spec().get("judge") == ("answers/openai/judge",)


# -- what is wrong -----------------------------------------------------------------


def test_files_that_do_not_say_which_models_are_ranked(
    sample: Path, spec: Path, tmp_path: Path
) -> None:
    folder = ranking(tmp_path / "AxB", sample, (A, B), FORWARD.__getitem__)
    file = folder / "results" / "no_dosage.json"
    body = json.loads(file.read_bytes())
    body["metadata"]["model_b"] = "else"
    write_json(file, body)
    with pytest.raises(DataError, match="which two models are ranked is not clear"):
        read_folder(folder, spec)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ([{"input_text": "x"}], r"no_dosage\.json, row 1: .*\n.*no 'output_text'"),
        ([{"input_text": 7, "output_text": "x"}], "input_text is no text"),
        (["x"], "row 1"),
        ({"results": [{"input": "x", "output": "y"}]}, "no 'compliant'"),
        ({"rankings": [{"input": ["x"], "output_a": "", "output_b": "", "rank": []}]}, "no text"),
        ({"something": []}, "no result of SpecEval's"),
        (7, "no result of SpecEval's"),
        ([], "there are no results in it"),
    ],
)
def test_a_bad_file_is_named(body: Any, told: str, spec: Path, tmp_path: Path) -> None:
    if isinstance(body, dict) and "rankings" in body:
        body["metadata"] = {"model_a": "a", "model_b": "b"}
    write_json(tmp_path / "m" / "results" / "no_dosage.json", body)
    with pytest.raises(DataError, match=told):
        read_folder(tmp_path / "m", spec)


def test_what_is_no_json_and_what_is_empty(spec: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no results"):
        read_folder(tmp_path, spec)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "no_dosage.json").write_text("{")
    with pytest.raises(DataError, match=r"no_dosage\.json: this is not JSON"):
        read_folder(tmp_path, spec)


def test_statements_that_the_specification_has_not_are_told(
    sample: Path, spec: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(sample / "generations" / A, tmp_path / A)
    (results,) = folder.glob("*/results")
    shutil.copy(results / "no_dosage.json", results / "of_another_spec.json")
    recorded = read_folder(folder, spec)
    assert len(recorded.items) == 13
    assert recorded.notes[-1].endswith("left out: of_another_spec")
