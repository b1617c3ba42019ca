"""Together's upload: a form describing the file, its bytes to a given URL, and a confirmation."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from evalbench.engine.errors import ProviderError, ServerFault
from evalbench.providers.wire.address import Address, tls
from evalbench.providers.wire.connection_made import CONNECT_S
from evalbench.providers.wire.exchange import Answered
from evalbench.providers.wire.streams import Watched, while_it_moves
from evalbench.providers.wire.transport import connection_error

PURPOSE = "batch-api"
FILE_ID = "x-together-file-id"
_PIECE = 1 << 18
_MOVED = frozenset({301, 302, 303, 307, 308})
_MOST_MOVES = 5


def described(file: Path, name: str) -> dict[str, str]:
    """What the form needs to know about a request file; reads it in chunks."""
    with file.open("rb") as source:
        checksum = hashlib.file_digest(source, "sha256").hexdigest()
    return {
        "purpose": PURPOSE,
        "file_name": f"{name}.jsonl",
        "file_type": "jsonl",
        "checksum": checksum,
    }


def is_fit(place: str, address: Address) -> bool:
    """Whether bytes may be sent to a URL: plain HTTP only if the API itself uses it."""
    try:
        parts = urlsplit(place)
    except ValueError:
        return False
    plain = parts.scheme == "http" and address.url.startswith("http:")
    return (parts.scheme == "https" or plain) and bool(parts.hostname)


async def put(place: str, file: Path, idle_s: float, title: str, address: Address) -> Answered:
    """Upload a file without the key: the URL is signed, and not the API's own.

    Raises:
        ProviderError: no complete response arrived.
    """
    client = await asyncio.to_thread(_bare_client)
    try:
        async with while_it_moves(idle_s, title) as moved:
            left = _MOST_MOVES
            while True:
                response = await _sent(
                    client, place, file, moved, Address(place, address.official), title
                )
                place = urljoin(place, response.headers.get("location") or "")
                left -= 1
                if not left or response.status_code not in _MOVED or not is_fit(place, address):
                    return Answered(response.status_code, response.headers, response.content)
    finally:
        await client.aclose()


async def _sent(
    client: Any, place: str, file: Path, moved: Callable[[], None], address: Address, title: str
) -> Any:
    size = (await asyncio.to_thread(file.stat)).st_size
    headers = {"Content-Length": str(size)}
    try:
        return await client.put(place, content=_pieces(file, moved), headers=headers)
    except ProviderError:
        raise
    except Exception as error:
        raise connection_error(error, title, address) from None


async def _pieces(file: Path, moved: Callable[[], None]) -> AsyncIterator[bytes]:
    source = await asyncio.to_thread(Watched, file, moved)
    try:
        while piece := await asyncio.to_thread(source.read, _PIECE):
            yield piece
    finally:
        source.close()


def _bare_client() -> Any:
    import httpx

    return httpx.AsyncClient(
        verify=tls("https:"),
        timeout=httpx.Timeout(None, connect=CONNECT_S),
        follow_redirects=False,
    )


def not_taken(answered: Answered, title: str) -> ProviderError:
    """The upload URL did not accept the bytes."""
    return ServerFault(
        f"{title} did not take a file of requests",
        why=f"the place that it named for it answered {answered.status}",
        status=answered.status,
    )
