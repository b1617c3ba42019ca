"""Deciding, for one call, which requested parameters go on the wire.

A provider's terms walk through the parameters once. Each that was asked for
ends as one :class:`ParamNote`: sent, dropped (the model does not take it) or
refused (the provider said so before; see :mod:`evalbench.providers.modelfacts.refusals`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from evalbench.engine.calls import ParamNote, Params
from evalbench.engine.errors import CallRejected
from evalbench.providers.modelfacts import Negotiable, Refused


@dataclass(frozen=True, slots=True)
class Terms:
    """What the parameters of a call become.

    Attributes:
        fields: top-level fields of the wire body.
        notes: one per requested parameter.
        negotiable: the fields that can be left out if refused.
        headers: headers that the fields need.
    """

    fields: Mapping[str, Any]
    notes: tuple[ParamNote, ...]
    negotiable: tuple[Negotiable, ...]
    headers: Mapping[str, str]


class Negotiation:
    """The walk through one call's parameters."""

    def __init__(
        self,
        params: Params,
        refused: Refused,
        who: str,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Begin with nothing on the wire.

        Args:
            params: of the call.
            refused: what the model refused before.
            who: the API, for reasons.
            settings: of the provider, that are negotiated like parameters.
        """
        self.fields: dict[str, Any] = {}
        self.headers: dict[str, str] = {}
        self._asked = {**params.asked(), **(settings or {})}
        self._refused = refused
        self._who = who
        self._notes: dict[str, ParamNote] = {}
        self._negotiable: list[Negotiable] = []

    def asked(self, name: str) -> Any:
        """The value asked for, or None."""
        return self._asked.get(name)

    def put(self, field: str, value: Any) -> None:
        """Put a value on the wire; one dot in ``field`` reaches into an object."""
        outer, dot, inner = field.partition(".")
        if dot:
            self.fields.setdefault(outer, {})[inner] = value
        else:
            self.fields[field] = value

    def drop(self, name: str, reason: str) -> None:
        """Leave a parameter out, if it was asked for."""
        if name in self._asked:
            self._notes[name] = ParamNote(name, "dropped", reason)

    def send(
        self,
        name: str,
        field: str,
        value: Any = None,
        *,
        aliases: tuple[str, ...] = (),
        reason: str = "",
    ) -> bool:
        """Put a parameter on the wire, if it was asked for and not refused before.

        Args:
            name: the parameter.
            field: where it goes; one dot reaches into an object.
            value: what goes there, when it is not the value asked for.
            aliases: other names that a refusal may use.
            reason: for the note, when what is sent is not what was asked.

        Returns:
            Whether it is on the wire now.
        """
        if name not in self._asked:
            return False
        wire = self._asked[name] if value is None else value
        if isinstance(wire, tuple):
            wire = list(wire)
        text = orjson.dumps(wire).decode()
        if (refusal := self._refused.reason(field, text)) is not None:
            self._notes[name] = ParamNote(name, "refused", refusal)
            return False
        self.put(field, wire)
        self._negotiable.append(Negotiable(field, text, aliases))
        self._notes[name] = ParamNote(name, "sent", reason)
        return True

    def fix(self, name: str, field: str, value: Any, reason: str = "") -> None:
        """Put a parameter on the wire that the request cannot do without; field as in send."""
        self.put(field, value)
        if name in self._asked:
            self._notes[name] = ParamNote(name, "sent", reason)

    def cap(self, tokens: int, *fields: str) -> None:
        """Cap the answer's tokens by the first of ``fields`` that the provider does not refuse.

        Raises:
            CallRejected: when it refuses them all.
        """
        for field in fields:
            if self._refused.reason(field, "") is None:
                self.fix("max_tokens", field, tokens)
                self._negotiable.append(Negotiable(field, str(tokens)))
                return
        raise CallRejected(
            f"{self._who} refuses every way to cap an answer's tokens",
            why="calls without a cap could cost anything, so none is sent",
        )

    def terms(self) -> Terms:
        """The result; parameters that nobody decided on are dropped."""
        for name in self._asked:
            if name not in self._notes:
                self.drop(name, f"{self._who} has no such parameter")
        return Terms(
            self.fields,
            tuple(self._notes[name] for name in self._asked),
            tuple(self._negotiable),
            self.headers,
        )
