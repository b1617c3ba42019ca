"""Batches that the APIs of the simulator work off: items, time, scripted behaviour.

Time is the simulator's clock, and what is due happens when somebody looks: a
batch needs no task of its own. Requests go through the same handlers as those
that are answered at once, so they get the same answers; they meet no rate
limits and cost half, or what their API says.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.simulator.exchange import Answer, Exchange, Handler, Refused, fingerprint
from tests.simulator.faults import Faults
from tests.simulator.ledger import Ledger

WINDOW = 86_400.0
"""Seconds after which a batch gives up on what it has not done."""
HALF = 0.5

Phase = Literal[
    "waiting", "running", "finishing", "cancelling", "ended", "expired", "cancelled", "refused"
]
Fate = Literal["expired", "cancelled"]


@dataclass(slots=True)
class Script:
    """How one batch goes. Times are simulated seconds, ordinals begin at 1.

    Attributes:
        waiting: before it is begun; a large number: validated for ever.
        running: for all its requests, which are done evenly over that time.
            Longer than the window: the batch expires with a part done.
        finishing: between the last request and its results.
        refused: code of the error that refuses it as a whole, after ``waiting``.
        queue: tokens that may wait in all batches of its key and model together; a
            batch that does not fit is refused for that.
        failing: ordinals of requests that fail with ``status``; ``all``: every one.
        status: of failing requests.
        order: of the result lines.
        missing, duplicated, malformed: ordinals of result lines, as they were asked.
        gone: its results cannot be fetched any more.
    """

    waiting: float = 0.0
    running: float = 0.0
    finishing: float = 0.0
    refused: str = ""
    queue: int | None = None
    failing: tuple[int, ...] | Literal["all"] = ()
    status: int = 500
    order: Literal["asked", "reversed", "shuffled"] = "asked"
    missing: tuple[int, ...] = ()
    duplicated: tuple[int, ...] = ()
    malformed: tuple[int, ...] = ()
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One request: its name, the path it would have had by itself, its body."""

    id: str
    path: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Line:
    """One result: the ordinal of its request, its bytes, whether it is an answer."""

    ordinal: int
    raw: bytes
    good: bool


@dataclass(slots=True)
class Batch:
    """One batch.

    Attributes:
        headers: of the request that made it; its items are asked with them.
        about: what its API keeps besides.
        lines: results so far, in the order of the requests.
        counts: requests by how they ended.
        tokens: totals of what was answered.
        window: seconds after which it gives up.
    """

    id: str
    api: str
    key: str
    headers: Mapping[str, str]
    items: list[Item]
    script: Script
    created: float
    about: dict[str, Any] = field(default_factory=dict)
    phase: Phase = "waiting"
    lines: list[Line] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    cancel_asked: float | None = None
    window: float = WINDOW

    @property
    def started(self) -> float:
        """When its first request can have its turn."""
        return self.created + self.script.waiting

    @property
    def expires(self) -> float:
        """When it gives up."""
        return self.created + self.window

    def end(self) -> tuple[float, Phase]:
        """When the last of its requests has its turn, or would have had, and what ends it."""
        ends: list[tuple[float, Phase]] = [(self.started + self.script.running, "ended")]
        if self.started < self.expires:
            ends.append((self.expires, "expired"))
        if self.cancel_asked is not None:
            ends.append((self.cancel_asked, "cancelled"))
        return min(ends, key=lambda end: end[0])

    @property
    def asked_tokens(self) -> int:
        """Tokens of its requests, about."""
        return sum(len(item.raw) for item in self.items) // 4

    @property
    def over(self) -> bool:
        """Whether it will not change any more."""
        return self.phase in ("ended", "expired", "cancelled", "refused")

    def due(self, now: float) -> int:
        """How many of its requests have had their turn by now."""
        end, _ = self.end()
        running = self.script.running
        passed = min(now, end) - self.started
        if passed < 0:
            return 0
        share = passed / running if running else 1.0
        # Of a tenth of a second, only 0.0999999 may have passed at its end.
        return min(len(self.items), math.floor(len(self.items) * share + 1e-4))

    def results(self, *, good: bool | None = None) -> bytes:
        """The result lines as a file, disturbed as scripted; ``good`` keeps one kind."""
        return b"".join(
            raw + b"\n" for raw, is_good in self._disturbed() if good is None or is_good is good
        )

    def _disturbed(self) -> Iterator[tuple[bytes, bool]]:
        script = self.script
        lines = list(self.lines)
        if script.order == "reversed":
            lines.reverse()
        elif script.order == "shuffled":
            lines.sort(key=lambda line: fingerprint(b"shuffled", line.raw))
        for line in lines:
            if line.ordinal in script.missing:
                continue
            cut = line.ordinal in script.malformed
            yield (line.raw[: len(line.raw) // 2] if cut else line.raw), line.good
            if line.ordinal in script.duplicated:
                yield line.raw, line.good


Write = Callable[[Item, Exchange, Answer], Line | bytes]


@dataclass(frozen=True, slots=True)
class Worker:
    """How one API answers the requests of a batch and writes their results.

    Attributes:
        answer: the handler of a request's path.
        fail: an error with a status, in the API's words.
        write: a result line from an answer, without a line feed.
        unserved: a result line for a request that had no turn.
        factor: by which a request to a model costs other than at once.
    """

    answer: Callable[[str], Handler]
    fail: Callable[[int], Answer]
    write: Callable[[Item, Exchange, Answer], bytes]
    unserved: Callable[[Item, Fate, int], bytes]
    factor: Callable[[str], float] = lambda model: HALF


class Batches:
    """All batches of a simulator, by id."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.ledger = Ledger()
        self.numbers: Iterator[int] = itertools.count(1)
        self._batches: dict[str, Batch] = {}
        self._made = 0

    def connect(self, faults: Faults, ledger: Ledger, numbers: Iterator[int]) -> None:
        """Use a simulator's script, journal and numbers of requests."""
        self.faults, self.ledger, self.numbers = faults, ledger, numbers

    def reset(self) -> None:
        """Forget all batches. Their ids are not used again."""
        self._batches.clear()

    def name(self, prefix: str) -> str:
        """A fresh id."""
        self._made += 1
        return f"{prefix}{self._made:024d}"

    def make(
        self, exchange: Exchange, api: str, prefix: str, items: list[Item], about: dict[str, Any]
    ) -> Batch:
        """Take a batch, which goes as the script for this request says."""
        given = self.faults.for_batch(exchange)
        script = Script(**given) if given else Script()
        batch = Batch(
            self.name(prefix),
            api,
            exchange.key,
            exchange.headers,
            items,
            script,
            exchange.now,
            about,
        )
        self._batches[batch.id] = batch
        return batch

    def find(self, api: str, key: str, name: str) -> Batch | None:
        """A batch of this key."""
        batch = self._batches.get(name)
        mine = batch is not None and (batch.api, batch.key) == (api, key)
        return batch if mine else None

    def listed(self, api: str, key: str) -> list[Batch]:
        """The batches of a key, newest first."""
        return [b for b in reversed(self._batches.values()) if (b.api, b.key) == (api, key)]

    def delete(self, batch: Batch) -> None:
        """Forget a batch."""
        del self._batches[batch.id]

    def all(self) -> Iterable[Batch]:
        """Every batch, oldest first."""
        return self._batches.values()

    def settle(self, batch: Batch, now: float, worker: Worker) -> None:
        """Let happen what is due by now."""
        if batch.over:
            return
        if now >= batch.started and (batch.script.refused or batch.about.get("errors")):
            batch.phase = "refused"
            return
        done = len(batch.lines)
        for ordinal in range(done + 1, batch.due(now) + 1):
            self._turn(batch, ordinal, worker)
        end, kind = batch.end()
        if now < min(end, batch.started):
            batch.phase = "waiting"
        elif now < end:
            batch.phase = "running"
        elif now < end + batch.script.finishing:
            batch.phase = "cancelling" if kind == "cancelled" else "finishing"
        else:
            self._close(batch, kind, worker)

    def _turn(self, batch: Batch, ordinal: int, worker: Worker) -> None:
        item, script = batch.items[ordinal - 1], batch.script
        share = ordinal / len(batch.items)
        content = fingerprint(item.path.encode(), item.raw)
        exchange = Exchange(
            method="POST",
            path=item.path,
            query="",
            headers=batch.headers,
            raw=item.raw,
            content=content,
            number=next(self.numbers),
            attempt=self.ledger.attempt(content),
            now=batch.started + script.running * share,
        )
        if script.failing == "all" or ordinal in script.failing:
            answer = worker.fail(script.status)
        else:
            try:
                answer = worker.answer(item.path)(exchange)
            except Refused as refused:
                answer = refused.answer
        good = answer.status == 200
        if answer.bill is not None:
            answer.bill.nanodollars = round(
                answer.bill.nanodollars * worker.factor(answer.bill.model)
            )
            for name in ("input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens"):
                batch.tokens[name] += getattr(answer.bill, name)
        self.ledger.execute(exchange, answer, batch.api, batch.id, item.id)
        batch.counts["succeeded" if good else "errored"] += 1
        batch.lines.append(Line(ordinal, worker.write(item, exchange, answer), good))

    @staticmethod
    def _close(batch: Batch, kind: Phase, worker: Worker) -> None:
        batch.phase = kind
        if kind not in ("expired", "cancelled"):
            return
        for ordinal in range(len(batch.lines) + 1, len(batch.items) + 1):
            raw = worker.unserved(batch.items[ordinal - 1], kind, ordinal)
            batch.counts[kind] += 1
            batch.lines.append(Line(ordinal, raw, good=False))

    def describe(self) -> list[dict[str, Any]]:
        """Every batch for a test to look at."""
        return [
            {
                "id": batch.id,
                "api": batch.api,
                "phase": batch.phase,
                "items": [item.id for item in batch.items],
                "counts": dict(batch.counts),
                "metadata": batch.about.get("metadata"),
            }
            for batch in self.all()
        ]
