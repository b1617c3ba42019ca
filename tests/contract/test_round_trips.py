"""Import, export, import again: every number is the same, for every format that has a reader.

The real files of the shared data folder are tried, and a small run of each benchmark.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalbench.engine.formats import export_runs
from evalbench.engine.formats.bedrock_evaluator import reader as bedrock
from evalbench.engine.formats.fastchat import reader as fastchat
from evalbench.engine.formats.full.reader import import_whole
from evalbench.engine.formats.inspect.reader import read_log
from evalbench.engine.formats.lm_eval.reader import read_samples
from evalbench.engine.formats.mmlu_experiment.reader import read_experiment
from evalbench.engine.formats.openseesime import reader as openseesime
from evalbench.engine.formats.recorded import Recorded, write_run
from evalbench.engine.formats.speceval.reader import read_folder
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import RunFolder
from tests.contract.test_exporting_formats import code_run, mmlu_run, mt_bench_run, picture_run
from tests.imports import write_json, write_lines

Row = dict[str, Any]
Reader = Callable[[Path], Sequence[Recorded]]
"""Reads the folder or file of an export."""


def numbers(folder: RunFolder) -> Mapping[str, Any]:
    """Every metric's numerator, denominator and value, and the outcomes."""
    with JournalReader(folder.journal) as journal:
        metrics = journal.meta("metrics")
        found = {name: (one["k"], one["n"], one["value"]) for name, one in metrics.items()}
        return {**found, "outcomes": journal.meta("outcomes"), "model": folder.spec().model}


def written_all(runs: Sequence[Recorded]) -> list[RunFolder]:
    return [asyncio.run(write_run(run)) for run in runs]


def goes_round(runs: Sequence[RunFolder], name: str, place: Path, read: Reader) -> None:
    """What was imported is exported and imported again, to the same numbers."""
    done = export_runs(runs, name, place)
    assert done.files
    again = written_all(read(place))
    assert len(again) == len(runs)
    for before, after in zip(runs, again, strict=True):
        assert numbers(after) == numbers(before)


# -- the files of the shared data folder --------------------------------------------

MODELS = ("sample-model-a", "org-max-mini")
EXPERIMENTS = [
    f"{model}/{style}"
    for model in ("claude-3-sonnet-20240229", "deepseek-chat")
    for style in ("default", "permuted", "uppercase", "randomcase", "duplicatewrong")
]
RESULTS = [
    *((f"speceval {one}", name) for one in MODELS for name in ("json", "inspect", "lm-eval", "")),
    *(("fastchat gpt-4", name) for name in ("json", "inspect", "")),
    *((f"mmlu {one}", name) for one in EXPERIMENTS for name in ("json", "inspect", "lm-eval", "")),
]
"""Every file of results there, with every format that can hold it and is read; "" is its own."""


@pytest.mark.share(5)
@pytest.mark.parametrize(("file", "name"), RESULTS)
def test_a_shared_file_comes_back_with_its_numbers(
    file: str, name: str, shared_data: Path, home: Path, tmp_path: Path
) -> None:
    kind, _, part = file.partition(" ")
    place, read = SHARED[kind](shared_data, part, tmp_path / "made")
    first, out = read(place), tmp_path / "out"
    [run] = written_all(first)
    assert export_runs([run], name or None, out).files or name
    known_as = "mmlu" if kind == "mmlu" else "recorded"
    if name == "json":
        again = asyncio.run(import_whole(next(out.iterdir()), tmp_path / "again"))
    elif name == "inspect":
        [again] = written_all([read_log(next(out.iterdir()), known_as)])
    elif name == "lm-eval":
        [again] = written_all(read_samples(next(out.iterdir()), known_as))
    else:
        back = read(out)
        # Word for word the same questions and answers.
        assert sorted(map(repr, back[0].items)) == sorted(map(repr, first[0].items))
        [again] = written_all(back)
    before, after = numbers(run), numbers(again)
    if known_as == "recorded" and name in ("inspect", "lm-eval"):
        # Such logs have one number for each sample, without groups; inspect's is called after
        # the benchmark.
        headline = after.get("spec-generate") or after.get("answered")
        assert (headline, after["model"]) == (before.get("answered"), before["model"])
        return
    assert after == before


def _generations(shared: Path, model: str, made: Path) -> tuple[Path, Reader]:
    sample = shared / "speceval" / "sample"
    spec = sample / "specs" / "sample.jsonl"
    return sample / "generations" / model, lambda place: [read_folder(place, spec)]


def _answers(shared: Path, model: str, made: Path) -> tuple[Path, Reader]:
    folder = shared / "mt_bench"

    def read(place: Path) -> list[Recorded]:
        file = place if place.is_file() else next((place / "model_answer").iterdir())
        return fastchat.read_results(file, folder, None)

    return folder / "reference_answer" / f"{model}.jsonl", read


def _experiment(shared: Path, column: str, made: Path) -> tuple[Path, Reader]:
    """An experiment as its system writes it, of every two hundredth question and its prediction."""
    test, found = (
        pq.read_table(shared / "mmlu" / name).to_pylist()[::200]
        for name in ("test.parquet", "recorded_predictions.parquet")
    )
    rows = [
        {name: row[name] for name in ("question", "subject", "choices", "answer")}
        | {"predicted": said[column]}
        for row, said in zip(test, found, strict=True)
    ]
    write_json(made / "config.json", {"model": column.partition("/")[0]})
    pq.write_table(pa.Table.from_pylist(rows), made / "results.parquet")

    def read(place: Path) -> list[Recorded]:
        kept = pq.read_table(place / "results.parquet").select(list(rows[0])).to_pylist()
        assert kept == rows
        return [read_experiment(place)]

    return made, read


SHARED = {"speceval": _generations, "fastchat": _answers, "mmlu": _experiment}


# -- a run of each benchmark, always ------------------------------------------------


def imported_once(runs: Sequence[RunFolder], name: str, place: Path, read: Reader) -> None:
    """A run made here goes out and comes back, and what came back goes round."""
    export_runs(runs, name, place / "first")
    backs = written_all(read(place / "first"))
    goes_round(backs, name, place / "second", read)


def test_executions(home: Path, tmp_path: Path) -> None:
    runs = [code_run("code-prediction"), code_run("code-choice")]

    def read(place: Path) -> list[Recorded]:
        (file,) = place.iterdir()
        return bedrock.read_results(file, None)

    imported_once(runs, "bedrock", tmp_path, read)
    for run in runs:
        imported_once([run], "bedrock", tmp_path / run.spec().benchmark, read)
    whole = orjson.loads(next((tmp_path / "first").iterdir()).read_bytes())
    choice, predicted = whole["choice"], whole["prediction"]
    counts = [*predicted["metrics_counts"].values(), *choice["execution_choice_counts"].values()]
    flat = [n for one in counts for n in (one.values() if isinstance(one, dict) else [one])]
    assert all(isinstance(number, int) for number in flat)
    assert predicted["benchmark_summary"].keys() >= {
        "dataset", "problems_evaluated", "generations_per_problem", "oc_pass_at_1",
        "or_pass_at_1", "mc_pass_at_1", "mr_pass_at_1", "avg_latency_s",
        "reversion_skipped_problems",
    }  # fmt: skip
    assert choice["execution_choice_summary"].keys() >= {
        "dataset", "problems_evaluated", "runs_per_problem", "preference_original",
        "preference_mutated", "oc_correct", "or_reversion", "mc_correct", "mr_reversion",
        "avg_latency_s", "invalid_runs", "reversion_skipped_problems",
    }  # fmt: skip
    # The numbers of each record are those that the counts are made of.
    for name in ("oc", "or", "mc", "mr"):
        total = sum(one[f"{name}_successes"] or 0 for one in predicted["results"])
        assert total == predicted["metrics_counts"][name.upper()]["success"]
    records = choice["execution_choice_results"]
    chosen = [one for one in records if one["chosen_program_type"] == "original"]
    assert choice["execution_choice_counts"]["OC"]["correct"] == sum(
        one["correct_for_chosen_program"] for one in chosen
    )


def test_pictures(home: Path, tmp_path: Path) -> None:
    imported_once(
        [picture_run()],
        "openseesime",
        tmp_path,
        lambda place: openseesime.read_results(next(place.iterdir())),
    )


def test_questions(home: Path, tmp_path: Path) -> None:
    run = mmlu_run()
    imported_once([run], "mmlu-experiment", tmp_path / "a", lambda place: [read_experiment(place)])
    for benchmark in ("recorded", "mmlu"):
        imported_once(
            [run],
            "inspect",
            tmp_path / benchmark,
            lambda place, benchmark=benchmark: [read_log(next(place.iterdir()), benchmark)],  # type: ignore[misc]
        )
        imported_once(
            [run],
            "lm-eval",
            tmp_path / f"lm-{benchmark}",
            lambda place, benchmark=benchmark: read_samples(next(place.iterdir()), benchmark),  # type: ignore[misc]
        )
    [whole] = export_runs([run], "json", tmp_path / "j").files
    back = asyncio.run(import_whole(whole, tmp_path / "elsewhere"))
    assert numbers(back) == numbers(run)


def test_logs_with_several_scorers_and_filters(home: Path, tmp_path: Path) -> None:
    def sample(n: int) -> Row:
        return {
            "id": n, "epoch": 1, "input": f"q {n}", "target": "x", "metadata": {"topic": "t"},
            "output": {"choices": [{"message": {"role": "assistant", "content": "x"}}]},
            "scores": {
                "match": {"value": "CIP"[n], "answer": "x", "explanation": "so"},
                "rubric": {"value": {"style": n / 2, "facts": {"deep": 1.0}}},
            },
        }  # fmt: skip

    log = {"eval": {"task": "mine", "model": "org/m"}, "samples": [sample(n) for n in range(3)]}
    first = read_log(write_json(tmp_path / "log.json", log))
    runs = written_all([first])
    assert set(numbers(runs[0])) >= {"match", "rubric/style", "rubric/facts/deep"}
    goes_round(runs, "inspect", tmp_path / "i", lambda place: [read_log(next(place.iterdir()))])

    line = {"doc": {"question": "q"}, "target": "x", "arguments": [["q", {}]], "resps": [["x"]],
            "filtered_resps": ["x"]}  # fmt: skip
    lines = [
        {
            **line,
            "doc_id": n,
            "filter": name,
            "exact_match": float(n == 1),
            "metrics": ["exact_match"],
        }
        for n in range(3)
        for name in ("strict-match", "flexible-extract")
    ]
    file = write_lines(tmp_path / "org__m" / "samples_mine_2026-11-29T09-00-00.0.jsonl", lines)
    goes_round(
        written_all(read_samples(file, "recorded")),
        "lm-eval",
        tmp_path / "l",
        lambda place: read_samples(next(place.iterdir()), "recorded"),
    )


def test_talks(home: Path, tmp_path: Path) -> None:
    questions = [
        {"question_id": 81 + n, "category": "writing" if n else "math",
         "turns": [f"first {n}", f"second {n}"]}
        for n in range(3)
    ]  # fmt: skip
    write_lines(tmp_path / "mt" / "question.jsonl", questions)

    def read(place: Path) -> list[Recorded]:
        return [
            recorded
            for file in sorted((place / "model_judgment").iterdir())
            for recorded in fastchat.read_results(file, tmp_path / "mt", place / "model_answer")
        ]

    imported_once([mt_bench_run()], "fastchat", tmp_path / "out", read)
