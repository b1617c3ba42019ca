"""OpenAI's model list: which entries generate text, and what is known about them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls import ModelInfo
from evalbench.providers.modelfacts import FactsResolver

_OTHER_WORK = re.compile(
    r"embedding|whisper|tts|dall-e|image|moderation|realtime|transcribe|translate|sora|audio"
    r"|^(?:babbage|davinci)|-instruct|computer-use"
)


def model_info(entry: Mapping[str, Any], facts: FactsResolver) -> ModelInfo | None:
    """A line of the list, with facts from the tables; None for a model that generates no text.

    Raises:
        KeyError: the entry has no id.
    """
    name = entry["id"]
    # A fine-tuned model is named ft:BASE:ORGANIZATION:SUFFIX:ID.
    if _OTHER_WORK.search(name.removeprefix("ft:").partition(":")[0]):
        return None
    known = facts.of(name)
    return ModelInfo(
        name=name,
        context_tokens=known.context_tokens,
        retires=entry.get("shutdown_date") or known.retires or "",
        notes="reasons" if known.reasoning else "",
    )
