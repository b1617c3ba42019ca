"""A record of Every Eval Ever (evaleval/every_eval_ever, schema 0.2.2) with its samples.

``BENCHMARK/DEVELOPER/MODEL/UUID.json`` holds the metrics, and ``UUID_samples.jsonl`` next to it one
line for each sample with a score.
"""

from __future__ import annotations

import hashlib
import re
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from evalbench.engine.benchmark import judge_name
from evalbench.engine.benchmarks.mt_bench.data import SPACE
from evalbench.engine.calls import Usage
from evalbench.engine.config.roles import CANDIDATE, JUDGE
from evalbench.engine.errors import counted
from evalbench.engine.formats.files import Files
from evalbench.engine.installed import version
from evalbench.engine.journal import CallRow, ScoreRow
from evalbench.engine.runs.reader import (
    RunReader,
    SampleRecord,
    file_name,
    model_name,
    role_of,
)
from evalbench.engine.runs.rows import as_text, question
from evalbench.engine.runs.sanitize import json_bytes

_VERSION = "0.2.2"
_HUB = re.compile(r"[\w.-]+/[\w.-]+")
_LOWER = {"invalid_runs", "loss_rate", "or", "mr", "or_reversion", "mr_reversion"}
"""Metrics for which lower is better."""


def write(run: RunReader, files: Files) -> list[str]:
    """Add the record and its samples to ``files``; returns what was left out."""
    model = run.candidate
    developer, _, name = model.rpartition("/")
    ident = str(uuid.uuid5(uuid.NAMESPACE_URL, f"evalbench:{run.id}"))
    place = "/".join(map(file_name, (run.spec.label, developer or "unknown", name)))
    written = failed = 0
    digest = hashlib.sha256()
    with files.open(f"{place}/{ident}_samples.jsonl") as file:
        for walked in run.walk():
            for epoch, score in sorted(walked.scores.items()):
                value = run.grade(score, run.headline)
                if value is None:
                    failed += 1
                    continue
                line = json_bytes(_instance(run, walked, epoch, score, value)) + b"\n"
                digest.update(line)
                file.write(line)
                written += 1
    record = _record(run)
    record["detailed_evaluation_results"] = {
        "format": "jsonl",
        "file_path": f"{ident}_samples.jsonl",
        "hash_algorithm": "sha256",
        "checksum": digest.hexdigest(),
        "total_rows": written,
    }
    files.json(f"{place}/{ident}.json", record)
    notes = [
        "who you are to the model's maker is not known: evaluator_relationship says other,"
        " source_organization_name says unknown; fill them in before you publish"
    ]
    if failed:
        notes.append(f"{counted(failed, 'sample')} without a score left out")
    return notes


def _name(run: RunReader) -> str:
    """The benchmark's own title, or its name."""
    return run.status.title or run.spec.label


def _evaluation(run: RunReader) -> str:
    return f"{run.spec.label}/{run.candidate}/{run.created:.0f}"


def _result(run: RunReader, metric: str) -> str:
    return f"{_evaluation(run)}#{metric}"


def _record(run: RunReader) -> dict[str, Any]:
    when = datetime.fromtimestamp(run.created, UTC).isoformat()
    return {
        "schema_version": _VERSION,
        "evaluation_id": _evaluation(run),
        "evaluation_timestamp": when,
        "retrieved_timestamp": str(time.time()),
        "source_metadata": {
            "source_name": "evalbench",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "evalbench",
            "version": version(),
            "additional_details": {
                "benchmark_version": as_text(run.record.get("benchmark", {}).get("version")),
                "prompt_templates": as_text(run.record.get("benchmark", {}).get("templates")),
                "run": run.id,
            },
        },
        "model_info": _model(run.spec.model, run.candidate),
        "evaluation_results": [
            _metric(run, name, metric)
            for name, metric in run.metrics.items()
            if not metric["group"] and metric["value"] is not None
        ],
    }


def _model(model: str, known_as: str) -> dict[str, Any]:
    name = model_name(model)
    platform, _, own = name.partition("/")
    info = {"name": own or name, "id": known_as}
    if own and model == name:
        info |= {"inference_platform": platform}
    return info


def _metric(run: RunReader, name: str, metric: Mapping[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = {
        "evaluation_description": metric["title"] or name,
        "metric_id": f"{run.spec.label}.{name}",
        "metric_name": metric["title"] or name,
        "metric_unit": "proportion" if metric["share"] else "points",
        "lower_is_better": name in _LOWER,
    }
    if metric["share"]:
        config |= {"score_type": "continuous", "min_score": 0.0, "max_score": 1.0}
    if run.judges:
        names = [model_name(judge_name(role)) for role in run.judges]
        judges = [{"model_info": _model(name, name)} for name in names]
        prompt = "see the messages of role judge in evalbench's own export"
        config["llm_scoring"] = {"judges": judges, "input_prompt": prompt}
    uncertainty: dict[str, Any] = {"num_samples": round(metric["n"])}
    if metric["low"] is not None:
        uncertainty["confidence_interval"] = {
            "lower": metric["low"],
            "upper": metric["high"],
            "confidence_level": 0.95,
            "method": metric["interval"],
        }
    details = {part: as_text(metric[part]) for part in ("k", "n", "bound_low", "bound_high")}
    return {
        "evaluation_result_id": _result(run, name),
        "evaluation_name": _name(run),
        "source_data": _source(run),
        "metric_config": config,
        "score_details": {"score": metric["value"], "details": details, "uncertainty": uncertainty},
        "generation_config": {"generation_args": _generation(run)},
    }


def _generation(run: RunReader) -> dict[str, Any]:
    asked = run.spec.roles()[CANDIDATE].overrides()
    return {n: asked[n] for n in ("temperature", "top_p", "top_k", "max_tokens") if n in asked}


def _source(run: RunReader) -> dict[str, Any]:
    data = run.record.get("data", {})
    origin = str(data.get("origin") or "")
    named = {"dataset_name": run.spec.label}
    if _HUB.fullmatch(origin) and origin != SPACE and data.get("revision"):
        named |= {"source_type": "hf_dataset", "hf_repo": origin, "hf_revision": data["revision"]}
        return {**named, "samples_number": run.size}
    return {
        **named,
        "source_type": "other",
        "source_id": origin or run.spec.label,
        "source_version": as_text(data.get("revision") or data.get("hash")),
    }


def _instance(
    run: RunReader, record: SampleRecord, epoch: int, score: ScoreRow, value: float
) -> dict[str, Any]:
    calls = [call for call in record.answers(epoch) if role_of(call) == CANDIDATE]
    parsed = score.detail.get("parsed") or {}
    choices = record.sample.inputs.get("choices")
    given, gold = question(record), as_text(record.sample.gold)
    alone = len(calls) <= 1 and all(_turns(call) == 1 for call in calls)
    instance: dict[str, Any] = {
        "schema_version": f"instance_level_eval_{_VERSION}",
        "evaluation_id": _evaluation(run),
        "evaluation_result_id": _result(run, run.headline),
        "model_id": run.candidate,
        "evaluation_name": _name(run),
        "sample_id": record.sample.id,
        "sample_hash": hashlib.sha256((given + gold).encode()).hexdigest(),
        "interaction_type": "single_turn" if alone else "multi_turn",
        "input": {
            "raw": given,
            "formatted": "\n\n".join(m.text for m in calls[0].prompt.messages) if calls else None,
            "reference": [gold] if gold else [],
            "choices": list(map(str, choices)) if isinstance(choices, list) else None,
        },
        "answer_attribution": [
            {
                "turn_idx": 0 if alone else max(0, len(_messages(calls)) - 1),
                "source": "output.raw" if alone else "messages[turn_idx].content",
                "extracted_value": as_text(read),
                "extraction_method": parser,
                "is_terminal": True,
            }
            for parser, read in parsed.items()
        ],
        "evaluation": {"score": value, "is_correct": value >= 1 and run.metrics_are_shares},
        "metadata": {
            **{name: str(tag) for name, tag in record.sample.tags.items()},
            "outcome": score.outcome.value,
            "epoch": str(epoch),
        },
    }
    if alone:
        replies = [call.reply for call in calls if call.reply]
        reasons = [reply.reasoning for reply in replies if reply.reasoning]
        instance["output"] = {
            "raw": [reply.text for reply in replies],
            "reasoning_trace": reasons or None,
        }
    else:
        instance["messages"] = _messages(calls)
        instance["evaluation"]["num_turns"] = len(calls)
    return instance | _measured(record, epoch)


def _turns(call: CallRow) -> int:
    return sum(message.role in ("user", "context") for message in call.prompt.messages)


def _messages(calls: list[CallRow]) -> list[dict[str, Any]]:
    """The last call's conversation with its answer; independent calls one after another."""
    shown: list[tuple[str, str]] = []
    for call in calls:
        turns = [(message.role, message.text) for message in call.prompt.messages]
        # A call that continues a conversation repeats it.
        fresh = turns[len(shown) :] if turns[: len(shown)] == shown else turns
        shown += [*fresh, ("assistant", call.reply.text if call.reply else "")]
    return [{"turn_idx": n, "role": role, "content": text} for n, (role, text) in enumerate(shown)]


def _measured(record: SampleRecord, epoch: int) -> dict[str, Any]:
    """The candidate's tokens and time."""
    replies = [
        call.reply
        for call in record.answers(epoch)
        if call.reply and not role_of(call).startswith(JUDGE)
    ]
    measured: dict[str, Any] = {}
    usages: list[Usage] = [r.usage for r in replies if r.usage.input_tokens is not None]
    if usages:
        given = sum(usage.input_tokens or 0 for usage in usages)
        made = sum(usage.output_tokens or 0 for usage in usages)
        measured["token_usage"] = {
            "input_tokens": given,
            "output_tokens": made,
            "total_tokens": given + made,
        }
    if seconds := sum(reply.latency_s for reply in replies):
        measured["performance"] = {"latency_ms": seconds * 1000}
    return measured
