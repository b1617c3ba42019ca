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
from evalbench.engine.calls.own_servers import SERVER_SETTINGS, OwnServer
from evalbench.engine.calls.secrets import header, query
from evalbench.engine.errors import SpecError, nearest
from evalbench.engine.files import own_toml
from evalbench.engine.paths import config_dir
from evalbench.providers.compatible.provider import Compatible

FILE = "providers.toml"
_IN_OUT = re.compile(r"\s*\$?\d+(?:\.\d+)?\s*/\s*\$?\d+(?:\.\d+)?\s*")


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
    given = _described(name, table)
    base = _like(name, given.like or Compatible.name)
    if not given.base_url and not base.own_address:
        raise _wrong(name, "base_url is missing", 'for example base_url = "https://gw.example/v1"')
    need = base.key
    required = given.key_required
    if required is None:
        required = given.key is not None or bool(need and need.required)
    made: dict[str, Any] = {
        "__doc__": f"{name}, of {FILE}.",
        "__module__": __name__,
        "name": name,
        "title": name if given.title is None else given.title,
        "key": KeyNeed((given.key or _variable(name),), given.key_page or "", required=required),
        "own_headers": dict(
            header(f"{key}: {value}", FILE) for key, value in given.headers.items()
        ),
        "own_query": dict(query(f"{key}={value}", FILE) for key, value in given.query.items()),
        "configured": True,
        "defaults": _defaults(name, given),
        "prices": dict(given.prices),
        "price_source": given.price_source or "",
    }
    for model, price in given.prices.items():
        if not _IN_OUT.fullmatch(price):
            raise _wrong(name, f"the price of {model} is not IN/OUT", _PRICE)
    if given.base_url:
        made["own_address"] = given.base_url
        # Limits apply only at the vendor's own address.
        made["published"] = Published()
    if given.key_header:
        made["key_header"] = given.key_header
    made_class: type[Compatible] = type(_class_name(name), (base,), made)
    # An invalid address is reported here, with its table, and not by a run.
    address = made_class.own_address or ""
    if "{" not in address:
        made_class.address_for({"base_url": address})
    return made_class


def _described(name: str, table: Mapping[str, Any]) -> OwnServer:
    for field, value in table.items():
        typed = SERVER_SETTINGS.get(field)
        if typed is None:
            raise _wrong(name, f"there is no field {field!r}", nearest(field, SERVER_SETTINGS))
        if not typed.fits(value):
            raise _wrong(name, f"{field} is of another kind", _EXAMPLE)
        if typed.sign and any(not isinstance(one, str) for one in value.values()):
            raise _wrong(name, f"the values of {field} are texts", _EXAMPLE)
    return OwnServer(**table)


def _defaults(name: str, given: OwnServer) -> dict[str, Any]:
    """Values of options and settings, by option name."""
    limits = {
        "requests_per_minute": given.requests_per_minute,
        "tokens_per_minute": given.tokens_per_minute,
        "concurrency": given.concurrency,
        "qps": given.qps,
        "timeout": given.timeout,
    }
    if given.batches not in (None, "auto", "yes", "no"):
        raise _wrong(name, f"batches cannot be {given.batches!r}", "one of: auto, yes, no")
    for field, limit in limits.items():
        if limit is not None and limit <= 0:
            raise _wrong(name, f"{field} must be more than 0", f"leave {field} out for no limit")
    qps = given.qps
    if qps is None and given.requests_per_minute is not None:
        qps = given.requests_per_minute / 60
    found = {
        "concurrency": given.concurrency,
        "qps": qps,
        "timeout": given.timeout,
        "batches": given.batches,
        "tpm": given.tokens_per_minute,
    }
    return {option: value for option, value in found.items() if value is not None}


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
