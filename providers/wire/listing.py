"""Model lists: live, with a copy on disk in case the provider cannot be reached."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import orjson

from evalbench.engine.calls import ModelInfo
from evalbench.engine.paths import cache_dir, make_private, write_file
from evalbench.providers.modelfacts.resolver import host_file


def _file(provider: str, host: str) -> Path:
    return cache_dir() / "models" / f"{provider}-{host_file(host)}-list.json"


def keep_list(provider: str, host: str, models: Sequence[ModelInfo]) -> None:
    """Save a copy of a list; a full disk only loses the copy."""
    file = _file(provider, host)
    with contextlib.suppress(OSError):
        make_private(file.parent)
        body = {"when": time.time(), "models": [asdict(model) for model in models]}
        write_file(file, orjson.dumps(body))


def kept_list(provider: str, host: str) -> list[ModelInfo]:
    """The copy, each line marked with its date; empty if there is none."""
    try:
        body = orjson.loads(_file(provider, host).read_bytes())
        day = time.strftime("%Y-%m-%d", time.localtime(body["when"]))
        models = [ModelInfo(**model) for model in body["models"]]
    except (OSError, KeyError, TypeError, ValueError):
        return []
    note = f"list of {day}; the provider could not be reached"
    # Prices may have changed since.
    return [replace(m, notes="; ".join(filter(None, (m.notes, note))), rates={}) for m in models]
