"""Checks that a reloaded local model is the one that gave the earlier answers.

``auto`` settings depend on the machine: a run started on a GPU and resumed on a CPU would
continue with different numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.journal import Journal
from evalbench.engine.journal.reader import RowDecoder
from evalbench.engine.runs.record import differences

_DECIDING = ("revision", "dtype", "quantize")
_SAME_ANSWERS = (*_DECIDING, "layout", "device")
"""What must match for a reply to count as one this model would give."""


def model_changes(journal: Journal, model: str, info: Mapping[str, Any]) -> list[str]:
    """What affects answers and has changed, one line each.

    Args:
        journal: the run's journal.
        model: the model's name.
        info: what the worker reports about the loaded model.
    """
    stored = _held(journal)
    return differences(stored[model], _deciding(info), f"{model}: ") if model in stored else []


def note_model(journal: Journal, model: str, info: Mapping[str, Any]) -> None:
    """Record how a model was loaded, to compare on the next load."""
    stored = _held(journal)
    if stored.get(model) != (now := _deciding(info)):
        journal.set(models={**stored, model: now})
    known = loadings(journal.query(RowDecoder.meta), model)
    if (facts := {name: info.get(name) for name in _SAME_ANSWERS}) not in known:
        all_known = journal.query(RowDecoder.meta).get("loadings") or {}
        journal.set(loadings={**all_known, model: [*known, facts]})


def loadings(meta: Mapping[str, Any], model: str) -> list[dict[str, Any]]:
    """The different ways a run has loaded a local model; empty before the first load."""
    found: list[dict[str, Any]] = (meta.get("loadings") or {}).get(model) or []
    return found


def _held(journal: Journal) -> dict[str, Any]:
    return journal.query(RowDecoder.meta).get("models") or {}


def _deciding(info: Mapping[str, Any]) -> dict[str, Any]:
    return {name: info.get(name) for name in _DECIDING}
