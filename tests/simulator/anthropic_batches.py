"""Anthropic: message batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import orjson

from tests.simulator import anthropic_checks as checks
from tests.simulator.batches import Batch, Fate, Item, Worker
from tests.simulator.clock import rfc3339
from tests.simulator.exchange import Answer, Exchange, Handler, Refused, Route
from tests.simulator.world import World

_PATH = "/anthropic/v1/messages/batches"
_MESSAGES = "/anthropic/v1/messages"
_MOST_REQUESTS = 100_000
_MOST_BYTES = 256 * 1024 * 1024
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_FATES: dict[Fate, str] = {"expired": "expired", "cancelled": "canceled"}


class AnthropicBatches:
    """``/v1/messages/batches``.

    Args:
        world: the simulator's.
        messages: answers one request.
        fail: an error with a status in the API's words.
    """

    def __init__(
        self,
        world: World,
        messages: Handler,
        fail: Callable[[int], Answer],
    ) -> None:
        self._world = world
        self._worker = Worker(lambda path: messages, fail, _write, _unserved)

    def routes(self) -> Iterable[Route]:
        """Under ``/anthropic/v1/messages/batches``."""
        yield Route("POST", _PATH, self.create)
        yield Route("GET", _PATH, self.list)
        yield Route("GET", f"{_PATH}/*", self.get)
        yield Route("POST", f"{_PATH}/*", self.cancel)
        yield Route("DELETE", f"{_PATH}/*", self.delete)

    def create(self, exchange: Exchange) -> Answer:
        """``POST``: the requests stand in the body; their parameters are looked at later."""
        if len(exchange.raw) > _MOST_BYTES:
            text = "Request exceeds the maximum size"
            raise Refused(checks.error(413, "request_too_large", text))
        try:
            value = exchange.body
        except ValueError as problem:
            checks.refuse(f"The request body is not valid JSON: {problem}")
        if not isinstance(value, dict) or not isinstance(value.get("requests"), list):
            checks.refuse("requests: Field required")
        for name in value:
            if name != "requests":
                checks.refuse(f"{name}: Extra inputs are not permitted")
        items = _items(value["requests"])
        batch = self._world.batches.make(exchange, "anthropic", "msgbatch_", items, {})
        return Answer(_told(batch, exchange))

    def list(self, exchange: Exchange) -> Answer:
        """``GET``: a page, newest first."""
        query = exchange.query
        try:
            limit = int(query.get("limit", ["20"])[0])
        except ValueError:
            checks.refuse("limit: Input should be a valid integer")
        if not 1 <= limit <= 1000:
            checks.refuse("limit: Input should be between 1 and 1000")
        known = self._world.batches.listed("anthropic", exchange.key)
        if after := query.get("after_id", [""])[0]:
            names = [batch.id for batch in known]
            if after not in names:
                checks.refuse(f"after_id: no such batch: {after}")
            known = known[names.index(after) + 1 :]
        page = known[:limit]
        for batch in page:
            self._world.batches.settle(batch, exchange.now, self._worker)
        return Answer(
            {
                "data": [_told(batch, exchange) for batch in page],
                "has_more": len(known) > len(page),
                "first_id": page[0].id if page else None,
                "last_id": page[-1].id if page else None,
            }
        )

    def get(self, exchange: Exchange) -> Answer:
        """``GET`` of one batch, or of its results."""
        name, _, what = exchange.tail.partition("/")
        batch = self._find(exchange, name)
        if not what:
            return Answer(_told(batch, exchange))
        if what != "results":
            raise Refused(checks.error(404, "not_found_error", "Not Found"))
        if not batch.over:
            checks.refuse(f"Batch {batch.id} is still processing; results are not available yet.")
        if batch.script.gone:
            text = f"Results of batch {batch.id} are no longer available."
            raise Refused(checks.error(404, "not_found_error", text))
        return Answer(batch.results(), content_type="application/x-jsonl")

    def cancel(self, exchange: Exchange) -> Answer:
        """``POST …/cancel``."""
        name, _, what = exchange.tail.partition("/")
        if what != "cancel":
            raise Refused(checks.error(404, "not_found_error", "Not Found"))
        batch = self._find(exchange, name)
        if batch.over:
            checks.refuse(f"Batch {batch.id} cannot be canceled because it has already ended.")
        if batch.cancel_asked is None:
            batch.cancel_asked = exchange.now
        return Answer(_told(batch, exchange) | {"processing_status": "canceling"})

    def delete(self, exchange: Exchange) -> Answer:
        """``DELETE``: only what has ended."""
        batch = self._find(exchange, exchange.tail)
        if not batch.over:
            checks.refuse(f"Batch {batch.id} must be canceled before it is deleted.")
        self._world.batches.delete(batch)
        return Answer({"id": batch.id, "type": "message_batch_deleted"})

    def _find(self, exchange: Exchange, name: str) -> Batch:
        batch = self._world.batches.find("anthropic", exchange.key, name)
        if batch is None:
            raise Refused(checks.error(404, "not_found_error", f"Batch {name} not found."))
        self._world.batches.settle(batch, exchange.now, self._worker)
        return batch


def _items(requests: list[Any]) -> list[Item]:
    if not requests:
        checks.refuse("requests: List should have at least 1 item after validation, not 0")
    if len(requests) > _MOST_REQUESTS:
        checks.refuse(f"requests: List should have at most {_MOST_REQUESTS} items")
    items: list[Item] = []
    names: set[str] = set()
    for at, request in enumerate(requests):
        if not isinstance(request, dict):
            checks.refuse(f"requests.{at}: Input should be a valid dictionary")
        for name in ("custom_id", "params"):
            if name not in request:
                checks.refuse(f"requests.{at}.{name}: Field required")
        for name in request:
            if name not in ("custom_id", "params"):
                checks.refuse(f"requests.{at}.{name}: Extra inputs are not permitted")
        name = request["custom_id"]
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            pattern = "^[a-zA-Z0-9_-]{1,64}$"
            checks.refuse(f"requests.{at}.custom_id: String should match pattern '{pattern}'")
        if name in names:
            checks.refuse(f"requests.{at}.custom_id: duplicate custom_id: {name}")
        names.add(name)
        items.append(Item(name, _MESSAGES, orjson.dumps(request["params"])))
    return items


def _told(batch: Batch, exchange: Exchange) -> dict[str, Any]:
    """A batch as the API tells of it. Nothing is counted before the end."""
    end, _ = batch.end()
    counts = batch.counts
    told = ("succeeded", "errored", "expired")
    done = {name: counts[name] if batch.over else 0 for name in told}
    done["canceled"] = counts["cancelled"] if batch.over else 0
    host = exchange.headers.get("host", "")
    status = "in_progress" if batch.cancel_asked is None else "canceling"
    asked = batch.cancel_asked
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "ended" if batch.over else status,
        "request_counts": {"processing": 0 if batch.over else len(batch.items), **done},
        "created_at": rfc3339(batch.created),
        "expires_at": rfc3339(batch.expires),
        "ended_at": rfc3339(end + batch.script.finishing) if batch.over else None,
        "cancel_initiated_at": None if asked is None else rfc3339(asked),
        "archived_at": None,
        "results_url": f"http://{host}{_PATH}/{batch.id}/results" if batch.over else None,
    }


def _write(item: Item, exchange: Exchange, answer: Answer) -> bytes:
    result: dict[str, Any]
    if answer.status == 200:
        answer.body["usage"]["service_tier"] = "batch"
        result = {"type": "succeeded", "message": answer.body}
    else:
        error = {**answer.body, "request_id": exchange.request_id}
        result = {"type": "errored", "error": error}
    return orjson.dumps({"custom_id": item.id, "result": result})


def _unserved(item: Item, fate: Fate, ordinal: int) -> bytes:
    return orjson.dumps({"custom_id": item.id, "result": {"type": _FATES[fate]}})
