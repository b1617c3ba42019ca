"""Deciding, for one call, which requested parameters are sent.

A provider's terms go through the parameters once. Each requested one ends up as a
:class:`ParamNote`: sent, dropped (the model does not support it) or refused (the provider rejected
it earlier; see :mod:`evalbench.providers.modelfacts.refusals`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from evalbench.engine.calls import ParamNote, Params
from evalbench.engine.errors import CallRejected
from evalbench.providers.modelfacts import ModelFacts, Negotiable, Refused
from evalbench.providers.modelfacts.refusals import refusal

MOST_LOGPROBS = 20
"""Alternatives per token that most APIs report at most."""
FALLBACK_MAX_TOKENS = 4096
"""The cap on an answer's tokens if a benchmark requests none."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The negotiated parameters of a call.

    Attributes:
        fields: top-level fields of the wire body.
        notes: one per requested parameter.
        negotiable: fields that can be left out if refused.
        headers: headers that the fields require.
    """

    fields: Mapping[str, Any]
    notes: tuple[ParamNote, ...]
    negotiable: tuple[Negotiable, ...]
    headers: Mapping[str, str]


class Negotiation:
    """Negotiation of one call's parameters.

    Attributes:
        max_tokens: the cap on the answer's tokens, which every call has.
    """

    def __init__(
        self,
        params: Params,
        refused: Refused,
        who: str,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Start with nothing on the wire.

        Args:
            params: the call's parameters.
            refused: what the model refused before.
            who: the API's name, for reasons.
            settings: provider settings that are negotiated like parameters.
        """
        self.fields: dict[str, Any] = {}
        self.headers: dict[str, str] = {}
        self.max_tokens = params.max_tokens or FALLBACK_MAX_TOKENS
        self._asked = {**params.asked(), **(settings or {})}
        self._refused = refused
        self._who = who
        self._notes: dict[str, ParamNote] = {}
        self._negotiable: list[Negotiable] = []

    def asked(self, name: str) -> Any:
        """The requested value, or None."""
        return self._asked.get(name)

    def put(self, field: str, value: Any) -> None:
        """Set a field of the body; one dot in ``field`` reaches into an object."""
        outer, dot, inner = field.partition(".")
        if dot:
            self.fields.setdefault(outer, {})[inner] = value
        else:
            self.fields[field] = value

    def drop(self, name: str, reason: str) -> None:
        """Drop a parameter, if it was requested."""
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
        """Send a parameter, if it was requested and not refused before.

        Args:
            name: the parameter.
            field: its field; one dot reaches into an object.
            value: the value to send, if not the requested one.
            aliases: other names that a refusal may use.
            reason: for the note, if the value sent is not the requested one.

        Returns:
            Whether it is on the wire now.
        """
        if name not in self._asked:
            return False
        wire = self._asked[name] if value is None else value
        if isinstance(wire, tuple):
            wire = list(wire)
        text = orjson.dumps(wire).decode()
        if (why := refusal(self._refused, field, text)) is not None:
            self._notes[name] = ParamNote(name, "refused", why)
            return False
        self.put(field, wire)
        self._negotiable.append(Negotiable(field, text, aliases))
        self._notes[name] = ParamNote(name, "sent", reason)
        return True

    def fix(self, name: str, field: str, value: Any, reason: str = "") -> None:
        """Send a parameter that the request cannot do without; ``field`` as in :meth:`send`."""
        self.put(field, value)
        if name in self._asked:
            self._notes[name] = ParamNote(name, "sent", reason)

    def cap(self, *fields: str) -> None:
        """Cap the answer's tokens with the first of ``fields`` that the provider does not refuse.

        Raises:
            CallRejected: it refuses them all.
        """
        for field in fields:
            if refusal(self._refused, field) is None:
                self.fix("max_tokens", field, self.max_tokens)
                self._negotiable.append(Negotiable(field, str(self.max_tokens)))
                return
        raise CallRejected(
            f"{self._who} refuses every way to cap an answer's tokens",
            why="calls without a cap could cost anything, so none is sent",
        )

    def send_logprobs(
        self, field: str, *, most: int = MOST_LOGPROBS, aliases: tuple[str, ...] = ()
    ) -> bool:
        """Send the number of alternatives per token, at most ``most``; else as :meth:`send`."""
        asked = self.asked("logprobs")
        if asked is None:
            return False
        count = min(asked, most)
        reason = "" if count == asked else f"{count}, the most that {self._who} reports"
        return self.send("logprobs", field, count, aliases=aliases, reason=reason)

    def takes_effort(self, facts: ModelFacts) -> bool:
        """Whether an effort is requested that the model takes; one that it does not is dropped."""
        effort = self.asked("effort")
        if effort is None or facts.efforts is None or effort in facts.efforts:
            return effort is not None
        known = ", ".join(facts.efforts)
        self.drop("effort", f"the model takes {known or 'no effort'}")
        return False

    def terms(self) -> Terms:
        """The result; undecided parameters are dropped."""
        for name in self._asked:
            if name not in self._notes:
                self.drop(name, f"{self._who} has no such parameter")
        return Terms(
            self.fields,
            tuple(self._notes[name] for name in self._asked),
            tuple(self._negotiable),
            self.headers,
        )
