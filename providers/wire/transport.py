"""Telling apart what can go wrong between here and a server.

The SDKs wrap what their HTTP client raised, and not faithfully: one of them
reports a refused connection as a time-out, both report a connection that was
cut as one that was never made. The innermost cause tells the truth, and
whether the request had a connection to leave on decides if it may be charged.
"""

from __future__ import annotations

import ssl

from evalbench.engine.errors import ConnectionFailed, ProviderError, RunFatal, system_limit
from evalbench.engine.installed import install_command
from evalbench.providers.wire.address import Address
from evalbench.providers.wire.reached import reached
from evalbench.providers.wire.scrub import Scrub

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
_TLS = frozenset({"ClientConnectorCertificateError", "ClientConnectorSSLError", "ClientSSLError"})


def connection_error(
    error: BaseException, who: str, address: Address, scrub: Scrub | None = None
) -> ProviderError:
    """What the exception of an HTTP client or SDK means.

    Args:
        error: raised while a request was sent or its response read.
        who: the provider, as users know it.
        address: where the request went.
        scrub: takes the key out. A proxy's password goes without it too.
    """
    chain = _chain(error)
    names = [type(link).__name__ for link in chain]
    reason = (scrub or Scrub()).text(_reason(chain), 300)
    left = reached()
    if left:
        return _cut(address, reason)
    if limit := system_limit(error):
        return RunFatal(
            f"no connection to {address.host} could be made: {limit.what}",
            why=limit.why,
            cure=limit.cure,
        )
    if _TLS.intersection(names) or any(isinstance(link, ssl.SSLError) for link in chain):
        return RunFatal(
            f"no safe connection to {address.host}: its certificate was not accepted",
            why=reason,
            cure="install the system's CA certificates, or name them in SSL_CERT_FILE",
        )
    if left is False or _NEVER_CONNECTED.intersection(names):
        return ConnectionFailed(
            f"cannot reach {who} at {address.host}",
            why=reason,
            cure="check the network"
            if address.official
            else "check that the server runs and that --base-url is right",
        )
    return _cut(address, reason)


def _cut(address: Address, reason: str) -> ProviderError:
    return ConnectionFailed(
        f"the connection to {address.host} was cut before the answer was complete",
        why=reason,
        possibly_billed=True,
    )


def client_error(error: Exception, who: str, scrub: Scrub) -> RunFatal:
    """A client could not be made: its package is broken, or a proxy's address is none."""
    again = install_command("providers")
    return RunFatal(
        f"the client for {who} cannot be made",
        why=scrub.text(str(error), 300),
        cure=f"check the address in HTTPS_PROXY, if there is one; or install it again: {again}",
    )


def _chain(error: BaseException) -> list[BaseException]:
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return links


def _reason(chain: list[BaseException]) -> str:
    """The most telling text: the operating system's, else the innermost non-empty one."""
    for link in reversed(chain):
        if isinstance(link, OSError) and link.strerror and not isinstance(link, ssl.SSLError):
            return link.strerror
    return next((text for link in reversed(chain) if (text := str(link).strip())), "")
