"""Vision support and the tokens per image, read from a model's configuration alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evalbench.providers.local.catalogue import FolderModel, HubModel, KnownModel, Source

_FIXED = {"gemma3", "llava", "paligemma", "vipllava"}
"""Model types that use the same number of tokens for every image, whatever its size."""


def configuration(source: Source) -> dict[str, Any] | None:
    """A model's ``config.json``; None if it is not on this machine yet."""
    path = _configuration_file(source)
    try:
        config = json.loads(path.read_text("utf-8")) if path else None
    except (OSError, ValueError):
        return None
    return config if isinstance(config, dict) else None


def _configuration_file(source: Source) -> Path | None:
    if isinstance(source, FolderModel):
        return source.path / "config.json"
    if isinstance(source, HubModel) and find_spec("huggingface_hub"):
        from huggingface_hub import try_to_load_from_cache

        cached = try_to_load_from_cache(source.repo, "config.json", revision=source.revision)
        return Path(cached) if isinstance(cached, str) else None
    return None


def sees(config: Mapping[str, Any]) -> bool:
    """Whether a configuration is that of a model that reads images and generates text."""
    return isinstance(config.get("vision_config"), Mapping)


def may_see(source: Source) -> bool:
    """Whether a model accepts images, as far as known; a hub model not here yet may."""
    if isinstance(source, KnownModel) or (isinstance(source, HubModel) and source.gguf):
        return False
    config = configuration(source)
    return config is None or sees(config)


def image_tokens(config: Mapping[str, Any]) -> int:
    """Prompt tokens per image if all images have the same number; 0 if it depends on size."""
    if config.get("model_type") not in _FIXED:
        return 0
    if tokens := config.get("mm_tokens_per_image"):
        return int(tokens)
    vision = config.get("vision_config") or {}
    side = vision.get("image_size", 0) // (vision.get("patch_size") or 1)
    whole = config.get("vision_feature_select_strategy") == "full"
    return int(side * side + whole)
