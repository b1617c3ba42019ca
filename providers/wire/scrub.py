"""Taking keys out of everything that is kept, shown or raised."""

from __future__ import annotations

import re

GONE = "[key removed]"
_SHORTEST = 8
"""A shorter secret is a placeholder for a server without keys; replacing it would maim texts."""

_SHAPES = re.compile(
    r"""
      \b(?:sk|gsk|xai|pplx|tgp|fw|csk|nvapi|key|hf)[-_][\w\-*.…]{9,}[\w\-*…]   # most providers
    | \bAIza[\w\-]{20,} | \bAQ\.[\w\-]{20,} | \b(?:AKIA|ASIA)[A-Z0-9]{12,}  # Google, AWS
    | (?i:\bbearer\s+)[\w.~+/=\-]{8,}                                   # header values
    | (?i:\b(?:x-)?api[-_]key["']?\s*[:=]\s*["']?)[\w.\-]{8,}
    """,
    re.VERBOSE,
)
_LOGIN = re.compile(r"(?<=://)[^/@\s]+(?=@)")


class Scrub:
    """Removes one provider's secrets, and what looks like any provider's, from texts."""

    def __init__(self, *secrets: str) -> None:
        self._secrets = [secret for secret in secrets if len(secret) >= _SHORTEST]
        self._bytes = [secret.encode() for secret in self._secrets]

    def exact(self, body: bytes) -> bytes:
        """``body`` without the secrets. Answers go through this: nothing else is touched."""
        for secret in self._bytes:
            if secret in body:
                body = body.replace(secret, GONE.encode())
        return body

    def identity(self, text: object) -> str:
        """A request id, cut to a sane length, without the secrets."""
        name = str(text)[:200]
        for secret in self._secrets:
            name = name.replace(secret, GONE)
        return name

    def text(self, text: str, most: int = 2_000) -> str:
        """An error text without the secrets, other keys and logins in addresses, cut."""
        for secret in self._secrets:
            text = text.replace(secret, GONE)
        text = _LOGIN.sub(GONE, _SHAPES.sub(GONE, text))
        return text if len(text) <= most else text[: most - 1] + "…"
