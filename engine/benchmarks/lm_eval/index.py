"""The names of all tasks and groups of the installed lm-evaluation-harness.

Reading its fourteen thousand files takes seconds; the result is kept in the cache folder, for each
version of the library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import orjson

from evalbench.engine.benchmarks.lm_eval.task_files import files_in, read_task_files
from evalbench.engine.installed import require
from evalbench.engine.paths import cache_dir, make_private, write_file

_FORMAT = 2
LM_EVAL = "lm-eval"
"""The extra, and what names of its tasks begin with, before a slash."""
LOGLIKELIHOODS = frozenset({"loglikelihood", "loglikelihood_rolling", "multiple_choice"})
"""Output types of tasks that need log-likelihoods."""
GENERATES = "generate_until"
"""The output type of tasks that need text."""
_KINDS = {"GROUP": "group", "TAG": "tag"}


class Entry(NamedTuple):
    """A task, a group of tasks or a tag.

    Attributes:
        kind: ``TASK``, ``PY_TASK`` (a class), ``GROUP`` or ``TAG``.
        path: its file, relative to the library's tasks if it is one of them.
        output_type: for tasks; as far as their files say it.
        alias, data: display name; the data set and its configuration.
        members: what groups and tags contain.
    """

    kind: str
    path: str
    output_type: str
    alias: str
    data: str
    members: list[str]

    @property
    def what(self) -> str:
        """What it is in one line: the output type of a task, and its data."""
        return f"{_KINDS.get(self.kind) or self.output_type}  {self.data}".strip()


Index = Mapping[str, Entry]


@cache
def library_version() -> str:
    """The version of the installed library; empty if there is none."""
    try:
        return version("lm-eval")
    except PackageNotFoundError:
        return ""


def require_library(purpose: str) -> None:
    """Fail if the library is not installed.

    Raises:
        UsageError: with the command that installs it.
    """
    require(LM_EVAL, purpose, "lm_eval")


def index_path() -> Path:
    """Where the index of the installed version is kept."""
    return cache_dir() / "lm-eval" / f"tasks-{library_version()}-{_FORMAT}.json"


def known_tasks() -> Index | None:
    """The index, if it has been made and is whole."""
    try:
        path = index_path()
        return _read(path, path.stat().st_mtime_ns)
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def all_tasks() -> Index:
    """The index, made now if necessary.

    Raises:
        UsageError: the library is not installed.
    """
    require_library("an lm-eval benchmark")
    found = known_tasks()
    if found is not None:
        return found
    path, base = index_path(), library_tasks()
    make_private(path.parent)
    write_file(path, orjson.dumps(read_task_files(base, files_in(base))))
    return _read(path, path.stat().st_mtime_ns)


def tasks_in(folder: str) -> Index:
    """The tasks of a folder of the user's own; the library has to be installed."""
    files = files_in(Path(folder))
    stamps = [(file.stat().st_mtime_ns, file.stat().st_size) for file in files]
    return _tasks_in(tuple(zip(map(str, files), stamps, strict=True)))


@lru_cache(2)
def _tasks_in(files: tuple[tuple[str, tuple[int, int]], ...]) -> Index:
    found = read_task_files(library_tasks(), [Path(name) for name, _ in files])
    return {name: Entry(*fields) for name, fields in found.items()}


def library_tasks() -> Path:
    """Where the installed library has its task files."""
    spec = find_spec("lm_eval")
    assert spec
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]).resolve() / "tasks"


@lru_cache(2)
def _read(path: Path, _changed: int) -> Index:
    return {name: Entry(*fields) for name, fields in orjson.loads(path.read_bytes()).items()}


def leaves(index: Index, name: str) -> Iterator[tuple[str, Entry]]:
    """The tasks that a name stands for."""
    within = reachable(index, name, by_tags=False)
    return ((one, entry) for one, entry in within if entry.kind not in _KINDS)


def reachable(index: Index, name: str, *, by_tags: bool) -> Iterator[tuple[str, Entry]]:
    """A name, the members of its groups and tags and, with ``by_tags``, the tags of its tasks."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one in seen or one not in index:
            continue
        seen.add(one)
        entry = index[one]
        yield one, entry
        if by_tags or entry.kind in _KINDS:
            waiting += entry.members


def needs_of(index: Index, name: str) -> frozenset[str]:
    """The kinds of calls that the tasks of a name make."""
    kinds = call_kinds(entry.output_type for _, entry in leaves(index, name))
    return kinds or frozenset({"generate"})


def call_kinds(output_types: Iterable[str]) -> frozenset[str]:
    """The kinds of calls that tasks with these output types make."""
    return frozenset("choose" if one in LOGLIKELIHOODS else "generate" for one in output_types)
