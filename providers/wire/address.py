"""Base URLs of APIs."""

from __future__ import annotations

import os
import re
import ssl
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from evalbench.engine.errors import RunFatal, SpecError

_ENDPOINT = re.compile(r"/(?:chat/completions|completions|responses|messages|models)$")
"""URL endings that users copy from documentation pages."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Address:
    """The address of an API.

    Attributes:
        url: without a trailing slash.
        official: whether it is the provider's own address.
    """

    url: str
    official: bool

    @property
    def host(self) -> str:
        """Host and port, for messages and file names."""
        return urlsplit(self.url).netloc


def api_address(given: str | None, own: str, *, version: str, versioned: bool) -> Address:
    """The address to use, from ``--base-url`` or the provider's default.

    Args:
        given: the user's value, if any.
        own: the provider's own address; empty if it has none.
        version: path segment of the API's version, such as ``v1``.
        versioned: whether the address includes that segment. It is added to a bare host, or
            removed, so that users need not know.

    Raises:
        SpecError: the text is not an API address.
    """
    if not given:
        if own:
            return Address(own, official=True)
        raise SpecError(
            "base_url",
            "this provider needs the address of a server",
            hint="give it with --base-url, for example http://127.0.0.1:8000/v1; a judge's in"
            " --judge PROVIDER/NAME,base-url=ADDRESS",
        )
    given = given.strip().strip("'\"")
    parts = _split(given)
    if parts is None:
        raise SpecError(
            "base_url",
            "--base-url is not a web address",
            why="it must begin with http:// or https:// and name a host, without spaces",
            hint="for example --base-url http://127.0.0.1:8000/v1",
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise SpecError(
            "base_url",
            "--base-url must not hold a login, a query or a fragment",
            why="addresses are stored with the run, and secrets must not be",
            hint="store the key with evalbench keys set",
        )
    path = _ENDPOINT.sub("", parts.path.rstrip("/"))
    if versioned and not path:
        path = f"/{version}"
    elif not versioned:
        path = path.removesuffix(f"/{version}")
    url = f"{parts.scheme}://{parts.netloc}{path}"
    return Address(url, official=url == own)


def _split(given: str) -> SplitResult | None:
    """The parts of a web address; None if it is none."""
    if given.split() != [given]:
        return None
    try:
        parts = urlsplit(given)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.scheme in ("http", "https") and parts.hostname else None


class CaFile(NamedTuple):
    """CA certificates named in the environment, and the variable that names them."""

    variable: str
    path: str


def ca_file() -> CaFile | None:
    """The file of CA certificates named in the environment, in any of the usual variables."""
    for variable in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        if path := os.environ.get(variable, "").strip():
            return CaFile(variable, path)
    return None


def tls(url: str) -> ssl.SSLContext | bool:
    """The certificates to trust for connections to ``url``, the same for every provider.

    Those named in the environment, else the system's; True if there is no TLS.

    Raises:
        RunFatal: the file named in the environment contains no certificates.
    """
    if not url.startswith("https:"):
        return True
    named = ca_file()
    if named is None:
        return ssl.create_default_context()
    try:
        if os.path.isdir(named.path):
            return ssl.create_default_context(capath=named.path)
        return ssl.create_default_context(cafile=named.path)
    except (OSError, ssl.SSLError) as error:
        raise RunFatal(
            f"{named.variable} names {named.path}, which holds no certificates",
            why=getattr(error, "strerror", None) or str(error),
            hint=f"correct {named.variable}, or unset it to trust the system's",
        ) from None


def proxy_for(url: str) -> str | None:
    """The proxy that the environment sets for ``url``; never for this machine itself."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in _LOOPBACK or not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return None if not proxy or proxy_bypass(parts.netloc) else proxy


def proxy_passwords() -> tuple[str, ...]:
    """Passwords of proxies set in the environment, both as written and decoded."""
    found = []
    for name, value in os.environ.items():
        if name.lower().endswith("_proxy") and "@" in value:
            login = value.rpartition("@")[0].partition("://")[2] or value.rpartition("@")[0]
            password = login.partition(":")[2]
            found += [password, unquote(password)]
    return tuple(dict.fromkeys(filter(None, found)))
