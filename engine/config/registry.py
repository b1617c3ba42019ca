"""Benchmarks and providers by name, through entry points.

Groups: ``evalbench.benchmarks`` and ``evalbench.providers``. An installed
package adds its own by declaring an entry point; nothing else is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, reduce
from importlib import import_module
from typing import Any

from evalbench.engine.benchmark import Benchmark
from evalbench.engine.calls import BaseProvider
from evalbench.engine.errors import SpecError, nearest

Found = Mapping[str, Mapping[str, str]]
"""Where each name leads, ``module:attribute``, by group."""

_handed: Found | None = None


@cache
def _found() -> Found:
    """Entry points: asked for once, as every installed package is read for it."""
    # Needed by nobody who was handed what is installed, and it takes its time to load.
    from importlib.metadata import entry_points

    points = entry_points()
    return {
        group: {point.name: f"{point.module}:{point.attr}" for point in points.select(group=group)}
        for group in ("evalbench.benchmarks", "evalbench.providers")
    }


def installed() -> Found:
    """All that is installed, to be handed to a process that is started; see :func:`hand`."""
    return _found() if _handed is None else _handed


def hand(found: Found) -> None:
    """Take what the process that started this one has found, instead of looking again."""
    global _handed
    _handed = found


def benchmark_names() -> list[str]:
    """Names of all installed benchmarks that can be run, sorted."""
    return sorted(name for name in installed()["evalbench.benchmarks"] if name != "recorded")


def provider_names() -> list[str]:
    """Names of all installed providers that can be asked, sorted."""
    return sorted(name for name in installed()["evalbench.providers"] if name != "answers")


def benchmark_class(name: str) -> type[Benchmark]:
    """The class behind a benchmark's name.

    Raises:
        SpecError: for an unknown name, with the nearest ones, or a plug-in that cannot be imported.
    """
    loaded: type[Benchmark] = _load("evalbench.benchmarks", "benchmark", name, Benchmark)
    return loaded


def provider_class(name: str) -> type[BaseProvider]:
    """The class behind a provider's name.

    Raises:
        SpecError: for an unknown name, with the nearest ones, or a plug-in that cannot be imported.
    """
    loaded: type[BaseProvider] = _load("evalbench.providers", "provider", name, BaseProvider)
    return loaded


def _load(group: str, what: str, name: str, base: type) -> Any:
    points = installed()[group]
    if name not in points:
        raise SpecError(
            what,
            f"there is no {what} named {name!r}",
            cure=nearest(name, points),
        )
    try:
        module, _, attribute = points[name].partition(":")
        loaded = reduce(getattr, attribute.split("."), import_module(module))
        if not (isinstance(loaded, type) and issubclass(loaded, base)):
            raise TypeError(f"{points[name]} is not a class derived from {base.__name__}")
        return loaded
    except Exception as error:
        # A plug-in is somebody else's code: it may fail in any way, and harms no other.
        raise SpecError(
            what,
            f"the {what} {name!r} could not be imported",
            why=str(error),
            cure="reinstall the package that provides it",
        ) from error
