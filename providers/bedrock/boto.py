"""boto3 on a loop: its clients, the threads that wait for them, fresh credentials.

boto3 is synchronous. Its calls wait in threads of a pool that grows to as many
as calls are in flight, so the run's concurrency decides, also when it changes.
Only threads import boto3: it takes a second from a cold disk.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalbench.engine.errors import ProviderError, RunFatal
from evalbench.engine.installed import install_command
from evalbench.engine.paths import open_private
from evalbench.providers.bedrock.credentials import Credentials
from evalbench.providers.wire.address import ca_file, proxy_for
from evalbench.providers.wire.exchange import Answered
from evalbench.providers.wire.per_loop import OnePerLoop
from evalbench.providers.wire.reached import about_to_send
from evalbench.providers.wire.streams import add_to
from evalbench.providers.wire.transport import CONNECT_S

if TYPE_CHECKING:
    from evalbench.providers.bedrock.lines import Line

MOST_THREADS = 1024
"""Maximum concurrent calls; beyond, they queue here. A thread costs some 100 kB."""
RUNTIME, CONTROL, IDENTITY, STORE = "bedrock-runtime", "bedrock", "sts", "s3"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Account:
    """With whose credentials, where, and how long to wait.

    Attributes:
        credentials: those given; empty ones leave it to boto3's chain.
        profile: of AWS's configuration; empty: what the environment says.
        region: empty: the profile's.
        endpoint: another address for everything; empty: AWS's own.
        timeout: seconds that a connection may be silent.
    """

    credentials: Credentials
    profile: str
    region: str
    endpoint: str
    timeout: float


class Boto:
    """Calls operations of AWS's services; one set of clients for each event loop.

    Args:
        account: whose and where.
        explain: turns an exception of botocore without a response into ours.
        learn: told the secrets that boto3 finds.
    """

    def __init__(
        self,
        account: Account,
        explain: Callable[[BaseException], ProviderError],
        learn: Callable[..., None],
    ) -> None:
        self._account = account
        self._explain = explain
        self._learn = learn
        self.clients: OnePerLoop[Clients] = OnePerLoop(self._open, Clients.close)

    async def call(self, service: str, operation: str, **arguments: Any) -> Answered:
        """One request and its response, whatever its status; no retries.

        Credentials that have expired are found anew, once, where they were not
        given: a profile or role may have fresh ones by now.

        Raises:
            ProviderError: when no complete response came back.
        """
        clients = self.clients.here() or await self.clients.get()
        used = clients.used
        answered = await clients.call(service, operation, arguments)
        if expired(answered) and await clients.renewed(used):
            answered = await clients.call(service, operation, arguments)
        return answered

    async def download(self, bucket: str, key: str, into: Path) -> Answered:
        """Write an object to a file as it comes; its body is not in the response.

        Raises:
            ProviderError: as :meth:`call`.
        """
        clients = self.clients.here() or await self.clients.get()
        return await clients.download(bucket, key, into)

    async def _open(self) -> Clients:
        try:
            return await asyncio.to_thread(Clients, self._account, self._explain, self._learn)
        except ImportError as error:
            raise RunFatal(
                "the Python package boto3 is not installed, which Amazon Bedrock needs",
                why=str(error),
                hint=install_command("bedrock"),
            ) from None


_EXPIRED = frozenset({"ExpiredTokenException", "ExpiredToken", "TokenRefreshRequired"})


def error_type(answered: Answered) -> str:
    """The name of an error, without what the header may say behind it."""
    return answered.headers.get("x-amzn-errortype", "").partition(":")[0]


def expired(answered: Answered) -> bool:
    """Whether the credentials of a request had expired."""
    return answered.status in (400, 401, 403) and error_type(answered) in _EXPIRED


class Clients:
    """boto3's clients and the threads that wait for them. Made in a thread."""

    def __init__(
        self,
        account: Account,
        explain: Callable[[BaseException], ProviderError],
        learn: Callable[..., None],
    ) -> None:
        """Load boto3 and find credentials.

        Raises:
            ImportError: boto3 is not there.
            ProviderError: there are no credentials, or no region.
        """
        import boto3

        # Their debug logs, which the environment can switch on, hold headers.
        for name in ("boto3", "botocore", "urllib3"):
            logging.getLogger(name).setLevel(logging.WARNING)
        self._boto3: Any = boto3
        self._account = account
        self._explain = explain
        self._learn = learn
        self._threads = ThreadPoolExecutor(MOST_THREADS, "bedrock")
        self._lines: set[Line] = set()
        self._made: dict[str, Any] = {}
        self._noting: set[str] = set()
        self._making = threading.Lock()
        self._gate = threading.Lock()
        self._renewing = asyncio.Lock()
        try:
            self._session, self.used = self._new_session()
            self.region: str = self._client(RUNTIME).meta.region_name
        except ProviderError:
            raise
        except Exception as error:
            raise explain(error) from None

    async def call(self, service: str, operation: str, arguments: dict[str, Any]) -> Answered:
        """One operation in a thread. Giving it up cuts its connection.

        Raises:
            ProviderError: when no complete response came back.
        """
        return await self._waited(self._work, service, operation, arguments)

    async def download(self, bucket: str, key: str, into: Path) -> Answered:
        """See :meth:`Boto.download`."""
        return await self._waited(self._download, bucket, key, into)

    async def _waited(self, do: Callable[..., Answered], *arguments: Any) -> Answered:
        from evalbench.providers.bedrock.lines import Line

        line = Line(self._gate)
        self._lines.add(line)
        # In this call's context, so that the thread notes whether it has a connection.
        work = self._threads.submit(contextvars.copy_context().run, do, line, *arguments)
        try:
            return await asyncio.wrap_future(work)
        except asyncio.CancelledError:
            line.cut()
            raise
        finally:
            self._lines.discard(line)

    def _work(
        self, line: Line, service: str, operation: str, arguments: dict[str, Any]
    ) -> Answered:
        with line:
            try:
                line.check()
                client = self._client(service)
                if service in self._noting:
                    about_to_send()
                getattr(client, operation)(**arguments)
            except Exception as error:
                # An error with a response is a response, and so is one that botocore cannot read.
                if line.response is None:
                    raise self._explain(error) from None
        return self._whole(line)

    def _download(self, line: Line, bucket: str, key: str, into: Path) -> Answered:
        from botocore.exceptions import ClientError

        with line:
            try:
                found = self._client(STORE).get_object(Bucket=bucket, Key=key)
                line.wait()
                open_private(into).close()
                for chunk in found["Body"].iter_chunks(_CHUNK):
                    add_to(into, chunk)
            except ClientError:
                return self._whole(line)
            except ProviderError:
                raise
            except Exception as error:
                raise self._explain(error) from None
        return Answered(200, {}, b"", line.seconds)

    def _whole(self, line: Line) -> Answered:
        response = line.response
        assert response is not None
        headers = {str(name).lower(): value for name, value in response["headers"].items()}
        body: bytes = response["body"]
        told = headers.get("content-length", "")
        # botocore takes what there is for the whole.
        if told.isdigit() and len(body) < int(told):
            cut = ConnectionError(f"{len(body)} bytes came of {told}")
            raise self._explain(cut)
        return Answered(response["status_code"], headers, body, line.seconds)

    def _new_session(self) -> tuple[Any, tuple[str, ...]]:
        """A session with its credentials found, and marks of these."""
        import botocore.session

        account, given = self._account, self._account.credentials
        core = botocore.session.get_session()
        core.register_component("data_loader", _descriptions())
        if given.bearer:
            core.register_component("token_provider", _Bearer(given.bearer))
        session = self._boto3.Session(
            aws_access_key_id=given.access_key or None,
            aws_secret_access_key=given.secret_key or None,
            aws_session_token=given.token or None,
            profile_name=account.profile or None,
            region_name=account.region or None,
            botocore_session=core,
        )
        if given.bearer:
            return session, (given.bearer,)
        found = session.get_credentials()
        if found is None:
            from botocore.exceptions import NoCredentialsError

            raise NoCredentialsError
        frozen = found.get_frozen_credentials()
        self._learn(frozen.secret_key, frozen.token or "")
        return session, (frozen.access_key, frozen.token or "")

    def _client(self, service: str) -> Any:
        """The client of a service. Clients are safe in threads, their creation is not."""
        client = self._made.get(service)
        if client is not None:
            return client
        with self._making:
            if service not in self._made:
                self._made[service] = self._new_client(service)
            return self._made[service]

    def _new_client(self, service: str) -> Any:
        from botocore.config import Config

        from evalbench.providers.bedrock.lines import watch

        account = self._account
        config = Config(
            # Named here, so that a key in the environment does not overrule the one given.
            signature_version=_signature(service, bearer=bool(account.credentials.bearer)),
            retries={"total_max_attempts": 1, "mode": "standard"},
            max_pool_connections=MOST_THREADS,
            connect_timeout=CONNECT_S,
            read_timeout=account.timeout,
            tcp_keepalive=True,
            # boto3 would send requests to this machine itself through a proxy.
            proxies=_proxies(account.endpoint) if account.endpoint else None,
            # Where a run's questions went must be in its record.
            ignore_configured_endpoint_urls=True,
        )
        # botocore knows a variable of its own, which comes first.
        named = None if os.environ.get("AWS_CA_BUNDLE") else ca_file()
        client = self._session.client(
            service,
            endpoint_url=account.endpoint or None,
            config=config,
            verify=named.path if named else None,
        )
        if watch(client):
            self._noting.add(service)
        return client

    async def renewed(self, used: tuple[str, ...]) -> bool:
        """Find the credentials anew; whether there are others than those that were used.

        However many calls find out at once, it is done once.
        """
        async with self._renewing:
            if self.used != used:
                return True
            try:
                session, fresh = await asyncio.get_running_loop().run_in_executor(
                    self._threads, self._new_session
                )
            except Exception as error:
                raise self._explain(error) from None
            if fresh == used:
                return False
            with self._making:
                self._session, self.used = session, fresh
                self._made = {}
            return True

    async def close(self) -> None:
        """Cut what is in flight and let the threads end."""
        for line in list(self._lines):
            line.cut()
        self._threads.shutdown(wait=False, cancel_futures=True)
        from evalbench.providers.bedrock.lines import let_go

        for client in self._made.values():
            let_go(client)
            client.close()


def _signature(service: str, *, bearer: bool) -> str:
    if service == STORE:
        return "s3v4"
    return "bearer" if bearer else "v4"


def _proxies(url: str) -> dict[str, str]:
    proxy = proxy_for(url)
    return {"http": proxy, "https": proxy} if proxy else {}


@cache
def _descriptions() -> Any:
    """Descriptions of services: large, and the same for every session of a process."""
    from botocore.loaders import create_loader

    return create_loader()


class _Bearer:
    """A Bedrock API key in botocore's terms, instead of the environment's."""

    def __init__(self, token: str) -> None:
        self._token = token

    def load_token(self, **_: object) -> _Bearer:
        """Itself."""
        return self

    def get_frozen_token(self) -> Any:
        """The token as botocore signs with it."""
        from botocore.tokens import FrozenAuthToken

        return FrozenAuthToken(self._token)
