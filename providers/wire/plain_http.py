"""An SDK's HTTP client whose plain requests go to aiohttp directly.

Nearly all requests of a run are plain: a body of bytes, nothing streamed. For these, an SDK's HTTP
library (httpx, or its fork httpx2 with the same interface) takes longer to build a request, to send
it through its own layers and to wrap the response than aiohttp takes to do the exchange, and so
does the SDK to work out headers that are the same for all requests of a kind. Everything else goes
through the SDK's own client.

Exceptions are aiohttp's, which name a cause more faithfully (see
:mod:`evalbench.providers.wire.transport`).
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import cached_property
from types import ModuleType
from typing import Any, TypeVar, cast

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from evalbench.providers.wire.address import tls
from evalbench.providers.wire.connection_made import CONNECT_S
from evalbench.providers.wire.transport import (
    IDLE_S,
    MOST_CONNECTIONS,
    open_session,
    whole_body,
)

_LARGE = 1 << 20

T = TypeVar("T")


class PlainRequest:
    """Mixed into a library's requests: made of what it is sent with, without its defaults.

    Its headers are those of aiohttp, as a :class:`PlainResponse`'s are.
    """

    def __init__(
        self, method: str, url: Any, headers: CIMultiDict[str], content: bytes, to: URL
    ) -> None:
        self.method = method
        self.url = url
        self.headers = headers
        self.extensions: dict[str, Any] = {}
        self._content = content
        self.to = to

    def with_content(self, content: bytes) -> PlainRequest:
        """The same request with another body."""
        return type(self)(self.method, self.url, self.headers.copy(), content, self.to)


class PlainResponse:
    """Mixed into a library's responses: one that has been read, with aiohttp's own headers."""

    def __init__(
        self, status: int, headers: Mapping[str, str], content: bytes, request: PlainRequest
    ) -> None:
        self.status_code = status
        self.headers = headers
        self.next_request = None
        self.extensions: dict[str, Any] = {}
        self.history: list[Any] = []
        self.is_closed = self.is_stream_consumed = True
        self.default_encoding = "utf-8"
        self._request = request
        self._content = content
        self._num_bytes_downloaded = len(content)

    async def aclose(self) -> None:
        """It is closed."""


class _PlainClient:
    """Mixed into an SDK's client class, see :func:`plain_client`."""

    library: Any
    plain_request: type[PlainRequest]
    plain_response: type[PlainResponse]
    plain_session: aiohttp.ClientSession | None = None
    plain_address: str = ""
    plain_tls: Any = True

    def build_request(self, method: str, url: Any, **given: Any) -> Any:
        own: Any = super()
        content = given.get("content")
        if (
            type(content) is bytes
            and given.get("timeout") == cast(Any, self).timeout
            and not any(map(given.get, ("data", "files", "json", "params", "cookies")))
            and not given.get("extensions")
        ):
            parsed = self.library.URL(url)
            headers = self.library.Headers(given.get("headers")).multi_items()
            to = URL(str(parsed), encoded=True)
            return self.plain_request(method.upper(), parsed, CIMultiDict(headers), content, to)
        return own.build_request(method, url, **given)

    async def send(self, request: Any, **how: Any) -> Any:
        own: Any = super()
        if not isinstance(request, PlainRequest):
            return await own.send(request, **how)
        if self.plain_session is None:
            self.plain_session = open_session(self.plain_address, self.plain_tls, IDLE_S)
        body: Any = request._content
        if len(body) > _LARGE:
            body = io.BytesIO(body)
        async with self.plain_session.request(
            request.method,
            request.to,
            data=body,
            headers=request.headers,
            allow_redirects=False,
        ) as answer:
            content = await whole_body(answer)
        return self.plain_response(answer.status, answer.headers, content, request)

    async def aclose(self) -> None:
        own: Any = super()
        try:
            if self.plain_session is not None:
                await self.plain_session.close()
        finally:
            await own.aclose()


class _Repeating:
    """Mixed into an SDK's client class, see :func:`repeating`."""

    @cached_property
    def _firsts(self) -> dict[tuple[object, ...], tuple[Any, PlainRequest]]:
        """The options and the request of the first of each kind, without a body."""
        return {}

    async def post(self, path: str, *, cast_to: Any, **given: Any) -> Any:
        client: Any = super()
        content, options = given.get("content"), given.get("options", {})
        if type(content) is bytes:
            first = self._firsts.get(_kind("post", path, options.get("headers")))
            if first is not None:
                options, _ = first
                options = options.model_copy(update={"content": content})
                return await client.request(cast_to, options)
        return await client.post(path, cast_to=cast_to, **given)

    def _build_request(self, options: Any, **given: Any) -> Any:
        client: Any = super()
        content = options.content
        if type(content) is not bytes:
            return client._build_request(options, **given)
        kind = _kind(options.method, options.url, options.headers)
        if (first := self._firsts.get(kind)) is not None:
            _, request = first
            return request.with_content(content)
        built = client._build_request(options, **given)
        if isinstance(built, PlainRequest):
            emptied = options.model_copy(update={"content": b""})
            self._firsts[kind] = emptied, built.with_content(b"")
        return built


def _kind(method: str, url: str, headers: Mapping[str, str] | None) -> tuple[object, ...]:
    return method, url, *(headers or {}).items()


def repeating(own: type[T]) -> type[T]:
    """An SDK's class of clients that prepares only the first plain request of each kind.

    Those to one address with the same headers of their own are of a kind: they differ in their body
    alone, as long as a client has one key, does not retry and is given nothing else for a request,
    and no idempotency key is sent. ``_build_request`` is what OpenAI's own client for Azure
    overrides; if an SDK ceases to have it, every request is prepared.
    """
    return cast(type[T], type(own.__name__, (_Repeating, own), {}))


def plain_client(own: type[T], library: ModuleType, url: str) -> T:
    """An HTTP client for an SDK.

    Args:
        own: the SDK's own class of clients over aiohttp.
        library: the HTTP library of that class, httpx or httpx2.
        url: the address that requests go to, which decides about TLS and a proxy.

    Raises:
        RunFatal: the file of certificates named in the environment contains none.
    """
    kinds = {
        "library": library,
        "plain_request": type("PlainRequest", (PlainRequest, library.Request), {}),
        "plain_response": type("PlainResponse", (PlainResponse, library.Response), {}),
    }
    trusted = tls(url)
    client: Any = type("PlainClient", (_PlainClient, own), kinds)(
        verify=trusted,
        limits=library.Limits(max_connections=MOST_CONNECTIONS, keepalive_expiry=IDLE_S),
        timeout=library.Timeout(None, connect=CONNECT_S),
        follow_redirects=False,
    )
    client.plain_address, client.plain_tls = url, trusted
    return cast(T, client)
