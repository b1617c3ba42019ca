"""The official SDKs as transports: their client, their key handling, their API version.

Requests go through the SDK's public ``post`` and ``get`` with a ready-made body and are returned as
raw responses, so that the bytes on the wire are exactly what :meth:`prepare` made and an answer is
parsed once.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.compat import override
from evalbench.engine.errors import ProviderError, RunFatal
from evalbench.engine.installed import install_command
from evalbench.providers.wire.address import Address
from evalbench.providers.wire.connection_made import (
    CONNECT_S,
    about_to_send,
    note_sdk_connections,
)
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.per_loop import OnePerLoop
from evalbench.providers.wire.reply_scrubbing import SecretScrubber
from evalbench.providers.wire.streams import (
    FORM_TYPE,
    FileCarrier,
    ListBody,
    Watched,
    while_it_moves,
    write_all,
)
from evalbench.providers.wire.transport import (
    client_error,
    connection_error,
)

_JSON = {"Content-Type": "application/json"}
_FORM = {"Content-Type": "multipart/form-data"}
_STREAMED = {"X-Stainless-Raw-Response": "stream"}
"""What the SDKs' own ``with_streaming_response`` adds: the body is not read up front."""


def anthropic_client(secret: str, address: Address) -> Any:
    """An Anthropic client without retries that ignores the key and address in the environment."""
    import anthropic
    import httpx2

    from evalbench.providers.wire.plain_http import plain_client, repeating

    return repeating(anthropic.AsyncAnthropic)(
        api_key=secret,
        base_url=address.url,
        max_retries=0,
        timeout=httpx2.Timeout(None, connect=CONNECT_S),
        http_client=plain_client(anthropic.DefaultAioHttpClient, httpx2, address.url),
    )


def openai_client(secret: str, address: Address) -> Any:
    """An OpenAI client without retries that ignores the key and address in the environment."""
    import httpx2
    import openai

    from evalbench.providers.wire.plain_http import plain_client, repeating

    return repeating(openai.AsyncOpenAI)(
        api_key=secret or "none",
        base_url=address.url,
        max_retries=0,
        timeout=httpx2.Timeout(None, connect=CONNECT_S),
        http_client=plain_client(openai.DefaultAioHttpClient, httpx2, address.url),
    )


def together_client(secret: str, address: Address) -> Any:
    """A Together client without retries that ignores the key and address in the environment."""
    import httpx
    import together

    from evalbench.providers.wire.plain_http import plain_client, repeating

    return repeating(together.AsyncTogether)(
        api_key=secret,
        base_url=address.url,
        max_retries=0,
        timeout=httpx.Timeout(None, connect=CONNECT_S),
        http_client=plain_client(together.DefaultAioHttpClient, httpx, address.url),
    )


class SdkClient(FileCarrier):
    """An SDK's async client: imported and made in a thread, one per event loop.

    ``http`` names the underlying HTTP library.
    """

    def __init__(
        self,
        make: Callable[[str, Address], Any],
        secret: str,
        address: Address,
        title: str,
        http: str = "httpx2",
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> None:
        self._make = make
        self._headers = dict(headers or {})
        self._query = dict(query or {})
        self._http = http
        self._secret = secret
        self._address = address
        self._title = title
        self._notes = False
        self._scrub = SecretScrubber(secret, *self._headers.values(), *self._query.values())
        self.clients: OnePerLoop[tuple[Any, Any]] = OnePerLoop(self._open, _close)

    async def post(self, prepared: Prepared) -> Answered:
        """Send a prepared request.

        Raises:
            ProviderError: no complete response arrived.
        """
        client, response_class = self.clients.here() or await self.clients.get()
        headers = {**_JSON, **prepared.headers} if prepared.headers else _JSON
        if self._notes:
            about_to_send()
        return await self._answered(
            client.post(
                # A whole address: the SDK takes longer to join one to its base.
                self._address.url + prepared.path,
                cast_to=response_class,
                content=orjson.dumps(prepared.body),
                # No retries, so no key for them: the SDK would make one up for every call.
                options={"headers": headers, "idempotency_key": ""},
            )
        )

    async def fetch(self, path: str) -> Answered:
        """GET a path; raises as :meth:`post`."""
        client, response_class = await self.clients.get()
        return await self._answered(client.get(path, cast_to=response_class))

    @override
    async def upload(
        self, path: str, file: Path, name: str, fields: Mapping[str, str], idle_s: float
    ) -> Answered:
        client, response_class = await self.clients.get()
        async with while_it_moves(idle_s, self._title) as moved:
            with await asyncio.to_thread(Watched, file, moved) as source:
                return await self._answered(
                    client.post(
                        path,
                        cast_to=response_class,
                        body=dict(fields),
                        files=[("file", (name, source, FORM_TYPE))],
                        options={"headers": _FORM},
                    )
                )

    async def form(self, path: str, fields: Mapping[str, str]) -> Answered:
        """POST plain fields as a form, or nothing at all; raises as :meth:`post`."""
        client, response_class = await self.clients.get()
        given = {"body": dict(fields), "options": {"headers": _FORM}} if fields else {}
        return await self._answered(client.post(path, cast_to=response_class, **given))

    async def delete(self, path: str) -> Answered:
        """Send a DELETE request; raises as :meth:`post`."""
        client, response_class = await self.clients.get()
        return await self._answered(client.delete(path, cast_to=response_class))

    async def post_list(
        self, path: str, body: ListBody, idle_s: float, headers: Mapping[str, str]
    ) -> Answered:
        """Send a body streamed from a file; raises as :meth:`upload`."""
        client, response_class = await self.clients.get()
        size = await asyncio.to_thread(body.size)
        async with while_it_moves(idle_s, self._title) as moved:
            return await self._answered(
                client.post(
                    path,
                    cast_to=response_class,
                    content=body.pieces(size, moved),
                    options={"headers": {**_JSON, "Content-Length": str(size), **headers}},
                )
            )

    @override
    async def download(self, path: str, into: Path, idle_s: float) -> Answered:
        client, response_class = await self.clients.get()
        async with while_it_moves(idle_s, self._title) as moved:
            try:
                response = await client.get(
                    path, cast_to=response_class, options={"headers": _STREAMED}
                )
                try:
                    await write_all(response.aiter_bytes(), into, moved)
                finally:
                    await response.aclose()
            except ProviderError:
                raise
            except Exception as error:
                return _told_by(self._response_of(error))
            return Answered(response.status_code, response.headers, b"")

    async def _answered(self, request: Any) -> Answered:
        started = time.perf_counter()
        try:
            response = await request
        except ProviderError:
            raise
        except Exception as error:
            response = self._response_of(error)
        return _told_by(response, time.perf_counter() - started)

    def _response_of(self, error: Exception) -> Any:
        """The response in an SDK's error: the SDKs raise for every status >= 300.

        Raises:
            ProviderError: there was no response.
        """
        response = getattr(error, "response", None)
        if response is None:
            raise connection_error(error, self._title, self._address, self._scrub) from None
        return response

    async def _open(self) -> tuple[Any, Any]:
        try:
            return await asyncio.to_thread(self._import)
        except ImportError as error:
            extra = self._make.__name__.removesuffix("_client")
            raise RunFatal(
                f"the Python package for {self._title} is not installed",
                why=str(error),
                hint=install_command(extra),
            ) from None
        except ProviderError:
            raise
        except Exception as error:
            raise client_error(error, self._title, self._scrub) from None

    def _import(self) -> tuple[Any, Any]:
        client = self._make(self._secret, self._address)
        if self._headers or self._query:
            client = client.with_options(default_headers=self._headers, default_query=self._query)
        self._notes = note_sdk_connections(client._client)
        # Their debug logs, which the environment can enable, contain headers.
        for name in ("anthropic", "openai", "together", "httpx", "httpx2"):
            logging.getLogger(name).setLevel(logging.WARNING)
        return client, importlib.import_module(self._http).Response


def _told_by(response: Any, seconds: float = 0.0) -> Answered:
    return Answered(response.status_code, response.headers, response.content, seconds)


async def _close(client: tuple[Any, Any]) -> None:
    await client[0].close()
