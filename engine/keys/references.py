"""What may be stored about a key: its source, and fingerprints that do not reveal it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from evalbench.engine.paths import config_dir, make_private, write_file

DEFAULT_NAME = "default"
_MASK_FROM = 20


class KeySource(StrEnum):
    """Where a key came from."""

    ENVIRONMENT = "environment"
    KEYCHAIN = "keychain"
    FILE = "file"
    PROFILE = "profile"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class KeyRef:
    """The source of a key. Safe to store and to show.

    Attributes:
        provider: the provider's name.
        source: kind of source.
        name: in the keychain, the key's name; for a file, its absolute path; for credentials
            found by the SDK, the profile's name or empty.
        variable: for environment and file, the variable that contained it.
    """

    provider: str
    source: KeySource
    name: str = ""
    variable: str = ""

    def __str__(self) -> str:
        match self.source:
            case KeySource.ENVIRONMENT:
                return f"{self.provider} key from the environment ({self.variable})"
            case KeySource.KEYCHAIN:
                return f"{self.provider} key {self.name!r} from the keychain"
            case KeySource.FILE:
                return f"{self.provider} key from {self.name} ({self.variable})"
            case KeySource.PROFILE:
                if self.name:
                    return f"{self.provider} credentials of profile {self.name!r}"
                return f"{self.provider} credentials that its SDK finds by itself"
        return f"{self.provider} without a key"

    def to_json(self) -> dict[str, str]:
        """A JSON form that :meth:`from_json` reads back."""
        return {name: str(value) for name, value in asdict(self).items() if value}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> KeyRef:
        """Inverse of :meth:`to_json`."""
        return cls(**{**value, "source": KeySource(value["source"])})


def fingerprint(secret: str) -> str:
    """Twelve hex digits that identify a key on this machine and reveal nothing about it.

    A keyed hash with a random salt that is created once per installation, so that engines of one
    user agree on it (they share rate limits by it) and no one can test guesses against a published
    journal.
    """
    return hashlib.blake2b(secret.encode(), key=_salt(), digest_size=6).hexdigest()


def _salt() -> bytes:
    path = config_dir() / "fingerprint.salt"
    if not path.exists():
        make_private(path.parent)
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        write_file(partial, secrets.token_bytes(16))
        # A link, not a rename: the loser of a race must not replace the winner's salt.
        with contextlib.suppress(FileExistsError):
            os.link(partial, path)
        partial.unlink()
    return path.read_bytes()


def masked(secret: str) -> str:
    """A key as it may be shown to its owner: ``sk-…wxyz``.

    The first three and last four characters, as providers show keys on their pages, so that keys
    can be told apart. Keys under 20 characters are hidden completely. Never stored.
    """
    if len(secret) < _MASK_FROM:
        return "…"
    return f"{secret[:3]}…{secret[-4:]}"
