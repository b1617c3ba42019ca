"""Removing keys from everything that is stored, shown or raised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from evalbench.engine.calls import Reply
from evalbench.engine.calls.key_shapes import KEYS_IN_ERRORS
from evalbench.engine.calls.scrubbing import Scrubber
from evalbench.engine.errors import ProviderError
from evalbench.providers.wire.address import proxy_passwords

GONE = "[key removed]"

_LOGIN = re.compile(r"(?<=://)(?:[^/@\s]+|[^/@\s:]*:[^\s\"'<>]+)(?=@)")
"""A login in a URL, even with a slash or an ``@`` in its password."""
_PASSWORD = re.compile(
    r"""(?i)(?<![a-z])(?:password|passwd|pwd)["']?\s*[:=]\s*(["'])(?P<value>.+?)\1"""
)
_QUERY = re.compile(
    r"(?i)(?<=[?&;])(?P<name>(?:[\w.%-]*[._-])?(?:api|access)?(?:key|token|secret|passw(?:or)?d"
    r"|pwd|sig|signature|credential|auth)=)[^&;\s\"'#<>)]+"
)
LONGEST_ID = 200
_MOST_VALUES = 50
"""Of a body that a text is sought in; searching the text would take longer."""
_BEYOND = 10_000
"""Extra characters examined before cutting, so that no cut leaves part of a key."""

T = TypeVar("T")


class SecretScrubber:
    """Removes a provider's secrets, and anything that looks like a key, from texts.

    Proxy passwords set in the environment are removed as well.
    """

    def __init__(self, *secrets: str) -> None:
        self._scrubber = Scrubber(*secrets, *proxy_passwords(), mark=GONE)

    def learn(self, *secrets: str) -> None:
        """Remove these too from now on: an SDK has found or refreshed them."""
        self._scrubber.learn(*secrets)

    def exact(self, body: bytes) -> bytes:
        """``body`` without the secrets. Used for answers: nothing else is changed."""
        return self._scrubber.raw(body)

    def value(self, value: T) -> T:
        """Parsed JSON without the secrets."""
        clean: T = self._scrubber.value(value)
        return clean

    def identity(self, text: object) -> str:
        """A request id, limited in length, without the secrets."""
        return self._scrubber.text(str(text)[:_BEYOND])[:LONGEST_ID]

    def text(self, text: str, most: int = 2_000) -> str:
        """An error text without the secrets, masked or not, other keys and logins; truncated."""
        text = self._scrubber.masked(text[: most + _BEYOND])
        text = _LOGIN.sub(GONE, KEYS_IN_ERRORS.sub(GONE, text))
        text = _QUERY.sub(lambda found: found["name"] + GONE, text)
        text = _PASSWORD.sub(lambda found: found[0].replace(found["value"], GONE), text)
        return text if len(text) <= most else text[: most - 1] + "…"

    def reply(self, reply: Reply) -> Reply:
        """A reply without the secrets: a server may split one into pieces that are joined here.

        Everything else is as parsed from bytes that went through :meth:`exact`.
        """
        text = self._joined(reply.text, reply.raw)
        reasoning = self._joined(reply.reasoning, reply.raw)
        if text is reply.text and reasoning is reply.reasoning:
            return reply
        return replace(reply, text=text, reasoning=reasoning)

    def _joined(self, text: str, raw: object) -> str:
        """A text without the secrets; one that stands in the body as it is has none."""
        return text if not text or _stands_in(text, raw) else self._scrubber.text(text)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Let a provider's errors through, without the secrets."""
        try:
            yield
        except ProviderError as error:
            self.error(error)
            raise

    def error(self, error: ProviderError) -> None:
        """Remove the secrets from a provider's error."""
        clean = self._scrubber.masked
        for name in ("what", "why", "hint", "body", "request_id", "param"):
            setattr(error, name, clean(getattr(error, name)))
        error.args = (error.what,)

    def file(self, path: Path) -> None:
        """Remove the secrets from a file of lines.

        Raises:
            OSError: it cannot be read or written.
        """
        self._scrubber.file(path)


def _stands_in(text: str, value: object) -> bool:
    """Whether this very object is in parsed JSON, not too far from its beginning."""
    ahead = [value]
    for _ in range(_MOST_VALUES):
        if not ahead:
            return False
        value = ahead.pop()
        if value is text:
            return True
        if isinstance(value, dict):
            ahead.extend(value.values())
        elif isinstance(value, list):
            ahead.extend(value)
    return False
