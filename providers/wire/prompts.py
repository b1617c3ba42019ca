"""Prompts that an API cannot take in any form."""

from __future__ import annotations

from evalbench.engine.errors import CallRejected


def raw_text_refused(who: str) -> CallRejected:
    """A prompt without turns went to an API that knows only turns."""
    return CallRejected(
        f"{who} answers conversations; it does not continue raw text",
        cure="choose a style of the benchmark that asks in chat turns",
    )
