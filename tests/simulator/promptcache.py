"""Prompt caches: what a provider remembers of prompts it has seen.

A prefix becomes readable when the answer that wrote it begins, so calls sent
side by side all pay for the write; every read starts its life anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

FIRST_BLOCK = 1024
"""Tokens of the shortest prefix that is cached without being asked."""
BLOCK = 128
"""Tokens by which an implicit prefix grows."""
IMPLICIT_LIFE = 1800.0


@dataclass(frozen=True, slots=True)
class Prefix:
    """A cacheable beginning of a prompt: fingerprint, length in tokens, life in seconds."""

    fingerprint: bytes
    tokens: int
    life: float = 300.0


@dataclass(slots=True)
class _Entry:
    ready: float
    expires: float
    life: float


class PromptCache:
    """Remembers prefixes per owner (API, key and model)."""

    def __init__(self) -> None:
        self._entries: dict[tuple[tuple[str, ...], bytes], _Entry] = {}

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()

    def use(
        self, owner: tuple[str, ...], prefixes: Sequence[Prefix], now: float, ready: float
    ) -> int:
        """Look up growing ``prefixes``, remember all of them, and give the tokens read.

        ``ready`` is when the answer begins, and with it what is written now.
        """
        read = 0
        for prefix in prefixes:
            entry = self._entries.get((owner, prefix.fingerprint))
            if entry is not None and entry.ready <= now < entry.expires:
                read = max(read, prefix.tokens)
                entry.expires = now + entry.life
            elif entry is None or now >= entry.expires:
                self._entries[owner, prefix.fingerprint] = _Entry(
                    ready, ready + prefix.life, prefix.life
                )
        return read


def implicit_prefixes(text: str, chars_per_token: float) -> list[Prefix]:
    """The prefixes of 1,024, 1,152, 1,280 … tokens of a prompt; none of a shorter one."""
    step = int(BLOCK * chars_per_token)
    first = int(FIRST_BLOCK * chars_per_token)
    if len(text) < first:
        return []
    digest = blake2b(text[:first].encode(), digest_size=16)
    prefixes = [Prefix(digest.digest(), FIRST_BLOCK, IMPLICIT_LIFE)]
    for number, start in enumerate(range(first, len(text) - step + 1, step), start=1):
        digest.update(text[start : start + step].encode())
        prefixes.append(Prefix(digest.digest(), FIRST_BLOCK + number * BLOCK, IMPLICIT_LIFE))
    return prefixes
