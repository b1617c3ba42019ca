"""Batches over stored files: what OpenAI's shape and Together's have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NoReturn

from tests.simulator.batch_files import StoredFile
from tests.simulator.batches import Batch, Item, Worker
from tests.simulator.exchange import Answer, Exchange
from tests.simulator.world import World

QUEUE_FULL = "token_limit_exceeded"


class FileBatches(ABC):
    """``/files`` and ``/batches`` of one API; how it words them is left to it.

    Args:
        world: the simulator's.
        api: whose they are.
        worker: answers requests and words results.
    """

    results: str
    """The purpose of files that hold results."""

    def __init__(self, world: World, api: str, worker: Worker) -> None:
        self._world = world
        self._api = api
        self._files = world.files
        self._worker = worker

    @abstractmethod
    def missing(self, message: str) -> NoReturn:
        """404."""

    @abstractmethod
    def told_file(self, file: StoredFile) -> dict[str, Any]:
        """A file as the API tells of it."""

    @abstractmethod
    def told(self, batch: Batch, now: float, *, created: bool = False) -> dict[str, Any]:
        """A batch as the API tells of it."""

    def file(self, exchange: Exchange) -> Answer:
        """``GET /files/{id}`` and its content."""
        name, _, what = exchange.tail.partition("/")
        file = self._find_file(exchange, name)
        if not what:
            return Answer(self.told_file(file))
        if what != "content" or file.gone:
            self.missing(f"No such File object: {name}")
        return Answer(file.data, content_type="application/octet-stream")

    def delete_file(self, exchange: Exchange) -> Answer:
        """``DELETE /files/{id}``."""
        file = self._find_file(exchange, exchange.tail)
        self._files.delete(file)
        return Answer({"id": file.id, "object": "file", "deleted": True})

    def batch(self, exchange: Exchange) -> Answer:
        """``GET /batches/{id}``."""
        return Answer(self.told(self._find(exchange, exchange.tail), exchange.now))

    def _find_file(self, exchange: Exchange, name: str) -> StoredFile:
        file = self._files.find(self._api, exchange.key, name)
        if file is None:
            self.missing(f"No such File object: {name}")
        return file

    def _find(self, exchange: Exchange, name: str) -> Batch:
        batch = self._world.batches.find(self._api, exchange.key, name)
        if batch is None:
            self.missing(f"No batch found with id '{name}'.")
        self._settle(batch, exchange.now)
        return batch

    def _listed(self, exchange: Exchange) -> list[dict[str, Any]]:
        """Every batch of a key, newest first."""
        batches = self._world.batches.listed(self._api, exchange.key)
        for batch in batches:
            self._settle(batch, exchange.now)
        return [self.told(batch, exchange.now) for batch in batches]

    def _to_cancel(self, exchange: Exchange) -> Batch:
        """The batch of a ``POST /batches/{id}/cancel``, cancelled from now on unless it is over."""
        name, _, what = exchange.tail.partition("/")
        if what != "cancel":
            self.missing(f"Invalid URL (POST {exchange.path})")
        batch = self._find(exchange, name)
        if batch.cancel_asked is None and not batch.over:
            batch.cancel_asked = exchange.now
        return batch

    def _made(
        self, exchange: Exchange, prefix: str, items: list[Item], about: dict[str, Any]
    ) -> Batch:
        """A new batch, refused when it does not fit beside those that wait."""
        batch = self._world.batches.make(exchange, self._api, prefix, items, about)
        if batch.script.queue is None:
            return batch
        queued = 0
        for other in self._world.batches.listed(self._api, exchange.key):
            if other is not batch:
                self._settle(other, exchange.now)
            if not other.over and other.about["model"] == batch.about["model"]:
                queued += other.asked_tokens
        if queued > batch.script.queue:
            batch.script.refused = QUEUE_FULL
        return batch

    def _settle(self, batch: Batch, now: float) -> None:
        if batch.over:
            return
        self._world.batches.settle(batch, now, self._worker)
        if batch.over and batch.phase != "refused":
            for kind, good in (("output", True), ("error", False)):
                if data := batch.results(good=good):
                    name = f"{batch.id}_{kind}.jsonl"
                    file = self._files.store(self._api, batch.key, name, self.results, data, now)
                    file.gone = batch.script.gone
                    batch.about[f"{kind}_file_id"] = file.id
