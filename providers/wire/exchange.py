"""One request as it goes out, and its response as it came back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalbench.engine.calls import ParamNote, RateLimits
from evalbench.providers.modelfacts import Negotiable


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request, complete but for the key. The same for one call now and for a batch.

    Attributes:
        model: the model's name on the wire.
        path: below the provider's address, beginning with a slash.
        body: the JSON body.
        headers: headers beyond those of every request.
        notes: what became of each requested parameter.
        negotiable: the fields that the request can do without.
    """

    model: str
    path: str
    body: dict[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[ParamNote, ...] = ()
    negotiable: tuple[Negotiable, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """A response: status, headers (names in any case), the whole body, and how long it took."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether it is to be an answer, by its status."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Arrival:
    """What goes into a reply from beside its body; ``notes``: what was odd about its form."""

    request_id: str = ""
    limits: RateLimits | None = None
    params: tuple[ParamNote, ...] = ()
    latency_s: float = 0.0
    notes: tuple[str, ...] = ()
