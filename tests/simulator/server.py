"""The loopback server: takes requests in, lets an API answer, puts the answer on the wire."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

from aiohttp import web

from tests.simulator.anthropic import Anthropic
from tests.simulator.bedrock import Bedrock
from tests.simulator.clock import Clock
from tests.simulator.compatible import Compatible
from tests.simulator.control import Control
from tests.simulator.exchange import Answer, Api, Exchange, Refused, Route, fingerprint
from tests.simulator.faults import WHOLE, Fault, Faults
from tests.simulator.flavours import FLAVOURS
from tests.simulator.google import Google
from tests.simulator.ledger import Entry, Ledger
from tests.simulator.openai import OpenAI
from tests.simulator.together import Together
from tests.simulator.wire import Gone, broken, whole
from tests.simulator.world import World

_MOST_BYTES = 256 * 1024 * 1024


class Simulator:
    """All APIs on one port of the loopback interface.

    Args:
        clock: the time everything in it goes by; a running one when None.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self.world = World(clock or Clock())
        self.faults = Faults()
        self.ledger = Ledger()
        self.apis: tuple[Api, ...] = (
            Anthropic(self.world),
            Bedrock(self.world),
            OpenAI(self.world),
            Together(self.world),
            Google(self.world),
            *(Compatible(self.world, flavour) for flavour in FLAVOURS),
        )
        self._exact: dict[tuple[str, str], tuple[Api, Route]] = {}
        self._templates: list[tuple[Api, Route]] = []
        for api in self.apis:
            for route in api.routes():
                self._mount(api, route)
        self._numbers = itertools.count(1)
        self.world.batches.connect(self.faults, self.ledger, self._numbers)
        self._runner: web.ServerRunner | None = None
        self.url = ""
        self.witness: Callable[[Exchange, Answer], None] | None = None
        """Is shown every answer in the API's own words, for a test that looks at them all."""
        self._control = Control(self)

    def _mount(self, api: Api, route: Route) -> None:
        if route.path.endswith("/*"):
            self._templates.append((api, route))
        else:
            self._exact[route.method, route.path] = (api, route)

    async def start(self, port: int = 0) -> str:
        """Listen on 127.0.0.1 and give the server's address.

        Raises:
            OSError: when the port is taken.
        """
        server = web.Server(
            self._serve, request_factory=_request, handler_cancellation=True, access_log=None
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, backlog=2048)
        await site.start()
        address = self._runner.addresses[0]
        self.url = f"http://{address[0]}:{address[1]}"
        return self.url

    async def stop(self) -> None:
        """Wake whoever waits, cut every connection and stop listening."""
        self.world.clock.reset()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def base_urls(self) -> dict[str, str]:
        """The base URL of each API, as its clients are given it."""
        return {api.name: self.url + api.base_path for api in self.apis}

    def reset(self) -> None:
        """Forget faults, journal, settings, keys, limits, caches and advances of the clock."""
        self.faults.clear()
        self.ledger.reset()
        self.world.reset()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        path, _, query = request.raw_path.partition("?")
        if path.startswith("/_sim"):
            return await self._control.serve(request, path, query)
        found = self._route(request, path)
        if found is None:
            return web.json_response({"error": f"no such path: {path}"}, status=404)
        api, route, tail = found
        if "Expect" in request.headers and request.transport is not None:
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        raw = await request.read()
        target = request.raw_path.encode()
        content = fingerprint(target, raw)
        exchange = Exchange(
            method=request.method,
            path=path,
            query=query,
            headers=request.headers,
            raw=raw,
            content=content,
            number=next(self._numbers),
            attempt=self.ledger.attempt(content),
            now=self.world.clock.now(),
        )
        exchange.tail = tail
        entry = self.ledger.arrive(exchange, api.name)
        fault = self.faults.meet(exchange, self.world.brain.seed) if self.faults.script else None
        answer = self._answer(api, route, exchange, fault)
        if self.witness is not None and (fault is None or fault.own_words):
            self.witness(exchange, answer)
        return await self._send(request, exchange, entry, answer, fault)

    def _route(self, request: web.BaseRequest, path: str) -> tuple[Api, Route, str] | None:
        found = self._exact.get((request.method, path))
        if found is not None:
            return *found, ""
        for api, route in self._templates:
            if route.method == request.method and path.startswith(route.path[:-1]):
                return api, route, path[len(route.path) - 1 :]
        if path.startswith("/v1/"):
            alias = "/anthropic" if "anthropic-version" in request.headers else "/openai"
            return self._route(request, alias + path)
        return None

    @staticmethod
    def _answer(api: Api, route: Route, exchange: Exchange, fault: Fault | None) -> Answer:
        if fault is None or fault.billed:
            try:
                if not route.open:
                    api.admit(exchange)
                answer = route.handler(exchange)
            except Refused as refused:
                answer = refused.answer
        else:
            answer = Answer({})
        if fault is not None:
            answer = _spoiled(api, exchange, fault, answer)
        api.dress(exchange, answer)
        answer.headers.setdefault("date", formatdate(exchange.now, usegmt=True))
        return answer

    async def _send(
        self,
        request: web.BaseRequest,
        exchange: Exchange,
        entry: Entry,
        answer: Answer,
        fault: Fault | None,
    ) -> web.StreamResponse:
        world = self.world
        out = answer.bill.output_tokens if answer.bill is not None else 0
        gone = False
        try:
            wait = world.latency.of(exchange.content, out)
            if wait:
                await world.clock.sleep(wait)
            if fault is None or fault.kind in WHOLE:
                return whole(answer)
            return await broken(request, fault, answer, world.clock)
        except Gone:
            return web.Response(status=500)
        except (asyncio.CancelledError, ConnectionError):
            gone = True
            raise
        finally:
            self.ledger.finish(
                entry,
                exchange,
                answer,
                now=world.clock.now(),
                fault=fault.kind if fault else "",
                sent=not gone and (fault is None or not fault.kind.endswith("before_headers")),
                client_gone=gone,
            )


def _spoiled(api: Api, exchange: Exchange, fault: Fault, answer: Answer) -> Answer:
    """The answer that a fault leaves of the right one."""
    if fault.kind == "error_in_200":
        spoiled = api.error_within_200(exchange, fault.code)
    elif fault.kind == "status":
        spoiled = api.error(fault.status, fault.message)
        if fault.body is not None:
            text = isinstance(fault.body, str)
            spoiled.body = fault.body.encode() if text else fault.body
    else:
        return answer
    spoiled.bill = answer.bill
    if fault.retry_after is not None:
        spoiled.headers["retry-after"] = f"{fault.retry_after:g}"
    spoiled.headers.update({name.lower(): value for name, value in fault.headers.items()})
    if "content-type" in spoiled.headers:
        spoiled.content_type = spoiled.headers.pop("content-type")
    return spoiled


def _request(
    message: Any, payload: Any, protocol: Any, writer: Any, task: asyncio.Task[None]
) -> web.BaseRequest:
    return web.BaseRequest(
        message,
        payload,
        protocol,
        writer,
        task,
        asyncio.get_running_loop(),
        client_max_size=_MOST_BYTES,
    )
