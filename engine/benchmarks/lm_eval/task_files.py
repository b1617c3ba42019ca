"""The names in task files of lm-evaluation-harness, read without loading the library.

The same as its ``TaskIndex.build`` (version 0.4.13) finds, at a fifth of the time: a template that
a thousand files include is parsed once, and nothing is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evalbench.engine.files import files_below, read_plain


def files_in(folder: Path) -> list[Path]:
    """The task files in a folder and below, in the library's order."""
    return [path for path in files_below(folder) if path.suffix == ".yaml"]


def read_task_files(base: Path, files: Iterable[Path]) -> dict[str, list[Any]]:
    """Kind, file, output type, display name, data set and members, by name.

    Files that are no task's, and those that cannot be read, are passed over.

    Args:
        base: paths below it are relative to it.
        files: the task files; of several with one name the first counts.
    """
    parser = _Parser()
    found: dict[str, list[Any]] = {}
    for path in files:
        try:
            config = parser.merged(str(path), set())
            kind, name = _kind_and_name(config)
            tags = _tags(config)
        except Exception:  # noqa: S112 (as the library: whatever is wrong with one file)
            continue
        if name in found:
            continue
        group = kind == "GROUP"
        found[name] = [
            kind,
            str(path.relative_to(base) if path.is_relative_to(base) else path),
            str(config.get("output_type") or "generate_until"),
            str(config.get("task_alias") or config.get("group_alias") or ""),
            " ".join(str(config.get(key) or "") for key in ("dataset_path", "dataset_name")),
            list(_members(name, config.get("task") or [])) if group else sorted(set(tags)),
        ]
        for tag in () if group else tags:
            tagged = found.setdefault(tag, ["TAG", "", "generate_until", "", " ", []])
            if name not in tagged[5]:
                tagged[5].append(name)
    for entry in found.values():
        if entry[0] != "GROUP":
            entry[5].sort()
    return found


class _Parser:
    """Parses YAML files with what they include; functions are not looked up."""

    def __init__(self) -> None:
        import yaml

        class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
            """The fastest there is, with a type of its own for ``!function``."""

        Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))
        self._load, self._loader = yaml.load, Loader
        self._included: dict[str, dict[str, Any]] = {}

    def merged(self, path: str, seen: set[str]) -> dict[str, Any]:
        """The keys of a file over those of the files that it includes.

        Raises:
            Exception: one cannot be read, is no mapping, or is included twice.
        """
        if path in seen:
            raise ValueError(f"{path} is included twice")
        config = self._included.get(path) if seen else None
        if config is None:
            config = self._load(read_plain(Path(path)), Loader=self._loader)
            if not isinstance(config, dict):
                raise ValueError(f"{path} is no mapping")
            if seen:
                self._included[path] = config
        seen.add(path)
        if "include" not in config:
            return config
        includes = config["include"]
        found: dict[str, Any] = {}
        for one in includes if isinstance(includes, list) else [includes]:
            place = os.path.normpath(os.path.join(os.path.dirname(path), one))
            found |= {k: v for k, v in self.merged(place, seen).items() if k != "task_list"}
        return found | {key: value for key, value in config.items() if key != "include"}


def _kind_and_name(config: Mapping[str, Any]) -> tuple[str, str]:
    if "class" in config:
        return "PY_TASK", str(config["task"])
    if "group" in config:
        return "GROUP", str(config["group"])
    return "TASK", str(config["task"])


def _tags(config: Mapping[str, Any]) -> list[str]:
    tags = config.get("tag") or []
    return [tags] if isinstance(tags, str) else list(tags)


def _members(group: str, listed: Any) -> Iterator[str]:
    for one in listed if isinstance(listed, list) else [listed]:
        if not isinstance(one, dict):
            yield str(one)
        elif "group" in one and isinstance(one.get("task"), list):
            yield from _members(group, one["task"])
        else:
            yield str(one.get("task") or one.get("group"))
