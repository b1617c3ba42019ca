"""A connection that was never made costs nothing; one that was cut may."""

from __future__ import annotations

import errno
import os
import ssl
from typing import Any

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from evalbench.engine.errors import ConnectionFailed, RunFatal
from evalbench.providers.wire.address import Address
from evalbench.providers.wire.transport import connection_error

HERE = Address("http://127.0.0.1:8000/v1", official=False)
KEY: Any = ConnectionKey("127.0.0.1", 8000, False, True, None, None, None)


def wrapped(inner: BaseException, *outer: type[Exception]) -> BaseException:
    """``inner`` as the cause of one exception after another, as SDKs wrap."""
    error = inner
    for kind in outer:
        shell = kind("Connection error.")
        shell.__cause__ = error
        error = shell
    return error


@pytest.mark.parametrize(
    "inner",
    [
        aiohttp.ClientConnectorError(KEY, ConnectionRefusedError(111, "refused")),
        aiohttp.ClientConnectorDNSError(KEY, OSError(-2, "unknown name")),
        aiohttp.ConnectionTimeoutError("slow"),
        ConnectionRefusedError(111, "refused"),
    ],
)
@pytest.mark.parametrize("outer", [(), (OSError, TimeoutError), (ValueError, RuntimeError)])
def test_never_connected(inner: BaseException, outer: tuple[type[Exception], ...]) -> None:
    error = connection_error(wrapped(inner, *outer), "vLLM", HERE)
    assert isinstance(error, ConnectionFailed)
    assert not error.possibly_billed
    assert "127.0.0.1:8000" in error.what
    assert "--base-url" in error.hint


@pytest.mark.parametrize(
    "inner",
    [
        aiohttp.ServerDisconnectedError(),
        aiohttp.ClientPayloadError("incomplete"),
        aiohttp.ClientOSError(104, "Connection reset by peer"),
        ConnectionResetError(104, "reset"),
    ],
)
def test_cut_on_the_way(inner: BaseException) -> None:
    error = connection_error(wrapped(inner, OSError, RuntimeError), "vLLM", HERE)
    assert isinstance(error, ConnectionFailed)
    assert error.possibly_billed


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_too_many_open_files_end_the_run_with_the_reason(number: int) -> None:
    made = OSError(number, os.strerror(number))
    inner = aiohttp.ClientConnectorError(KEY, made)
    inner.__cause__ = made
    error = connection_error(wrapped(inner, OSError, RuntimeError), "vLLM", HERE)
    assert type(error) is RunFatal
    assert "too many files are open" in error.what
    assert os.strerror(number) in error.why
    assert error.hint
    assert not error.possibly_billed


def test_numbers_of_tls_are_not_those_of_the_system() -> None:
    inner = ssl.SSLSyscallError(errno.EIO, "unexpected end")
    error = connection_error(wrapped(inner, OSError), "OpenAI", HERE)
    assert "disk" not in str(error)


def test_a_certificate_that_is_not_accepted_ends_the_run() -> None:
    inner = ssl.SSLCertVerificationError("unable to get local issuer certificate")
    error = connection_error(wrapped(inner, OSError), "OpenAI", HERE)
    assert type(error) is RunFatal
    assert "SSL_CERT_FILE" in error.hint


def test_a_port_without_tls_is_told_from_a_bad_certificate() -> None:
    inner = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)")
    error = connection_error(inner, "vLLM", Address("https://host:8000/v1", official=False))
    assert type(error) is RunFatal
    assert "does not speak TLS" in error.what
    assert error.hint.endswith("--base-url http://host:8000/v1")


def test_the_proxy_is_blamed_where_it_is_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:hidden@proxy.test:3128")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    address = Address("https://api.test/v1", official=True)
    refused = OSError(errno.ECONNREFUSED, "Connection refused")
    for inner, words in (
        (aiohttp.ClientProxyConnectionError(KEY, refused), "the proxy proxy.test:3128 cannot"),
        (aiohttp.ClientConnectorError(KEY, refused), "through the proxy proxy.test:3128"),
    ):
        error = connection_error(inner, "OpenAI", address)
        assert isinstance(error, ConnectionFailed)
        assert words in error.what
        assert "HTTPS_PROXY" in error.hint
        assert "NO_PROXY=api.test" in error.hint
        assert "hidden" not in str(error)
    monkeypatch.setenv("NO_PROXY", "api.test")
    assert "proxy" not in str(connection_error(inner, "OpenAI", address))
