"""YAML for a model on the Hugging Face Hub: ``model-index`` and ``.eval_results``.

``model-card.yaml`` goes between the ``---`` lines at the top of a model's README.md;
``.eval_results/BENCHMARK.yaml`` is the Hub's newer format, which names a data set on the Hub and
is written only if the questions came from one. Both are created with huggingface_hub.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from evalbench.engine.benchmarks.mt_bench.data import SPACE
from evalbench.engine.errors import counted
from evalbench.engine.formats.files import Files
from evalbench.engine.runs.reader import RunReader, file_name
from evalbench.engine.terminal_text import visible

_HUB = re.compile(r"[\w.-]+/[\w.-]+")


def write(run: RunReader, files: Files) -> list[str]:
    """Add the YAML files to ``files``; returns notes for the user."""
    from huggingface_hub import EvalResult, ModelCardData

    data = run.record.get("data", {})
    origin, revision = str(data.get("origin") or ""), data.get("revision") or None
    hub = bool(_HUB.fullmatch(origin)) and origin != SPACE and revision is not None
    plain = {n: m for n, m in run.metrics.items() if not m["group"] and m["value"] is not None}
    results = [
        EvalResult(
            task_type="text-generation",
            dataset_type=visible(origin) if hub else run.spec.label,
            dataset_name=visible(run.status.title or run.spec.label),
            dataset_revision=revision if hub else None,
            metric_type=visible(name),
            metric_name=visible(metric["title"] or name),
            metric_value=metric["value"],
            metric_args={"n": metric["n"], "low": metric["low"], "high": metric["high"]},
        )
        for name, metric in plain.items()
    ]
    notes = []
    card = ModelCardData(model_name=visible(run.candidate), eval_results=results)
    files.raw("model-card.yaml", f"{card.to_yaml()}\n".encode())
    if hub and plain:
        files.raw(f".eval_results/{file_name(run.spec.label)}.yaml", _entries(run, plain))
    else:
        notes.append("the questions are not of a data set on the hub: there is no .eval_results")
    return notes


def _entries(run: RunReader, plain: dict[str, Any]) -> bytes:
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    data = run.record["data"]
    name, metric = next(iter(plain.items()))
    notes = f"{name} over {counted(metric['n'], 'sample')}"
    if metric["low"] is not None:
        notes += f", 95 % interval {metric['low']:.4f} to {metric['high']:.4f}"
    entry = EvalResultEntry(
        dataset_id=str(data["origin"]),
        task_id="default",
        value=metric["value"],
        dataset_revision=str(data["revision"]),
        date=datetime.fromtimestamp(run.created, UTC).isoformat(timespec="seconds"),
        notes=f"{notes}; run with evalbench",
    )
    body = eval_result_entries_to_yaml([entry])
    return bytes(yaml.safe_dump(body, sort_keys=False, encoding="utf-8"))
