"""Scripted trouble: which requests meet it, and what it is.

Conditions that are given must all hold. Counting conditions count the requests
that pass the filters (path, model, match), so ``nth=[3]`` is the third of those.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from typing import Any, Literal, get_args

from tests.simulator.exchange import Exchange

Kind = Literal[
    "status",
    "reset_before_headers",
    "reset_after_headers",
    "close_before_headers",
    "truncated_body",
    "hang",
    "slow_body",
    "malformed_json",
    "wrong_content_type",
    "empty_body",
    "error_in_200",
    "batch",
]

WHOLE = frozenset({"status", "error_in_200"})
"""Trouble that an API tells of itself, in an answer that arrives whole."""
_UNBILLED = WHOLE | {"reset_before_headers", "close_before_headers"}


@dataclass(slots=True)
class Fault:
    """One kind of trouble.

    Attributes:
        kind: ``status`` answers with an error; ``reset_*`` cut the connection
            hard, ``close_before_headers`` and ``truncated_body`` softly;
            ``hang`` never answers; ``slow_body`` drips the right answer over
            ``seconds``; ``malformed_json`` and ``empty_body`` spoil it;
            ``wrong_content_type`` sends a web page; ``error_in_200`` a failure
            inside a success. ``batch`` spoils no answer: batches that matching
            requests make go as ``batch`` says.
        status, message, headers, body: of the error; without a body the
            provider's own is used.
        retry_after: seconds for the header of that name.
        code: of an ``error_in_200``.
        path: only requests whose path contains this text.
        model: only requests for this model.
        match: only requests whose body this regular expression is found in.
        nth: ordinals of the matching requests, from 1.
        every: each request whose ordinal is a multiple.
        first: the first so many.
        share: this part of them, by seed, content and attempt.
        attempts: only the first so many attempts at the same content.
        times: at most so often.
        billed: whether the work is done and charged all the same; None: as
            providers do (yes once an answer was on its way).
        batch: see :class:`tests.simulator.batches.Script`.
    """

    kind: Kind = "status"
    status: int = 500
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    retry_after: float | None = None
    code: str = ""
    seconds: float = 1.0
    path: str = ""
    model: str = ""
    match: str = ""
    nth: tuple[int, ...] = ()
    every: int | None = None
    first: int | None = None
    share: float | None = None
    attempts: int | None = None
    times: int | None = None
    billed: bool | None = None
    batch: dict[str, Any] = field(default_factory=dict)
    seen: int = 0
    applied: int = 0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"a fault is one of {', '.join(get_args(Kind))}")
        self.nth = tuple(self.nth)
        if self.billed is None:
            self.billed = self.kind not in _UNBILLED

    @property
    def own_words(self) -> bool:
        """Whether the answer is the API's own."""
        return self.kind in WHOLE and self.body is None

    def describe(self) -> dict[str, Any]:
        """Every field that is not at its default."""
        return {
            f.name: value
            for f in fields(self)
            if (value := getattr(self, f.name)) != f.default and value not in ({}, ())
        }


class Faults:
    """The script. The first fault that wants a request gets it."""

    def __init__(self) -> None:
        self.script: list[Fault] = []
        self._patterns: dict[str, re.Pattern[bytes]] = {}

    def add(self, fault: Fault) -> None:
        """Put a fault at the end of the script."""
        self.script.append(fault)

    def clear(self) -> None:
        """No trouble."""
        self.script.clear()

    def meet(self, exchange: Exchange, seed: int) -> Fault | None:
        """The fault this request meets, counted as applied."""
        for place, fault in enumerate(self.script):
            if fault.kind != "batch" and self._meets(fault, exchange, seed, place):
                return fault
        return None

    def for_batch(self, exchange: Exchange) -> dict[str, Any] | None:
        """How the batch goes that this request makes; None: as usual."""
        for place, fault in enumerate(self.script):
            if fault.kind == "batch" and self._meets(fault, exchange, 0, place):
                return fault.batch
        return None

    def _meets(self, fault: Fault, exchange: Exchange, seed: int, place: int) -> bool:
        if not self._concerns(fault, exchange):
            return False
        fault.seen += 1
        if not self._strikes(fault, exchange, seed, place):
            return False
        fault.applied += 1
        return True

    def _concerns(self, fault: Fault, exchange: Exchange) -> bool:
        if fault.path and fault.path not in exchange.path:
            return False
        if fault.model and b'"%s"' % fault.model.encode() not in exchange.raw:
            return False
        if fault.match:
            pattern = self._patterns.get(fault.match)
            if pattern is None:
                pattern = self._patterns[fault.match] = re.compile(fault.match.encode())
            return pattern.search(exchange.raw) is not None
        return True

    @staticmethod
    def _strikes(fault: Fault, exchange: Exchange, seed: int, place: int) -> bool:
        if fault.times is not None and fault.applied >= fault.times:
            return False
        if fault.first is not None and fault.seen > fault.first:
            return False
        if fault.nth and fault.seen not in fault.nth:
            return False
        if fault.every is not None and fault.seen % fault.every:
            return False
        if fault.attempts is not None and exchange.attempt > fault.attempts:
            return False
        if fault.share is None:
            return True
        token = b"%d|%d|%d|%d" % (seed, place, exchange.content, exchange.attempt)
        return int.from_bytes(blake2b(token, digest_size=8).digest()) < fault.share * 2**64
