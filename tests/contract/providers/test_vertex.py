"""Gemini models of a Google Cloud project: by the machine's credentials, or in express mode."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalbench.engine import errors as e
from evalbench.engine.calls import MediaPart, Outcome
from tests.contract.providers.conftest import KEY, Make
from tests.contract.providers.test_failures import failure
from tests.contract.providers.test_google import fates, show
from tests.simulator.handle import Handle
from tests.unit.providers.calls import PNG, ask, look


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory, running_simulator: Handle) -> Path:
    """A key file of a service account whose tokens come from the simulator."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    private = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file = tmp_path_factory.mktemp("account") / "account.json"
    file.write_text(
        json.dumps(
            {
                "type": "service_account",
                "project_id": "own-project",
                "client_email": "someone@own-project.example",
                "private_key": pem.decode(),
                "token_uri": running_simulator.url + "/google/token",
            }
        )
    )
    return file


async def test_vertex_asks_as_the_account_of_the_machine(
    sim: Handle, make: Make, account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(account))
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    place = "/google/v1/projects/own-project/locations/europe-west4/publishers/google/models/"
    provider = make("vertex", "", base_url=sim.base_url("google"), location="europe-west4")
    reply = await provider.answer(look("vertex/gemini-2.5-flash", max_tokens=2000))
    assert reply.outcome is Outcome.OK
    entry = sim.entries()[-1]
    assert entry["path"] == place + "gemini-2.5-flash:generateContent"
    assert "x-goog-api-key" not in entry["headers"]
    asked = ask("vertex/gemini-3.8-flash", max_tokens=2000, effort="low", temperature=0.0)
    known = fates(await provider.answer(asked))
    assert [known[name][0] for name in ("effort", "temperature")] == ["sent", "dropped"]
    assert "gemini-3.8-flash" in [line.name for line in await provider.models()]
    elsewhere = make("vertex", "", base_url=sim.base_url("google"), project="elsewhere")
    error = await failure(elsewhere, ask("vertex/gemini-2.5-flash"))
    assert type(error) is e.AccessDenied
    large = MediaPart("image/png", PNG + bytes(15_000_000))
    error = await failure(provider, show("vertex/gemini-2.5-flash", large))
    assert type(error) is e.CallRejected
    assert "larger than Vertex AI takes" in error.what


async def test_vertex_in_express_mode_asks_by_key(sim: Handle, make: Make) -> None:
    provider = make("vertex", "AQ.express-0123456789")
    assert (await provider.answer(ask("vertex/gemini-2.5-flash", max_tokens=2000))).text
    path = "/google/v1/publishers/google/models/gemini-2.5-flash:generateContent"
    assert sim.entries()[-1]["path"] == path
    wrong = make("vertex", "AQ.wrong-0123456789")
    assert type(await failure(wrong, ask("vertex/gemini-2.5-flash"))) is e.BadKey


async def test_vertex_without_credentials_says_where_to_get_them(
    sim: Handle, make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    provider = make("vertex", "", base_url=sim.base_url("google"))
    error = await failure(provider, ask("vertex/gemini-2.5-flash"))
    assert type(error) is e.BadKey
    assert "gcloud auth application-default login" in error.hint
    assert sim.summary()["requests"] == 0
