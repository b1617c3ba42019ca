"""Calls to a local model that have no reply yet, and which worker holds them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count

from evalbench.engine.calls import Call, MediaPart, Reply
from evalbench.engine.calls.prefixes import prefix_name, shared_prefix
from evalbench.engine.dispatch.local.shards import Shards

_CHARS_A_TOKEN = 4
_CHARS_OF_MEDIA = 2000


@dataclass(slots=True)
class _Open:
    call: Call
    reply: asyncio.Future[Reply]
    number: int
    beginning: str = ""
    size: int = 0
    killings: int = 0
    """ How often a worker died with this call."""


class OpenCalls:
    """Every call is in exactly one state: waiting, suspect, or held by a worker.

    Attributes:
        suspects: calls that a worker held when it died: each is retried alone.
    """

    def __init__(self, *, sort: bool) -> None:
        """Start with no calls.

        Args:
            sort: there may be several workers: group calls by common prefix and similar length;
                if False, calls go in the order in which they were asked.
        """
        self._calls: dict[str, _Open] = {}
        self._waiting = Shards()
        self._sort = sort
        self._numbers = count()
        self.suspects: deque[str] = deque()

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[str]:
        return iter(self._calls)

    def __getitem__(self, key: str) -> Call:
        return self._calls[key].call

    @property
    def waiting(self) -> int:
        """Number of calls that no worker holds, not counting suspects."""
        return len(self._waiting)

    def add(self, key: str, call: Call) -> asyncio.Future[Reply]:
        """Add a call; the future resolves to its reply."""
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._calls[key] = one = _Open(call, reply, next(self._numbers))
        if self._sort:
            messages = call.prompt.messages
            if prefix := shared_prefix(messages):
                one.beginning = prefix_name(call.model, messages, prefix)
            one.size = _size(call)
        self._wait(key)
        return reply

    def forget(self, key: str) -> None:
        """Drop a call that was answered or is no longer wanted."""
        self._calls.pop(key, None)
        self._waiting.discard(key)

    def is_open(self, key: str) -> bool:
        """Whether a reply to this call is still wanted."""
        return key in self._calls and not self._calls[key].reply.done()

    def take(self, worker: Hashable, most: int | None) -> list[str]:
        """The next calls for a worker; see :meth:`.shards.Shards.take`."""
        return [key for key in self._waiting.take(worker, most) if self.is_open(key)]

    def next_suspect(self) -> str:
        """The next call to run alone; empty if there is none."""
        while self.suspects:
            if self.is_open(key := self.suspects.popleft()):
                return key
        return ""

    def accuse(self, key: str) -> int:
        """Record that a worker died with this call; returns how often that has happened."""
        self._calls[key].killings += 1
        return self._calls[key].killings

    def give_back(self, keys: Iterable[str]) -> None:
        """Put calls that a worker held back in the queue."""
        for key in keys:
            if self.is_open(key):
                self._wait(key)

    def _wait(self, key: str) -> None:
        one = self._calls[key]
        self._waiting.add(key, one.number, one.beginning, one.size)

    def leave(self, worker: Hashable) -> None:
        """Remove a worker for good."""
        self._waiting.forget(worker)

    def resolve(self, key: str, reply: Reply) -> None:
        """Set a call's reply, if it is still wanted."""
        if self.is_open(key):
            self._calls[key].reply.set_result(reply)

    def fail(self, error: Callable[[], BaseException]) -> None:
        """Fail every call, each with a fresh error."""
        for one in list(self._calls.values()):
            if not one.reply.done():
                one.reply.set_exception(error())


def _size(call: Call) -> int:
    """Approximate number of characters that a call reads and writes."""
    prompt = call.prompt
    parts = (part for message in prompt.messages for part in message.parts)
    read = sum(_CHARS_OF_MEDIA if isinstance(p, MediaPart) else len(p.text) for p in parts)
    choices = sum(map(len, prompt.continuations))
    return read + choices + _CHARS_A_TOKEN * (prompt.params.max_tokens or 0)
