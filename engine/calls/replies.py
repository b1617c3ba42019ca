"""What comes back: outcomes, usage and replies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from enum import StrEnum
from operator import attrgetter
from typing import Any, Literal

from evalbench.engine.calls.values import value_object

MOST_TOKENS = 10**9
"""A larger token count for one call is an error of the provider."""
MOST_DOLLARS = Decimal(10**6)
"""A larger charge for one call is an error; the journal can hold nine times that."""
MOST_DEPTH = 200
"""Maximum nesting of lists and objects that is kept; orjson writes 254."""


def token_count(value: object) -> int | None:
    """A provider's token count; None if it cannot be one.

    Whole numbers from 0 to 10⁹ are valid, also as ``12.0``: JSON does not distinguish them.
    """
    if type(value) is int:
        return value if 0 <= value <= MOST_TOKENS else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value <= MOST_TOKENS or value != int(value):
        return None
    return int(value)


class Outcome(StrEnum):
    """The outcome of a reply or sample. An error is never an answer.

    ``unparsed`` is for samples only: the reply is fine, but no parser could read it.
    """

    OK = "ok"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    FILTERED = "filtered"
    UNPARSED = "unparsed"
    ERROR = "error"

    @property
    def declined(self) -> bool:
        """Whether it is no answer, whatever its text: the model or its provider declined."""
        return self in (Outcome.REFUSED, Outcome.FILTERED)


@value_object
class Usage:
    """Tokens of one call in a canonical form.

    ``input_tokens`` counts every prompt token, cached or not; ``output_tokens`` counts every
    generated token, including reasoning. The other fields are subsets of these:
    ``cache_write_1h_tokens`` of those written to the cache are kept there for an hour, and
    ``audio_tokens`` of the input are sound that was not read from a cache. None: not reported.

    Anything that is not a :func:`token_count` becomes None, and so do contradictions: if more
    tokens were read from and written to the cache than the input had, more for an hour than at all,
    or more sound than the rest of it, the input becomes None; if there was more reasoning than
    output, the reasoning does.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    audio_tokens: int | None = None

    def __post_init__(self) -> None:
        for value in (
            self.input_tokens,
            self.output_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
            self.reasoning_tokens,
            self.cache_write_1h_tokens,
            self.audio_tokens,
        ):
            # Hot path: runs for every reply, and nearly always nothing is wrong.
            if value is not None and not (type(value) is int and 0 <= value <= MOST_TOKENS):
                self._clean()
                break
        if (
            self.cache_read_tokens
            or self.cache_write_tokens
            or self.reasoning_tokens
            or self.cache_write_1h_tokens
            or self.audio_tokens
        ):
            self._reconcile()

    def _clean(self) -> None:
        for name in _COUNTS:
            object.__setattr__(self, name, token_count(getattr(self, name)))

    def _reconcile(self) -> None:
        read, written = self.input_tokens, self.output_tokens
        kept = self.cache_write_tokens or 0
        parts = (self.cache_read_tokens or 0) + kept + (self.audio_tokens or 0)
        if (self.cache_write_1h_tokens or 0) > kept or (read is not None and parts > read):
            for name in _INPUT:
                object.__setattr__(self, name, None)
        if written is not None and (self.reasoning_tokens or 0) > written:
            object.__setattr__(self, "reasoning_tokens", None)


_COUNTS = tuple(Usage.__dataclass_fields__)
_INPUT = tuple(name for name in _COUNTS if name not in ("output_tokens", "reasoning_tokens"))


@dataclass(frozen=True, slots=True)
class RateLimits:
    """A provider's limits as reported with one response. None: not reported.

    ``reset_s`` are seconds until the bucket is full again (or until its next refill, if the
    provider reports only that); ``limit`` is what a full bucket holds.
    """

    requests_remaining: int | None = None
    requests_reset_s: float | None = None
    tokens_remaining: int | None = None
    tokens_reset_s: float | None = None
    requests_limit: int | None = None
    tokens_limit: int | None = None


@dataclass(frozen=True, slots=True)
class ParamNote:
    """How one requested parameter was handled.

    ``sent``: on the wire. ``dropped``: the model does not accept it, so it was left out.
    ``refused``: the provider rejected it and the call went without.
    """

    name: str
    fate: Literal["sent", "dropped", "refused"]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reused:
    """The origin of a reply that was reused from an earlier run.

    Attributes:
        run: id of that run.
        call: its number in that run's journal.
        at: when the reply arrived, ISO 8601 in UTC.
    """

    run: str
    call: int
    at: str


@value_object
class Reply:
    """The answer to one call.

    Attributes:
        text: the answer without reasoning.
        outcome: never ``unparsed``.
        reasoning: reasoning text, if the provider shows it.
        stop_reason: in the provider's terms.
        logprobs: for ``choose``: natural-log likelihood of each continuation, summed
            over its tokens, in the order requested.
        usage: canonical token counts.
        latency_s: seconds from sending the successful attempt to its last byte.
        provider_model: the id of the answering model, as reported by the provider.
        request_id: the provider's id, for support requests.
        params: how each requested parameter was handled.
        raw: the response body, as parsed JSON; for ``choose`` it may have ``greedy``, which says of
            each continuation whether every token of it is the likeliest one.
        error: for outcome ``error``: class name and message.
        possibly_billed: an error that may have been charged.
        attempts: how often the call was sent to get this reply; 0 if reused.
        cut_tokens: number of tokens at the start of the prompt that the model did not read
            because they did not fit in its context.
        limits: the provider's rate-limit headers; for the limiter, never stored.
        billed: US dollars charged for this answer as reported by the provider; None if it
            does not report this. Takes precedence over price tables; stored as ``cost``.
        cost: US dollars for the answered attempt at the run's unit prices; None if unknown.
            Set by the dispatcher.
        possible_cost: US dollars, at worst, of earlier attempts at this call that failed
            and may have been billed.
        reused: the earlier run it was reused from; None if it was asked for in this run.
        notes: oddities in the form of the body, and how it was read anyway.
        service_tier: the tier it was answered in, in the provider's terms, if that is another
            than was asked for.
    """

    text: str = ""
    outcome: Outcome = Outcome.OK
    reasoning: str = ""
    stop_reason: str = ""
    logprobs: tuple[float, ...] = ()
    usage: Usage = Usage()
    latency_s: float = 0.0
    provider_model: str = ""
    request_id: str = ""
    params: tuple[ParamNote, ...] = ()
    raw: Any = None
    error: str = ""
    possibly_billed: bool = False
    attempts: int = 1
    cut_tokens: int = 0
    limits: RateLimits | None = None
    billed: Decimal | None = None
    cost: Decimal | None = None
    possible_cost: Decimal = Decimal(0)
    reused: Reused | None = None
    notes: tuple[str, ...] = ()
    service_tier: str = ""

    def settled(
        self,
        *,
        attempts: int,
        latency_s: float,
        possibly_billed: bool,
        cost: Decimal | None,
        possible_cost: Decimal,
    ) -> Reply:
        """A copy with the fields that its dispatcher sets."""
        # By position: ``replace`` takes twice as long, and every answer passes through here.
        return Reply(
            self.text,
            self.outcome,
            self.reasoning,
            self.stop_reason,
            self.logprobs,
            self.usage,
            latency_s,
            self.provider_model,
            self.request_id,
            self.params,
            self.raw,
            self.error,
            possibly_billed,
            attempts,
            self.cut_tokens,
            self.limits,
            self.billed,
            cost,
            possible_cost,
            self.reused,
            self.notes,
            self.service_tier,
        )


def reply_to_json(reply: Reply) -> dict[str, Any]:
    """A compact JSON form without fields at their defaults."""
    # Written for speed: every answer passes through here.
    fields = zip(_PLAIN, _values(reply), _DEFAULTS, strict=True)
    out: dict[str, Any] = {name: value for name, value, usual in fields if value != usual}
    if reply.outcome is not Outcome.OK:
        out["outcome"] = reply.outcome.value
    if reply.logprobs:
        # JSON has no infinities; as text they stay distinct from NaN.
        out["logprobs"] = [p if math.isfinite(p) else str(p) for p in reply.logprobs]
    counts = zip(_COUNTS, _counts(reply.usage), strict=True)
    if usage := {name: count for name, count in counts if count is not None}:
        out["usage"] = usage
    if reply.params:
        out["params"] = [[note.name, note.fate, note.reason] for note in reply.params]
    if reply.reused:
        out["reused"] = asdict(reply.reused)
    return out


def reply_from_json(value: Mapping[str, Any]) -> Reply:
    """Inverse of :func:`reply_to_json`."""
    known = {name: value[name] for name in _PLAIN if name in value}
    if "logprobs" in known:
        known["logprobs"] = tuple(map(float, known["logprobs"]))
    if "notes" in known:
        known["notes"] = tuple(known["notes"])
    return Reply(
        outcome=Outcome(value.get("outcome", "ok")),
        usage=Usage(**value.get("usage", {})),
        params=tuple(ParamNote(*note) for note in value.get("params", ())),
        reused=Reused(**value["reused"]) if value.get("reused") else None,
        **known,
    )


UNSTORABLE = (TypeError, ValueError, OverflowError)
"""What the journal raises for a reply with values it cannot store; see :func:`plain`."""


def plain(reply: Reply) -> Reply:
    """The same reply without anything the journal cannot store.

    Values become those of :func:`plain_json`; absurd amounts of money become unknown.
    """
    return replace(
        reply_from_json(plain_json(reply_to_json(reply), MOST_DEPTH + 2)),
        limits=reply.limits,
        billed=reply.billed,
        cost=reply.cost if _sane(reply.cost) else None,
        possible_cost=reply.possible_cost if _sane(reply.possible_cost) else MOST_DOLLARS,
    )


def _sane(amount: Decimal | None) -> bool:
    return amount is None or (amount.is_finite() and 0 <= amount <= MOST_DOLLARS)


def plain_json(value: Any, depth: int = MOST_DEPTH) -> Any:
    """A value that UTF-8 JSON can represent and orjson accepts.

    Surrogate pairs are joined, and lone halves replaced by U+FFFD; integers beyond 64 bits and
    objects of no JSON type become strings; infinities and NaN become null, and so do lists and
    objects nested deeper than ``depth``.
    """
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        if not depth:
            return None
        return {plain_text(str(key)): plain_json(own, depth - 1) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(own, depth - 1) for own in value] if depth else None
    return plain_text(str(value))


def plain_text(text: str) -> str:
    """A text of whole characters: surrogate pairs are joined, lone halves replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


_PLAIN = (
    "text",
    "reasoning",
    "stop_reason",
    "logprobs",
    "latency_s",
    "provider_model",
    "request_id",
    "raw",
    "error",
    "possibly_billed",
    "attempts",
    "cut_tokens",
    "notes",
    "service_tier",
)
_values, _counts = attrgetter(*_PLAIN), attrgetter(*_COUNTS)
_DEFAULTS = _values(Reply())
