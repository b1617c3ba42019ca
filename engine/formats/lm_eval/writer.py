"""lm-evaluation-harness's files: ``MODEL/results_DATE.json`` and ``samples_TASK_DATE.jsonl``.

The layout is that of its ``EvaluationTracker`` (version 0.4.9): metrics by task, and for
each document its questions, answers and scores.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import IO, Any

import orjson

from evalbench.engine.benchmarks.lm_eval.aggregation import CORPUS_METRICS
from evalbench.engine.benchmarks.lm_eval.benchmark import LmEval
from evalbench.engine.benchmarks.recorded import Recorded
from evalbench.engine.calls import Outcome
from evalbench.engine.config.roles import CANDIDATE
from evalbench.engine.errors import counted
from evalbench.engine.formats.files import Files
from evalbench.engine.installed import version
from evalbench.engine.journal import CallRow
from evalbench.engine.runs.reader import RunReader, SampleRecord, file_name, role_of
from evalbench.engine.runs.rows import as_text
from evalbench.engine.runs.sanitize import json_bytes
from evalbench.engine.scoring.statistics import Z95

_NAMES = {"accuracy": "acc"}
"""The harness's names of our metrics."""
_ITS_OWN = f"{LmEval.name}/"
"""What the names of its own tasks begin with."""
_OF = re.compile("/(?:task|group)=")
"""Between a metric and the part of a group that it belongs to."""


def write(run: RunReader, files: Files) -> list[str]:
    """Add results and samples to ``files``; returns what they cannot contain."""
    task = file_name(run.spec.label.removeprefix(_ITS_OWN))
    model = file_name(run.candidate.replace("/", "__"))
    date = datetime.fromtimestamp(run.created, UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
    opened: dict[str, IO[bytes]] = {}
    if not _is_its_own(run):
        opened[task] = files.open(f"{model}/samples_{task}_{date}.jsonl")
    written: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for record in run.walk():
        own = str(record.sample.inputs["task"]) if _is_its_own(run) else task
        asked[own] += 1
        values = _values(run, record)
        if values is None:
            continue
        written[own] += 1
        if own not in opened:
            opened[own] = files.open(f"{model}/samples_{file_name(own)}_{date}.jsonl")
        for line in _lines(run, record, values):
            opened[own].write(json_bytes(line) + b"\n")
    if _is_its_own(run):
        found = _its_own_results(run, asked, written)
    else:
        found = _results(run, task, written[task])
    files.json(f"{model}/results_{date}.json", {**found, **_about(run, model)})
    failed = asked.total() - written.total()
    if failed:
        lost = counted(failed, "sample")
        return [f"{lost} without a score left out: the harness knows none"]
    return []


def _its_own_results(
    run: RunReader, asked: Mapping[str, int], written: Mapping[str, int]
) -> dict[str, Any]:
    """The tables of a run of its own tasks, as ``EvalAcc`` of the harness makes them."""
    tasks, groups = run.meta["shared"]["tasks"], run.meta["shared"]["groups"]
    top = run.meta["shared"]["task"]
    tables: dict[str, dict[str, Any]] = {
        name: {"name": name, "alias": one["alias"], "sample_len": written.get(name, 0)}
        for name, one in tasks.items()
    }
    for one in groups:
        size = sum(written.get(name, 0) for name in one["tasks"])
        more = {"sample_len": size} if one["metrics"] else {}
        tables[one["name"]] = {"alias": one["alias"], "name": one["name"], **more}
    for name, metric in run.metrics.items():
        key, owner = [*_OF.split(name, maxsplit=1), top][:2]
        if owner not in tables:  # a tag with one task
            owner = next(iter(tasks))
        measure, _, filtered = key.rpartition(",")
        tables[owner][key] = metric["value"]
        if owner not in tasks and not measure.endswith("_stderr"):
            tables[owner].setdefault("sample_count", {})[key] = metric["n"]
        if not measure.endswith("_stderr"):
            tables[owner].setdefault(f"{measure}_stderr,{filtered}", "N/A")
    named = [one["name"] for one in groups]
    return {
        "results": tables,
        **({"groups": {name: tables[name] for name in named}} if named else {}),
        "group_subtasks": {one["name"]: one["children"] for one in groups},
        "configs": {name: one["config"] for name, one in tasks.items()},
        "versions": {one: tasks[one]["version"] for one in tasks}
        | {one["name"]: one["version"] for one in groups},
        "n-shot": {name: one["num_fewshot"] for name, one in tasks.items()},
        "higher_is_better": {name: one["higher_is_better"] for name, one in tasks.items()},
        "n-samples": {
            name: {"original": asked.get(name, 0), "effective": written.get(name, 0)}
            for name in tasks
        },
    }


def _about(run: RunReader, model: str) -> dict[str, Any]:
    """What was run, and with what."""
    own = run.meta["shared"] if _is_its_own(run) else {}
    return {
        "config": {
            "model": run.spec.candidate.provider,
            "model_args": {"pretrained": run.candidate},
            "limit": run.spec.settings.limit,
            "random_seed": run.spec.settings.seed,
            "gen_kwargs": run.spec.options.get("gen_kwargs") or {},
        },
        "git_hash": None,
        "date": run.created,
        "lm_eval_version": own.get("lm_eval_version"),
        "evalbench_version": version(),
        "model_source": run.spec.candidate.provider,
        "model_name": run.candidate,
        "model_name_sanitized": model,
        "total_evaluation_time_seconds": str(run.status.seconds),
    }


def _results(run: RunReader, task: str, written: int) -> dict[str, Any]:
    plain = {name: body for name, body in run.metrics.items() if not body["group"]}
    title = run.status.title or task
    table: dict[str, Any] = {"alias": title}
    for name, metric in plain.items():
        metric_name, _, filtered = _named(run, name).partition(",")
        table[f"{metric_name},{filtered or 'none'}"] = metric["value"]
        table[f"{metric_name}_stderr,{filtered or 'none'}"] = _stderr(metric)
    record = run.record.get("benchmark", {})
    shots = run.spec.options.get("shots") or 0
    data = run.record.get("data", {})
    return {
        "results": {task: table},
        "group_subtasks": {task: []},
        "configs": {
            task: {
                "task": task,
                "task_alias": title,
                "dataset_path": str(data.get("origin") or task),
                "metric_list": [{"metric": _named(run, name).partition(",")[0]} for name in plain],
                "num_fewshot": shots,
                "repeats": run.spec.settings.epochs,
                "metadata": {"version": record.get("version", ""), **run.spec.options},
            }
        },
        "versions": {task: record.get("version", "")},
        "n-shot": {task: shots},
        "higher_is_better": {task: {_named(run, name): True for name in list(plain)[:1]}},
        "n-samples": {task: {"original": run.size, "effective": written}},
    }


def _named(run: RunReader, metric: str) -> str:
    """The harness's name of a metric; imported metrics keep their names, filter included."""
    if run.spec.benchmark == Recorded.name or _is_its_own(run):
        return metric
    return _NAMES.get(metric, metric).replace(",", ";")


def _is_its_own(run: RunReader) -> bool:
    """Whether the run is of one of the harness's own tasks."""
    return run.spec.benchmark.startswith(_ITS_OWN)


def _stderr(metric: Mapping[str, Any]) -> float | str:
    """The harness's standard error for a mean of zeros and ones; else derived from the interval."""
    value, n = metric["value"], metric["n"]
    if metric["share"] and value is not None and n > 1 and metric["k"] <= n:
        return math.sqrt(value * (1 - value) / (n - 1))
    if metric["low"] is None:
        return "N/A"
    return float((metric["high"] - metric["low"]) / (2 * Z95))


def _values(run: RunReader, record: SampleRecord) -> dict[str, Any] | None:
    """Means over the scored epochs, the headline's first; None if none is scored."""
    found: dict[str, list[float]] = {}
    scored = False
    for score in record.scores.values():
        if _is_its_own(run):
            if score.outcome is Outcome.ERROR:
                continue
            numbers = dict(score.values)
        else:
            value = run.grade(score, run.headline)
            if value is None:
                continue
            numbers = {run.headline: value, **score.values}
        scored = True
        for name, number in numbers.items():
            found.setdefault(_named(run, name), []).append(number)
    if not scored:
        return None
    means = {name: sum(own) / len(own) for name, own in found.items()}
    return _with_lists(run, record, means) if _is_its_own(run) else means


def _with_lists(run: RunReader, record: SampleRecord, means: Mapping[str, float]) -> dict[str, Any]:
    """With the numbers of one metric, such as a log-likelihood and a length, in a list again."""
    how = run.meta["shared"]["tasks"][record.sample.inputs["task"]]["aggregation"]
    found: dict[str, Any] = {}
    for name, number in means.items():
        metric, several, _ = name.partition("#")
        if not several:
            found[name] = number
        # The counts of BLEU and the like are ours; the texts that the library has are in the line.
        elif how.get(metric.rpartition(",")[0]) not in CORPUS_METRICS:
            found.setdefault(metric, []).append(int(number) if number.is_integer() else number)
    return found


def _lines(
    run: RunReader, record: SampleRecord, values: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """The lines of a document: one per filter that its values belong to."""
    by_filter: dict[str, dict[str, Any]] = {}
    if _is_its_own(run):
        by_filter = {filtered: {} for filtered in _parsed(record)}
    for name, value in values.items():
        metric, _, filtered = name.partition(",")
        by_filter.setdefault(filtered or "none", {})[metric] = value
    for filtered, own in by_filter.items():
        yield _document(run, record, filtered, own)


def _parsed(record: SampleRecord) -> Mapping[str, Any]:
    """What the filters made of the first scored epoch's replies, by filter."""
    parsed = next(iter(record.scores.values())).detail.get("parsed")
    return parsed if isinstance(parsed, Mapping) else {}


def _document(
    run: RunReader, record: SampleRecord, filtered: str, values: Mapping[str, Any]
) -> dict[str, Any]:
    """A line of the samples file; epochs become repeats of its requests."""
    sample = record.sample
    doc = sample.inputs.get("doc") if _is_its_own(run) else {**sample.tags, **sample.inputs}
    if run.spec.benchmark != Recorded.name and not _is_its_own(run):
        doc = {"sample_id": sample.id, **sample.tags, "answer": sample.gold, **sample.inputs}
    own = run.meta["shared"]["tasks"][sample.inputs["task"]] if _is_its_own(run) else {}
    settings = own.get("config", {}).get("generation_kwargs")
    requests: dict[tuple[str, int, int], tuple[Any, Any, list[Any]]] = {}
    for epoch in sorted(record.scores):
        for call in record.answers(epoch):
            if role_of(call) == CANDIDATE:
                for number, (context, wanted, response) in enumerate(_asked(call)):
                    wanted = settings if call.prompt.kind == "generate" and settings else wanted
                    place = (call.key.step, call.key.repeat, number)
                    requests.setdefault(place, (context, wanted, []))[2].append(response)
    asked = list(requests.values())
    target = as_text(sample.gold)
    prompt = as_text(asked[0][0]) if asked else ""
    return {
        "doc_id": sample.inputs["doc_id"] if _is_its_own(run) else record.row - 1,
        "doc": doc,
        "target": target,
        "arguments": {
            f"gen_args_{number}": {"arg_0": context, "arg_1": wanted}
            for number, (context, wanted, _) in enumerate(asked)
        },
        "resps": [response for _, _, response in asked],
        "filtered_resps": _filtered(record, filtered) or [response[0] for _, _, response in asked],
        "filter": filtered,
        "metrics": list(values),
        "doc_hash": sample.inputs["doc_hash"]
        if _is_its_own(run)
        else _hash(orjson.dumps(doc, option=orjson.OPT_INDENT_2)),
        "prompt_hash": _hash(prompt.encode()),
        "target_hash": _hash(target.encode()),
        **values,
    }


def _filtered(record: SampleRecord, filtered: str) -> list[Any]:
    """What a filter of one of the harness's own tasks made of the first epoch's replies."""
    requests = record.sample.inputs.get("requests")
    if not isinstance(requests, list):
        return []
    found = _parsed(record).get(filtered)
    return [_sanitized(one) for one in ([found] if len(requests) == 1 else found or ())]


def _sanitized(value: Any) -> Any:
    """As ``lm_eval.utils.sanitize_list``: what is in lists is text."""
    return [_sanitized(one) for one in value] if isinstance(value, list) else str(value)


def _asked(call: CallRow) -> Iterator[tuple[Any, Any, Any]]:
    """Context, request and result of every request, as the harness makes them."""
    assert call.reply
    turns = [(message.role, message.text) for message in call.prompt.messages]
    alone = len(turns) == 1 and turns[0][0] in ("user", "context")
    context = turns[0][1] if alone else [{"role": r, "content": text} for r, text in turns]
    if call.prompt.kind == "generate":
        yield context, call.prompt.params.asked(), call.reply.text
        return
    raw, best = call.reply.raw, max(call.reply.logprobs, default=None)
    flags = raw.get("greedy") if isinstance(raw, Mapping) else None
    # Where nothing says which are greedy, the most likely one is used instead.
    greedy = flags or [number == best for number in call.reply.logprobs]
    for text, number, flag in zip(
        call.prompt.continuations, call.reply.logprobs, greedy, strict=False
    ):
        yield context, text, [str(number), str(flag)]


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
