"""Batches of the Gemini API: operations over requests in the body or in an uploaded file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import orjson

from tests.simulator import google_checks as checks
from tests.simulator.batches import Batch, Fate, Item, Phase, Worker
from tests.simulator.clock import rfc3339
from tests.simulator.exchange import Answer, Exchange, Handler, Refused, Route
from tests.simulator.google_errors import error, no_such_model, quota, refuse
from tests.simulator.google_files import Files
from tests.simulator.world import World

NAME = "google"
WINDOW = 2 * 86_400.0
_MOST_BYTES = 2_000_000_000
_STATES: dict[Phase, str] = {
    "waiting": "PENDING",
    "running": "RUNNING",
    "finishing": "RUNNING",
    "cancelling": "RUNNING",
    "ended": "SUCCEEDED",
    "expired": "EXPIRED",
    "cancelled": "CANCELLED",
    "refused": "FAILED",
}
_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 409: 10, 429: 8, 500: 13, 501: 12, 503: 14, 504: 4}
_TYPE = "type.googleapis.com/google.ai.generativelanguage.{}.GenerateContentBatch"


class GoogleBatches:
    """``models/NAME:batchGenerateContent`` and ``batches``.

    Args:
        world: what the simulator's APIs share.
        files: where request files and results lie.
        answer: answers a request to a model: exchange, model, version.
    """

    def __init__(
        self,
        world: World,
        files: Files,
        answer: Callable[[Exchange, str, str], Answer],
    ) -> None:
        self._world = world
        self._files = files
        self._answer = answer
        self._worker = Worker(self._handler, error, _write, _unserved)

    def routes(self, version: str) -> Iterable[Route]:
        """Under one version; batches are made where models are asked."""
        root = f"/google/{version}/batches"
        yield Route("GET", root, self.listed)
        yield Route("GET", f"{root}/*", self.get)
        yield Route("POST", f"{root}/*", self.cancel)
        yield Route("DELETE", f"{root}/*", self.delete)

    def create(self, exchange: Exchange, name: str, version: str) -> Answer:
        """``POST models/NAME:batchGenerateContent``."""
        model = self._world.catalogue.find(NAME, name)
        if model is None or model.lifecycle == "retired" or "embedding" in name:
            no_such_model(name, version, "batchGenerateContent")
        batch = checks.body(exchange, "create batch").get("batch", {})
        source = batch.get("inputConfig", {})
        inline, file = source.get("requests"), source.get("fileName")
        if not batch.get("displayName"):
            refuse("* batch.display_name: display_name must not be empty", "batch.display_name")
        if (inline is None) == (file is None):
            refuse("* batch.input_config: exactly one source is required", "batch.input_config")
        about: dict[str, Any] = {
            "model": f"models/{name}",
            "display": batch["displayName"],
            "version": version,
            "inline": file is None,
            "errors": "",
        }
        path = f"/google/{version}/models/{name}:generateContent"
        if inline is not None:
            items = _inline_items(inline.get("requests", []), path)
        else:
            items, about["errors"] = self._file_items(exchange, str(file), path)
        made = self._world.batches.make(exchange, NAME, "", items, about)
        made.window = WINDOW
        self._queue(made, exchange)
        return Answer(self._told(made, created=True))

    def _queue(self, batch: Batch, exchange: Exchange) -> None:
        """Refuse a batch that does not fit beside those that wait: none is made."""
        if batch.script.queue is None:
            return
        others = [b for b in self._world.batches.listed(NAME, exchange.key) if b is not batch]
        for other in others:
            self._settle(other, exchange.now)
        waiting = [other for other in others if not other.over]
        if sum(one.asked_tokens for one in waiting) > batch.script.queue:
            self._world.batches.delete(batch)
            model = batch.about["model"].removeprefix("models/")
            kind = "BatchEnqueuedTokensPerModelPerProject"
            raise Refused(quota(kind, str(batch.script.queue), 60.0, model))

    def listed(self, exchange: Exchange) -> Answer:
        """``GET batches``, in pages."""
        batches = self._world.batches.listed(NAME, exchange.key)
        size = int(exchange.query.get("pageSize", ["50"])[0])
        start = int(exchange.query.get("pageToken", ["0"])[0] or "0")
        for batch in batches:
            self._settle(batch, exchange.now)
        page = batches[start : start + size]
        body: dict[str, Any] = {}
        if page:
            body["operations"] = [self._told(batch) for batch in page]
        if start + size < len(batches):
            body["nextPageToken"] = str(start + size)
        return Answer(body)

    def get(self, exchange: Exchange) -> Answer:
        """``GET batches/NAME``."""
        batch = self._find(exchange, exchange.tail)
        return Answer(self._told(batch))

    def cancel(self, exchange: Exchange) -> Answer:
        """``POST batches/NAME:cancel``."""
        name, _, method = exchange.tail.partition(":")
        if method != "cancel":
            raise Refused(error(404, f"Method {method} is not found."))
        batch = self._find(exchange, name)
        if batch.over:
            message = f"Batch {name} is not in a state that can be cancelled."
            raise Refused(error(400, message, name="FAILED_PRECONDITION"))
        if batch.cancel_asked is None:
            batch.cancel_asked = exchange.now
        return Answer({})

    def delete(self, exchange: Exchange) -> Answer:
        """``DELETE batches/NAME``: the record goes, not the work."""
        self._world.batches.delete(self._find(exchange, exchange.tail))
        return Answer({})

    def _find(self, exchange: Exchange, name: str) -> Batch:
        batch = self._world.batches.find(NAME, exchange.key, name)
        if batch is None:
            raise Refused(error(404, "Requested entity was not found."))
        self._settle(batch, exchange.now)
        return batch

    def _settle(self, batch: Batch, now: float) -> None:
        if batch.over:
            return
        self._world.batches.settle(batch, now, self._worker)
        # What expired has no results at all, and who had no turn has no line.
        if batch.phase in ("ended", "cancelled") and not batch.about["inline"]:
            batch.lines = [line for line in batch.lines if line.raw]
            name = f"files/batch-{batch.id}"
            self._files.put(name, batch.key, batch.results(), now, gone=batch.script.gone)
            batch.about["file"] = name

    def _handler(self, path: str) -> Handler:
        version, name = path.split("/")[2], path.rpartition("/")[2].partition(":")[0]
        return lambda exchange: self._answer(exchange, name, version)

    def _file_items(self, exchange: Exchange, name: str, path: str) -> tuple[list[Item], str]:
        """The requests of a file, and what is wrong with it."""
        file = self._files.used(exchange, name if "/files/" in name else f"/{name}")
        if len(file.data) > _MOST_BYTES:
            refuse("The input file is larger than 2 GB.", "batch.input_config.file_name")
        items: dict[str, Item] = {}
        for number, raw in enumerate(file.data.split(b"\n"), start=1):
            if not raw.strip():
                continue
            try:
                line = orjson.loads(raw)
                key, request = line["key"], line["request"]
                strange = line.keys() - {"key", "request"}
            except (ValueError, KeyError, TypeError, AttributeError):
                return [], f"Failed to parse JSON at line {number}: No active field found."
            if strange or not isinstance(key, str) or not key or key in items:
                return [], f"Failed to parse JSON at line {number}: invalid or repeated key."
            try:
                items[key] = Item(key, path, _as_sent(request))
            except Refused as refused:
                said = refused.answer.body["error"]["message"]
                return [], f"Failed to parse JSON at line {number}: {said}"
        return list(items.values()), "" if items else "The input file is empty."

    def _told(self, batch: Batch, *, created: bool = False) -> dict[str, Any]:
        """A batch as an operation."""
        about = batch.about
        phase: Phase = "waiting" if created else batch.phase
        done, bad = batch.counts["succeeded"], batch.counts["errored"]
        counts = {
            "requestCount": len(batch.items),
            "successfulRequestCount": done,
            "failedRequestCount": bad,
            "pendingRequestCount": len(batch.items) - done - bad,
        }
        name = f"batches/{batch.id}"
        metadata: dict[str, Any] = {
            "@type": _TYPE.format(about["version"]),
            "name": name,
            "model": about["model"],
            "displayName": about["display"],
            "state": f"BATCH_STATE_{_STATES[phase]}",
            "createTime": rfc3339(batch.created),
            "updateTime": rfc3339(batch.created),
            # 64-bit numbers are texts, and those that are zero are left out.
            "batchStats": {key: str(count) for key, count in counts.items() if count},
        }
        operation: dict[str, Any] = {"name": name, "metadata": metadata}
        if not batch.over or created:
            return operation
        operation["done"] = True
        metadata["endTime"] = rfc3339(batch.end()[0])
        if phase == "refused":
            message = about["errors"] or "The batch could not be processed."
            code = 8 if batch.script.refused == "token_limit_exceeded" else 3
            operation["error"] = {"code": code, "message": message}
        elif about["inline"] and phase != "expired":
            lines = [orjson.loads(line.raw) for line in batch.lines if line.raw]
            responses = [{"metadata": {"key": line.pop("key")}, **line} for line in lines]
            metadata["output"] = {"inlinedResponses": {"inlinedResponses": responses}}
        elif file := about.get("file"):
            metadata["output"] = {"responsesFile": file}
        if output := metadata.get("output"):
            operation["response"] = {"@type": metadata["@type"], **output}
        return operation


def _inline_items(requests: list[dict[str, Any]], path: str) -> list[Item]:
    if not requests:
        refuse("* batch.input_config.requests: must not be empty", "batch.input_config.requests")
    items = []
    for number, one in enumerate(requests):
        key = (one.get("metadata") or {}).get("key") or str(number)
        items.append(Item(key, path, _as_sent(one.get("request"))))
    return items


def _as_sent(request: Any) -> bytes:
    """A request as Google's SDK would send it by itself: the same bytes, the same answer.

    Stricter than the service, which knows fields by their snake_case names, too:
    what is right by one name only is the REST form.
    """
    if checks.read(request, "request", "request") != request:
        refuse("Fields must be in camelCase.")
    for content in request.get("contents", ()):
        if content.get("role") not in ("user", "model"):
            refuse("Please use a valid role: user, model.")
        for part in content.get("parts", ()):
            if not isinstance(part.get("text", ""), str):
                refuse("No active field found in part.")
    if not request.get("contents"):
        refuse("* GenerateContentRequest.contents: contents is not specified", "contents")
    first = {"contents": request["contents"], "generationConfig": {}}
    return json.dumps(first | request).encode()


def _write(item: Item, exchange: Exchange, answer: Answer) -> bytes:
    if answer.status == 200:
        return orjson.dumps({"key": item.id, "response": answer.body})
    told = answer.body["error"]
    status = {"code": _CODES.get(answer.status, 13), "message": told["message"]}
    if "details" in told:
        status["details"] = told["details"]
    return orjson.dumps({"key": item.id, "error": status})


def _unserved(item: Item, fate: Fate, ordinal: int) -> bytes:
    return b""
