"""The headless engine: durable calls, journal, driver and scoring. Knows no screen and no SDK.

The Python API, see docs/python.md::

    from evalbench.engine import open_run, start_run

    run = start_run("quickstart", "local/smollm2-135m-instruct", limit=20)
    for result in run:
        print(result.outcome, result.question)
    print(run.score)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalbench.engine.results.result import Result
    from evalbench.engine.run import Run, open_run, start_run

__all__ = ["Result", "Run", "open_run", "start_run"]


def __getattr__(name: str) -> Any:
    # Lazy, so that importing a leaf such as evalbench.engine.errors stays cheap.
    if name not in __all__:
        raise AttributeError(name)
    from evalbench.engine import run

    return getattr(run, name)
