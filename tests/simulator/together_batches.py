"""Files and batches as Together has them: an upload in three steps, jobs of a shape of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, NoReturn

import orjson

from tests.simulator.batch_files import StoredFile, form_parts
from tests.simulator.batches import HALF, WINDOW, Batch, Fate, Item, Phase, Worker
from tests.simulator.exchange import Answer, Exchange, Handler, Refused, Route
from tests.simulator.file_batches import QUEUE_FULL, FileBatches
from tests.simulator.refusals import admit
from tests.simulator.together_access import NAME, Access
from tests.simulator.together_errors import error, refuse

DISCOUNTED = frozenset({"meta-llama/Llama-3.3-70B-Instruct-Turbo"})
"""Chat models that cost half in batches; the others cost what they always do."""
_CHAT = "/v1/chat/completions"
_ENDPOINTS = (_CHAT, "/v1/audio/transcriptions", "/v1/audio/translations")
_MOST_REQUESTS = 50_000
_MOST_BYTES = 100 * 1024 * 1024
_QUEUE = 30_000_000_000
_PURPOSES = ("fine-tune", "calibration", "eval", "batch-api")
_FORM = frozenset({"purpose", "file_name", "file_type", "checksum"})
_CREATE = frozenset({"endpoint", "input_file_id", "completion_window", "model_id", "priority"})
_SHA256 = re.compile(r"[0-9a-f]{64}")
_STATUS: dict[Phase, str] = {
    "waiting": "VALIDATING",
    "running": "IN_PROGRESS",
    "finishing": "IN_PROGRESS",
    "cancelling": "IN_PROGRESS",
    "ended": "COMPLETED",
    "expired": "EXPIRED",
    "cancelled": "CANCELLED",
    "refused": "FAILED",
}
_UNSERVED: dict[Fate, str] = {
    "expired": "The batch expired before this request was processed.",
    "cancelled": "The batch was cancelled before this request was processed.",
}


class TogetherBatches(FileBatches):
    """``/v1/files`` and ``/v1/batches``, and the store that files are put into.

    Args:
        access: keys and models.
        complete: the handler of a line.
        fail: an error with a status in the API's words.
    """

    results = "batch-api"

    def __init__(self, access: Access, complete: Handler, fail: Callable[[int], Answer]) -> None:
        worker = Worker(lambda _: complete, fail, _write, _unserved, _factor)
        super().__init__(access.world, NAME, worker)
        self._access = access
        self._checksums: dict[str, str] = {}

    def routes(self) -> Iterable[Route]:
        """Under the API's base path; the store is another service, which knows no keys."""
        yield Route("POST", "/together/v1/files", self.begin_upload)
        yield Route("PUT", "/together/store/*", self.put, open=True)
        yield Route("POST", "/together/v1/files/*", self.preprocess)
        yield Route("GET", "/together/v1/files", self.list_files)
        yield Route("GET", "/together/v1/files/*", self.file)
        yield Route("DELETE", "/together/v1/files/*", self.delete_file)
        yield Route("POST", "/together/v1/batches", self.create)
        yield Route("GET", "/together/v1/batches", self.list_batches)
        yield Route("GET", "/together/v1/batches/*", self.batch)
        yield Route("POST", "/together/v1/batches/*", self.cancel)

    def begin_upload(self, exchange: Exchange) -> Answer:
        """``POST /v1/files``: a form that tells of a file; the answer says where to put it."""
        try:
            parts = form_parts(exchange.raw, exchange.headers.get("content-type", ""))
        except (ValueError, KeyError):
            refuse("the request is not multipart/form-data")
        if unknown := parts.keys() - _FORM:
            refuse(f"unknown field {min(unknown)}", param=min(unknown))
        for name in sorted(_FORM):
            if name not in parts:
                refuse(f"{name} is required", param=name)
        told = {name: value.decode() for name, (_, value) in parts.items()}
        if told["purpose"] not in _PURPOSES:
            refuse(f"invalid purpose {told['purpose']}", param="purpose")
        if told["file_type"] != "jsonl" or not told["file_name"].endswith(".jsonl"):
            refuse("a batch takes a jsonl file", param="file_type")
        if not _SHA256.fullmatch(told["checksum"]):
            refuse("checksum must be a sha256 in hex", param="checksum")
        for known in self._world.files.listed(NAME, exchange.key):
            if self._checksums.get(known.id) == told["checksum"]:
                return Answer({"file_id": known.id, "message": "file already exists"}, 409)
        file = self._world.files.store(
            NAME, exchange.key, told["file_name"], told["purpose"], b"", exchange.now
        )
        self._checksums[file.id] = told["checksum"]
        where = f"http://{exchange.headers['Host']}/together/store/{file.id}?signature=simulated"
        return Answer(b"", 302, {"Location": where, "X-Together-File-Id": file.id})

    def put(self, exchange: Exchange) -> Answer:
        """``PUT`` of a file's bytes, at an address that is signed. A key has no place here."""
        if exchange.key or exchange.query.get("signature") != ["simulated"]:
            return Answer(b"<Error><Code>InvalidArgument</Code></Error>", 400)
        file = self._world.files.get(exchange.tail)
        if file is None:
            return Answer(b"<Error><Code>NoSuchKey</Code></Error>", 404)
        file.data = exchange.raw
        return Answer(b"")

    def preprocess(self, exchange: Exchange) -> Answer:
        """``POST /v1/files/{id}/preprocess``: the bytes are there."""
        name, _, what = exchange.tail.partition("/")
        if what != "preprocess":
            self.missing(f"Invalid URL (POST {exchange.path})")
        return Answer(_file(self._find_file(exchange, name)))

    def list_files(self, exchange: Exchange) -> Answer:
        """``GET /v1/files``."""
        files = self._world.files.listed(NAME, exchange.key)
        return Answer({"data": [_file(file) for file in files]})

    def missing(self, message: str) -> NoReturn:
        """404."""
        raise Refused(error(404, message, "invalid_request_error"))

    def told_file(self, file: StoredFile) -> dict[str, Any]:
        """A file as the API tells of it."""
        return _file(file)

    def create(self, exchange: Exchange) -> Answer:
        """``POST /v1/batches``. The file is looked at later."""
        admit(self._world, NAME, exchange, asks=True)
        try:
            value = exchange.body
        except ValueError:
            refuse("The request body is not valid JSON.")
        for name in value:
            if name not in _CREATE:
                refuse(f"unknown field {name}", param=name)
        for name in ("input_file_id", "endpoint"):
            if not isinstance(value.get(name), str):
                refuse(f"{name} is required", param=name)
        if value["endpoint"] not in _ENDPOINTS:
            refuse(f"unsupported endpoint {value['endpoint']}", param="endpoint")
        if value.get("completion_window", "24h") != "24h":
            refuse("completion_window must be 24h", param="completion_window")
        file = self._find_file(exchange, value["input_file_id"])
        if file.purpose != "batch-api":
            refuse(f"File {file.id} is not for batches", param="input_file_id")
        items, wrong, model = self._read(file)
        about = {
            "endpoint": value["endpoint"],
            "input_file_id": file.id,
            "bytes": len(file.data),
            "errors": wrong,
            "model": model,
        }
        batch = self._made(exchange, "batch-", items, about)
        return Answer({"job": self.told(batch, exchange.now, created=True)}, 201)

    def list_batches(self, exchange: Exchange) -> Answer:
        """``GET /v1/batches``: all of them, as a bare array."""
        return Answer(self._listed(exchange))

    def cancel(self, exchange: Exchange) -> Answer:
        """``POST /v1/batches/{id}/cancel``."""
        batch = self._to_cancel(exchange)
        if batch.over:
            refuse(f"Batch {batch.id} is {_STATUS[batch.phase]} and cannot be cancelled")
        return Answer(self.told(batch, exchange.now))

    def _read(self, file: StoredFile) -> tuple[list[Item], str, str | None]:
        """The requests of a file, what is wrong with it, and its model."""
        if len(file.data) > _MOST_BYTES:
            return [], "The file is larger than 100MB.", None
        items: list[Item] = []
        names: set[str] = set()
        model: str | None = None
        for number, raw in enumerate(file.data.split(b"\n"), start=1):
            if not raw.strip():
                continue
            try:
                line = orjson.loads(raw)
                name, body = line["custom_id"], line["body"]
                model = model or body["model"]
                same = body["model"] == model
            except (ValueError, KeyError, TypeError):
                return (
                    [],
                    f"line {number}: a JSON object with custom_id and body is expected",
                    model,
                )
            if not isinstance(name, str) or not 1 <= len(name) <= 64 or name in names:
                return [], f"line {number}: custom_id must be unique, of 1 to 64 characters", model
            if not same:
                return [], f"line {number}: all requests must be for one model", model
            names.add(name)
            items.append(Item(name, f"/together{_CHAT}", orjson.dumps(body)))
        if not 1 <= len(items) <= _MOST_REQUESTS:
            return [], f"the file has {len(items)} requests; 1 to {_MOST_REQUESTS} are taken", model
        return items, self._unknown(model), model

    def _unknown(self, model: str | None) -> str:
        try:
            self._access.model(model or "")
        except Refused as refused:
            message: str = refused.answer.body["error"]["message"]
            return message
        return ""

    def told(self, batch: Batch, now: float, *, created: bool = False) -> dict[str, Any]:
        """A job as the API tells of it; what is not known yet is not in it."""
        about = batch.about
        phase: Phase = "waiting" if created else batch.phase
        told: dict[str, Any] = {
            "id": batch.id,
            "user_id": "user_simulated",
            "input_file_id": about["input_file_id"],
            "file_size_bytes": about["bytes"],
            "status": _STATUS[phase],
            "job_deadline": _moment(batch.created + WINDOW),
            "created_at": _moment(batch.created),
            "endpoint": about["endpoint"],
            "progress": 0.0 if created else _progress(batch, now),
            "model_id": about["model"],
        }
        if batch.over and not created:
            end, _ = batch.end()
            told["completed_at"] = _moment(end + batch.script.finishing)
            for kind in ("output", "error"):
                if file := about.get(f"{kind}_file_id"):
                    told[f"{kind}_file_id"] = file
        if phase == "refused":
            told["error"] = about["errors"] or self._refusal(batch)
        return told

    @staticmethod
    def _refusal(batch: Batch) -> str:
        if batch.script.refused != QUEUE_FULL:
            return "The batch could not be validated."
        queue = batch.script.queue or _QUEUE
        model = batch.about["model"]
        return f"The limit of {queue:,} enqueued tokens for {model} is reached; try again later."


def _progress(batch: Batch, now: float) -> float:
    """Per cent of the requests that had their turn."""
    if not batch.items or batch.phase == "refused":
        return 0.0
    return 100.0 * batch.due(now) / len(batch.items)


def _factor(model: str) -> float:
    return HALF if model in DISCOUNTED else 1.0


def _write(item: Item, exchange: Exchange, answer: Answer) -> bytes:
    if answer.status == 200:
        response = {"status_code": 200, "body": answer.body}
        return orjson.dumps({"custom_id": item.id, "response": response})
    told = answer.body["error"]
    failure = {"message": told["message"], "code": told["code"] or told["type"]}
    return orjson.dumps({"custom_id": item.id, "error": failure})


def _unserved(item: Item, fate: Fate, ordinal: int) -> bytes:
    failure = {"message": _UNSERVED[fate], "code": f"batch_{fate}"}
    return orjson.dumps({"custom_id": item.id, "error": failure})


def _file(file: StoredFile) -> dict[str, Any]:
    return {
        "id": file.id,
        "object": "file",
        "bytes": len(file.data),
        "created_at": int(file.created),
        "filename": file.name,
        "FileType": "jsonl",
        "purpose": file.purpose,
        "processing_status": "COMPLETED",
    }


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(min(seconds, 4e9), UTC).isoformat().replace("+00:00", "Z")
