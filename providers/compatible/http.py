"""One aiohttp session, built for thousands of short answers per second.

Everything reusable is made once: headers, parsed addresses, the connector. aiohttp itself is
imported on first use, in a thread.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from evalbench.engine.compat import override
from evalbench.engine.errors import ProviderError
from evalbench.providers.wire.address import Address, tls
from evalbench.providers.wire.connection_made import about_to_send
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.per_loop import OnePerLoop
from evalbench.providers.wire.reply_scrubbing import SecretScrubber
from evalbench.providers.wire.streams import (
    FORM_TYPE,
    FileCarrier,
    Watched,
    while_it_moves,
    write_all,
)
from evalbench.providers.wire.transport import connection_error, open_session, whole_body

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

_IDLE_S = 4.0
"""Shorter than the 5 seconds after which common servers close idle connections, so that no request
meets a connection that is being closed."""
_LARGE = 1 << 20


class Http(FileCarrier):
    """Sends requests to one server."""

    def __init__(
        self,
        secret: str,
        address: Address,
        title: str,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> None:
        """``headers`` are sent with every request, including the key; ``query`` goes with URLs."""
        self._address = address
        self._title = title
        self._headers = dict(headers or {})
        self._query = dict(query or {})
        self._scrub = SecretScrubber(secret, *self._headers.values(), *self._query.values())
        self.clients: OnePerLoop[aiohttp.ClientSession] = OnePerLoop(self._open, _close)
        self._urls: dict[str, URL] = {}

    async def post(self, prepared: Prepared) -> Answered:
        """Send a prepared request and read the whole response.

        Raises:
            ProviderError: no complete response arrived.
        """
        session = self.clients.here() or await self.clients.get()
        body: Any = orjson.dumps(prepared.body)
        if len(body) > _LARGE:
            body = io.BytesIO(body)
        about_to_send()
        return await self._answered(
            session.post(self._url(prepared.path), data=body, allow_redirects=False)
        )

    async def fetch(self, path: str) -> Answered:
        """GET a path; raises as :meth:`post`."""
        session = self.clients.here() or await self.clients.get()
        return await self._answered(session.get(self._url(path), allow_redirects=False))

    @override
    async def upload(
        self, path: str, file: Path, name: str, fields: Mapping[str, str], idle_s: float
    ) -> Answered:
        session = await self.clients.get()
        async with while_it_moves(idle_s, self._title) as moved:
            with await asyncio.to_thread(Watched, file, moved) as source:
                form = _aiohttp().FormData(fields)
                form.add_field("file", source, filename=name, content_type=FORM_TYPE)
                # The session's default header says JSON; only the form knows its boundary.
                whole = form()
                return await self._answered(
                    session.post(
                        self._url(path), data=whole, headers=whole.headers, allow_redirects=False
                    )
                )

    @override
    async def download(self, path: str, into: Path, idle_s: float) -> Answered:
        session = await self.clients.get()
        async with while_it_moves(idle_s, self._title) as moved:
            try:
                async with session.get(self._url(path), allow_redirects=False) as response:
                    if response.status != 200:
                        return Answered(
                            response.status, response.headers, await whole_body(response)
                        )
                    await write_all(response.content.iter_any(), into, moved)
                    return Answered(response.status, response.headers, b"")
            except ProviderError:
                raise
            except Exception as error:
                raise connection_error(error, self._title, self._address, self._scrub) from None

    def _url(self, path: str) -> URL:
        url = self._urls.get(path)
        if url is None:
            from yarl import URL

            url = URL(path if "://" in path else self._address.url + path)
            if self._query:
                url = url.update_query(self._query)
            self._urls[path] = url
        return url

    async def _answered(self, request: Any) -> Answered:
        started = time.perf_counter()
        try:
            async with request as response:
                body = await whole_body(response)
            seconds = time.perf_counter() - started
            return Answered(response.status, response.headers, body, seconds)
        except ProviderError:
            raise
        except Exception as error:
            raise connection_error(error, self._title, self._address, self._scrub) from None

    async def _open(self) -> aiohttp.ClientSession:
        await asyncio.to_thread(_aiohttp)
        trusted = await asyncio.to_thread(tls, self._address.url)
        headers = {"Content-Type": "application/json", "User-Agent": "evalbench", **self._headers}
        return open_session(self._address.url, trusted, _IDLE_S, headers=headers)


def _aiohttp() -> Any:
    import aiohttp

    return aiohttp


async def _close(session: aiohttp.ClientSession) -> None:
    await session.close()
