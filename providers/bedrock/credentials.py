"""How AWS credentials reach a provider.

Keys from the environment or the keychain are passed as one string. Everything else (a profile, SSO,
a role) is left to boto3's own chain, which resolves it in the process that needs it, and refreshes
it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

PATTERN = (
    r"A[KS]IA[A-Z0-9]{12,}:[\w/+=]{40}(?::[\w/+=%-]{16,})?"
    r"|ABSK[\w/+=]{30,}|bedrock-api-key-[\w/+=-]{30,}"
)
_HALF = re.compile(r"A[KS]IA[A-Z0-9]{12,}:?")


@dataclass(frozen=True, slots=True)
class Credentials:
    """The parsed key string. If all are empty, boto3's own chain decides.

    Attributes:
        access_key, secret_key, token: an access key pair, with an optional session token.
        bearer: a Bedrock API key.
    """

    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    bearer: str = field(default="", repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Strings that must never be stored or shown."""
        return tuple(filter(None, (self.secret_key, self.token, self.bearer)))


def read_credentials(secret: str) -> Credentials:
    """Parse ``ACCESS_KEY:SECRET_KEY[:SESSION_TOKEN]`` or a Bedrock API key.

    Raises:
        ValueError: half of a pair is missing.
    """
    text = secret.strip()
    if _HALF.fullmatch(text):
        raise ValueError("only the first half of a pair of AWS keys is there")
    first, colon, rest = text.partition(":")
    if not colon:
        return Credentials(bearer=text)
    second, _, token = rest.partition(":")
    return Credentials(first, second, token)
