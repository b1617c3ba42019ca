"""Is a local model, loaded again, still the one that gave the earlier answers?

``auto`` settings depend on the machine: a run begun on a card and resumed on a
CPU would go on in other numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.journal import Journal
from evalbench.engine.journal.reader import RowDecoder
from evalbench.engine.runs.record import differences

_DECIDING = ("revision", "dtype", "quantize")
_SAME_ANSWERS = (*_DECIDING, "layout", "device")
"""What has to be alike for a reply to be taken for one that this model would give."""


def model_changes(journal: Journal, model: str, info: Mapping[str, Any]) -> list[str]:
    """What decides answers and is not as it was, one line each.

    Args:
        journal: of the run.
        model: its name.
        info: what the worker tells of the loaded model.
    """
    held = _held(journal)
    return differences(held[model], _deciding(info), f"{model}: ") if model in held else []


def note_model(journal: Journal, model: str, info: Mapping[str, Any]) -> None:
    """Keep how a model was loaded, for the next time."""
    held = _held(journal)
    if held.get(model) != (now := _deciding(info)):
        journal.set(models={**held, model: now})
    known = loadings(journal.query(RowDecoder.meta), model)
    if (facts := {name: info.get(name) for name in _SAME_ANSWERS}) not in known:
        all_known = journal.query(RowDecoder.meta).get("loadings") or {}
        journal.set(loadings={**all_known, model: [*known, facts]})


def loadings(meta: Mapping[str, Any], model: str) -> list[dict[str, Any]]:
    """The different ways in which a run has loaded a local model; none before it was."""
    found: list[dict[str, Any]] = (meta.get("loadings") or {}).get(model) or []
    return found


def _held(journal: Journal) -> dict[str, Any]:
    return journal.query(RowDecoder.meta).get("models") or {}


def _deciding(info: Mapping[str, Any]) -> dict[str, Any]:
    return {name: info.get(name) for name in _DECIDING}
