"""The official SDK as transport: its methods, and direct requests on its session for the rest.

A ready-made body is sent through the SDK's public ``extra_body``, and the answer is taken as its
session received it. So the bytes on the wire are exactly what ``prepare`` made, and an answer is
parsed once, by us; the SDK treats bodies as text.
"""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import orjson

from evalbench.engine.calls import MediaPart
from evalbench.engine.errors import ProviderError, ServerFault
from evalbench.providers.google.access import (
    Access,
    Opened,
    Received,
    close_client,
    open_client,
    received,
)
from evalbench.providers.google.errors import credentials_error
from evalbench.providers.wire.address import Address
from evalbench.providers.wire.connection_made import about_to_send
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.per_loop import OnePerLoop
from evalbench.providers.wire.reply_scrubbing import SecretScrubber
from evalbench.providers.wire.streams import FORM_TYPE, Watched, while_it_moves, write_all
from evalbench.providers.wire.transport import client_error, connection_error, whole_body

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")

_WHOLE = {"X-Goog-Upload-Offset": "0", "X-Goog-Upload-Command": "upload, finalize"}


class GeminiClient:
    """The API through the SDK's async client, one per event loop."""

    def __init__(
        self, access: Access, address: Address, version: str, title: str, scrub: SecretScrubber
    ) -> None:
        self._access = access
        self._scrub = scrub
        self._token = ""
        self._address = address
        self._version = version
        self._title = title
        self.clients: OnePerLoop[Opened] = OnePerLoop(self._open, close_client)

    async def _open(self) -> Opened:
        try:
            return await open_client(self._access, self._address, self._version, self._title)
        except ProviderError:
            raise
        except Exception as error:
            raise client_error(error, self._title, self._scrub) from None

    async def generate(self, prepared: Prepared) -> Answered:
        """Send a prepared request.

        Raises:
            ProviderError: no complete response arrived.
        """
        opened = self.clients.here() or await self.clients.get()
        options = opened.types.HttpOptions.model_construct(extra_body=prepared.body)
        config = opened.config.model_copy(update={"http_options": options})
        about_to_send()

        async def work() -> Answered:
            came = Received()
            token = received.set(came)
            try:
                # The body replaces these contents; the SDK does not accept a call without any.
                await opened.client.aio.models.generate_content(
                    model=prepared.model, contents="-", config=config
                )
            except Exception:
                # A complete response is read here even if the SDK cannot read it.
                if came.body is None:
                    raise
            finally:
                received.reset(token)
            assert came.response is not None
            return Answered(came.response.status, came.response.headers, came.body or b"")

        return await self._timed(work)

    async def models(self) -> list[dict[str, Any]] | Answered:
        """The whole model list as the SDK returns it; the response if it is an error."""
        opened = await self.clients.get()

        async def work() -> list[dict[str, Any]]:
            pages = await opened.client.aio.models.list(config={"page_size": 1000})
            listed = [model.model_dump(exclude_none=True) async for model in pages]
            return self._scrub.value(listed)

        return await self._result_or_error(work)

    async def model(self, name: str) -> dict[str, Any] | Answered:
        """One model's entry as the SDK returns it; the response if it is an error."""
        opened = await self.clients.get()

        async def work() -> dict[str, Any]:
            entry = await opened.client.aio.models.get(model=name)
            found: dict[str, Any] = entry.model_dump(exclude_none=True)
            return self._scrub.value(found)

        return await self._result_or_error(work)

    async def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answered:
        """Send a request about files or batches, of which the SDK's objects omit the counts.

        Args:
            method: the HTTP method.
            path: path below the API version, beginning with a slash.
            body: JSON body.

        Raises:
            ProviderError: no complete response arrived.
        """
        opened = await self.clients.get()
        data = io.BytesIO(b"" if body is None else orjson.dumps(body))
        url = f"{self._address.url}/{self._version}{path}"
        return await self._timed(lambda: self._sent(opened, method, url, data, self._json_headers))

    async def upload(self, part: MediaPart) -> Answered:
        """Upload a file in one piece: announce it, then send its bytes to the URL in the response.

        The SDK's own upload silently retries up to three times.

        Raises:
            ProviderError: no complete response arrived.
        """
        opened = await self.clients.get()

        async def work() -> Answered:
            target = await self._announced(opened, len(part.data), part.media_type, {})
            if isinstance(target, Answered):
                return target
            return await self._sent(opened, "POST", target, io.BytesIO(part.data), _WHOLE)

        return await self._timed(work)

    async def upload_lines(self, file: Path, name: str, idle_s: float) -> Answered:
        """Upload a file of requests, streamed from disk.

        Raises:
            ProviderError: no complete response arrived, or nothing moved for ``idle_s``.
        """
        opened = await self.clients.get()
        size = (await asyncio.to_thread(file.stat)).st_size
        about = {"file": {"displayName": name}}
        async with while_it_moves(idle_s, self._title) as moved:

            async def work() -> Answered:
                target = await self._announced(opened, size, FORM_TYPE, about)
                if isinstance(target, Answered):
                    return target
                moved()
                source = await asyncio.to_thread(Watched, file, moved)
                headers = {**_WHOLE, "Content-Length": str(size)}
                return await self._sent(opened, "POST", target, source, headers)

            return await self._timed(work)

    async def download(self, path: str, into: Path, idle_s: float) -> Answered:
        """Stream the content of a path below the API version to the end of a file.

        An unsuccessful response leaves the file alone and is returned with its body.

        Raises:
            ProviderError: no complete response arrived, nothing moved for ``idle_s``, or the file
                cannot be written.
        """
        opened = await self.clients.get()
        url = f"{self._address.url}/{self._version}{path}"
        async with while_it_moves(idle_s, self._title) as moved:

            async def work() -> Answered:
                request = self._request(opened, "GET", url, None, self._key_header)
                async with request as response:
                    if response.status != 200:
                        return Answered(
                            response.status, response.headers, await whole_body(response)
                        )
                    await write_all(response.content.iter_any(), into, moved)
                    return Answered(200, response.headers, b"")

            return await self._result_or_error(work)

    @property
    def _key_header(self) -> dict[str, str]:
        return {"x-goog-api-key": self._access.secret}

    @property
    def _json_headers(self) -> dict[str, str]:
        return {**self._key_header, "Content-Type": "application/json"}

    async def _announced(
        self, opened: Opened, size: int, media_type: str, about: Mapping[str, Any]
    ) -> str | Answered:
        """Announce an upload; returns its URL, or the response if it is an error."""
        announced = await self._sent(
            opened,
            "POST",
            f"{self._address.url}/upload/{self._version}/files",
            io.BytesIO(orjson.dumps(about)),
            {
                **self._json_headers,
                "X-Goog-Upload-Protocol": "resumable",
                "X-Goog-Upload-Command": "start",
                "X-Goog-Upload-Header-Content-Length": str(size),
                "X-Goog-Upload-Header-Content-Type": media_type,
            },
        )
        if announced.status != 200:
            return announced
        where = announced.headers.get("x-goog-upload-url", "")
        if not where:
            raise ServerFault(f"{self._title} names no address for an upload")
        # Send the bytes to the same host as calls, whatever host the answer names.
        here = urlsplit(self._address.url)
        return urlsplit(where)._replace(scheme=here.scheme, netloc=here.netloc).geturl()

    async def _sent(
        self, opened: Opened, method: str, url: str, data: io.IOBase, headers: Mapping[str, str]
    ) -> Answered:
        async with self._request(opened, method, url, data, headers) as response:
            return Answered(response.status, response.headers, await whole_body(response))

    def _request(
        self,
        opened: Opened,
        method: str,
        url: str,
        data: io.IOBase | None,
        headers: Mapping[str, str],
    ) -> aiohttp.client._RequestContextManager:
        """A request that bypasses the SDK. The caller enforces the deadline."""
        return opened.session.request(
            method,
            url,
            data=data,
            headers=headers,
            allow_redirects=False,
        )

    async def _timed(self, work: Callable[[], Awaitable[Answered]]) -> Answered:
        started = time.perf_counter()
        answered = await self._result_or_error(work)
        seconds = time.perf_counter() - started
        return Answered(answered.status, answered.headers, answered.body, seconds)

    def _learn_token(self) -> None:
        """An account's token is refreshed by the SDK, and a server may echo it."""
        opened = self.clients.here()
        token = getattr(opened.credentials, "token", None) if opened else None
        if isinstance(token, str) and token is not self._token:
            self._token = token
            self._scrub.learn(token)

    async def _result_or_error(self, work: Callable[[], Awaitable[T]]) -> T | Answered:
        """The result of ``work``, or the error response that it got.

        The SDK raises its own ``APIError`` for responses; everything else is an exception of its
        HTTP client, its credentials or a JSON parser.
        """
        try:
            try:
                return await work()
            finally:
                self._learn_token()
        except ProviderError:
            raise
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ServerFault(
                f"{self._title} sent an answer that cannot be read",
                why=f"its body is not JSON ({error})",
                possibly_billed=True,
            ) from None
        except Exception as error:
            response = getattr(error, "response", None)
            if response is not None:
                return Answered(response.status, response.headers, await _read(response))
            if type(error).__module__.startswith("google.auth") and not _of_transport(error):
                raise credentials_error(error) from None
            raise connection_error(error, self._title, self._address, self._scrub) from None


def _of_transport(error: BaseException) -> bool:
    return type(error).__name__ == "TransportError"


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The body of an error, which the SDK has already read."""
    try:
        return await response.read()
    except Exception:  # cut off on the way; the status is enough
        return b""
