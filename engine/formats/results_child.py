"""The child process that writes the results of a complete run where its settings request it.

Started by the engine, which imports no format, as
``python -m evalbench.engine.formats.results_child`` with the run's folder, the format and the
target. Prints one line of JSON: ``{"files": N}`` or ``{"error": WHAT}``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from evalbench.engine.errors import EvalbenchError
from evalbench.engine.formats import export_runs
from evalbench.engine.runs.folder import RunFolder


def main() -> None:
    """Write the files and report their number."""
    folder, name, place = sys.argv[1:]
    try:
        done = export_runs([RunFolder(Path(folder))], name, Path(place), short_names=True)
        report: dict[str, int | str] = {"files": len(done.files)}
    except (EvalbenchError, OSError) as error:
        report = {"error": error.what if isinstance(error, EvalbenchError) else str(error)}
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
