"""Classifying what can go wrong between this machine and a server.

The SDKs wrap their HTTP client's exceptions, and not faithfully: one of them reports a refused
connection as a timeout, both report a dropped connection as one that was never made. The innermost
cause is reliable, and whether the request had a connection decides if it may have been charged.
"""

from __future__ import annotations

import os
import re
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from evalbench.engine.errors import ConnectionFailed, ProviderError, RunFatal, system_limit
from evalbench.engine.installed import install_command
from evalbench.providers.wire.address import Address, ca_file, proxy_for
from evalbench.providers.wire.connection_made import note_connections, reached
from evalbench.providers.wire.reply_scrubbing import SecretScrubber

if TYPE_CHECKING:
    import aiohttp

MOST_CONNECTIONS = 10_000
"""The highest concurrency that a run can have: an SDK's client must never queue."""
IDLE_S = 30.0
"""How long an SDK's client keeps a connection without a request."""
MOST_BYTES = 128 << 20
"""The largest response: far more than any answer, and less than would exhaust the memory."""


def open_session(url: str, trusted: Any, idle_s: float, **more: Any) -> aiohttp.ClientSession:
    """A session for requests to one server, in the running event loop.

    It never queues a request, keeps no cookies and limits only the time to get a connection.

    Args:
        url: the server's address, which decides about a proxy.
        trusted: the certificates, see :func:`~evalbench.providers.wire.address.tls`.
        idle_s: how long a connection is kept without a request.
        more: further settings of the session.
    """
    import aiohttp

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            ssl=trusted, limit=0, ttl_dns_cache=300, keepalive_timeout=idle_s
        ),
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        proxy=proxy_for(url),
        **more,
    )
    note_connections(session)
    return session


async def whole_body(response: aiohttp.ClientResponse) -> bytes:
    """Read a response to its end.

    Raises:
        aiohttp.ClientError: it was cut, or is larger than :data:`MOST_BYTES`.
    """
    pieces: list[bytes] = []
    left = MOST_BYTES
    while piece := await response.content.readany():
        pieces.append(piece)
        left -= len(piece)
        if left < 0:
            import aiohttp

            raise aiohttp.ClientPayloadError(f"it is larger than {MOST_BYTES >> 20} MiB")
    return b"".join(pieces)


_NEVER_CONNECTED = frozenset(
    {
        "ClientConnectorError",
        "ClientConnectorDNSError",
        "ClientProxyConnectionError",
        "ClientHttpProxyError",
        "ConnectionTimeoutError",
        "PoolTimeout",
        "ConnectionRefusedError",
        "gaierror",
    }
)
_PROXY = frozenset(
    {"ClientProxyConnectionError", "ClientHttpProxyError", "ProxyError", "ProxyConnectionError"}
)
_TLS = frozenset({"ClientConnectorCertificateError", "ClientConnectorSSLError", "ClientSSLError"})


_NO_TLS = re.compile(
    r"wrong.version.number|record layer failure|unknown protocol|http request", re.IGNORECASE
)


def connection_error(
    error: BaseException, who: str, address: Address, scrub: SecretScrubber | None = None
) -> ProviderError:
    """Interpret an exception of an HTTP client or SDK.

    Args:
        error: raised while a request was sent or its response read.
        who: the provider, as users know it.
        address: where the request was sent.
        scrub: removes the key. A proxy's password is removed too.
    """
    chain = _chain(error)
    names = [type(link).__name__ for link in chain]
    reason = (scrub or SecretScrubber()).text(_reason(chain), 300)
    left = reached()
    if left:
        return _cut(address, reason)
    if limit := system_limit(error):
        return RunFatal(
            f"no connection to {address.host} could be made: {limit.what}",
            why=limit.why,
            hint=limit.hint,
        )
    if _TLS.intersection(names) or any(isinstance(link, ssl.SSLError) for link in chain):
        return _unsafe(address, reason)
    if left is False or _NEVER_CONNECTED.intersection(names):
        blamed = bool(_PROXY.intersection(names))
        return unreachable(who, address, reason, proxy_at_fault=blamed)
    return _cut(address, reason)


def unreachable(
    who: str,
    address: Address,
    reason: str,
    *,
    proxy_at_fault: bool = False,
    hint: str = "check the network",
) -> ProviderError:
    """No connection was made: the network, the address or a proxy is to blame.

    Args:
        who: the provider, as users know it.
        address: where the request was to go.
        reason: what the system said.
        proxy_at_fault: whether it was the proxy that refused, if there is one.
        hint: what to do if the address is the provider's own.
    """
    if proxy := proxy_for(address.url):
        return _not_through(proxy, who, address, reason, at_fault=proxy_at_fault)
    return ConnectionFailed(
        f"cannot reach {who} at {address.host}",
        why=reason,
        hint=hint
        if address.official
        else "check that the server runs and that its address is right (--base-url)",
    )


def _not_through(
    proxy: str, who: str, address: Address, reason: str, *, at_fault: bool
) -> ProviderError:
    """No connection through a proxy; the message omits any login in its address."""
    parts = urlsplit(proxy if "://" in proxy else f"//{proxy}")
    shown = parts.netloc.rpartition("@")[2]
    what = f"cannot reach {who} at {address.host} through the proxy {shown}"
    if at_fault:
        what = f"the proxy {shown} cannot be used to reach {who} at {address.host}"
    to = urlsplit(address.url)
    host = to.hostname or address.host
    hint = f"correct or unset {_proxy_variable(to.scheme)}, or go without it: NO_PROXY={host}"
    return ConnectionFailed(what, why=reason, hint=hint)


def _proxy_variable(scheme: str) -> str:
    """The environment variable that sets the proxy; lower case wins, as in ``getproxies``."""
    usual = f"{scheme}_proxy"
    names = (usual, usual.upper(), "all_proxy", "ALL_PROXY")
    return next((name for name in names if os.environ.get(name)), usual.upper())


def _unsafe(address: Address, reason: str) -> RunFatal:
    """The TLS handshake failed: the port does not speak TLS, or the certificate is not accepted."""
    if _NO_TLS.search(reason):
        plain = address.url.replace("https://", "http://", 1)
        return RunFatal(
            f"{address.host} does not speak TLS, which https:// asks for",
            why=reason,
            hint=f"if that is a plain server: --base-url {plain}",
        )
    hint = "install the system's CA certificates, or name the right ones in SSL_CERT_FILE"
    if named := ca_file():
        hint = f"{named.variable} names {named.path}: the server's CA must be in there"
    return RunFatal(
        f"no safe connection to {address.host}: its certificate was not accepted",
        why=reason,
        hint=hint,
    )


def _cut(address: Address, reason: str) -> ProviderError:
    plain = address.url.startswith("http://") and not address.official
    secure = address.url.replace("http://", "https://", 1)
    return ConnectionFailed(
        f"the connection to {address.host} was cut before the answer was complete",
        why=reason,
        hint=f"if it never answers, it may want TLS: --base-url {secure}" if plain else "",
        possibly_billed=True,
    )


def client_error(error: Exception, who: str, scrub: SecretScrubber) -> RunFatal:
    """A client could not be made: its package is broken, or a proxy's address is invalid."""
    again = install_command("providers")
    return RunFatal(
        f"the client for {who} cannot be made",
        why=scrub.text(str(error), 300),
        hint=f"check the address in HTTPS_PROXY, if there is one; or install it again: {again}",
    )


def _chain(error: BaseException) -> list[BaseException]:
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return links


def _reason(chain: list[BaseException]) -> str:
    """The most informative text: the operating system's, else the innermost non-empty one."""
    for link in reversed(chain):
        if isinstance(link, OSError) and link.strerror and not isinstance(link, ssl.SSLError):
            # asyncio's own message hides the cause.
            if link.errno and link.strerror.startswith("Connect call failed"):
                return os.strerror(link.errno)
            return link.strerror
    return next((text for link in reversed(chain) if (text := str(link).strip())), "")
