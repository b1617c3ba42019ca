"""The process that exports a run to one destination; see :mod:`.supervisor` and :mod:`.backfill`.

It reads one line of JSON from standard input::

    {"folder": P, "to": {...}, "secret": S, "anew": "" | "refused" | "all", "end": B}

and, where ``end`` is false, a second one when the engine is at rest::

    {"within": SECONDS}

It writes one line of JSON at the end, see ``Exporter.report``. If the engine dies, its pipe closes,
which ends this process; what has been sent stays recorded.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from evalbench.engine.config.traces import GALILEO, Destination
from evalbench.engine.core_dumps import no_core_dumps
from evalbench.engine.errors import EvalbenchError
from evalbench.engine.keys import header_secrets, scrub
from evalbench.engine.record_schemas import TraceStatus
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.telemetry import galileo
from evalbench.engine.telemetry.exporter import Exporter, facts_of
from evalbench.engine.telemetry.otlp import OtlpSender

_LOOK_EVERY_S = 1.0
_SHARE = 10
"""Polling takes at most a tenth of the time, however long a run's journal is."""


class _Engine:
    """Listens to the engine while spans are being sent."""

    def __init__(self) -> None:
        self.at_rest = threading.Event()
        self.within = 0.0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        line = sys.stdin.readline()
        if not line:
            os._exit(0)
        self.within = float(json.loads(line)["within"])
        self.at_rest.set()


def serve(request: dict[str, Any], engine: _Engine | None) -> TraceStatus:
    """Export until the engine is at rest, or everything at once; returns the report."""
    to, secret = Destination(**request["to"]), request["secret"]
    of_galileo = to.kind == GALILEO
    sender = OtlpSender(
        to.endpoint,
        "" if of_galileo else secret,
        galileo.headers(to, secret) if of_galileo else {},
        # Phoenix groups traces into projects by this.
        {"openinference.project.name": "evalbench"},
    )
    folder = RunFolder(Path(request["folder"]))
    exporter = Exporter(folder, to, sender, anew=request["anew"])
    places = galileo.links(to, secret) if of_galileo else {}
    deadline = None
    if engine:
        while not engine.at_rest.is_set():
            began = time.monotonic()
            exporter.export()
            seconds = time.monotonic() - began
            engine.at_rest.wait(max(_LOOK_EVERY_S, _SHARE * seconds))
        deadline = time.monotonic() + engine.within
    exporter.finish(facts_of(folder), deadline)
    report = exporter.report()
    report["links"] = {name: link for name, link in places.items() if link}
    if of_galileo:
        report["project"], report["log_stream"] = to.project, to.log_stream
    exporter.close()
    return report


def main() -> None:
    """Serve one request from standard input."""
    no_core_dumps()
    with contextlib.suppress(OSError):
        os.nice(10)  # the run comes first
    request = json.loads(sys.stdin.readline())
    engine = None if request["end"] else _Engine()
    try:
        report: TraceStatus | dict[str, str] = serve(request, engine)
    except EvalbenchError as error:
        report = {"error": scrub(str(error), header_secrets(request["secret"]))}
    except Exception as error:
        # No traceback: it may contain a header, and goes to the run's log unchanged.
        why = f"{type(error).__name__}: {error}"
        report = {"error": scrub(why, header_secrets(request["secret"]))}
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()
    # Not sys.exit: that would wait for a request to a collector that hangs.
    os._exit(0)


if __name__ == "__main__":
    main()
