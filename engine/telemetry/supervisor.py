"""The engine's side of traces: starts the exporting processes and collects their reports."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Mapping
from typing import Any, cast

import orjson

from evalbench.engine.config.spec import RunSpec
from evalbench.engine.config.traces import Destination, destinations
from evalbench.engine.keys import strip_environment
from evalbench.engine.record_schemas import TraceStatus
from evalbench.engine.runs.folder import RunFolder

log = logging.getLogger("evalbench")

WITHIN_S = 5.0
"""How long the rest may take to be sent once the run is at rest."""

_OVERTIME_S = 10.0
"""A request may have started just before that; or a child may still be starting."""


class TraceSupervisor:
    """The traces of one run, exported by one child process per destination."""

    def __init__(self, folder: RunFolder, spec: RunSpec, secrets: Mapping[str, str]) -> None:
        """Set up; nothing is started yet.

        Args:
            folder: the run's folder.
            spec: determines the destinations.
            secrets: keys of the destinations, by kind.
        """
        self._folder = folder
        self._to = destinations(spec.settings.traces, spec.benchmark, folder.id)
        self._secrets = secrets
        self._children: list[tuple[Destination, asyncio.subprocess.Process]] = []

    async def start(self) -> None:
        """Start exporting, once the journal is open and in the state this engine found it in."""
        for to in self._to:
            try:
                child = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-P",
                    "-m",
                    "evalbench.engine.telemetry.exporter_child",
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    env=strip_environment(os.environ),
                )
            except OSError as error:
                log.warning("traces of %s: no process: %s", self._folder.id, error)
                continue
            assert child.stdin
            child.stdin.write(request_line(self._folder, to, self._secrets.get(to.kind, "")))
            self._children.append((to, child))

    @property
    def any(self) -> bool:
        """Whether there is any destination."""
        return bool(self._children)

    def give_up(self) -> None:
        """Stop exporting: what was not sent remains for ``evalbench trace``."""
        for _, child in self._children:
            with contextlib.suppress(ProcessLookupError):
                child.kill()

    async def end(self) -> list[TraceStatus]:
        """Let the rest be sent, within a time limit; returns the reports by destination."""
        ends = (self._end(to, child) for to, child in self._children)
        return list(await asyncio.gather(*ends))

    async def _end(self, to: Destination, child: asyncio.subprocess.Process) -> TraceStatus:
        assert child.stdin
        try:
            out, _ = await asyncio.wait_for(
                child.communicate(orjson.dumps({"within": WITHIN_S}) + b"\n"),
                WITHIN_S + _OVERTIME_S,
            )
            return parse_report(out, to)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
            return lost_report(to, "it did not end in time")


def request_line(
    folder: RunFolder, to: Destination, secret: str, *, anew: str = "", end: bool = False
) -> bytes:
    """The request for an exporting process, see :mod:`.exporter_child`."""
    request = {
        "folder": str(folder.path),
        "to": to.to_json(),
        "secret": secret,
        "anew": anew,
        "end": end,
    }
    return orjson.dumps(request) + b"\n"


def parse_report(out: bytes, to: Destination) -> TraceStatus:
    """The report of an exporting process."""
    try:
        report: dict[str, Any] = orjson.loads(out)
    except ValueError:
        return lost_report(to, "it ended without output")
    if "error" in report:
        return lost_report(to, report["error"])
    return cast("TraceStatus", report)


def lost_report(to: Destination, why: str) -> TraceStatus:
    """The report of an export that failed; how much was sent is unknown."""
    return {
        "to": to.endpoint,
        "service": to.kind,
        "content": to.content,
        "sent": 0,
        "left": None,
        "refused": 0,
        "why": f"the process that sends traces failed: {why}",
        "links": {},
    }
