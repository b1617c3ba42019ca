"""What the installed benchmarks are, in a line each, without importing them.

Importing them all takes longer than everything else that lists them. The lines are kept in the
cache folder, until an entry point or a file beside one of their modules changes.
"""

from __future__ import annotations

import contextlib
import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalbench.engine.config import registry
from evalbench.engine.errors import SpecError, UsageError
from evalbench.engine.files import parse_json, read_plain
from evalbench.engine.paths import cache_dir, make_private, write_file


class Described(NamedTuple):
    """A benchmark in a line."""

    name: str
    title: str
    summary: str


def described() -> tuple[list[Described], list[SpecError]]:
    """All installed benchmarks by name, and what is wrong with those that cannot be imported."""
    stamp = _stamp()
    if stored := _held(stamp):
        return stored, []
    found, faults = [], []
    for name in registry.benchmark_names():
        try:
            kind = registry.benchmark_class(name)
        except SpecError as error:
            faults.append(error)
        else:
            found.append(Described(name, kind.title, kind.summary))
    if not faults:
        with contextlib.suppress(OSError, UsageError):
            path = _path()
            make_private(path.parent)
            write_file(path, orjson.dumps({"stamp": stamp, "benchmarks": [*map(list, found)]}))
    return found, faults


def _path() -> Path:
    return cache_dir() / "benchmarks.json"


def _held(stamp: list[Any]) -> list[Described]:
    try:
        stored = parse_json(read_plain(_path()))
        return [Described(*one) for one in stored["benchmarks"]] if stored["stamp"] == stamp else []
    except (OSError, UsageError, ValueError, KeyError, TypeError):
        return []


def _stamp() -> list[Any]:
    """The entry points, and the files beside their modules with times and sizes."""
    points = registry.installed()["evalbench.benchmarks"]
    modules = sorted({target.partition(":")[0] for target in points.values()})
    return [sorted(map(list, points.items())), [_files_beside(module) for module in modules]]


def _files_beside(module: str) -> list[list[Any]]:
    try:
        spec = find_spec(module)
        return _files_in(os.path.dirname(spec.origin)) if spec and spec.origin else []
    except Exception:  # importing the package around it may fail in any way; it may be in a zip
        return []


@cache
def _files_in(folder: str) -> list[list[Any]]:
    with os.scandir(folder) as entries:
        found = [(one.name, one.stat()) for one in entries if not one.is_dir()]
    return sorted([name, stat.st_mtime_ns, stat.st_size] for name, stat in found)
