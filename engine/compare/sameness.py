"""How runs differ apart from what is being compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalbench.engine.compare.scores import RunScores

MODEL = "model"
NOTHING = "nothing"

_PROMPTS = "prompt templates"
_UNKNOWN = "not known"
_UNSET = "not set"
_WORDS = {
    "data": "data (hash)",
    "benchmark version": "parsers and scoring (benchmark version)",
    _PROMPTS: "prompts (template hash)",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """A property that is not the same in all runs.

    Attributes:
        what: its display name.
        values: its value in each run, as text, in the order of the runs.
    """

    what: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sameness:
    """What is compared, and what else differs.

    Attributes:
        compared: ``model``; if the model is the same, the only property that differs;
            ``nothing`` if there is none or more than one.
        values: its value in each run; empty for nothing.
        others: everything else that differs: any of it may explain a gap.
    """

    compared: str
    values: tuple[str, ...]
    others: tuple[Difference, ...]


def sameness(runs: Sequence[RunScores]) -> Sameness:
    """Compare the runs' identities and records.

    Data, templates, version, selection, parameters, judges and options come from the identity
    stored by every run; how the provider handled the parameters comes from its status.
    """
    facts = [_identity(run) for run in runs]
    names = list(dict.fromkeys(name for one in facts for name in one))
    found = {
        name: values
        for name in names
        if len(set(values := tuple(one.get(name, _UNSET) for one in facts))) > 1
    }
    if any(name == "seed" or name.startswith("option ") for name in found):
        # The template hash covers options and seed; versions stand for the texts.
        found.pop(_WORDS[_PROMPTS], None)
    single = next(iter(found)) if len(found) == 1 else NOTHING
    compared = MODEL if MODEL in found else single
    values = found.pop(compared, ())
    return Sameness(
        compared, values, tuple(Difference(what, values) for what, values in found.items())
    )


def _identity(run: RunScores) -> dict[str, str]:
    """What affects a run's answers and scores, as text, by name."""
    stored = run.facts.get("identity") or {}
    settings = dict(stored.get("settings") or run.spec.identity())
    found = {MODEL: str(settings.pop("model", run.spec.model))}
    found["benchmark"] = str(settings.pop("benchmark", run.spec.benchmark))
    for name, words in _WORDS.items():
        found[words] = str(stored.get(name) or _UNKNOWN)
    judges = settings.pop("judges", None) or {}
    if judges:
        found["judges"] = ", ".join(sorted(judges))
        for judge, own in judges.items():
            found |= _flat(own, f"{judge}: ")
    for name, prefix in (("options", "option "), ("provider options", "provider option ")):
        found |= _flat(settings.pop(name, None) or {}, prefix)
    found |= _flat(settings.pop("filters", None) or {}, "only ")
    found |= _flat(settings, "")
    for name, note in run.status.params.items():
        found[f"{_plain(name)} at the provider"] = note.get("fate", "")
    found["mixed along the way"] = "yes" if run.status.mixed else "no"
    return found


def _flat(values: Mapping[str, Any], prefix: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{_plain(name)} ")
        else:
            found[prefix + _plain(name)] = _shown(value)
    return found


def _plain(name: str) -> str:
    return name.replace("_", "-")


def _shown(value: Any) -> str:
    if value is None or value in ((), []):
        return _UNSET
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
