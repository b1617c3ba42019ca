"""SpecEval's folders, as ahmeda14960/specevaldataset (commit b1936bda) writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.benchmark import judge_name
from evalbench.engine.benchmarks.spec_adherence.compliance_parsers import read_compliance
from evalbench.engine.benchmarks.spec_adherence.rank import ORDERS
from evalbench.engine.benchmarks.spec_adherence.ranking_parsers import read_rank
from evalbench.engine.config.roles import CANDIDATE
from evalbench.engine.formats.files import Files
from evalbench.engine.journal.records import BatchRow
from evalbench.engine.runs.reader import (
    RunReader,
    SampleSummary,
    file_name,
    same_name,
)

_FAILED = "ERROR: there is no answer"
"""What SpecEval stores instead of an answer; such entries are not judged."""

Entries = dict[str, dict[str, list[dict[str, Any]]]]
"""Objects by folder and statement."""


def write(run: RunReader, files: Files) -> list[str]:
    """Add the run's folders to ``files``; returns what was left out."""
    entries: Entries = {}
    notes: list[str] = []
    writer = {"spec-generate": _answers, "spec-comply": _compliance, "spec-rank": _rankings}
    unjudged = sum(writer[run.spec.benchmark](run, summary, entries) for summary in run.samples())
    batches = run.batches()
    for folder, statements in entries.items():
        for statement, objects in statements.items():
            body = _body(run, folder, statement, objects)
            files.json(f"{folder}/results/{same_name(statement)}.json", body)
        for batch in batches:
            if _is_of(run, batch.body["role"], folder):
                metadata = _batch(batch)
                files.json(f"{folder}/metadata/{file_name(metadata['batch_id'])}.json", metadata)
    if unjudged:
        notes.append(f"{unjudged} judgements that nobody gave were left out")
    return notes


def _body(run: RunReader, folder: str, statement: str, objects: list[dict[str, Any]]) -> Any:
    """A result file's content; what all its objects have in common goes into the metadata."""
    if run.spec.benchmark == "spec-generate":
        return objects
    names = [one.pop("names") for one in objects]
    if run.spec.benchmark == "spec-comply":
        meta = {"model": names[0], "statement_id": statement, "batch_ids": [run.id]}
        return {"metadata": meta, "results": objects}
    judge, one, two = names[0]
    meta = {
        "ranking_judge_model_info": judge,
        "model_a": one,
        "model_b": two,
        "org_spec_name": _spec_name(run),
        "statement_id": statement,
        "batch_id": run.id,
        "timestamp": run.stamp,
    }
    return {"metadata": meta, "rankings": sorted(objects, key=lambda one: str(one["input"]))}


def _spec_name(run: RunReader) -> str:
    """The specification's name in the tree: as requested, or that of its file."""
    return str(run.spec.options.get("spec_name") or run.origin)


def _is_of(run: RunReader, role: str, folder: str) -> bool:
    """Whether a role's batches belong to a folder: the judge's, or the model's."""
    if role == CANDIDATE:
        return run.spec.benchmark == "spec-generate"
    return f"/judge_{file_name(_judge(run, role))}/" in folder


def _batch(batch: BatchRow) -> dict[str, Any]:
    """A batch under the original's field names; the requests stay with the run."""
    job = batch.body.get("job") or {}
    return {
        "batch_id": str(job.get("id") or batch.name),
        "status": "completed" if batch.state == "done" else batch.state,
        "model": batch.body.get("model"),
        "request_count": batch.body.get("requests"),
        "answered": batch.body.get("answered"),
        "failed": batch.body.get("failed"),
        "_internal_input_filepath": f"batches/{batch.name}.requests.jsonl",
    }


def _put(entries: Entries, folder: str, summary: SampleSummary, value: dict[str, Any]) -> None:
    statement = str(summary.sample.inputs["statement"]["id"])
    entries.setdefault(folder, {}).setdefault(statement, []).append(value)


def _answers(run: RunReader, summary: SampleSummary, entries: Entries) -> int:
    text = summary.text(CANDIDATE, "answer")
    folder = f"{file_name(_spec_name(run))}/{file_name(run.candidate)}/{run.stamp}"
    given = summary.sample.inputs
    value = {
        "original_index": given["index"],
        "input_text": given["input"],
        "output_text": _FAILED if text is None else text,
        "batch_id": run.id,
    }
    _put(entries, folder, summary, value)
    return 0


def _judge_folder(run: RunReader, role: str, name: str) -> str:
    judge = file_name(_judge(run, role))
    return f"spec_{file_name(_spec_name(run))}/judge_{judge}/{file_name(name)}"


def _judge(run: RunReader, role: str) -> str:
    return run.named(judge_name(role))


def _compliance(run: RunReader, summary: SampleSummary, entries: Entries) -> int:
    given: Mapping[str, Any] = summary.sample.inputs
    answer = given["answer"] if "answer" in given else summary.text(CANDIDATE, "answer")
    name = summary.sample.tags.get("contestant") or run.candidate
    missing = 0
    for role in run.judges:
        text = summary.text(role, "comply")
        if text is None and answer is not None:
            missing += 1
            continue
        read = read_compliance(text or "")
        value = {
            "input": given["input"],
            "output": _FAILED if answer is None else answer,
            **read._asdict(),
            "names": name,
        }
        _put(entries, _judge_folder(run, role, name), summary, value)
    return missing


def _rankings(run: RunReader, summary: SampleSummary, entries: Entries) -> int:
    names = summary.sample.tags["a"], summary.sample.tags["b"]
    outputs = [_FAILED if output is None else output for output in summary.sample.inputs["answers"]]
    whole = None not in summary.sample.inputs["answers"]
    missing = 0
    for role in run.judges:
        for order, (a, b) in zip(ORDERS, ((0, 1), (1, 0)), strict=True):
            text = summary.text(role, order)
            if text is None and whole:
                missing += 1
                continue
            value = {
                "input": summary.sample.inputs["input"],
                "output_a": outputs[a],
                "output_b": outputs[b],
                "rank": read_rank(text or ""),
                "raw_judge_response": text,
                "names": (_judge(run, role), names[a], names[b]),
            }
            _put(entries, _judge_folder(run, role, f"{names[a]}x{names[b]}"), summary, value)
    return missing
