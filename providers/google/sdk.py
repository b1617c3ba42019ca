"""The official SDK as carrier: its client, its credentials, its paths.

A ready body goes out through the SDK's public ``extra_body``, and the answer
comes back as text (``should_return_http_response``), so that the bytes on the
wire are exactly what ``prepare`` made and an answer is parsed once. Everything
that the SDK would do behind one's back is off: its retries and the silent one
after a failed connection, asking on for unfinished answers, calling functions,
settings from the environment, redirects.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from evalbench.engine.calls import MediaPart
from evalbench.engine.errors import ProviderError, RunFatal, ServerFault
from evalbench.providers.google.errors import credentials_error
from evalbench.providers.wire.address import Address, proxy_for
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.per_loop import OnePerLoop
from evalbench.providers.wire.transport import connection_error

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")

_IDLE_S = 30.0


@dataclass(frozen=True, slots=True)
class Access:
    """How the API lets one in: with a key, or as a Google Cloud account.

    Attributes:
        secret: the key; empty for an account: the machine's credentials.
        vertex: whether Vertex AI is asked.
        project, location: of Vertex AI; an empty project is the credentials' own.
    """

    secret: str = ""
    vertex: bool = False
    project: str = ""
    location: str = ""


@dataclass(frozen=True, slots=True)
class _Opened:
    """A client and its session. The client must be held: it closes itself when nobody does."""

    client: Any
    session: aiohttp.ClientSession
    types: Any
    config: Any


class GeminiClient:
    """The SDK's async client: imported and made in a thread, one per event loop."""

    def __init__(self, access: Access, address: Address, version: str, title: str) -> None:
        self._access = access
        self._address = address
        self._version = version
        self._title = title
        self.clients: OnePerLoop[_Opened] = OnePerLoop(self._open, _close)

    async def generate(self, prepared: Prepared) -> Answered:
        """Send a prepared request.

        Raises:
            ProviderError: when no complete response came back.
        """
        opened = self.clients.here() or await self.clients.get()
        options = opened.types.HttpOptions.model_construct(extra_body=prepared.body)
        config = opened.config.model_copy(update={"http_options": options})

        async def work() -> Answered:
            # The body replaces these contents; the SDK takes no call without any.
            response = await opened.client.aio.models.generate_content(
                model=prepared.model, contents="-", config=config
            )
            return _whole(response.sdk_http_response)

        return await self._timed(work)

    async def count(self, model: str, body: dict[str, Any]) -> int | Answered:
        """Input tokens of a body of ``countTokens``; the response when it is an error."""
        opened = await self.clients.get()
        options = opened.types.HttpOptions(extra_body=body)
        config = opened.types.CountTokensConfig(http_options=options)

        async def work() -> int:
            counted = await opened.client.aio.models.count_tokens(
                model=model, contents="-", config=config
            )
            return int(counted.total_tokens or 0)

        return await self._told(work)

    async def models(self) -> list[dict[str, Any]] | Answered:
        """The whole model list in the SDK's terms; the response when it is an error."""
        opened = await self.clients.get()

        async def work() -> list[dict[str, Any]]:
            pages = await opened.client.aio.models.list(config={"page_size": 1000})
            return [model.model_dump(exclude_none=True) async for model in pages]

        return await self._told(work)

    async def model(self, name: str) -> dict[str, Any] | Answered:
        """One model's entry in the SDK's terms; the response when it is an error."""
        opened = await self.clients.get()

        async def work() -> dict[str, Any]:
            entry = await opened.client.aio.models.get(model=name)
            found: dict[str, Any] = entry.model_dump(exclude_none=True)
            return found

        return await self._told(work)

    async def file(self, name: str) -> dict[str, Any] | Answered:
        """An uploaded file's record in the SDK's terms; the response when it is an error."""
        opened = await self.clients.get()

        async def work() -> dict[str, Any]:
            record = await opened.client.aio.files.get(name=name)
            found: dict[str, Any] = record.model_dump(mode="json", exclude_none=True)
            return found

        return await self._told(work)

    async def delete_file(self, name: str) -> None:
        """Delete an uploaded file.

        Raises:
            ProviderError: when the server was not reached.
        """
        opened = await self.clients.get()
        await self._told(lambda: opened.client.aio.files.delete(name=name))

    async def upload(self, part: MediaPart) -> Answered:
        """Upload a file in one piece: announce it, then send its bytes where the API says.

        The SDK's own upload tries again up to three times without a word.

        Raises:
            ProviderError: when no complete response came back.
        """
        opened = await self.clients.get()

        async def work() -> Answered:
            announced = await self._post(
                opened,
                f"{self._address.url}/upload/{self._version}/files",
                b"{}",
                {
                    "x-goog-api-key": self._access.secret,
                    "Content-Type": "application/json",
                    "X-Goog-Upload-Protocol": "resumable",
                    "X-Goog-Upload-Command": "start",
                    "X-Goog-Upload-Header-Content-Length": str(len(part.data)),
                    "X-Goog-Upload-Header-Content-Type": part.media_type,
                },
            )
            where = announced.headers.get("x-goog-upload-url", "")
            if announced.status != 200:
                return announced
            if not where:
                raise ServerFault(f"{self._title} names no address for an upload")
            # The bytes go where calls go, whatever host the answer names.
            asked = urlsplit(where)
            here = urlsplit(self._address.url)
            target = asked._replace(scheme=here.scheme, netloc=here.netloc).geturl()
            headers = {"X-Goog-Upload-Offset": "0", "X-Goog-Upload-Command": "upload, finalize"}
            return await self._post(opened, target, part.data, headers)

        return await self._timed(work)

    @staticmethod
    async def _post(opened: _Opened, url: str, data: bytes, headers: dict[str, str]) -> Answered:
        request = opened.session.post(
            url, data=io.BytesIO(data), headers=headers, allow_redirects=False
        )
        async with request as response:
            return Answered(response.status, response.headers, await response.read())

    async def _timed(self, work: Callable[[], Awaitable[Answered]]) -> Answered:
        started = time.perf_counter()
        answered = await self._told(work)
        seconds = time.perf_counter() - started
        return Answered(answered.status, answered.headers, answered.body, seconds)

    async def _told(self, work: Callable[[], Awaitable[T]]) -> T | Answered:
        """What ``work`` gives, or the error response that it met.

        The SDK raises its own ``APIError`` for responses, and for everything
        else what its HTTP client, its credentials or a JSON parser raised.
        """
        try:
            return await work()
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
            raise connection_error(error, self._title, self._address) from None

    async def _open(self) -> _Opened:
        try:
            aiohttp = await asyncio.to_thread(_modules)
        except ImportError as error:
            raise RunFatal(
                f"the Python package for {self._title} is not installed",
                why=str(error),
                cure="pip install 'evalbench[google]'",
            ) from None
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=_IDLE_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=1 << 20,
        )
        try:
            return await asyncio.to_thread(self._made, session)
        except BaseException:
            await session.close()
            raise

    def _made(self, session: aiohttp.ClientSession) -> _Opened:
        from google import genai
        from google.genai import client as genai_client
        from google.genai import types

        # Their debug logs hold headers.
        for name in ("google_genai", "google.auth", "httpx2", "httpx"):
            logging.getLogger(name).setLevel(logging.WARNING)
        options = types.HttpOptions(
            base_url=self._address.url,
            api_version=self._version,
            retry_options=types.HttpRetryOptions(attempts=1),
            aiohttp_client=session,
            # Its blocking client is never used: loading certificates for it takes long.
            client_args={"verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)},
            async_client_args={
                "allow_redirects": False,
                "ssl": True,
                "proxy": proxy_for(self._address.url),
            },
        )
        client = genai.Client(
            http_options=options,
            # Replays of recorded answers, which the environment can ask for.
            debug_config=genai_client.DebugConfig(client_mode="api"),
            **self._identity(),
        )
        config = types.GenerateContentConfig(
            should_return_http_response=True,
            automatic_continuation=False,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )
        return _Opened(client, session, types, config)

    def _identity(self) -> dict[str, Any]:
        """What the client is let in with; raises when there are no credentials."""
        access = self._access
        if access.secret or not access.vertex:
            return {"vertexai": access.vertex, "api_key": access.secret}
        import google.auth
        from google.auth.exceptions import GoogleAuthError

        try:
            found, project = google.auth.default(
                scopes=["https://www.googleapis.com/auth/cloud-platform"]
            )
        except GoogleAuthError as error:
            raise credentials_error(error) from None
        if not (access.project or project):
            raise RunFatal("no Google Cloud project is named", cure="name it with --project")
        return {
            "vertexai": True,
            "credentials": found,
            "project": access.project or project,
            "location": access.location,
        }


def _modules() -> Any:
    import aiohttp
    from google import genai  # noqa: F401 - takes a second, here and not on the loop

    return aiohttp


def _of_transport(error: BaseException) -> bool:
    return type(error).__name__ == "TransportError"


def _whole(response: Any) -> Answered:
    """A good response; the SDK tells no status of these, and raises for every other than 200."""
    headers = {name.lower(): value for name, value in (response.headers or {}).items()}
    return Answered(200, headers, (response.body or "").encode())


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The body of an error, which the SDK has read before."""
    try:
        return await response.read()
    except Exception:  # cut on the way: the status tells enough
        return b""


async def _close(opened: _Opened) -> None:
    await opened.client.aio.aclose()
    await opened.session.close()
    await asyncio.to_thread(opened.client.close)
