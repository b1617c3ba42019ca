"""Results that were packed and are cut: HTTP clients unpack what there is, and say nothing."""

from __future__ import annotations

import gzip
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web

from evalbench.engine.calls import BatchJob, JobState
from evalbench.engine.dispatch.batch.download import problem_of
from evalbench.engine.dispatch.batch.results import Results
from evalbench.engine.dispatch.batch.state import Batch
from evalbench.engine.errors import ServerFault
from tests.contract.providers.conftest import Make

LINES = 50
NAME = "abcdef0123"
BATCH = Batch(1, NAME, "candidate", "model", requests=LINES)
JOB = BatchJob("any", JobState.ENDED, results={"output": "file", "file": "files/any"})
APIS = ("openai", "anthropic", "groq", "together", "google")


class Served:
    """A server that gives one packed body to whoever asks."""

    def __init__(self) -> None:
        lines = [
            b'{"custom_id":"%s","key":"%s","response":"%s"}\n'
            % (item, item, random.Random(number).randbytes(100).hex().encode())
            for number in range(LINES)
            if (item := BATCH.item(number).encode())
        ]
        self.whole = self.body = gzip.compress(b"".join(lines))
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/jsonl"}
        return web.Response(body=self.body, headers=headers)


@pytest_asyncio.fixture
async def served() -> AsyncIterator[Served]:
    server, app = Served(), web.Application()
    app.router.add_get("/{path:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield server
    await runner.cleanup()


@pytest.mark.parametrize("api", APIS)
async def test_a_packed_download_that_is_cut_is_seen(
    make: Make, served: Served, tmp_path: Path, api: str
) -> None:
    provider = make(api, base_url=served.url)
    into = tmp_path / "results"

    async def problem() -> str:
        try:
            await provider.batch_api.fetch(JOB, into)
        except ServerFault as error:
            return error.what
        return problem_of(await Results(provider.batch_api, BATCH, into).survey(), LINES)

    assert await problem() == ""
    for length in (len(served.whole) // 2, len(served.whole) // 3):
        served.body = served.whole[:length]
        assert "in the middle of a line" in await problem()
    served.body = served.whole[:6]
    assert "they are empty" in await problem()
    served.body = served.whole
    assert await problem() == ""
