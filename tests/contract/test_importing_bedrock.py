"""Result files of execution prediction as runs: OC, OR, MC and MR as in the file."""

from __future__ import annotations

import ast
import random
from pathlib import Path
from typing import Any

import orjson
import pytest

from evalbench.engine.errors import DataError
from evalbench.engine.importing.bedrock import read_results
from evalbench.engine.journal import JournalReader
from tests.imports import Written, write_json, written

Row = dict[str, Any]
METRICS = ("OC", "OR", "MC", "MR")


@pytest.fixture
def problems(shared_data: Path, home: Path) -> list[Row]:
    """Programs with mutants in the layout of the original's data."""
    lines = (shared_data / "execution" / "mutated.jsonl").read_bytes().splitlines()
    rows = [orjson.loads(line) for line in lines]
    return [row for row in rows if row["mutated_code"]][:40]


def same(prediction: str, output: str) -> bool:
    """The original's comparison."""
    if prediction.strip() == output.strip():
        return True
    try:
        return bool(ast.literal_eval(prediction) == ast.literal_eval(output))
    except (ValueError, SyntaxError):
        return False


def boolean(output: str) -> bool:
    """Whether the original leaves such an output out of reversion."""
    value = ast.literal_eval(output)
    values = value if isinstance(value, list) else [value]
    return bool(values) and all(isinstance(one, bool) for one in values)


def generation(rng: random.Random, row: Row) -> Row:
    """A reply that is right, that of the other program, wrong, or cut off."""
    value = rng.choice([row["output"], row["mutated_output"], "'else'", None])
    if value is None:
        cut = "Let us see. First the loop"
        return {"prediction": cut, "response": cut + " ", "latency_s": 2.0}
    said = f"So.\n[ANSWER]\nassert {row['function_name']}(1) == {value}\n[/ANSWER]"
    return {"prediction": value, "response": said, "latency_s": 1.5}


def result_file(problems: list[Row], *, skip: bool, generations: int = 3) -> Row:
    """A file as the original writes it, its counts made by the original's rule."""
    rng = random.Random(5)
    counts = {name: {"success": 0, "total": 0} for name in METRICS}
    results = []
    for place, row in enumerate(problems):
        original, mutated = row["output"], row["mutated_output"]
        reverts = not (skip and (boolean(original) or boolean(mutated)))
        given = {
            name: [generation(rng, row) for _ in range(generations)]
            for name in ("original_predictions", "mutated_predictions")
        }
        hits = {
            name: sum(same(one["prediction"], output) for one in given[f"{program}_predictions"])
            for name, program, output in (
                ("OC", "original", original),
                ("OR", "original", mutated),
                ("MC", "mutated", mutated),
                ("MR", "mutated", original),
            )
        }
        for name in METRICS if reverts else ("OC", "MC"):
            counts[name]["success"] += hits[name]
            counts[name]["total"] += generations
        results.append(
            {
                "problem_index": place,
                "problem_id": row["id"],
                "function_name": row["function_name"],
                "difficulty": row.get("difficulty"),
                "has_mutation": True,
                "include_reversion": reverts,
                "original_output": original,
                "mutated_output": mutated,
                "oc_successes": hits["OC"],
                "or_successes": hits["OR"] if reverts else None,
                "mc_successes": hits["MC"],
                "mr_successes": hits["MR"] if reverts else None,
                **given,
            }
        )
    return {
        "prediction": {
            "model": "claude-3.5-sonnet-bedrock",
            "bedrock_model_id": "arn:aws:bedrock:us-east-1:1:inference-profile/us.claude-4-5",
            "aws_region": "us-east-1",
            "config": {
                "num_problems": len(problems),
                "start_index": 0,
                "num_generations": generations,
                "reasoning_effort": "high",
                "skip_boolean_for_reversion": skip,
                "seed": 42,
            },
            "metrics_summary": {n: c["success"] / (c["total"] or 1) for n, c in counts.items()},
            "metrics_counts": counts,
            "benchmark_summary": {
                "problems_evaluated": len(problems),
                "generations_per_problem": generations,
            },
            "results": results,
        }
    }


def check(run: Written, body: Row) -> None:
    """The run's metrics, read as the original does, are the file's."""
    for name, count in body["metrics_counts"].items():
        assert run.counts(f"{name.lower()}_faithful") == (count["success"], count["total"]), name


@pytest.mark.parametrize("skip", [True, False])
def test_counts_are_those_of_the_file(skip: bool, problems: list[Row], tmp_path: Path) -> None:
    body = result_file(problems, skip=skip)
    recorded = read_results(write_json(tmp_path / "claude_sonnet_bedrock_1.json", body), None)
    run = written(recorded)
    check(run, body["prediction"])
    spec = run.folder.spec()
    assert (spec.model, spec.get("seed")) == ("answers/us.claude-4-5", 42)
    assert (spec.options["generations"], spec.options["reasoning"]) == (3, "high")
    assert any(
        note.startswith("programs and inputs are not in the file") for note in recorded.notes
    )
    replies = [one for r in body["prediction"]["results"] for one in r["original_predictions"]]
    replies += [one for r in body["prediction"]["results"] for one in r["mutated_predictions"]]
    assert run.metrics["seconds"]["n"] == len(replies)
    assert run.metrics["seconds"]["k"] == pytest.approx(sum(one["latency_s"] for one in replies))


def test_programs_are_shown_where_the_problems_are_given(
    problems: list[Row], shared_data: Path, tmp_path: Path
) -> None:
    body = result_file(problems, skip=True)
    file = write_json(tmp_path / "r.json", body)
    run = written(read_results(file, shared_data / "execution" / "mutated.jsonl"))
    check(run, body["prediction"])
    with JournalReader(run.folder.journal) as journal:
        row = next(iter(journal.samples()))
        assert row.sample.inputs["code"] == problems[0]["code"]
        assert row.sample.tags["mutation"] == problems[0]["mutation_info"]["mutation_type"]


def test_several_test_cases_and_skipped_problems(home: Path, tmp_path: Path) -> None:
    def told(*values: str) -> Row:
        cases = [
            {"test_input": "f(1)", "prediction": v, "response": f"[ANSWER]{v}[/ANSWER]"}
            for v in values
        ]
        return {"generation_index": 0, "testcases": cases}

    result = {
        "problem_index": 7,
        "problem_id": 12,
        "function_name": "f",
        "difficulty": None,
        "has_mutation": False,
        "original_output": ["1", "2"],
        "mutated_output": ["3", "4"],
        "test_inputs": ["f(1)", "f(2)"],
        "original_predictions": [told("1", "2"), told("1", "4"), told("3", "4")],
        "mutated_predictions": [told("3", "4"), told("1", "2"), told("1", "2")],
    }
    skipped = {"problem_index": 8, "problem_id": 13, "skipped": True, "skip_reason": "none"}
    body = {"model": "m", "num_generations": 3, "results": [result, skipped]}
    recorded = read_results(write_json(tmp_path / "r.json", body), None)
    run = written(recorded)
    assert [run.counts(name) for name in ("oc", "or", "mc", "mr")] == [
        (1, 3),
        (1, 3),
        (1, 3),
        (2, 3),
    ]
    assert run.counts("left_out") == (1, 2)
    assert any(note.startswith("1 problem without a mutant") for note in recorded.notes)


def test_a_prediction_counts_as_the_file_has_it(problems: list[Row], tmp_path: Path) -> None:
    body = result_file(problems[:1], skip=False, generations=1)["prediction"]
    (result,) = body["results"]
    value = result["original_output"]
    result["original_predictions"] = [{"prediction": value, "response": "nothing of it"}]
    result["mutated_predictions"] = [{"prediction": value}]
    recorded = read_results(write_json(tmp_path / "r.json", body), None)
    run = written(recorded)
    assert run.counts("oc_faithful") == run.counts("mr_faithful") == (1, 1)
    assert any(note.startswith("1 prediction other than") for note in recorded.notes)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"original_predictions": []}, "0 of 3 generations"),
        ({"mutated_predictions": None}, "row 2: this is no problem's result"),
        ({"original_output": ["1", "2"]}, "different numbers of outputs"),
        ({"original_predictions": [1, 2, 3]}, "row 2"),
        ({"problem_index": "x"}, "row 2"),
    ],
)
def test_a_bad_problem_is_named(
    change: Row, told: str, problems: list[Row], tmp_path: Path
) -> None:
    body = result_file(problems[:2], skip=False)
    body["prediction"]["results"][1] |= change
    with pytest.raises(DataError, match=told):
        read_results(write_json(tmp_path / "r.json", body), None)


@pytest.mark.parametrize("body", [[], 3, {"choice": {}}, {"prediction": {"results": None}}])
def test_a_file_without_results_is_refused(body: Any, tmp_path: Path, home: Path) -> None:
    with pytest.raises(DataError, match="there are no results of execution prediction"):
        read_results(write_json(tmp_path / "r.json", body), None)
