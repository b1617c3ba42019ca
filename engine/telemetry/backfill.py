"""Exports traces of an existing run: ``evalbench trace``."""

from __future__ import annotations

import os
import subprocess
import sys

from evalbench.engine.config.spec import RunSpec
from evalbench.engine.config.traces import destinations
from evalbench.engine.errors import EvalbenchError
from evalbench.engine.keys import strip_environment
from evalbench.engine.record_schemas import TraceStatus
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.telemetry.credentials import trace_keys
from evalbench.engine.telemetry.supervisor import parse_report, request_line


def export_traces(folder: RunFolder, spec: RunSpec, *, again: bool = False) -> list[TraceStatus]:
    """Send the parts of a run that a spec's destinations have not received.

    Args:
        folder: the run's folder.
        spec: the run's spec, with the destinations to send to.
        again: also resend what they have already received.

    Returns:
        A report for each destination, see :meth:`.Exporter.report`.

    Raises:
        KeyUnavailable, SpecError: see :func:`.credentials.trace_keys`.
        EvalbenchError: no process can be started.
    """
    folder.refuse_links()
    keys = trace_keys(spec)
    reports = []
    for to in destinations(spec.settings.traces, spec.benchmark, folder.id):
        line = request_line(
            folder, to, keys[to.kind][1], anew="all" if again else "refused", end=True
        )
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-m", "evalbench.engine.telemetry.exporter_child"],
                input=line,
                stdout=subprocess.PIPE,
                env=strip_environment(os.environ),
                check=False,
            )
        except OSError as error:
            raise EvalbenchError("no process can be started", why=error.strerror or "") from None
        reports.append(parse_report(done.stdout, to))
    return reports
