"""A server whose certificate nobody vouches for is told nothing: no key, no question."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest
import pytest_asyncio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from evalbench.engine.calls import Call, ModelRef, generate
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.engine.dispatch.base import SendLog
from evalbench.engine.dispatch.limiter import Limiter
from evalbench.engine.dispatch.realtime import RealtimeDispatcher
from evalbench.engine.errors import ProviderError
from tests.contract.providers.conftest import KEY, Make, pair_of_aws

MODELS = {
    "openai": "gpt-4.1-mini",
    "anthropic": "claude-haiku-4-5",
    "compatible": "mine",
    "groq": "llama-3.1-8b-instant",
    "together": "meta-llama/Llama-3.3-70B-Instruct-Turbo",
    "google": "gemini-2.5-flash",
    "bedrock": "amazon.nova-lite-v1:0",
}


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


class Impostor:
    """A TLS server that anybody could start; ``heard`` is all that it was told."""

    def __init__(self) -> None:
        self.heard = b""
        self.port = 0

    async def listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard += await reader.read(65536)
        writer.close()


@pytest_asyncio.fixture
async def impostor(tmp_path: Path) -> AsyncIterator[Impostor]:
    made = Impostor()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(tmp_path))
    server = await asyncio.start_server(made.listen, "127.0.0.1", 0, ssl=context)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()


@pytest.mark.parametrize("name", list(MODELS))
async def test_an_unknown_certificate_is_never_trusted(
    make: Make, impostor: Impostor, name: str
) -> None:
    secret = pair_of_aws(KEY) if name == "bedrock" else KEY
    provider = make(name, secret, base_url=f"https://127.0.0.1:{impostor.port}/v1")
    meter = CostMeter(Budget(), UnitPrices(Rates(Decimal(1), Decimal(1))))
    limiter = Limiter(concurrency=1)
    realtime = RealtimeDispatcher(
        provider, limiter, meter, attempts=1, report=lambda kind, **body: None
    )
    call = Call(ModelRef(name, MODELS[name]), generate("A secret question?", max_tokens=4))

    with pytest.raises(ProviderError) as caught:
        await realtime.answer(call, "0", SendLog())
    assert impostor.heard == b""
    told = f"{caught.value}".lower()
    assert "certificate" in told or "ssl" in told or "connect" in told


async def test_the_server_hears_those_who_trust_it(impostor: Impostor, tmp_path: Path) -> None:
    context = ssl.create_default_context(cafile=str(tmp_path / "certificate.pem"))
    _, writer = await asyncio.open_connection("127.0.0.1", impostor.port, ssl=context)
    writer.write(b"hello")
    await writer.drain()

    async with asyncio.timeout(30):
        while impostor.heard != b"hello":
            await asyncio.sleep(0)
