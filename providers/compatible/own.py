"""User-defined servers, from ``providers.toml`` in the configuration folder.

Each table says where the server is, how it takes its key, and which preset it resembles. See
docs/providers.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from evalbench.engine.calls import KeyNeed, Published
from evalbench.engine.calls.secrets import header, query
from evalbench.engine.errors import SpecError, nearest
from evalbench.engine.files import own_toml
from evalbench.engine.paths import config_dir
from evalbench.providers.compatible.provider import Compatible

FILE = "providers.toml"
_IN_OUT = re.compile(r"\s*\$?\d+(?:\.\d+)?\s*/\s*\$?\d+(?:\.\d+)?\s*")
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
    "price_source": str,
    "concurrency": int,
    "qps": (int, float),
    "requests_per_minute": (int, float),
    "tokens_per_minute": int,
    "timeout": (int, float),
    "batches": str,
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
    return make_class(name, own_toml(path)[name])


def make_class(name: str, table: Mapping[str, Any]) -> type[Compatible]:
    """The provider described by a table.

    Raises:
        SpecError: the table is invalid; says why.
    """
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
        "defaults": _defaults(name, table),
        "prices": dict(_texts(name, table, "prices")),
        "price_source": table.get("price_source", ""),
    }
    for model, price in made["prices"].items():
        if not _IN_OUT.fullmatch(price):
            raise _wrong(name, f"the price of {model} is not IN/OUT", _PRICE)
    if table.get("base_url"):
        made["own_address"] = table["base_url"]
        # Limits apply only at the vendor's own address.
        made["published"] = Published()
    if table.get("key_header"):
        made["key_header"] = table["key_header"]
    made_class: type[Compatible] = type(_class_name(name), (base,), made)
    # An invalid address is reported here, with its table, and not by a run.
    if "{" not in made_class.own_address:
        made_class.address_for({"base_url": made_class.own_address})
    return made_class


def _defaults(name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Values of options and settings, by option name."""
    found = {
        field: table[field]
        for field in ("concurrency", "qps", "timeout", "batches")
        if field in table
    }
    if (batches := found.get("batches")) not in (None, "auto", "yes", "no"):
        raise _wrong(name, f"batches cannot be {batches!r}", "one of: auto, yes, no")
    for field in ("requests_per_minute", "tokens_per_minute", "concurrency", "qps", "timeout"):
        if field in table and table[field] <= 0:
            raise _wrong(name, f"{field} must be more than 0", f"leave {field} out for no limit")
    if "requests_per_minute" in table:
        found.setdefault("qps", table["requests_per_minute"] / 60)
    if "tokens_per_minute" in table:
        found["tpm"] = table["tokens_per_minute"]
    return found


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


_PRICE = 'US dollars per million tokens of input and of output, for example "0.4/1.6"'
_EXAMPLE = "see docs/providers.md, Servers of your own"


def _wrong(name: str, why: str, hint: str) -> SpecError:
    return SpecError(name, f"the server {name!r} of {FILE} is not right", why=why, hint=hint)
