"""Run LLM benchmarks against any model, from a terminal or a script, and trust the result.

The stable API for programs; see docs/python.md::

    import evalbench

    run = evalbench.start_run("quickstart", "local/smollm2-135m-instruct", limit=20)
    for result in run:
        print(result.outcome, result.question)
    print(run.score)

Everything is loaded on first use: importing ``evalbench`` is nearly free.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalbench.engine.benchmark import Benchmark as Benchmark
    from evalbench.engine.calls.provider import Provider as Provider
    from evalbench.engine.errors import BadKey as BadKey
    from evalbench.engine.errors import DataError as DataError
    from evalbench.engine.errors import EvalbenchError as EvalbenchError
    from evalbench.engine.errors import JournalError as JournalError
    from evalbench.engine.errors import KeyUnavailable as KeyUnavailable
    from evalbench.engine.errors import NoCredit as NoCredit
    from evalbench.engine.errors import NoSuchModel as NoSuchModel
    from evalbench.engine.errors import NotApproved as NotApproved
    from evalbench.engine.errors import ProviderError as ProviderError
    from evalbench.engine.errors import RunBusy as RunBusy
    from evalbench.engine.errors import RunChanged as RunChanged
    from evalbench.engine.errors import RunNotFound as RunNotFound
    from evalbench.engine.errors import RunUnfinished as RunUnfinished
    from evalbench.engine.errors import SpecError as SpecError
    from evalbench.engine.errors import UsageError as UsageError
    from evalbench.engine.runs.result import Result as Result
    from evalbench.run import Run as Run
    from evalbench.run import open_run as open_run
    from evalbench.run import start_run as start_run
    from evalbench.settings import Settings as Settings

    __version__: str

__all__ = [
    "BadKey",
    "Benchmark",
    "DataError",
    "EvalbenchError",
    "JournalError",
    "KeyUnavailable",
    "NoCredit",
    "NoSuchModel",
    "NotApproved",
    "Provider",
    "ProviderError",
    "Result",
    "Run",
    "RunBusy",
    "RunChanged",
    "RunNotFound",
    "RunUnfinished",
    "Settings",
    "SpecError",
    "UsageError",
    "__version__",
    "open_run",
    "start_run",
]

_HOMES = {
    "Benchmark": "evalbench.engine.benchmark",
    "Provider": "evalbench.engine.calls.provider",
    "Result": "evalbench.engine.runs.result",
    "Run": "evalbench.run",
    "Settings": "evalbench.settings",
    "open_run": "evalbench.run",
    "start_run": "evalbench.run",
}
"""Where the names are defined that are not errors."""


# Hidden from type checkers: with it, they would accept every name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from evalbench.engine.installed import version

            return version()
        if name in __all__:
            return getattr(import_module(_HOMES.get(name, "evalbench.engine.errors")), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
