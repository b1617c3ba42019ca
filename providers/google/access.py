"""How the API lets one in: a key or a Google Cloud account, and the SDK's client that holds it.

Whatever the SDK would do behind one's back is off: its retries and the silent one after a
failed connection, asking on for unfinished answers, calling functions, settings from the
environment, redirects.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalbench.engine.errors import RunFatal
from evalbench.engine.installed import install_command
from evalbench.providers.google.errors import credentials_error
from evalbench.providers.wire.address import Address, proxy_for, tls
from evalbench.providers.wire.reached import note_connections
from evalbench.providers.wire.transport import CONNECT_S

if TYPE_CHECKING:
    import aiohttp

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
class Opened:
    """A client and its session. The client must be held: it closes itself when nobody does.

    Attributes:
        client: the SDK's.
        session: what it sends through; ours for what it does not do.
        no_timeout: for requests whose deadline is the caller's.
        types: the SDK's module of that name.
        config: of a generation; copied for each.
        credentials: of an account; None where there is a key.
    """

    client: Any
    session: aiohttp.ClientSession
    no_timeout: aiohttp.ClientTimeout
    types: Any
    config: Any
    credentials: Any = None


@dataclass(slots=True)
class Received:
    """A response as it came, whatever the SDK makes of it; without one until it is complete."""

    response: aiohttp.ClientResponse | None = None
    body: bytes | None = None


received: ContextVar[Received] = ContextVar("received")
"""Where the response to the next request of this task is noted."""


def _noting(aiohttp: Any) -> Any:
    """Notes responses in ``received``: the SDK gives bodies as texts, and fails over some."""

    async def head(_session: object, _context: object, params: Any) -> None:
        if (noted := received.get(None)) is not None:
            noted.response = params.response

    async def whole(_session: object, _context: object, params: Any) -> None:
        if (noted := received.get(None)) is not None:
            noted.body = params.chunk

    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(head)
    trace.on_response_chunk_received.append(whole)
    return trace


async def open_client(access: Access, address: Address, version: str, title: str) -> Opened:
    """A client that is let in, made in a thread, for the running event loop.

    Args:
        access: as whom.
        address: where the API is.
        version: of the API, as in its paths.
        title: the provider's name, for people.

    Raises:
        RunFatal: the SDK is not installed, or there are no credentials or no project.
    """
    try:
        aiohttp = await asyncio.to_thread(_modules)
    except ImportError as error:
        raise RunFatal(
            f"the Python package for {title} is not installed",
            why=str(error),
            hint=install_command("google"),
        ) from None
    trusted = await asyncio.to_thread(tls, address.url)
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            ssl=trusted, limit=0, ttl_dns_cache=300, keepalive_timeout=_IDLE_S
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        trace_configs=[_noting(aiohttp)],
        read_bufsize=1 << 20,
    )
    note_connections(session)
    try:
        none = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S)
        return await asyncio.to_thread(_made, access, address, version, session, none)
    except BaseException:
        await session.close()
        raise


def _made(
    access: Access,
    address: Address,
    version: str,
    session: aiohttp.ClientSession,
    none: aiohttp.ClientTimeout,
) -> Opened:
    from google import genai
    from google.genai import client as genai_client
    from google.genai import types

    # Their debug logs hold headers.
    for name in ("google_genai", "google.auth", "httpx2", "httpx"):
        logging.getLogger(name).setLevel(logging.WARNING)
    options = types.HttpOptions(
        base_url=address.url,
        api_version=version,
        retry_options=types.HttpRetryOptions(attempts=1),
        aiohttp_client=session,
        # Its blocking client is never used: loading certificates for it takes long.
        client_args={"verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)},
        async_client_args={
            "allow_redirects": False,
            "ssl": True,
            "proxy": proxy_for(address.url),
        },
    )
    identity = _identity(access)
    client = genai.Client(
        http_options=options,
        # Replays of recorded answers, which the environment can ask for.
        debug_config=genai_client.DebugConfig(client_mode="api"),
        **identity,
    )
    config = types.GenerateContentConfig(
        should_return_http_response=True,
        automatic_continuation=False,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    return Opened(client, session, none, types, config, identity.get("credentials"))


def _identity(access: Access) -> dict[str, Any]:
    """What the client is let in with; raises when there are no credentials."""
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
        raise RunFatal("no Google Cloud project is named", hint="name it with --project")
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


async def close_client(opened: Opened) -> None:
    """Close a client and its connections."""
    await opened.client.aio.aclose()
    await opened.session.close()
    await asyncio.to_thread(opened.client.close)
