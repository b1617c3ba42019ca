"""Providers' model lists, cached on disk: shown at once with their age, refreshed later."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.calls.footprint import Footprint
from evalbench.engine.files import parse_json, read_plain
from evalbench.engine.paths import cache_dir, make_private, write_file
from evalbench.tui.state.cli_child import Line, run_command


@dataclass(frozen=True, slots=True)
class Model:
    """One model in a provider's list.

    Attributes:
        id: in ``--model`` form.
        context: context size in tokens; None if unknown.
        retires: a date, or empty.
        price: US dollars per million input and output tokens; None if unknown.
        able: its capabilities, as in a ``model`` line; empty if unknown.
        footprint: what its memory need depends on, if it runs on this machine.
    """

    id: str
    provider: str
    name: str
    title: str = ""
    context: int | None = None
    retires: str = ""
    notes: str = ""
    price: tuple[float, float] | None = None
    able: Mapping[str, Any] = field(default_factory=dict, compare=False)
    footprint: Footprint | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ModelList:
    """A provider's offer at one time, in Unix seconds."""

    provider: str
    when: float
    models: tuple[Model, ...]


def kept_models(provider: str) -> ModelList | None:
    """The copy on disk; None if there is none or it cannot be read."""
    try:
        body = parse_json(read_plain(_file(provider)))
        return ModelList(provider, float(body["when"]), _models(body["lines"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None


async def ask_models(provider: str, *flags: str) -> ModelList:
    """Query the provider now, in a separate command, and cache its response.

    Args:
        provider: provider to query.
        flags: its address and which key to use; a response obtained with flags is not cached.

    Raises:
        CommandFailed: the query failed; with a hint.
    """
    lines = [
        line for line in await run_command("models", provider, *flags) if line["event"] == "model"
    ]
    found = ModelList(provider, time.time(), _models(lines))
    if flags:
        return found
    file = _file(provider)
    # A full disk only loses the copy.
    with contextlib.suppress(OSError):
        make_private(file.parent)
        write_file(file, orjson.dumps({"when": found.when, "lines": lines}))
    return found


def _file(provider: str) -> Path:
    return cache_dir() / "model-lists" / f"{provider}.json"


def _models(lines: Sequence[Line]) -> tuple[Model, ...]:
    return tuple(
        Model(
            id=str(line["id"]),
            provider=str(line["provider"]),
            name=str(line["name"]),
            title=str(line["title"]),
            context=int(line["context_tokens"]) if line["context_tokens"] else None,
            retires=str(line["retires"]),
            notes=str(line["notes"]),
            price=_price(line.get("price")),
            able=dict(line.get("able") or {}),
            footprint=_footprint(line.get("footprint")),
        )
        for line in lines
    )


def _price(price: dict[str, Any] | None) -> tuple[float, float] | None:
    return (float(price["input"]), float(price["output"])) if price else None


def _footprint(stored: dict[str, Any] | None) -> Footprint | None:
    return Footprint.from_json(stored) if stored else None
