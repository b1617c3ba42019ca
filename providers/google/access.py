"""API access: a key or a Google Cloud account, and the SDK client that holds it.

Everything the SDK would do implicitly is off: its retries and the silent one after a failed
connection, continuing unfinished answers, calling functions, settings from the environment,
redirects.
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
from evalbench.providers.wire.address import Address, tls
from evalbench.providers.wire.transport import IDLE_S, open_session

if TYPE_CHECKING:
    import aiohttp


@dataclass(frozen=True, slots=True)
class Access:
    """How to authenticate: with a key, or as a Google Cloud account.

    Attributes:
        secret: the key; empty: the machine's credentials (a Google Cloud account).
        vertex: whether to use Vertex AI.
        project, location: Vertex AI's; an empty project means that of the credentials.
    """

    secret: str = ""
    vertex: bool = False
    project: str = ""
    location: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """A client and its session. Keep a reference: the client closes when garbage-collected.

    Attributes:
        client: the SDK's client.
        session: its HTTP session, which we also use for what the SDK lacks.
        types: the SDK's ``types`` module.
        config: generation config; copied for each call.
        credentials: those of an account; None with a key.
    """

    client: Any
    session: aiohttp.ClientSession
    types: Any
    config: Any
    credentials: Any = None


@dataclass(slots=True)
class Received:
    """A raw response, before the SDK processes it; ``received`` is empty until it is complete."""

    response: aiohttp.ClientResponse | None = None
    body: bytes | None = None


received: ContextVar[Received] = ContextVar("received")
"""Where the response to this task's next request is recorded."""


def _noting(aiohttp: Any) -> Any:
    """Records responses in ``received``: the SDK decodes bodies to text and fails on some."""

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
    """An authenticated client for the running event loop, made in a thread.

    Args:
        access: how to authenticate.
        address: the API's address.
        version: the API version, as in its paths.
        title: the provider's display name.

    Raises:
        RunFatal: the SDK is not installed, or credentials or a project are missing.
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
    session = open_session(
        address.url, trusted, IDLE_S, trace_configs=[_noting(aiohttp)], read_bufsize=1 << 20
    )
    try:
        return await asyncio.to_thread(_made, access, address, version, session)
    except BaseException:
        await session.close()
        raise


def _made(
    access: Access,
    address: Address,
    version: str,
    session: aiohttp.ClientSession,
) -> Opened:
    from google import genai
    from google.genai import client as genai_client
    from google.genai import types

    # Their debug logs contain headers.
    for name in ("google_genai", "google.auth", "httpx2", "httpx"):
        logging.getLogger(name).setLevel(logging.WARNING)
    options = types.HttpOptions(
        base_url=address.url,
        api_version=version,
        retry_options=types.HttpRetryOptions(attempts=1),
        aiohttp_client=session,
        # Its blocking client is never used, and loading certificates for it is slow.
        client_args={"verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)},
        async_client_args={"allow_redirects": False, "ssl": True},
    )
    identity = _identity(access)
    client = genai.Client(
        http_options=options,
        # Replays of recorded answers, which can be enabled through the environment.
        debug_config=genai_client.DebugConfig(client_mode="api"),
        **identity,
    )
    config = types.GenerateContentConfig(
        should_return_http_response=True,
        automatic_continuation=False,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    return Opened(client, session, types, config, identity.get("credentials"))


def _identity(access: Access) -> dict[str, Any]:
    """The credentials for the client; raises if there are none."""
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
    try:
        await opened.client.aio.aclose()
    finally:
        await opened.session.close()
        await asyncio.to_thread(opened.client.close)
