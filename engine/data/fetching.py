"""Small files that authors publish on the web, beside their data sets."""

from __future__ import annotations

import hashlib
from pathlib import Path

from evalbench.engine.errors import DataError
from evalbench.engine.paths import make_private, write_file

_LARGEST = 1_000_000


def fetch_once(address: str, sha256: str, into: Path, what: str, hint: str) -> Path:
    """The file at a fixed address, downloaded unless it is there already.

    Args:
        address: where it is published.
        sha256: of its content. Anything else that comes, such as the page of a network that asks
            for a login, is not kept.
        into: where it is kept.
        what: what it is, for people.
        hint: what to do if it cannot be fetched.

    Raises:
        DataError: it cannot be fetched or kept, or is another one.
    """
    from http.client import HTTPException
    from urllib.request import urlopen

    if into.is_file():
        return into
    try:
        with urlopen(address, timeout=30) as reply:  # noqa: S310 (an address of ours)
            body = reply.read(_LARGEST)
        if hashlib.sha256(body).hexdigest() != sha256:
            raise OSError("what came is not the file that was published there")
        make_private(into.parent)
        write_file(into, body)
    except (OSError, HTTPException) as error:
        why = f"{address}: {getattr(error, 'reason', error)}"
        raise DataError(f"{what} could not be fetched", why=why, hint=hint) from None
    return into
