"""A complete run as one JSON file, see docs/export-schema.md.

The file is valid JSON with one sample per line, so that it can be written and read without
holding it in memory.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from typing import Any

from evalbench.engine.calls import MediaPart
from evalbench.engine.calls.messages import prompt_to_json
from evalbench.engine.calls.replies import reply_to_json
from evalbench.engine.formats.files import Files
from evalbench.engine.installed import version
from evalbench.engine.journal import CallRow, ScoreRow
from evalbench.engine.runs.reader import RunReader, SampleRecord
from evalbench.engine.runs.sanitize import json_bytes, without_logins

FORMAT = "evalbench run"
VERSION = 1
SAMPLES = b'"samples": ['
END = b"],"


def write(run: RunReader, files: Files) -> list[str]:
    """Add the run's file to ``files``."""
    notes = []
    with files.open(f"{run.id}.json") as file:
        file.write(b"{\n")
        for name, value in _head(run).items():
            file.write(b"%s: %s,\n" % (json_bytes(name), json_bytes(value)))
        file.write(SAMPLES)
        count = 0
        for count, sample in enumerate(_samples(run), 1):
            file.write(b"%s\n%s" % (b"," if count > 1 else b"", json_bytes(sample)))
        file.write(b"\n%s\n" % END)
        file.write(b'"events": %s,\n"count": %d\n}\n' % (json_bytes(_events(run)), count))
    if not run.status.at_rest:
        notes.append("the run is still live: this is its state so far")
    return notes


def _head(run: RunReader) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "evalbench": version(),
        "exported": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "run": run.id,
        "spec": without_logins(run.spec.to_json()),
        "status": without_logins(run.status.to_json()),
        "metrics": run.metrics,
        "facts": {name: value for name, value in run.meta.items() if name != "metrics"},
    }


def _samples(run: RunReader) -> Iterator[dict[str, Any]]:
    seen: set[str] = set()
    for record in run.walk():
        yield sample_json(record) | _media(record, seen)


def sample_json(record: SampleRecord) -> dict[str, Any]:
    """A sample with all its calls and scores, without the bytes of media."""
    sample = record.sample
    return {
        "row": record.row,
        "id": sample.id,
        "inputs": sample.inputs,
        "gold": sample.gold,
        "tags": sample.tags,
        "calls": [_call(call) for call in record.calls],
        "scores": [_score(score) for _, score in sorted(record.scores.items())],
    }


def _call(call: CallRow) -> dict[str, Any]:
    reply = call.reply
    stored = None if reply is None else reply_to_json(reply)
    if reply is not None and stored is not None:
        # As strings: JSON numbers are not exact.
        if reply.cost is not None:
            stored["cost_usd"] = str(reply.cost)
        if reply.possible_cost:
            stored["possible_cost_usd"] = str(reply.possible_cost)
    return {
        **call.key._asdict(),
        "reask": call.reask,
        "hash": call.content_hash.hex(),
        "sent_ms": call.sent_ms,
        "prompt": prompt_to_json(call.prompt),
        "reply": stored,
    }


def _score(score: ScoreRow) -> dict[str, Any]:
    return {
        "epoch": score.epoch,
        "outcome": score.outcome.value,
        "values": score.values,
        "detail": score.detail,
    }


def _media(record: SampleRecord, seen: set[str]) -> dict[str, Any]:
    """The bytes of images that no earlier sample has shown."""
    found = {}
    for call in record.calls:
        for message in call.prompt.messages:
            for part in message.parts:
                if isinstance(part, MediaPart) and part.data and part.sha256 not in seen:
                    seen.add(part.sha256)
                    found[part.sha256] = base64.b64encode(part.data).decode()
    return {"media": found} if found else {}


def _events(run: RunReader) -> list[dict[str, Any]]:
    return [
        {"at_ms": event.at_ms, "kind": event.kind, "count": event.count, "body": event.body}
        for event in run.events()
    ]
