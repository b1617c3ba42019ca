"""Finds benchmarks and providers by name, through entry points.

Groups: ``evalbench.benchmarks`` and ``evalbench.providers``. An installed package adds its own by
declaring an entry point; nothing else is needed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, reduce
from importlib import import_module
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import Benchmark
from evalbench.engine.calls import BaseProvider
from evalbench.engine.errors import SpecError, UsageError, nearest
from evalbench.engine.files import own_toml
from evalbench.engine.paths import config_dir

Found = Mapping[str, Mapping[str, str]]
"""The target of each name, ``module:attribute``, by group."""

_handed: Found | None = None
_PROVIDERS, _SERVERS = "evalbench.providers", "evalbench.servers"
SERVERS_FILE = "providers.toml"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")


@cache
def _found() -> Found:
    """Entry points, read once, because it means reading every installed package."""
    # Slow to import, and not needed by a process that was given the list.
    from importlib.metadata import entry_points

    points = entry_points()
    return {
        group: {point.name: f"{point.module}:{point.attr}" for point in points.select(group=group)}
        for group in ("evalbench.benchmarks", _PROVIDERS, _SERVERS)
    }


def _with_servers(found: Found, path: Path) -> Found:
    """What is installed, plus the servers described by the user.

    Raises:
        SpecError: the file is invalid.
    """
    try:
        tables = own_toml(path)
    except FileNotFoundError:
        return found
    except (OSError, ValueError) as error:
        raise SpecError(SERVERS_FILE, f"{path} cannot be read", why=str(error)) from None
    (maker,) = found[_SERVERS].values()
    own = {}
    for name, table in tables.items():
        is_table = isinstance(table, dict)
        why = _no_name(name, found) if is_table else "every server is a table of its own"
        if why:
            raise SpecError(
                SERVERS_FILE,
                f"{path}: {name!r} is no server",
                why=why,
                hint="for example [my-server], and below it base_url",
            )
        own[name] = f"{maker}.{name}"
    return {**found, _PROVIDERS: {**found[_PROVIDERS], **own}}


def check_server(name: str, table: Mapping[str, Any]) -> None:
    """Check a table of the user's servers file.

    Raises:
        SpecError: what is wrong with it, or with its name.
    """
    found = _found()
    if why := _no_name(name, found):
        raise SpecError("name", f"{name!r} cannot be the name of a server", why=why)
    (maker,) = found[_SERVERS].values()
    import_module(maker.partition(":")[0]).make_class(name, table)


def _no_name(name: str, found: Found) -> str:
    """Why a server cannot have this name; empty if it can."""
    if name in found[_PROVIDERS]:
        return "a provider of this name is built in"
    if not _NAME.fullmatch(name):
        return "names are small letters, digits, dashes and underscores"
    return ""


def installed() -> Found:
    """Everything installed, to be passed to a child process; see :func:`hand`."""
    if _handed is not None:
        return _handed
    try:
        path = config_dir() / SERVERS_FILE
    except UsageError:
        # There is no home folder.
        return _found()
    return _with_servers(_found(), path)


def hand(found: Found) -> None:
    """Use what the parent process found instead of searching again."""
    global _handed
    _handed = found


def benchmark_names() -> list[str]:
    """Names of all installed benchmarks that can be run, sorted."""
    return sorted(name for name in installed()["evalbench.benchmarks"] if name != "recorded")


def provider_names() -> list[str]:
    """Names of all installed providers that can be called, sorted."""
    return sorted(name for name in installed()["evalbench.providers"] if name != "answers")


def benchmark_class(name: str) -> type[Benchmark]:
    """The class registered under a benchmark's name; for ``FAMILY/TASK``, that of the task.

    Raises:
        SpecError: unknown name, with the closest ones, or a plug-in that cannot be imported.
    """
    family, slash, task = name.partition("/")
    if slash and family in installed()["evalbench.benchmarks"]:
        name = family
    loaded: type[Benchmark] = _load("evalbench.benchmarks", "benchmark", name, Benchmark)
    return loaded.named(task) if slash else loaded


def is_benchmark(word: str) -> bool:
    """Whether a word is the name of a benchmark, or of a task of a family of them."""
    return word.partition("/")[0] in benchmark_names()


def provider_class(name: str) -> type[BaseProvider]:
    """The class registered under a provider's name.

    Raises:
        SpecError: unknown name, with the closest ones, or a plug-in that cannot be imported.
    """
    loaded: type[BaseProvider] = _load("evalbench.providers", "provider", name, BaseProvider)
    return loaded


def _load(group: str, what: str, name: str, base: type) -> Any:
    points = installed()[group]
    if name not in points:
        raise SpecError(
            what,
            f"there is no {what} named {name!r}",
            hint=nearest(name, points),
        )
    try:
        module, _, attribute = points[name].partition(":")
        loaded = reduce(getattr, attribute.split("."), import_module(module))
        if not (isinstance(loaded, type) and issubclass(loaded, base)):
            raise TypeError(f"{points[name]} is not a class derived from {base.__name__}")
        return loaded
    except SpecError:
        raise
    except Exception as error:
        # A plug-in is third-party code: it may fail in any way and must not affect others.
        raise SpecError(
            what,
            f"the {what} {name!r} could not be imported",
            why=str(error),
            hint="reinstall the package that provides it",
        ) from error
