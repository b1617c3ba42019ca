"""The reproducibility record: what a reviewer needs to run the same thing again."""

from __future__ import annotations

import platform
import sys
from typing import Any

from evalbench.engine.benchmark import Benchmark
from evalbench.engine.dataset import DataHeader
from evalbench.engine.settings import RunSpec

_PACKAGES = ("evalbench", "datasets", "torch", "transformers", "accelerate", "tokenizers")


def identity(spec: RunSpec, benchmark: Benchmark, data_hash: str) -> dict[str, Any]:
    """What decides the answers and scores of a run. Equal identities, comparable scores."""
    return {
        "settings": spec.identity(),
        "benchmark version": benchmark.version,
        "prompt templates": benchmark.template_hash(),
        "data": data_hash,
    }


def record(spec: RunSpec, benchmark: Benchmark, header: DataHeader) -> dict[str, Any]:
    """Versions, data and templates of a run, for its journal and exports."""
    return {
        "benchmark": {
            "name": benchmark.name,
            "version": benchmark.version,
            "templates": benchmark.template_hash(),
            "licence": benchmark.licence,
        },
        "data": {
            "origin": header.origin,
            "revision": header.revision,
            "hash": header.data_hash,
            "count": header.count,
        },
        "seed": spec.get("seed"),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
    }


def _version(name: str) -> str:
    # Needed only for the record, and it takes its time to load.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""
