"""An ``.eval`` log as inspect_ai writes and reads it (its log version 2).

A zip file of JSON: ``_journal/start.json``, a file for each sample and epoch, ``summaries.json``
for the viewer's list, and ``header.json``. Every call of a sample, including judges', is a model
event in its transcript.
"""

from __future__ import annotations

import base64
import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from evalbench.engine.benchmark import judge_name
from evalbench.engine.benchmarks.recorded import Recorded, given_by
from evalbench.engine.calls import MediaPart, Message, Outcome, Reply, Usage
from evalbench.engine.config.roles import CANDIDATE
from evalbench.engine.formats.files import Files
from evalbench.engine.installed import version
from evalbench.engine.journal import CallRow, ScoreRow
from evalbench.engine.runs.reader import RunReader, SampleRecord, model_name, role_of
from evalbench.engine.runs.rows import as_text, question
from evalbench.engine.runs.sanitize import json_bytes
from evalbench.engine.runs.status import State
from evalbench.engine.scoring.letters import LETTERS

RECORDED = Recorded.name

_LOG_VERSION = 2
_SHORT = 200
_STOPS = {
    Outcome.OK: "stop",
    Outcome.TRUNCATED: "max_tokens",
    Outcome.REFUSED: "content_filter",
    Outcome.FILTERED: "content_filter",
    Outcome.ERROR: "unknown",
}
_ROLES = {"context": "user"}
_CONFIG = {"max_tokens", "temperature", "top_p", "top_k", "seed"}

Used = dict[str, dict[str, int]]


def write(run: RunReader, files: Files) -> list[str]:
    """Add the log to ``files``."""
    spec, plan = _spec(run), {"name": "plan", "steps": [], "config": {}}
    head = {"version": _LOG_VERSION, "eval": spec, "plan": plan}
    used: Used = {}
    done = total = 0
    with (
        files.open(f"{_stamp(run.created)[:19].replace(':', '-')}_{run.id}.eval") as file,
        tempfile.TemporaryFile() as summaries,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as packed,
    ):
        packed.writestr("_journal/start.json", json_bytes(head))
        for record in run.walk():
            for epoch in sorted(record.scores):
                sample = _sample(run, record, epoch)
                name = f"samples/{record.sample.id}_epoch_{epoch + 1}.json"
                packed.writestr(name, json_bytes(sample))
                summaries.write(b"," if total else b"[")
                summaries.write(json_bytes(_summary(sample)))
                _add(used, sample["model_usage"])
                total += 1
                done += "error" not in sample
        summaries.write(b"]" if total else b"[]")
        summaries.seek(0)
        with packed.open("summaries.json", "w", force_zip64=True) as member:
            shutil.copyfileobj(summaries, member)
        packed.writestr("header.json", json_bytes(head | _ending(run, total, done, used)))
    return []


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _spec(run: RunReader) -> dict[str, Any]:
    bench, data = run.record.get("benchmark", {}), run.record.get("data", {})
    return {
        "eval_id": run.id,
        "run_id": run.id,
        "created": _stamp(run.created),
        "task": run.spec.label,
        **({"task_display_name": run.status.title} if run.status.title else {}),
        "task_id": run.id,
        "task_version": bench.get("version") or 0,
        "task_args": dict(run.spec.options),
        "dataset": {
            "name": str(data.get("origin") or run.spec.label),
            "samples": run.size,
            "shuffled": run.spec.settings.shuffle,
        },
        "model": run.candidate,
        "model_args": {},
        "model_generate_config": _config(run.spec.roles()[CANDIDATE].overrides()),
        "config": {"epochs": run.spec.settings.epochs, "limit": run.spec.settings.limit},
        "packages": {"evalbench": version()},
        "tags": list(run.spec.settings.tag),
        "metadata": {"evalbench": {"record": run.record, "judges": run.judges}},
        "scorers": [{"name": name, "metrics": []} for name in _scorers(run)],
    }


def _config(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters under inspect's names."""
    config = {name: value for name, value in params.items() if name in _CONFIG}
    if params.get("stop"):
        config["stop_seqs"] = list(params["stop"])
    return config


def _ending(run: RunReader, total: int, done: int, used: Used) -> dict[str, Any]:
    metrics = {
        name: {
            "name": name,
            "value": metric["value"],
            "metadata": {part: metric[part] for part in ("k", "n", "low", "high", "interval")},
        }
        for name, metric in run.metrics.items()
        if not metric["group"] and metric["value"] is not None
    }
    scorer = _scorers(run)[0]
    state = run.status.state
    status = "success" if state is State.COMPLETE else "started"
    if state in (State.STOPPED, State.PAUSED, State.BUDGET, State.WAITING):
        status = "cancelled"
    ending: dict[str, Any] = {
        "status": status,
        "results": {
            "total_samples": total,
            "completed_samples": done,
            "scores": [{"name": scorer, "scorer": scorer, "params": {}, "metrics": metrics}],
        },
        "stats": {
            "started_at": _stamp(run.created),
            "completed_at": _stamp(run.status.updated),
            "model_usage": used,
        },
    }
    if state is State.FAILED:
        ending |= {"status": "error", "error": _error(run.status.problem or "it failed")}
    return ending


def _error(text: str) -> dict[str, str]:
    return {"message": text, "traceback": text, "traceback_ansi": text}


def _add(used: Used, more: Used) -> None:
    for model, numbers in more.items():
        sums = used.setdefault(model, dict.fromkeys(numbers, 0))
        for name, number in numbers.items():
            sums[name] = sums.get(name, 0) + number


def _sample(run: RunReader, record: SampleRecord, epoch: int) -> dict[str, Any]:
    score = record.scores[epoch]
    calls = [call for call in record.calls if call.key.epoch == epoch]
    answers = [call for call in record.answers(epoch) if role_of(call) == CANDIDATE]
    last = answers[-1] if answers else None
    asked = answers[0].prompt.messages if answers else ()
    choices = record.sample.inputs.get("choices")
    used: Used = {}
    for call in calls:
        if call.reply and (usage := _usage(call.reply.usage)):
            _add(used, {call.key.model: usage})
    sample: dict[str, Any] = {
        "id": record.sample.id,
        "epoch": epoch + 1,
        "input": [_message(one) for one in asked] or question(record),
        "target": _target(record),
        "messages": _talk(last) if last else [],
        "output": _output(last) if last else {"model": run.candidate, "choices": []},
        "metadata": {**record.sample.inputs, **record.sample.tags, "outcome": score.outcome.value},
        "events": [_event(call, run.created) for call in calls],
        "model_usage": used,
        "total_time": sum(call.reply.latency_s for call in calls if call.reply),
        "uuid": f"{run.id}-{record.row}-{epoch}",
    }
    if _lettered(choices):
        sample["choices"] = choices
    if score.outcome is Outcome.ERROR:
        sample["error"] = _error(str(score.detail.get("error") or "it has no answer"))
    elif run.spec.benchmark == RECORDED:
        sample["scores"] = _scores_of_scorers(record, epoch)
    elif (value := run.grade(score, run.headline)) is not None:
        sample["scores"] = {run.spec.label: _score(score, value)}
    return sample


def _scorers(run: RunReader) -> list[str]:
    """The scorers: the benchmark, or those of the system that the results came from."""
    if run.spec.benchmark != RECORDED:
        return [run.spec.label]
    return [model_name(judge_name(role)) for role in run.judges] or [run.spec.label]


def _scores_of_scorers(record: SampleRecord, epoch: int) -> dict[str, Any]:
    """The original result of every scorer of imported results."""
    scores: dict[str, Any] = {}
    for call in record.answers(epoch):
        if role_of(call) == CANDIDATE or call.reply is None:
            continue
        scorer = model_name(judge_name(role_of(call)))
        given = given_by(call.reply.text)
        values: dict[str, Any] = dict(given.get("values") or {})
        more = {
            "answer": as_text(given.get("answer")),
            "explanation": given.get("explanation") or "",
        }
        own = {name: values.pop(name) for name in [*values] if name.startswith(f"{scorer}/")}
        if own:
            parts = {name.removeprefix(f"{scorer}/"): value for name, value in own.items()}
            scores[scorer] = {"value": parts, **more}
        scores |= {name: {"value": value, **more} for name, value in values.items()}
    return scores


def _lettered(choices: Any) -> bool:
    return isinstance(choices, list) and all(isinstance(one, str) for one in choices)


def _target(record: SampleRecord) -> str:
    """The gold answer; for an index among choices its letter, as in inspect."""
    gold, choices = record.sample.gold, record.sample.inputs.get("choices")
    if isinstance(gold, int) and _lettered(choices) and 0 <= gold < len(LETTERS):
        return LETTERS[gold]
    return as_text(gold)


def _score(score: ScoreRow, value: float) -> dict[str, Any]:
    parsed = score.detail.get("parsed") or {}
    return {
        "value": value,
        "answer": as_text(next(iter(parsed.values()), None)),
        "explanation": str(score.detail.get("note") or ""),
        "metadata": {
            "outcome": score.outcome.value,
            "values": score.values,
            "parsed": parsed,
        },
    }


def _summary(sample: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("id", "epoch", "target", "model_usage", "total_time", "uuid")
    given = sample["input"]
    text = given if isinstance(given, str) else _last_text(given)
    summary = {name: sample[name] for name in kept}
    summary |= {
        "target": sample["target"][:_SHORT],
        "input": text[:_SHORT],
        "metadata": {"outcome": sample["metadata"]["outcome"]},
        "completed": True,
        "message_count": len(sample["messages"]),
    }
    if "scores" in sample:
        summary["scores"] = {
            name: {"value": score["value"], "answer": str(score["answer"])[:_SHORT]}
            for name, score in sample["scores"].items()
        }
    if "error" in sample:
        summary["error"] = sample["error"]["message"][:_SHORT]
    return summary


def _last_text(messages: Sequence[Mapping[str, Any]]) -> str:
    content = messages[-1]["content"]
    return content if isinstance(content, str) else as_text(content[-1].get("text"))


def _message(message: Message) -> dict[str, Any]:
    role = _ROLES.get(message.role, message.role)
    pictures = [part for part in message.parts if isinstance(part, MediaPart)]
    if not pictures:
        return {"role": role, "content": message.text}
    content = []
    for part in message.parts:
        if not isinstance(part, MediaPart):
            content.append({"type": "text", "text": part.text})
        elif part.media_type.startswith("image/") and part.data:
            data = base64.b64encode(part.data).decode()
            content.append({"type": "image", "image": f"data:{part.media_type};base64,{data}"})
        else:
            content.append({"type": "text", "text": f"[{part.media_type} {part.sha256}]"})
    return {"role": role, "content": content}


def _talk(call: CallRow) -> list[dict[str, Any]]:
    """The whole conversation, with the last answer."""
    messages = [_message(message) for message in call.prompt.messages]
    return [*messages, _output(call)["choices"][0]["message"]]


def _output(call: CallRow) -> dict[str, Any]:
    """A reply; for log-likelihoods the most likely continuation, along with all of them."""
    reply = call.reply
    if reply is None:
        return {"model": call.key.model, "choices": []}
    text: Any = reply.text
    metadata: dict[str, Any] = {}
    if call.prompt.kind == "choose" and reply.logprobs:
        pairs = list(zip(call.prompt.continuations, map(str, reply.logprobs), strict=False))
        best = max(range(len(pairs)), key=lambda place: reply.logprobs[place])
        text, metadata["logprobs"] = pairs[best][0], pairs
    if reply.reasoning:
        text = [{"type": "reasoning", "reasoning": reply.reasoning}, {"type": "text", "text": text}]
    message = {"role": "assistant", "content": text, "source": "generate", "model": call.key.model}
    output: dict[str, Any] = {
        "model": reply.provider_model or call.key.model,
        "choices": [{"message": message, "stop_reason": _STOPS.get(reply.outcome, "unknown")}],
        "time": reply.latency_s,
        "metadata": {**metadata, "stop_reason": reply.stop_reason, "params": _fates(reply)},
    }
    if usage := _usage(reply.usage):
        output["usage"] = usage
    if reply.error:
        output["error"] = reply.error
    return output


def _fates(reply: Reply) -> dict[str, str]:
    return {note.name: f"{note.fate} {note.reason}".strip() for note in reply.params}


def _usage(usage: Usage) -> dict[str, int]:
    if usage.input_tokens is None and usage.output_tokens is None:
        return {}
    given, made = usage.input_tokens or 0, usage.output_tokens or 0
    numbers = {
        "input_tokens": given,
        "output_tokens": made,
        "total_tokens": given + made,
        "input_tokens_cache_read": usage.cache_read_tokens,
        "input_tokens_cache_write": usage.cache_write_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }
    return {name: number for name, number in numbers.items() if number is not None}


def _event(call: CallRow, created: float) -> dict[str, Any]:
    """A call as a transcript event."""
    sent = created + call.sent_ms / 1000
    role = role_of(call)
    event: dict[str, Any] = {
        "event": "model",
        "uuid": str(call.id),
        "timestamp": _stamp(sent),
        "working_start": call.sent_ms / 1000,
        "model": call.key.model,
        "input": [_message(message) for message in call.prompt.messages],
        "tools": [],
        "tool_choice": "none",
        "config": _config(call.prompt.params.asked()),
        "output": _output(call),
        "metadata": {"step": call.key.step, "repeat": call.key.repeat, "reask": call.reask},
    }
    if role != CANDIDATE:
        event["role"] = role
    if call.reply is None:
        event["pending"] = True
    else:
        event["completed"] = _stamp(sent + call.reply.latency_s)
        if call.reply.error:
            event["error"] = call.reply.error
    return event
