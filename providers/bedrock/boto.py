"""boto3 on an event loop: its clients, their threads, fresh credentials.

boto3 is synchronous. Its calls block threads of a pool that grows to the number of calls in flight,
so the run's concurrency decides, even when it changes. Only threads import boto3, as that takes a
second from a cold disk.
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
from evalbench.providers.wire.streams import add_to

if TYPE_CHECKING:
    from evalbench.providers.bedrock.boto_calls import PendingCall, Sender

MOST_THREADS = 1024
"""Maximum concurrent calls; further ones queue here. A thread costs about 100 kB."""
RUNTIME, CONTROL, IDENTITY, STORE = "bedrock-runtime", "bedrock", "sts", "s3"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Account:
    """Credentials, region and timeout.

    Attributes:
        credentials: explicit credentials; if empty, boto3's chain finds them.
        profile: AWS profile; empty: what the environment says.
        region: AWS region; empty: the profile's.
        endpoint: alternative URL for all services; empty: AWS's own.
        timeout: maximum seconds of silence on a connection.
    """

    credentials: Credentials
    profile: str
    region: str
    endpoint: str
    timeout: float


class Boto:
    """Calls operations of AWS services; one set of clients per event loop.

    Args:
        account: credentials and region.
        explain: converts a botocore exception without a response to ours.
        learn: called with the secrets that boto3 finds.
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
        """Send one request and return the response, whatever its status; no retries.

        Expired credentials are looked up again, once, unless they were given explicitly: a profile
        or role may have fresh ones by now.

        Raises:
            ProviderError: no complete response arrived.
        """
        clients = self.clients.here() or await self.clients.get()
        used = clients.used
        answered = await clients.call(service, operation, arguments)
        if expired(answered) and await clients.renewed(used):
            answered = await clients.call(service, operation, arguments)
        return answered

    async def download(self, bucket: str, key: str, into: Path) -> Answered:
        """Stream an object to a file; the response is returned without its body.

        Raises:
            ProviderError: as for :meth:`call`.
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


EXPIRED = frozenset({"ExpiredTokenException", "ExpiredToken", "TokenRefreshRequired"})


def error_type(answered: Answered) -> str:
    """An error's name, without anything that follows it in the header."""
    return answered.headers.get("x-amzn-errortype", "").partition(":")[0]


def expired(answered: Answered) -> bool:
    """Whether a request's credentials had expired."""
    return answered.status in (400, 401, 403) and error_type(answered) in EXPIRED


class Clients:
    """boto3's clients and the threads that block on them. Created in a thread."""

    def __init__(
        self,
        account: Account,
        explain: Callable[[BaseException], ProviderError],
        learn: Callable[..., None],
    ) -> None:
        """Load boto3 and find credentials.

        Raises:
            ImportError: boto3 is not installed.
            ProviderError: there are no credentials, or no region.
        """
        import boto3

        # Their debug logs, which the environment can enable, contain headers.
        for name in ("boto3", "botocore", "urllib3"):
            logging.getLogger(name).setLevel(logging.WARNING)
        self._boto3: Any = boto3
        self._account = account
        self._explain = explain
        self._learn = learn
        self._threads = ThreadPoolExecutor(MOST_THREADS, "bedrock")
        self._pending: set[PendingCall] = set()
        self._made: dict[str, Any] = {}
        self._senders: list[Sender] = []
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
        """Run one operation in a thread. Cancelling it cuts its connection.

        Raises:
            ProviderError: no complete response arrived.
        """
        return await self._waited(self._work, service, operation, arguments)

    async def download(self, bucket: str, key: str, into: Path) -> Answered:
        """See :meth:`Boto.download`."""
        return await self._waited(self._download, bucket, key, into)

    async def _waited(self, do: Callable[..., Answered], *arguments: Any) -> Answered:
        from evalbench.providers.bedrock.boto_calls import PendingCall

        pending = PendingCall(self._gate)
        self._pending.add(pending)
        # In this call's context, so that the thread records whether it has a connection.
        work = self._threads.submit(contextvars.copy_context().run, do, pending, *arguments)
        try:
            return await asyncio.wrap_future(work)
        except asyncio.CancelledError:
            pending.cut()
            raise
        finally:
            self._pending.discard(pending)

    def _work(
        self, pending: PendingCall, service: str, operation: str, arguments: dict[str, Any]
    ) -> Answered:
        with pending:
            try:
                pending.check()
                client = self._client(service)
                getattr(client, operation)(**arguments)
            except Exception as error:
                # An error with a response is a response, and so is one that botocore cannot read.
                if pending.response is None:
                    raise self._explain(error) from None
        return self._whole(pending)

    def _download(self, pending: PendingCall, bucket: str, key: str, into: Path) -> Answered:
        from botocore.exceptions import ClientError

        with pending:
            try:
                found = self._client(STORE).get_object(Bucket=bucket, Key=key)
                pending.wait()
                open_private(into).close()
                for chunk in found["Body"].iter_chunks(_CHUNK):
                    add_to(into, chunk)
            except ClientError:
                return self._whole(pending)
            except ProviderError:
                raise
            except Exception as error:
                raise self._explain(error) from None
        return Answered(200, {}, b"", pending.seconds)

    def _whole(self, pending: PendingCall) -> Answered:
        response = pending.response
        assert response is not None
        headers = {str(name).lower(): value for name, value in response["headers"].items()}
        body: bytes = response["body"]
        length = headers.get("content-length", "")
        # botocore takes a partial body for a complete one.
        if length.isdigit() and len(body) < int(length):
            cut = ConnectionError(f"{len(body)} bytes came of {length}")
            raise self._explain(cut)
        return Answered(response["status_code"], headers, body, pending.seconds)

    def _new_session(self) -> tuple[Any, tuple[str, ...]]:
        """A session with its credentials resolved, and a fingerprint of them."""
        import botocore.session

        account, given = self._account, self._account.credentials
        self._core = core = botocore.session.get_session()
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
        """The client of a service. Clients are thread-safe; creating them is not."""
        client = self._made.get(service)
        if client is not None:
            return client
        with self._making:
            if service not in self._made:
                self._made[service] = self._new_client(service)
            return self._made[service]

    def _new_client(self, service: str) -> Any:
        from botocore.config import Config
        from botocore.utils import get_environ_proxies

        from evalbench.providers.bedrock.boto_calls import Sender

        account = self._account
        config = Config(
            # Set explicitly, so that a key in the environment does not override the given one.
            signature_version=_signature(service, bearer=bool(account.credentials.bearer)),
            retries={"total_max_attempts": 1, "mode": "standard"},
            # The run's record must show where its prompts were sent.
            ignore_configured_endpoint_urls=True,
        )
        # botocore has its own variable, which takes precedence.
        named = None if os.environ.get("AWS_CA_BUNDLE") else ca_file()
        client = self._session.client(
            service,
            endpoint_url=account.endpoint or None,
            config=config,
            verify=named.path if named else None,
        )
        url = client.meta.endpoint_url
        # boto3 would send even requests to this machine through a proxy.
        proxies = _proxies(url) if account.endpoint else get_environ_proxies(url)
        sender = Sender(
            verify=named.path if named else self._core.get_config_variable("ca_bundle") or True,
            proxies=proxies,
            read_s=account.timeout,
            most=MOST_THREADS,
        )
        sender.watch(client)
        self._senders.append(sender)
        return client

    async def renewed(self, used: tuple[str, ...]) -> bool:
        """Look up the credentials again; returns whether they differ from those that were used.

        Done once, however many calls detect the expiry at the same time.
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
                self._senders = []
            return True

    async def close(self) -> None:
        """Cut calls in flight and let the threads end."""
        for pending in list(self._pending):
            pending.cut()
        self._threads.shutdown(wait=False, cancel_futures=True)
        for sender in self._senders:
            sender.close()
        for client in self._made.values():
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
    """Service descriptions: large, and the same for every session in a process."""
    from botocore.loaders import create_loader

    return create_loader()


class _Bearer:
    """Supplies a Bedrock API key to botocore, instead of the environment's."""

    def __init__(self, token: str) -> None:
        self._token = token

    def load_token(self, **_: object) -> _Bearer:
        """Itself."""
        return self

    def get_frozen_token(self) -> Any:
        """The token in botocore's form."""
        from botocore.tokens import FrozenAuthToken

        return FrozenAuthToken(self._token)
