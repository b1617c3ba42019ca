"""Result files of execution prediction as runs: OC, OR, MC and MR as in the file."""

from __future__ import annotations

import ast
import asyncio
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from evalbench.engine.errors import DataError
from evalbench.engine.formats import export_runs
from evalbench.engine.formats.bedrock_evaluator import reader as bedrock
from evalbench.engine.formats.recorded import Recorded, write_run
from evalbench.engine.journal import JournalReader
from tests.imports import Written, write_json, written

Row = dict[str, Any]
METRICS = ("OC", "OR", "MC", "MR")


def read_results(path: Path, data: Path | None) -> Recorded:
    """The only run of a file."""
    [recorded] = bedrock.read_results(path, data)
    return recorded


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
    assert (spec.model, spec.settings.seed) == ("answers/us.claude-4-5", 42)
    assert (spec.options["generations"], spec.options["reasoning"]) == (3, "high")
    assert any(
        note.startswith("programs and inputs are not in the file") for note in recorded.notes
    )
    replies = [one for r in body["prediction"]["results"] for one in r["original_predictions"]]
    replies += [one for r in body["prediction"]["results"] for one in r["mutated_predictions"]]
    assert run.metrics["seconds"]["n"] == len(replies)
    assert run.metrics["seconds"]["k"] == pytest.approx(sum(one["latency_s"] for one in replies))


def test_what_the_summary_says_of_the_data_comes_back(problems: list[Row], tmp_path: Path) -> None:
    """Related programs count test cases where the original counts problems."""
    body = result_file(problems, skip=True)
    told = {"dataset": "LLM-List", "problems_evaluated": 2, "reversion_skipped_problems": 7}
    body["prediction"]["benchmark_summary"] |= told
    recorded = read_results(write_json(tmp_path / "r.json", body), None)
    [file] = export_runs([written(recorded).folder], "bedrock", tmp_path / "out").files
    part = json.loads(file.read_bytes())["prediction"]
    assert part["benchmark_summary"].items() >= told.items()
    assert part["metrics_counts"] == body["prediction"]["metrics_counts"]


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
    counts = body.pop("metrics_counts")
    (result,) = body["results"]
    value = result["original_output"]
    result["original_predictions"] = [{"prediction": value, "response": "nothing of it"}]
    result["mutated_predictions"] = [{"prediction": value}]
    recorded = read_results(write_json(tmp_path / "r.json", body), None)
    run = written(recorded)
    assert run.counts("oc_faithful") == run.counts("mr_faithful") == (1, 1)
    assert any(note.startswith("1 prediction other than") for note in recorded.notes)
    body["metrics_counts"] = counts | {"OC": {"success": 0, "total": 3}}
    file = write_json(tmp_path / "other.json", body)
    folder = asyncio.run(write_run(read_results(file, None)))
    with JournalReader(folder.journal) as journal:
        told = journal.meta("imported")["notes"]
    assert "oc_faithful is 1/1 here, 0/3 in the file" in told
    assert not any("are those in the file" in note for note in told)


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


@pytest.mark.parametrize(
    "body",
    [
        [],
        3,
        {"choice": {}},
        {"choice": {"execution_choice_results": 7}},
        {"prediction": {"results": None}},
    ],
)
def test_a_file_without_results_is_refused(body: Any, tmp_path: Path, home: Path) -> None:
    with pytest.raises(DataError, match="there are no results of execution prediction"):
        read_results(write_json(tmp_path / "r.json", body), None)


def test_a_file_of_counts_says_so(tmp_path: Path) -> None:
    body = {"model": "m", "metrics": {}, "execution_choice_counts": {"invalid_runs": 0}}
    with pytest.raises(DataError, match="it has counts only, and no answers"):
        read_results(write_json(tmp_path / "r.json", body), None)


# -- choice --------------------------------------------------------------------------


def choice_file(problems: list[Row], *, skip: bool) -> Row:
    """A file of execution choice, its counts made by the original's rule."""
    rng = random.Random(7)
    tally = {name: Counter[str]() for name in ("preference", "OC", "MC")}
    invalid = 0
    records = []
    for place, row in enumerate(problems):
        both = {"original": row["output"], "mutated": row["mutated_output"]}
        reverts = not (skip and any(map(boolean, both.values())))
        for run, first in enumerate((True, False)):
            kind = rng.choice(["original", "original", "mutated", None])
            value = rng.choice([*both.values(), "{'a': 1}"])
            letter = kind and ("A" if (kind == "original") == first else "B")
            said = json.dumps({"chosen_program": letter, "assertion": f"assert f(1) == {value}"})
            record = {
                "problem_index": place, "problem_id": row["id"], "run_index": run,
                "function_name": row["function_name"], "original_first": first,
                "test_input": "f(1)", "latency_s": 0.5, "include_reversion": reverts,
                "response": f"I take it.\n{said}" if kind else "I cannot decide",
                "chosen_program_letter": letter, "chosen_program_type": kind, "prediction": None,
            }  # fmt: skip
            records.append(record)
            if kind is None:
                invalid += 1
                continue
            other = both["mutated" if kind == "original" else "original"]
            record |= {"prediction": value, "expected_output": both[kind], "other_output": other}
            held = tally["OC" if kind == "original" else "MC"]
            tally["preference"].update([kind, "total"])
            held.update({"total": 1, "correct": same(value, both[kind])})
            if reverts:
                held.update({"reversion_total": 1, "reversion_correct": same(value, other)})
    counts = {name: dict(found) for name, found in tally.items()} | {"invalid_runs": invalid}
    config = {"skip_boolean_for_reversion": skip, "seed": 123, "reasoning_effort": "low"}
    return {
        "choice": {
            "execution_choice_counts": counts,
            "execution_choice_config": config,
            "execution_choice_results": records,
        }
    }


@pytest.mark.parametrize("skip", [True, False])
def test_counts_of_choices_are_those_of_the_file(
    skip: bool, problems: list[Row], tmp_path: Path
) -> None:
    body = choice_file(problems, skip=skip)
    recorded = read_results(write_json(tmp_path / "claude_choice.json", body), None)
    run = written(recorded)
    counts = body["choice"]["execution_choice_counts"]
    total = counts["preference"]["total"]
    expected = {
        "preference_original": (counts["preference"]["original"], total),
        "preference_mutated": (counts["preference"]["mutated"], total),
        "oc_correct": (counts["OC"]["correct"], counts["OC"]["total"]),
        "mc_correct": (counts["MC"]["correct"], counts["MC"]["total"]),
        "or_reversion": (counts["OC"]["reversion_correct"], counts["OC"]["reversion_total"]),
        "mr_reversion": (counts["MC"]["reversion_correct"], counts["MC"]["reversion_total"]),
        "invalid_runs": (counts["invalid_runs"], 2 * len(problems)),
    }
    assert {name: run.counts(f"{name}_faithful") for name in expected} == expected
    spec = run.folder.spec()
    assert (spec.benchmark, spec.model) == ("code-choice", "answers/claude_choice")
    assert (spec.options["runs"], spec.options["reasoning"]) == (2, "low")
    assert run.metrics["seconds"]["k"] == pytest.approx(0.5 * 2 * len(problems))


def test_a_file_of_both_gives_a_run_of_each(
    problems: list[Row], shared_data: Path, tmp_path: Path
) -> None:
    body = result_file(problems[:3], skip=True) | choice_file(problems[:3], skip=True)
    data = shared_data / "execution" / "mutated.jsonl"
    one, two = bedrock.read_results(write_json(tmp_path / "r.json", body), data)
    assert (one.spec.benchmark, two.spec.benchmark) == ("code-prediction", "code-choice")
    assert one.spec.model == two.spec.model == "answers/us.claude-4-5"
    assert two.items[0][0].inputs["code"] == problems[0]["code"]
    written(two)


def test_choices_count_as_the_file_has_them_and_cases_are_kept_apart(
    home: Path, tmp_path: Path
) -> None:
    def record(first: bool, letter: str | None, prediction: str | None, response: str) -> Row:
        kind = letter and ("original" if (letter == "A") == first else "mutated")
        told = {"expected_output": "1", "other_output": "2"} if kind == "original" else {}
        told = {"expected_output": "2", "other_output": "1"} if kind == "mutated" else told
        return {
            "problem_index": 4, "problem_id": "p", "function_name": "f", "original_first": first,
            "test_input": "f(1)", "response": response, "chosen_program_letter": letter,
            "chosen_program_type": kind, "prediction": prediction, **told,
        }  # fmt: skip

    valid = '{"chosen_program": "A", "assertion": "assert f(1) == 1"}'
    records = [
        record(True, "A", "1", valid),
        record(True, "B", "{'}': 2}", "nothing of it"),
        record(False, None, None, valid),
        record(False, "A", "2", ""),
    ]
    body = {"execution_choice_results": records}
    recorded = read_results(write_json(tmp_path / "r.json", body), None)
    run = written(recorded)
    assert run.counts("preference_mutated_faithful") == (2, 3)
    assert run.counts("oc_correct_faithful") == (1, 1)
    assert run.counts("mc_correct_faithful") == (1, 2)
    assert run.counts("invalid_runs_faithful") == (1, 4)
    assert any(note.startswith("2 choices other than") for note in recorded.notes)
    records[3]["original_first"] = True
    with pytest.raises(DataError, match="different numbers of test cases"):
        read_results(write_json(tmp_path / "s.json", body), None)
    del records[2]["original_first"]
    with pytest.raises(DataError, match="row 3: this is no run's result"):
        read_results(write_json(tmp_path / "t.json", body), None)


def test_records_say_themselves_what_counts_for_reversion(
    problems: list[Row], tmp_path: Path
) -> None:
    """Also for single test cases, and where the rule for booleans would say otherwise."""
    body = result_file(problems, skip=True)
    results, counts = body["prediction"]["results"], body["prediction"]["metrics_counts"]
    flipped = next(one for one in results if one["include_reversion"] is False)
    left_out = next(one for one in results if one["include_reversion"])
    for one, told in ((flipped, True), (left_out, False)):
        one["include_reversion"] = told
        for name, program, other in (("OR", "original", "mutated"), ("MR", "mutated", "original")):
            hits = [
                same(said["prediction"], one[f"{other}_output"])
                for said in one[f"{program}_predictions"]
            ]
            sign = 1 if told else -1
            counts[name]["success"] += sign * sum(hits)
            counts[name]["total"] += sign * len(hits)
    run = written(read_results(write_json(tmp_path / "r.json", body), None))
    check(run, body["prediction"])

    def record(case: int, first: bool, *, reverts: bool | None) -> Row:
        said = json.dumps({"chosen_program": "A", "assertion": "assert f(1) == True"})
        return {
            "problem_index": 0, "problem_id": "p", "function_name": "f", "original_first": first,
            "test_input": f"f({case})", "response": said, "chosen_program_letter": "A",
            "chosen_program_type": "original" if first else "mutated", "prediction": "True",
            "expected_output": "True", "other_output": "True", "include_reversion": reverts,
        }  # fmt: skip

    records = [
        record(case, first, reverts=[True, False, None][case])
        for first in (True, False)
        for case in range(3)
    ]
    for skip, of in ((True, 1), (False, 1)):
        config = {"skip_boolean_for_reversion": skip}
        whole = {"execution_choice_config": config, "execution_choice_results": records}
        made = written(read_results(write_json(tmp_path / f"{skip}.json", whole), None))
        # The case of which no record says anything goes by the rule.
        assert made.counts("or_reversion_faithful") == (of + (not skip), of + (not skip))


def test_choices_of_the_sisters_are_read(home: Path, tmp_path: Path) -> None:
    """Records at the top, by test case, with outputs only in what was said to be wrong."""

    def record(case: int, first: bool, letter: str | None, said: str, **more: Any) -> Row:
        kind = letter and ("original" if (letter == "A") == first else "mutated")
        return {
            "problem_index": 0, "case_idx": case, "problem_id": "p", "function_name": "f",
            "original_first": first, "response": said, "chosen_program_letter": letter,
            "chosen_program_type": kind, "prediction": said if letter else None,
            "correct_for_chosen_program": None, "reversion_for_other_program": None,
            "correctness_error": None, "reversion_error": None, "include_reversion": True,
        } | more  # fmt: skip

    wrong = {"correct_for_chosen_program": False, "reversion_for_other_program": True}
    right = {"correct_for_chosen_program": True, "reversion_for_other_program": False}
    records = [
        record(0, True, "A", "3", **right, reversion_error="Predicted: 3, Expected: 0"),
        record(1, True, "B", "7", **wrong, correctness_error="Predicted: 7, Expected: 1, 2"),
        record(0, False, None, ""),
        record(1, False, "A", "1, 2", **right, reversion_error="Predicted: 1, 2, Expected: 7"),
    ]
    counts = {"OC": (1, 1), "OR": (0, 1), "MC": (1, 2), "MR": (1, 2)}
    body = {
        "model": "sister", "skip_boolean_for_reversion": True, "results": records,
        "metrics_counts": {n: {"success": k, "total": of} for n, (k, of) in counts.items()},
    }  # fmt: skip
    recorded = read_results(write_json(tmp_path / "r.json", body), None)
    assert recorded.spec.benchmark == "code-choice"
    run = written(recorded)
    assert run.counts("mr_reversion_faithful") == (1, 2)
    assert run.folder.spec().model == "answers/sister"
    [(item, _)] = recorded.items
    assert item.gold == {"original": ["3", "7"], "mutated": ["0", "1, 2"]}
