"""Small files that authors publish on the web, beside their data sets."""

from __future__ import annotations

from pathlib import Path

from evalbench.engine.errors import DataError
from evalbench.engine.paths import make_private, write_file

_LARGEST = 1_000_000


def fetch_once(address: str, into: Path, what: str, hint: str) -> Path:
    """The file at a fixed address, downloaded unless it is there already.

    Args:
        address: where it is published.
        into: where it is kept.
        what: what it is, for people.
        hint: what to do if it cannot be fetched.

    Raises:
        DataError: it cannot be fetched or kept.
    """
    from http.client import HTTPException
    from urllib.request import urlopen

    if into.is_file():
        return into
    try:
        with urlopen(address, timeout=30) as reply:  # noqa: S310 (an address of ours)
            body = reply.read(_LARGEST + 1)
            unread = getattr(reply, "length", 0)  # of HTTP alone, which gives a cut body as whole
            if len(body) > _LARGEST or unread:
                # Whatever is written is never fetched again.
                raise OSError("it was cut on the way, or is larger than it should be")
        make_private(into.parent)
        write_file(into, body)
    except (OSError, HTTPException) as error:
        raise DataError(
            f"{what} could not be fetched", why=f"{address}: {error}", hint=hint
        ) from None
    return into
