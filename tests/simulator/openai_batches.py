"""Files and batches in OpenAI's shape, as OpenAI and servers that copy it have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import orjson

from tests.simulator.batch_files import StoredFile, form_parts
from tests.simulator.batches import WINDOW, Batch, Fate, Item, Phase, Worker
from tests.simulator.exchange import Answer, Exchange, Handler, Route
from tests.simulator.file_batches import QUEUE_FULL, FileBatches
from tests.simulator.openai_errors import invalid_value, refuse
from tests.simulator.world import World

_MOST_REQUESTS = 50_000
_MOST_BYTES = 200 * 1024 * 1024
_KEPT = 30 * 86_400
_PURPOSES = ("assistants", "batch", "evals", "fine-tune", "user_data", "vision")
_CREATE_FIELDS = frozenset(
    {"completion_window", "endpoint", "input_file_id", "metadata", "output_expires_after"}
)
_LINE_FIELDS = frozenset({"custom_id", "method", "url", "body"})
_MOST_PROBLEMS = 20
_STATUS: dict[Phase, str] = {
    "waiting": "validating",
    "running": "in_progress",
    "finishing": "finalizing",
    "cancelling": "cancelling",
    "ended": "completed",
    "expired": "expired",
    "cancelled": "cancelled",
    "refused": "failed",
}
_UNSERVED: dict[Fate, tuple[str, str]] = {
    "expired": (
        "batch_expired",
        "This request could not be executed before the completion window expired.",
    ),
    "cancelled": (
        "batch_cancelled",
        "This request was not executed because the batch was cancelled.",
    ),
}
_QUEUE = 90_000
_REFUSALS = {
    QUEUE_FULL: "Enqueued token limit reached for {model} in organization "
    "org-simulated. Limit: {queue:,} enqueued tokens. Please try again once some in_progress "
    "batches have been completed.",
}


class OpenAIBatches(FileBatches):
    """``/files`` and ``/batches`` of one API.

    Args:
        world: the simulator's.
        api: whose they are.
        base: what their paths begin with.
        endpoints: handlers by the path that a line names, such as ``/v1/responses``.
        fail: an error with a status in the API's words.
    """

    results = "batch_output"

    def __init__(
        self,
        world: World,
        api: str,
        base: str,
        endpoints: Mapping[str, Handler],
        fail: Callable[[int], Answer],
    ) -> None:
        super().__init__(world, api, Worker(self._handler, fail, self._write, self._unserved))
        self._base = base
        self._endpoints = endpoints

    def routes(self) -> Iterable[Route]:
        """Under the API's base path."""
        base = self._base
        yield Route("POST", f"{base}/files", self.upload)
        yield Route("GET", f"{base}/files", self.list_files)
        yield Route("GET", f"{base}/files/*", self.file)
        yield Route("DELETE", f"{base}/files/*", self.delete_file)
        yield Route("POST", f"{base}/batches", self.create)
        yield Route("GET", f"{base}/batches", self.list_batches)
        yield Route("GET", f"{base}/batches/*", self.batch)
        yield Route("POST", f"{base}/batches/*", self.cancel)

    def upload(self, exchange: Exchange) -> Answer:
        """``POST /files``, a form with ``purpose`` and ``file``."""
        try:
            parts = form_parts(exchange.raw, exchange.headers.get("content-type", ""))
        except (ValueError, KeyError):
            refuse("Could not parse multipart form")
        for name in ("file", "purpose"):
            if name not in parts:
                refuse(f"'{name}' is a required property")
        if unknown := parts.keys() - {"file", "purpose"}:
            name = min(unknown)
            refuse(f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")
        purpose = parts["purpose"][1].decode()
        if purpose not in _PURPOSES:
            refuse(f"'{purpose}' is not one of {list(_PURPOSES)} - 'purpose'")
        name, data = parts["file"]
        if not data:
            refuse("File is empty. Please try again.")
        if purpose == "batch" and not name.endswith(".jsonl"):
            refuse(
                "Invalid file format for Batch API. Must be .jsonl",
                param="file",
                code="invalid_file_format",
            )
        file = self._files.store(self._api, exchange.key, name, purpose, data, exchange.now)
        return Answer(_file(file))

    def list_files(self, exchange: Exchange) -> Answer:
        """``GET /files``, newest first."""
        files = self._files.listed(self._api, exchange.key)
        purpose = exchange.query.get("purpose", [""])[0]
        kept = [_file(file) for file in files if purpose in ("", file.purpose)]
        return Answer(_page(kept, exchange, 10_000))

    def missing(self, message: str) -> NoReturn:
        """404."""
        refuse(message, status=404)

    def told_file(self, file: StoredFile) -> dict[str, Any]:
        """A file as the API tells of it."""
        return _file(file)

    def create(self, exchange: Exchange) -> Answer:
        """``POST /batches``. The file is looked at later."""
        try:
            value = exchange.body
        except ValueError:
            refuse("We could not parse the JSON body of your request.")
        for name in value:
            if name not in _CREATE_FIELDS:
                refuse(f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")
        for name in ("input_file_id", "endpoint", "completion_window"):
            if not isinstance(value.get(name), str):
                refuse(
                    f"Missing required parameter: '{name}'.",
                    param=name,
                    code="missing_required_parameter",
                )
        if value["endpoint"] not in self._endpoints:
            invalid_value("endpoint", value["endpoint"], self._endpoints)
        if value["completion_window"] != "24h":
            invalid_value("completion_window", value["completion_window"], ("24h",))
        _check_metadata(value.get("metadata"))
        file = self._find_file(exchange, value["input_file_id"])
        if file.purpose != "batch":
            refuse(f"Invalid file purpose: {file.purpose}", param="input_file_id")
        items, errors, model = self._read(file, value["endpoint"])
        about = {
            "endpoint": value["endpoint"],
            "input_file_id": file.id,
            "metadata": value.get("metadata"),
            "errors": errors,
            "model": model,
        }
        batch = self._made(exchange, "batch_", items, about)
        return Answer(self.told(batch, exchange.now, created=True))

    def list_batches(self, exchange: Exchange) -> Answer:
        """``GET /batches``, newest first."""
        return Answer(_page(self._listed(exchange), exchange, 20))

    def cancel(self, exchange: Exchange) -> Answer:
        """``POST /batches/{id}/cancel``."""
        batch = self._to_cancel(exchange)
        if batch.over:
            refuse(f"Cannot cancel a batch with status '{_STATUS[batch.phase]}'.", status=409)
        return Answer(self.told(batch, exchange.now) | {"status": "cancelling"})

    def _read(
        self, file: StoredFile, endpoint: str
    ) -> tuple[list[Item], list[dict[str, Any]], str | None]:
        """The requests of a file, what is wrong with it, and its model."""
        if len(file.data) > _MOST_BYTES:
            text = "The file is larger than 200MB, the maximum for batches."
            return [], [_problem("file_too_large", text)], None
        items: list[Item] = []
        problems: list[dict[str, Any]] = []
        reader = _LineReader(self._api, self._world, endpoint)
        for number, raw in enumerate(file.data.split(b"\n"), start=1):
            if not raw.strip():
                continue
            found = reader.read(raw)
            if isinstance(found, Item):
                items.append(Item(found.id, self._own_path(endpoint), found.raw))
            elif len(problems) < _MOST_PROBLEMS:
                problems.append(found | {"line": number})
        if len(items) > _MOST_REQUESTS:
            text = f"The batch contains {len(items)} requests; the maximum is {_MOST_REQUESTS}."
            problems.append(_problem("too_many_tasks", text))
        if not items and not problems:
            problems.append(_problem("empty_file", "The input file is empty."))
        return items, problems, reader.model

    def _own_path(self, endpoint: str) -> str:
        """Where a request of a line would have gone by itself."""
        return self._base + endpoint.removeprefix("/v1")

    def _handler(self, path: str) -> Handler:
        return self._endpoints["/v1" + path.removeprefix(self._base)]

    @staticmethod
    def _write(item: Item, exchange: Exchange, answer: Answer) -> bytes:
        return orjson.dumps(
            {
                "id": f"batch_req_{exchange.number:024d}",
                "custom_id": item.id,
                "response": {
                    "status_code": answer.status,
                    "request_id": exchange.request_id,
                    "body": answer.body,
                },
                "error": None,
            }
        )

    @staticmethod
    def _unserved(item: Item, fate: Fate, ordinal: int) -> bytes:
        code, message = _UNSERVED[fate]
        return orjson.dumps(
            {
                "id": f"batch_req_unserved_{ordinal:024d}",
                "custom_id": item.id,
                "response": None,
                "error": {"code": code, "message": message},
            }
        )

    def told(self, batch: Batch, now: float, *, created: bool = False) -> dict[str, Any]:
        """A batch as the API tells of it."""
        about, script = batch.about, batch.script
        phase: Phase = "waiting" if created else batch.phase
        end, kind = batch.end()
        closed = int(end + script.finishing) if batch.over else None
        started = None if phase in ("waiting", "refused") else int(batch.started)
        counted = 0 if phase in ("waiting", "refused") else len(batch.items)
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": about["endpoint"],
            "model": about["model"],
            "errors": self._errors(batch) if phase == "refused" else None,
            "input_file_id": about["input_file_id"],
            "completion_window": "24h",
            "status": _STATUS[phase],
            "output_file_id": about.get("output_file_id"),
            "error_file_id": about.get("error_file_id"),
            "created_at": int(batch.created),
            "in_progress_at": started,
            "expires_at": int(batch.created + WINDOW),
            "finalizing_at": int(end) if phase in ("finishing", "ended") else None,
            "completed_at": closed if phase == "ended" else None,
            "failed_at": int(batch.started) if phase == "refused" else None,
            "expired_at": closed if phase == "expired" else None,
            "cancelling_at": int(end) if kind == "cancelled" else None,
            "cancelled_at": closed if phase == "cancelled" else None,
            "request_counts": {
                "total": counted,
                "completed": batch.counts["succeeded"],
                "failed": batch.counts["errored"],
            },
            "usage": _usage(batch),
            "metadata": about["metadata"],
        }

    @staticmethod
    def _errors(batch: Batch) -> dict[str, Any]:
        problems = list(batch.about["errors"])
        if code := batch.script.refused:
            text = _REFUSALS.get(code, "The batch could not be validated.")
            queue = batch.script.queue or _QUEUE
            problems.append(_problem(code, text.format(model=batch.about["model"], queue=queue)))
        return {"object": "list", "data": problems}


class _LineReader:
    """Checks the lines of one file against each other and the endpoint."""

    def __init__(self, api: str, world: World, endpoint: str) -> None:
        self._api = api
        self._world = world
        self._endpoint = endpoint
        self._names: set[str] = set()
        self.model: str | None = None

    def read(self, raw: bytes) -> Item | dict[str, Any]:
        """A line's request, or what is wrong with it."""
        try:
            line = orjson.loads(raw)
        except ValueError:
            return _problem("invalid_json_line", "This line is not parseable as valid JSON.")
        if not isinstance(line, dict):
            return _problem("invalid_json_line", "This line is not a JSON object.")
        for name in ("custom_id", "method", "url", "body"):
            if name not in line:
                text = f"Missing required parameter: '{name}'."
                return _problem("missing_required_parameter", text, name)
        if unknown := line.keys() - _LINE_FIELDS:
            name = min(unknown)
            return _problem("unknown_parameter", f"Unknown parameter: '{name}'.", name)
        return self._checked(line)

    def _checked(self, line: dict[str, Any]) -> Item | dict[str, Any]:
        name, body = line["custom_id"], line["body"]
        if not isinstance(name, str) or not 1 <= len(name) <= 512:
            return _problem("invalid_custom_id", "The custom_id is not valid.", "custom_id")
        if name in self._names:
            text = f"The custom_id '{name}' for this request is a duplicate of another request."
            return _problem("duplicate_custom_id", text, "custom_id")
        self._names.add(name)
        if line["method"] != "POST":
            return _problem("invalid_method", "The method must be POST.", "method")
        if line["url"] != self._endpoint:
            text = "The URL provided for this request does not match the batch endpoint."
            return _problem("invalid_url", text, "url")
        if not isinstance(body, dict) or not isinstance(body.get("model"), str):
            text = "Missing required parameter: 'body.model'."
            return _problem("missing_required_parameter", text, "body.model")
        return self._of_model(name, body)

    def _of_model(self, name: str, body: dict[str, Any]) -> Item | dict[str, Any]:
        model = body["model"]
        if self.model is None:
            self.model = model
            known = self._world.catalogue.find(self._api, model)
            if known is None or known.lifecycle == "retired":
                text = f"The provided model '{model}' is not supported by the Batch API."
                return _problem("model_not_found", text, "body.model")
        if model != self.model:
            text = (
                f"The provided model '{model}' does not match the other requests in this file, "
                f"which are for '{self.model}'. All requests of a batch must be for one model."
            )
            return _problem("mismatched_model", text, "body.model")
        return Item(name, "", orjson.dumps(body))


def _problem(code: str, message: str, param: str | None = None) -> dict[str, Any]:
    return {"code": code, "message": message, "param": param, "line": None}


def _check_metadata(metadata: Any) -> None:
    if metadata is None:
        return
    if not isinstance(metadata, dict) or len(metadata) > 16:
        refuse("Invalid 'metadata': at most 16 pairs.", param="metadata")
    for name, value in metadata.items():
        if len(name) > 64 or not isinstance(value, str) or len(value) > 512:
            refuse(f"Invalid 'metadata.{name}'.", param=f"metadata.{name}")


def _file(file: StoredFile) -> dict[str, Any]:
    return {
        "id": file.id,
        "object": "file",
        "bytes": len(file.data),
        "created_at": int(file.created),
        "expires_at": int(file.created) + _KEPT,
        "filename": file.name,
        "purpose": file.purpose,
        "status": "processed",
        "status_details": None,
    }


def _page(objects: list[dict[str, Any]], exchange: Exchange, usual: int) -> dict[str, Any]:
    query = exchange.query
    try:
        limit = int(query.get("limit", [str(usual)])[0])
    except ValueError:
        limit = 0
    if not 1 <= limit <= max(100, usual):
        refuse("Invalid 'limit'.", param="limit")
    if after := query.get("after", [""])[0]:
        names = [one["id"] for one in objects]
        objects = objects[names.index(after) + 1 :] if after in names else []
    page = objects[:limit]
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
        "has_more": len(objects) > len(page),
    }


def _usage(batch: Batch) -> dict[str, Any]:
    tokens = batch.tokens
    read, written = tokens["input_tokens"], tokens["output_tokens"]
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": tokens["cache_read_tokens"]},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": tokens["reasoning_tokens"]},
        "total_tokens": read + written,
    }
