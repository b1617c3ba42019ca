"""How AWS credentials reach a provider.

Keys that the environment or the keychain hold travel as one text. Everything
else (a profile, SSO, a role) is left to boto3's own chain, which finds it anew
in the process that needs it, and refreshes it.
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
    """What a key text holds. All empty: boto3's own chain decides.

    Attributes:
        access_key, secret_key, token: a pair of keys, with the token of a session.
        bearer: a Bedrock API key.
    """

    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    bearer: str = field(default="", repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not appear anywhere."""
        return tuple(filter(None, (self.secret_key, self.token, self.bearer)))


def read_credentials(secret: str) -> Credentials:
    """Read ``ACCESS_KEY:SECRET_KEY[:SESSION_TOKEN]`` or a Bedrock API key.

    Raises:
        ValueError: for half a pair.
    """
    text = secret.strip()
    if _HALF.fullmatch(text):
        raise ValueError("only the first half of a pair of AWS keys is there")
    first, colon, rest = text.partition(":")
    if not colon:
        return Credentials(bearer=text)
    second, _, token = rest.partition(":")
    return Credentials(first, second, token)
