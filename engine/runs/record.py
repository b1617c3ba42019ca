"""The identity of a run, and the full record that a reviewer needs to repeat it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from typing import Any

from evalbench.engine import installed
from evalbench.engine.benchmark import Benchmark
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.data.dataset import DataHeader

_PACKAGES = ("datasets", "torch", "transformers", "accelerate", "tokenizers")


def identity(spec: RunSpec, benchmark: Benchmark, data_hash: str) -> dict[str, Any]:
    """Everything that affects a run's answers and scores. Equal identities: comparable scores."""
    return {
        "settings": spec.identity(),
        "benchmark version": benchmark.version,
        "prompt templates": benchmark.template_hash(),
        "data": data_hash,
    }


def differences(stored: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> list[str]:
    """The differences between two identities, one readable line each."""
    lines: list[str] = []
    for name in sorted(set(stored) | set(now)):
        old, new = stored.get(name), now.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            lines += differences(old, new, f"{prefix}{name}.")
        elif old != new and not (_unset(old) and _unset(new)):
            lines.append(f"{prefix}{name} was {_show(old)}, is now {_show(new)}")
    return lines


def _show(value: Any) -> str:
    return "not set" if _unset(value) else str(value)


def _unset(value: Any) -> bool:
    return value is None or value in ((), [], {})


def record(spec: RunSpec, benchmark: Benchmark, header: DataHeader) -> dict[str, Any]:
    """Versions, data and templates of a run, for its journal and exports."""
    return {
        "benchmark": {
            "name": benchmark.name,
            "version": benchmark.version,
            "prompts": benchmark.prompt_set(),
            "templates": benchmark.template_hash(),
            "licence": benchmark.licence,
        },
        "data": {
            "origin": header.origin,
            "revision": header.revision,
            "hash": header.data_hash,
            "count": header.count,
        },
        "seed": spec.settings.seed,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "packages": {
            "evalbench": installed.version(),
            **{name: found for name in _PACKAGES if (found := _version(name))},
        },
    }


def _version(name: str) -> str:
    # Needed only for the record, and slow to import.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""
