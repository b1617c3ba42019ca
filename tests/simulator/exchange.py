"""One request and its answer, as every API of the simulator sees them.

An API is a set of routes. A route's handler takes an :class:`Exchange` and
returns an :class:`Answer`, or raises :class:`Refused` with one. Handlers are
plain functions: waiting, limits of the wire and scripted faults belong to the
server, so a handler is always quick and always deterministic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

import orjson


@dataclass(slots=True)
class Bill:
    """What one answer cost. Token counts as a provider would charge them.

    ``input_tokens`` counts every prompt token; the cache fields are subsets of it.
    """

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0
    nanodollars: int = 0


@dataclass(slots=True)
class Answer:
    """A reply before it is put on the wire. ``body`` is bytes, or anything orjson can write."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    bill: Bill | None = None
    content_type: str = "application/json"

    def encoded(self) -> bytes:
        """The body's bytes."""
        return self.body if isinstance(self.body, bytes) else orjson.dumps(self.body)


class Refused(Exception):
    """A handler refuses the request; ``answer`` says so in the API's own words."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class Exchange:
    """One request on its way through the simulator.

    Attributes:
        tail: what a templated route matched after its prefix, else empty.
        key: the API key, however it was sent.
        content: 64-bit fingerprint of path and body; a retry has the same one.
        number: ordinal of this request, from 1.
        attempt: how often this content was asked, this time included.
        now: simulated seconds since the epoch.
        notes: what the journal should say about it (ignored fields, cut context).
    """

    __slots__ = (
        "_query",
        "attempt",
        "content",
        "headers",
        "key",
        "method",
        "model",
        "notes",
        "now",
        "number",
        "path",
        "raw",
        "tail",
    )

    def __init__(
        self,
        *,
        method: str,
        path: str,
        query: str,
        headers: Mapping[str, str],
        raw: bytes,
        content: int,
        number: int,
        attempt: int,
        now: float,
    ) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.key = key_of(headers)
        self.raw = raw
        self.content = content
        self.number = number
        self.attempt = attempt
        self.now = now
        self.tail = ""
        self.notes: dict[str, Any] = {}
        self.model = ""
        self._query = query

    @property
    def request_id(self) -> str:
        """An id like the providers': ``req_`` and 24 digits."""
        return f"req_{self.number:024d}"

    @property
    def query(self) -> dict[str, list[str]]:
        """Query parameters; a trailing ``[]`` of a name is dropped."""
        out: dict[str, list[str]] = {}
        for name, value in parse_qsl(self._query, keep_blank_values=True):
            out.setdefault(name.removesuffix("[]"), []).append(value)
        return out

    @property
    def body(self) -> Any:
        """The parsed JSON body, fresh each time.

        Raises:
            ValueError: when it is not JSON.
        """
        return orjson.loads(self.raw)


def fingerprint(target: bytes, raw: bytes) -> int:
    """The content of a request: 64 bits of its path and body.

    Bedrock's are put in one form first: what boto3 sends and what stands in a
    file of records says the same in other bytes.
    """
    if target.endswith(b"/converse"):
        target = unquote_to_bytes(target.rpartition(b"/model/")[2])
        with suppress(orjson.JSONDecodeError):
            raw = orjson.dumps(orjson.loads(raw), option=orjson.OPT_SORT_KEYS)
    return int.from_bytes(blake2b(target + raw, digest_size=8).digest())


KEY_HEADERS = ("x-api-key", "x-goog-api-key", "api-key", "x-portkey-api-key")
"""Where keys go besides ``Authorization``: Anthropic, Google, Azure, Portkey."""


def key_of(headers: Mapping[str, str]) -> str:
    """The bearer token, or the key in the header of one API or gateway, or empty."""
    bearer = headers.get("Authorization", "")
    if bearer[:7].lower() == "bearer ":
        return bearer[7:].strip()
    return next((headers[name] for name in KEY_HEADERS if headers.get(name)), "")


Handler = Callable[[Exchange], Answer]


@dataclass(frozen=True, slots=True)
class Route:
    """A method and a path. A path that ends in ``/*`` matches any tail.

    Attributes:
        open: the handler looks at keys itself, because it is also asked in batches,
            or because it is a service that knows no keys.
    """

    method: str
    path: str
    handler: Handler
    open: bool = False


class Api(ABC):
    """One provider's protocol; what most of them have in common."""

    name: str
    base_path: str
    """What a client adds to the server's address to get the base URL."""

    @abstractmethod
    def routes(self) -> Iterable[Route]:
        """Every route, with the API's own prefix."""

    @abstractmethod
    def admit(self, exchange: Exchange) -> None:
        """Refuse a key that may do nothing at all."""

    @abstractmethod
    def error(self, status: int, message: str = "") -> Answer:
        """A failure with ``status`` as this provider words it; for scripted faults."""

    def dress(self, exchange: Exchange, answer: Answer) -> None:
        """Add what every answer of this provider carries: request ids and the like."""
        answer.headers["x-request-id"] = exchange.request_id

    def error_within_200(self, exchange: Exchange, code: str) -> Answer:
        """A failure reported inside a successful HTTP answer.

        Raises:
            ValueError: when this API has no such thing.
        """
        raise ValueError(f"{self.name} reports no error inside a 200")
