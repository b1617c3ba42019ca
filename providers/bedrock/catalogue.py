"""Reading Bedrock's lists of models and inference profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from evalbench.engine.calls import ModelInfo
from evalbench.providers.bedrock.names import model_name


def listed_models(
    foundations: Iterable[Mapping[str, Any]],
    profiles: Iterable[Mapping[str, Any]],
    context: Callable[[str], int | None],
) -> list[ModelInfo]:
    """Everything that can generate text: models that respond to their own id, and profiles.

    Many listed foundation models are available only through a profile or purchased capacity; for
    these, the profile is shown.

    Args:
        foundations: response of ListFoundationModels.
        profiles: response of ListInferenceProfiles.
        context: returns a model's context size in tokens, if known.

    Raises:
        KeyError, TypeError: the responses have an unexpected form.
    """
    writers = {
        entry["modelId"]: entry
        for entry in foundations
        if "TEXT" in (entry.get("outputModalities") or ())
    }
    out = [
        _info(name, entry, entry.get("modelName") or "", context(name), ())
        for name, entry in writers.items()
        if "ON_DEMAND" in (entry.get("inferenceTypesSupported") or ())
    ]
    for profile in profiles:
        name = profile["inferenceProfileId"]
        entry = writers.get(model_name(name).base)
        if entry is not None and profile.get("status", "ACTIVE") == "ACTIVE":
            regions = {model_name(model["modelArn"]).region for model in profile["models"]}
            notes = ("profile" + (f" over {len(regions)} regions" if len(regions) > 1 else ""),)
            title = profile.get("inferenceProfileName") or ""
            out.append(_info(name, entry, title, context(name), notes))
    return sorted(out, key=lambda model: model.name)


def _info(
    name: str, entry: Mapping[str, Any], title: str, context: int | None, notes: tuple[str, ...]
) -> ModelInfo:
    lifecycle = entry.get("modelLifecycle") or {}
    status = lifecycle.get("status") or "ACTIVE"
    return ModelInfo(
        name=name,
        title=title,
        context_tokens=context,
        retires=str(lifecycle.get("endOfLifeTime") or "")[:10],
        notes="; ".join([*notes, *([] if status == "ACTIVE" else [status.lower()])]),
    )
