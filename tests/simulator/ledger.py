"""The journal of requests: what was asked, answered, charged, and how the client behaved.

Client verdicts compare the machine's behaviour with the simulated time, so they
mean something only while the clock runs.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

from tests.simulator.exchange import Answer, Bill, Exchange

STORM = 10
"""Attempts at one content after which more are a retry storm."""
_HASTY = 0.1
_TOLERANCE = 0.01
_KEY_HEADERS = frozenset(
    {
        *("authorization", "x-api-key", "api-key", "x-goog-api-key", "proxy-authorization"),
        *("x-amz-security-token", "x-portkey-api-key"),
    }
)
_FATAL = frozenset({400, 401, 402, 403, 404, 413, 422})


@dataclass(slots=True)
class Entry:
    """One request. Times are simulated seconds since the epoch.

    Attributes:
        status: HTTP status of the answer; 0 when no header was sent.
        in_flight: requests being answered when this one arrived, itself included.
        client_gone: the client left before its answer was sent.
        verdicts: what the client did wrong with this request.
        batch, item: of a request that came in a batch: the batch and its name there.
            Such entries are not among the counted requests.
    """

    number: int
    at: float
    api: str
    method: str
    path: str
    content: int
    attempt: int
    in_flight: int
    model: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes = b""
    status: int | None = None
    fault: str = ""
    retry_after: float | None = None
    finished: float | None = None
    client_gone: bool = False
    bill: Bill | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    verdicts: list[str] = field(default_factory=list)
    batch: str = ""
    item: str = ""


@dataclass(slots=True)
class _Last:
    """How the latest attempt at a content ended."""

    finished: float
    status: int
    retry_after: float | None
    fault: str
    client_gone: bool


class Ledger:
    """Counts everything; keeps entries unless told to count only."""

    def __init__(self) -> None:
        self.keep = True
        self._waiting: list[tuple[dict[str, int], asyncio.Future[None]]] = []
        self._clear()

    def _clear(self) -> None:
        self.entries: list[Entry] = []
        self._here: set[int] = set()
        self.requests = 0
        self.finished = 0
        self.in_flight = 0
        self.high_water = 0
        self.statuses: Counter[int] = Counter()
        self.faults: Counter[str] = Counter()
        self.paths: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.total = Bill("")
        self.billed = 0
        self.client_gone = 0
        self.executed = 0
        self._answered: Counter[int] = Counter()
        self._attempts: dict[int, int] = {}
        self._last: dict[int, _Last] = {}

    def reset(self) -> None:
        """Forget all requests; how those end that are still in flight counts nowhere."""
        self._clear()

    def attempt(self, content: int) -> int:
        """Count one more attempt at a content and give its ordinal."""
        ordinal = self._attempts.get(content, 0) + 1
        self._attempts[content] = ordinal
        return ordinal

    def arrive(self, exchange: Exchange, api: str) -> Entry:
        """Write down a request."""
        self.requests += 1
        self.in_flight += 1
        self.high_water = max(self.high_water, self.in_flight)
        self.paths[exchange.path] += 1
        entry = Entry(
            exchange.number,
            exchange.now,
            api,
            exchange.method,
            exchange.path,
            exchange.content,
            exchange.attempt,
            self.in_flight,
        )
        self._here.add(id(entry))
        if exchange.attempt > 1:
            self._judge(entry)
        if self.keep:
            entry.headers = exchange.headers
            entry.raw = exchange.raw
            self.entries.append(entry)
        if self._waiting:
            self._wake()
        return entry

    def _judge(self, entry: Entry) -> None:
        last = self._last.get(entry.content)
        if last is None:
            return
        gap = entry.at - last.finished
        failed = last.status >= 500 or last.status in (0, 408, 409, 425, 429)
        if last.retry_after is not None and gap < last.retry_after - _TOLERANCE:
            entry.verdicts.append("before_retry_after")
        elif last.retry_after is None and failed and gap < _HASTY:
            entry.verdicts.append("no_backoff")
        if last.status in _FATAL:
            entry.verdicts.append("repeated_refused")
        if (
            entry.method == "POST"
            and last.status == 200
            and not last.fault
            and not last.client_gone
        ):
            entry.verdicts.append("asked_after_answer")
        if entry.attempt > STORM and failed:
            entry.verdicts.append("storm")
        self.verdicts.update(entry.verdicts)

    def finish(
        self,
        entry: Entry,
        exchange: Exchange,
        answer: Answer | None,
        *,
        now: float,
        fault: str = "",
        sent: bool = True,
        client_gone: bool = False,
    ) -> None:
        """Write down how a request ended. ``sent``: whether a status line left."""
        if id(entry) not in self._here:
            return
        self._here.remove(id(entry))
        self.in_flight -= 1
        self.finished += 1
        entry.finished = now
        entry.status = answer.status if answer is not None and sent else 0
        entry.fault = fault
        entry.client_gone = client_gone
        entry.model = exchange.model
        entry.notes = exchange.notes
        self.statuses[entry.status] += 1
        if fault:
            self.faults[fault] += 1
        if client_gone:
            self.client_gone += 1
        if answer is not None:
            entry.retry_after = _retry_after(answer.headers) or _retry_info(answer.body)
            self._charge(entry, answer)
        self._last[entry.content] = _Last(now, entry.status, entry.retry_after, fault, client_gone)
        if self._waiting:
            self._wake()

    def execute(self, exchange: Exchange, answer: Answer, api: str, batch: str, item: str) -> None:
        """Write down a request that came in a batch, with its answer."""
        self.executed += 1
        entry = Entry(
            exchange.number,
            exchange.now,
            api,
            exchange.method,
            exchange.path,
            exchange.content,
            exchange.attempt,
            0,
            model=exchange.model,
            status=answer.status,
            finished=exchange.now,
            notes=exchange.notes,
            batch=batch,
            item=item,
        )
        if self.keep:
            entry.headers = exchange.headers
            entry.raw = exchange.raw
            self.entries.append(entry)
        self._charge(entry, answer)

    def _charge(self, entry: Entry, answer: Answer) -> None:
        bill = answer.bill
        if bill is None:
            return
        total = self.total
        total.input_tokens += bill.input_tokens
        total.output_tokens += bill.output_tokens
        total.cache_read_tokens += bill.cache_read_tokens
        total.cache_write_tokens += bill.cache_write_tokens
        total.cache_write_1h_tokens += bill.cache_write_1h_tokens
        total.reasoning_tokens += bill.reasoning_tokens
        total.nanodollars += bill.nanodollars
        self.billed += 1
        self._answered[entry.content] += 1
        entry.bill = bill

    async def until(self, **least: int) -> None:
        """Wait until counters have reached the given values.

        Counters: ``requests``, ``finished``, ``in_flight``, ``client_gone``.
        """
        if self._reached(least):
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((least, future))
        await future

    def _reached(self, least: Mapping[str, int]) -> bool:
        return all(getattr(self, name) >= value for name, value in least.items())

    def _wake(self) -> None:
        still = []
        for least, future in self._waiting:
            if future.done():
                continue
            if self._reached(least):
                future.set_result(None)
            else:
                still.append((least, future))
        self._waiting = still

    def summary(self) -> dict[str, Any]:
        """All counters.

        ``contents`` counts different contents; ``dollars`` is what was charged;
        ``answered`` says how many contents were answered (and charged) how often,
        at once or in a batch; ``executed`` counts requests of batches.
        """
        attempts = Counter(self._attempts.values())
        return {
            "requests": self.requests,
            "finished": self.finished,
            "in_flight": self.in_flight,
            "high_water": self.high_water,
            "client_gone": self.client_gone,
            "contents": len(self._attempts),
            "attempts": {str(n): count for n, count in sorted(attempts.items())},
            "statuses": {str(status): n for status, n in sorted(self.statuses.items())},
            "paths": dict(self.paths),
            "faults": dict(self.faults),
            "verdicts": dict(self.verdicts),
            "tokens": {
                name: value for name, value in asdict(self.total).items() if name.endswith("tokens")
            },
            "executed": self.executed,
            "answered": {
                str(n): count for n, count in sorted(Counter(self._answered.values()).items())
            },
            "billed_requests": self.billed,
            "dollars": self.total.nanodollars / 1e9,
        }


def redacted(key: str) -> str:
    """A key's fingerprint, with or without ``Bearer``: tells keys apart, gives none away."""
    key = key.removeprefix("Bearer ")
    return f"key:{sha256(key.encode()).hexdigest()[:8]}" if key else ""


def safe_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Request headers in lower case, with keys redacted."""
    return {
        (lower := name.lower()): redacted(value) if lower in _KEY_HEADERS else value
        for name, value in headers.items()
    }


def _retry_info(body: Any) -> float | None:
    """Seconds to wait as Google's error bodies say them."""
    error = body.get("error") if isinstance(body, dict) else None
    for detail in (error.get("details") if isinstance(error, dict) else None) or ():
        if isinstance(detail, dict) and "retryDelay" in detail:
            return float(detail["retryDelay"].rstrip("s"))
    return None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        if name in headers:
            try:
                return float(headers[name]) / unit
            except ValueError:
                return None
    return None
