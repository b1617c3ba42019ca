"""The simulator's own endpoints, under ``/_sim``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import orjson
from aiohttp import web

from tests.simulator.exchange import key_of
from tests.simulator.faults import Fault
from tests.simulator.ledger import Entry, redacted, safe_headers
from tests.simulator.world import Latency

if TYPE_CHECKING:
    from tests.simulator.server import Simulator


_LARGE = 1 << 20
"""Bytes of a request body that is not worth showing: it holds a whole batch."""


class Control:
    """Scripts a simulator and reads its journal."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._actions: dict[tuple[str, str], Callable[[dict[str, Any]], Any]] = {
            ("GET", "/_sim"): self._show,
            ("POST", "/_sim/reset"): self._reset,
            ("GET", "/_sim/faults"): self._faults,
            ("POST", "/_sim/faults"): self._fault,
            ("DELETE", "/_sim/faults"): self._no_faults,
            ("GET", "/_sim/ledger"): self._entries,
            ("POST", "/_sim/ledger"): self._ledger,
            ("GET", "/_sim/summary"): self._summary,
            ("GET", "/_sim/batches"): self._batches,
            ("POST", "/_sim/clock"): self._clock,
            ("POST", "/_sim/brain"): self._brain,
            ("POST", "/_sim/limits"): self._limits,
            ("POST", "/_sim/latency"): self._latency,
            ("POST", "/_sim/keys"): self._keys,
            ("POST", "/_sim/models"): self._models,
        }

    async def serve(self, request: web.BaseRequest, path: str, query: str) -> web.Response:
        """Answer one control request: JSON in, JSON out, 400 with the reason for nonsense."""
        raw = await request.read()
        try:
            given: dict[str, Any] = orjson.loads(raw) if raw else {}
            given |= {name: values[0] for name, values in parse_qs(query).items()}
            if path == "/_sim/wait":
                return _json(await self._wait(given))
            action = self._actions.get((request.method, path.rstrip("/")))
            if action is None:
                return _json({"error": f"no such control: {request.method} {path}"}, 404)
            return _json(action(given))
        except (TypeError, ValueError, KeyError) as problem:
            return _json({"error": f"{type(problem).__name__}: {problem}"}, 400)

    def _show(self, given: dict[str, Any]) -> Any:
        clock = self._simulator.world.clock
        return {
            "url": self._simulator.url,
            "base_urls": self._simulator.base_urls(),
            "now": clock.now(),
            "running": clock.running,
        }

    def _reset(self, given: dict[str, Any]) -> Any:
        self._simulator.reset()
        return {}

    def _faults(self, given: dict[str, Any]) -> Any:
        return [fault.describe() for fault in self._simulator.faults.script]

    def _fault(self, given: dict[str, Any]) -> Any:
        self._simulator.faults.add(Fault(**given))
        return {"faults": len(self._simulator.faults.script)}

    def _no_faults(self, given: dict[str, Any]) -> Any:
        self._simulator.faults.clear()
        return {}

    def _entries(self, given: dict[str, Any]) -> Any:
        after = int(given.get("after", 0))
        entries = self._simulator.ledger.entries
        return [_entry(entry) for entry in entries if entry.number > after]

    def _ledger(self, given: dict[str, Any]) -> Any:
        self._simulator.ledger.keep = bool(given.pop("keep"))
        return {}

    def _summary(self, given: dict[str, Any]) -> Any:
        return self._simulator.ledger.summary()

    def _batches(self, given: dict[str, Any]) -> Any:
        return self._simulator.world.batches.describe()

    async def _wait(self, given: dict[str, Any]) -> Any:
        timeout = float(given.pop("timeout", 10.0))
        least = {name: int(value) for name, value in given.items()}
        if unknown := set(least) - {"requests", "finished", "in_flight", "client_gone"}:
            raise ValueError(f"cannot wait for {', '.join(unknown)}")
        try:
            async with asyncio.timeout(timeout):
                await self._simulator.ledger.until(**least)
        except TimeoutError:
            return {"reached": False, **self._simulator.ledger.summary()}
        return {"reached": True, **self._simulator.ledger.summary()}

    def _clock(self, given: dict[str, Any]) -> Any:
        clock = self._simulator.world.clock
        if given.pop("stand", False):
            clock.stand()
        clock.advance(float(given.pop("advance", 0.0)))
        return {"now": clock.now(), "sleeping": clock.sleeping}

    def _brain(self, given: dict[str, Any]) -> Any:
        self._simulator.world.brain.configure(**given)
        return {}

    def _limits(self, given: dict[str, Any]) -> Any:
        self._simulator.world.limits.configure(**given)
        return {}

    def _latency(self, given: dict[str, Any]) -> Any:
        self._simulator.world.latency = Latency(**given)
        return {}

    def _keys(self, given: dict[str, Any]) -> Any:
        for key, state in given.items():
            self._simulator.world.accounts.set(key, state)
        return {}

    def _models(self, given: dict[str, Any]) -> Any:
        self._simulator.world.catalogue.change(**given)
        return {}


def _entry(entry: Entry) -> dict[str, Any]:
    out = {f.name: getattr(entry, f.name) for f in fields(entry)}
    raw = out.pop("raw")
    out["headers"] = safe_headers(entry.headers)
    out["key"] = redacted(key_of(entry.headers))
    out["content"] = f"{entry.content:016x}"
    if len(raw) > _LARGE:
        out["body"] = f"{len(raw)} bytes"
        return out
    try:
        out["body"] = orjson.loads(raw) if raw else None
    except ValueError:
        out["body"] = raw.decode(errors="replace")
    return out


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")
