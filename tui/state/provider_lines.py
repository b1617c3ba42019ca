"""Providers as shown in lists: address, key, limits, prices, batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evalbench.engine.calls import BaseProvider
from evalbench.engine.config import registry
from evalbench.engine.config.servers_file import read_servers
from evalbench.engine.errors import EvalbenchError
from evalbench.engine.installed import missing_modules
from evalbench.engine.keys import KeyRef, KeySource, is_variable, list_keys
from evalbench.tui.state.figures import count

Line = Mapping[str, Any]


def provider_lines(name: str | None = None) -> list[dict[str, Any]]:
    """A line for every provider, or for one: user-defined servers first.

    Raises:
        SpecError: ``name`` is unknown, or its description is invalid.
    """
    if name is not None:
        return [_line(name, registry.provider_class(name), list_keys())]
    refs = list_keys()
    found = []
    for each in registry.provider_names():
        try:
            found.append(_line(each, registry.provider_class(each), refs))
        except EvalbenchError as error:
            found.append(_broken(each, error))
    return sorted(found, key=lambda line: (not line["own"], line["provider"]))


def _line(name: str, cls: type[BaseProvider], refs: Iterable[KeyRef]) -> dict[str, Any]:
    published, need = cls.published, cls.key
    own = cls.configured
    given = cls.defaults
    qps = given.get("qps")
    requests = qps * 60 if qps else published.requests_per_minute
    mine = [ref for ref in refs if ref.provider == name]
    key = next((ref for ref in mine if not is_variable(ref.name)), None)
    return {
        "provider": name,
        "title": cls.title,
        "own": own,
        "address": cls.own_address or "",
        "address_needed": cls.own_address == "",
        "key": _key_words(key, need),
        "key_held": key is not None,
        "key_required": bool(need and need.required),
        "key_variable": need.variables[0] if need and need.variables else "",
        "key_page": need.page if need else "",
        "header_secrets": sorted(ref.name for ref in mine if is_variable(ref.name)),
        "requests_per_minute": round(requests, 2) if requests else None,
        "tokens_per_minute": given.get("tpm") or published.tokens_per_minute,
        "concurrency": given.get("concurrency"),
        "limits": published.limits,
        "limits_page": published.limits_page,
        "prices": _price_words(cls),
        "prices_page": published.prices_page,
        "batches": cls.batches(),
        "missing": _missing(cls),
        "problem": None,
        "description": read_servers().get(name, {}) if own else {},
    }


def _broken(name: str, error: EvalbenchError) -> dict[str, Any]:
    """A server whose description is invalid: it can be edited or removed."""
    described = read_servers().get(name, {})
    return {
        "provider": name,
        "title": name,
        "own": bool(described),
        "address": str(described.get("base_url") or ""),
        "address_needed": False,
        "key": "",
        "key_held": False,
        "key_required": False,
        "key_variable": "",
        "key_page": "",
        "header_secrets": [],
        "requests_per_minute": None,
        "tokens_per_minute": None,
        "concurrency": None,
        "limits": "",
        "limits_page": "",
        "prices": "",
        "prices_page": "",
        "batches": "no",
        "missing": "",
        "problem": error.summary,
        "description": described,
    }


def _missing(cls: type[BaseProvider]) -> str:
    """What has to be installed before it can be used; empty: nothing."""
    return cls.extra if cls.extra and missing_modules(cls.modules) else ""


def _key_words(key: KeyRef | None, need: Any) -> str:
    if need is None:
        return "none needed"
    if key is None:
        return "needed" if need.required else "optional"
    if key.source is KeySource.KEYCHAIN:
        return "keychain" if key.name == "default" else f"keychain, {key.name}"
    return f"${key.variable}" if key.variable else str(key.source)


def _price_words(cls: type[BaseProvider]) -> str:
    """The source of its prices."""
    if cls.prices:
        return f"own, {len(cls.prices)} of them" if len(cls.prices) > 1 else "own"
    if cls.free:
        return "free"
    if cls.price_table:
        return "table"
    return "its list" if cls.tells_prices else "unknown"


def limit_words(line: Line) -> str:
    """Its limits in short form: requests and tokens per minute, or who sets them."""
    found = []
    if requests := line["requests_per_minute"]:
        found.append(f"{requests:,.10g} req")
    if tokens := line["tokens_per_minute"]:
        found.append(f"{count(tokens)} tok")
    if found:
        return " · ".join(found)
    return "by account" if line["limits_page"] else "–"


def about_words(line: Line) -> list[tuple[str, str]]:
    """All details of one provider, as pairs of name and words."""
    elsewhere = (
        "your server's: base-url of a new run; or add the server here, under a name of its own"
        if line["address_needed"]
        else "its own, or base-url of a run"
    )
    pairs = [
        ("name", line["title"]),
        ("address", line["address"] or elsewhere),
        ("key", line["key"] + _more(line["key_variable"], line["key_page"])),
    ]
    if line["header_secrets"]:
        pairs.append(("headers", f"{', '.join(line['header_secrets'])} from the keychain"))
    limits = line["limits"] or limit_words(line)
    if limits == "–":
        limits = "not known"
    prices, batches = str(line["prices"]), str(line["batches"])
    pairs += [
        ("limits", limits + _source(line, "limits_page")),
        ("prices", _PRICES.get(prices, prices) + _more(line["prices_page"])),
        ("batches", "not known until the first is tried" if batches == "tried" else batches),
    ]
    if line["concurrency"]:
        pairs.append(("concurrency", str(line["concurrency"])))
    if line["missing"]:
        pairs.append(("missing", f"the extra {line['missing']!r} is not installed"))
    if line["problem"]:
        pairs.append(("problem", line["problem"]))
    return pairs


_PRICES = {
    "table": "the bundled table (genai-prices)",
    "its list": "its own model list",
    "unknown": "unknown: give --price, or prices in providers.toml",
    "own": "providers.toml",
}


def _more(*words: str) -> str:
    parts = [word for word in words if word]
    return f" ({', '.join(parts)})" if parts else ""


def _source(line: Line, field: str) -> str:
    """The source of a figure, or that it is unverified; the user's own needs none."""
    if line[field]:
        return f" ({line[field]})"
    return "" if line["own"] or line["prices"] == "free" else " (unverified)"
