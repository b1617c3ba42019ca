"""Reading Together's responses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalbench.engine.calls import ParamNote, Reply
from evalbench.providers.compatible.read import read_completion
from evalbench.providers.wire.exchange import Arrival
from evalbench.providers.wire.lenient import as_list

_SAID = {"effort": ("reasoning_effort", "reasoning"), "schema": ("response_format",)}


def read_together(body: Mapping[str, Any], arrival: Arrival) -> Reply:
    """A completion as a reply; each warning is attached to the parameter it concerns.

    All warnings remain in ``raw``.

    Raises:
        KeyError, IndexError, TypeError: the body is not a completion.
    """
    reply = read_completion(body, arrival)
    warnings = [
        warning["message"]
        for warning in as_list(body.get("warnings"))
        if isinstance(warning, dict) and isinstance(warning.get("message"), str)
    ]
    if not warnings:
        return reply
    return replace(reply, params=tuple(_warned(note, warnings) for note in arrival.params))


def _warned(note: ParamNote, warnings: list[str]) -> ParamNote:
    names = "|".join((note.name, *_SAID.get(note.name, ())))
    about = [warning for warning in warnings if re.search(rf"\b(?:{names})\b", warning)]
    return replace(note, reason="; ".join([*filter(None, [note.reason]), *about])[:300])
