"""Servers that users describe themselves, in ``providers.toml`` of the configuration folder.

A table for each: where it is, how it takes its key, and which preset it is like. See
docs/providers.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from evalbench.engine.calls import KeyNeed
from evalbench.engine.calls.secrets import header, query
from evalbench.engine.errors import SpecError, nearest
from evalbench.engine.files import read_toml
from evalbench.engine.paths import config_dir
from evalbench.providers.compatible.provider import Compatible

FILE = "providers.toml"
_FIELDS = {
    "like": str,
    "title": str,
    "base_url": str,
    "key": str,
    "key_required": bool,
    "key_header": str,
    "key_page": str,
    "headers": dict,
    "query": dict,
    "prices": dict,
    "concurrency": int,
    "qps": (int, float),
    "timeout": (int, float),
}


class _Servers:
    """The tables of the file as attributes, for entry points."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = config_dir() / FILE
        return _class(name, path, path.stat().st_mtime_ns)


servers = _Servers()


@lru_cache(64)
def _class(name: str, path: Path, _changed: int) -> type[Compatible]:
    table = read_toml(path)[name]
    for field, value in table.items():
        kind = _FIELDS.get(field)
        if kind is None:
            raise _wrong(name, f"there is no field {field!r}", nearest(field, _FIELDS))
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):  # type: ignore[arg-type]
            raise _wrong(name, f"{field} is of another kind", _EXAMPLE)
    base = _like(name, table.get("like", "compatible"))
    if not table.get("base_url") and not base.own_address:
        raise _wrong(name, "base_url is missing", 'for example base_url = "https://gw.example/v1"')
    need = base.key
    variables = (table["key"],) if table.get("key") else (_variable(name),)
    required = table.get("key_required", "key" in table or bool(need and need.required))
    made: dict[str, Any] = {
        "__doc__": f"{name}, of {FILE}.",
        "__module__": __name__,
        "name": name,
        "title": table.get("title", name),
        "key": KeyNeed(variables, table.get("key_page", ""), required=required),
        "own_headers": dict(
            header(f"{key}: {value}", FILE) for key, value in _texts(name, table, "headers")
        ),
        "own_query": dict(
            query(f"{key}={value}", FILE) for key, value in _texts(name, table, "query")
        ),
        "configured": True,
        "defaults": {
            field: table[field] for field in ("concurrency", "qps", "timeout") if field in table
        },
        "prices": dict(_texts(name, table, "prices")),
    }
    if table.get("base_url"):
        made["own_address"] = table["base_url"]
    if table.get("key_header"):
        made["key_header"] = table["key_header"]
    made_class: type[Compatible] = type(_class_name(name), (base,), made)
    # An address that is none is told here, with its table, and not by a run.
    if "{" not in made_class.own_address:
        made_class.address_for({"base_url": made_class.own_address})
    return made_class


def _texts(name: str, table: Mapping[str, Any], field: str) -> list[tuple[str, str]]:
    found = table.get(field, {})
    if any(not isinstance(value, str) for value in found.values()):
        raise _wrong(name, f"the values of {field} are texts", _EXAMPLE)
    return list(found.items())


def _like(name: str, like: str) -> type[Compatible]:
    if like == Compatible.name:
        return Compatible
    # Reads the metadata of every installed package.
    from importlib.metadata import entry_points

    for point in entry_points(group="evalbench.providers", name=like):
        target = point.load()
        if isinstance(target, type) and issubclass(target, Compatible):
            return target
    raise _wrong(name, f"like = {like!r} is no server that speaks OpenAI's protocol", _EXAMPLE)


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name).upper() + "_API_KEY"


def _class_name(name: str) -> str:
    return re.sub(r"\W", "", name.title())


_EXAMPLE = "see docs/providers.md, Servers of your own"


def _wrong(name: str, why: str, hint: str) -> SpecError:
    return SpecError(name, f"the server {name!r} of {FILE} is not right", why=why, hint=hint)
