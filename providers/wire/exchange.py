"""A request as sent, and its response as received."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalbench.engine.calls import ParamNote, RateLimits
from evalbench.engine.calls.values import value_object
from evalbench.providers.modelfacts import Negotiable


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request, complete except for the key. The same for a realtime call and a batch.

    Attributes:
        model: the model's name on the wire.
        path: below the provider's address, beginning with a slash.
        body: the JSON body.
        headers: headers in addition to those of every request.
        notes: how each requested parameter was handled.
        negotiable: fields that the request can do without.
    """

    model: str
    path: str
    body: dict[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[ParamNote, ...] = ()
    negotiable: tuple[Negotiable, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """A response: status, headers (case-insensitive), the whole body, and the elapsed time."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether its status indicates an answer."""
        return 200 <= self.status < 300


@value_object
class Arrival:
    """Reply metadata from outside the body; ``notes``: oddities in the response's form."""

    request_id: str = ""
    limits: RateLimits | None = None
    params: tuple[ParamNote, ...] = ()
    latency_s: float = 0.0
    notes: tuple[str, ...] = ()
