"""Rows of the journal in decoded form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from evalbench.engine.calls import Outcome, Prompt, Reply

if TYPE_CHECKING:
    from evalbench.engine.benchmark import Sample


class CallKey(NamedTuple):
    """A call's key within its sample, without the re-ask number."""

    epoch: int
    role: str
    model: str
    step: str
    repeat: int


class SampleRow(NamedTuple):
    """A sample and its row number."""

    row: int
    sample: Sample


class CallRow(NamedTuple):
    """A call as stored. ``reply`` is None while it is in flight, or if it was cut off.

    ``id`` is its number in the journal; ``row`` is the upper part of it.
    """

    id: int
    row: int
    key: CallKey
    reask: int
    content_hash: bytes
    sent_ms: int
    prompt: Prompt
    reply: Reply | None

    def answered(self, reply: Reply) -> CallRow:
        """The same call with its reply."""
        return CallRow(*self[:-1], reply)


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """The score of one sample in one epoch; outcome ``error`` for a failed one."""

    row: int
    epoch: int
    outcome: Outcome
    values: Mapping[str, float]
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A provider batch as stored.

    ``body`` is made and read by :mod:`evalbench.engine.dispatch.batch.state`.
    """

    id: int
    name: str
    state: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """Something worth reporting: a wait, an error class, a state change."""

    id: int
    at_ms: int
    kind: str
    count: int
    body: Mapping[str, Any]


OUTCOMES = tuple(Outcome)
OUTCOME_CODE = {outcome: code for code, outcome in enumerate(OUTCOMES)}


def picodollars(amount: Decimal) -> int:
    """US dollars as whole picodollars for the journal, rounded up."""
    return int((amount * _PICO).to_integral_value(ROUND_CEILING)) if amount else 0


def dollars(picodollars: int) -> Decimal:
    """Inverse of :func:`picodollars`."""
    return Decimal(picodollars) / _PICO


_PICO = Decimal(10**12)
