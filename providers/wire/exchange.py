"""One request as it goes out, and its response as it came back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalbench.engine.calls import ParamNote


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request, complete but for the key. The same for one call now and for a batch.

    Attributes:
        model: the model's name on the wire.
        path: below the provider's address, beginning with a slash.
        body: the JSON body.
        headers: headers beyond those of every request.
        notes: what became of each requested parameter.
        negotiable: what the request can do without, see :class:`Negotiable`.
    """

    model: str
    path: str
    body: dict[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[ParamNote, ...] = ()
    negotiable: tuple[Negotiable, ...] = ()


@dataclass(frozen=True, slots=True)
class Negotiable:
    """A field of a request that can be left out when the provider refuses it.

    Attributes:
        field: dotted path in the wire body, as the provider would name it.
        value: what was sent there, as JSON text.
        aliases: other names that an error may use for it.
    """

    field: str
    value: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """A response: status, headers by lower-case name, and the whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes
