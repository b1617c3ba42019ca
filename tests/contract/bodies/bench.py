"""One provider with all that stands behind it: asking, money, the journal; without a process."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evalbench.engine.benchmark import CallFailed
from evalbench.engine.calls import Call, ModelRef, Outcome, Reply, generate
from evalbench.engine.config import registry
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.engine.dispatch.limiter import Limiter
from evalbench.engine.dispatch.realtime import RealtimeDispatcher
from evalbench.engine.errors import ProviderError, RunFatal
from evalbench.engine.execution.ask import BoundModel, RunAsks, SampleAsk
from evalbench.engine.journal import Journal
from evalbench.engine.journal.schema import create
from tests.contract.bodies.lanes import Lane
from tests.contract.bodies.server import Response, Server
from tests.contract.providers.conftest import pair_of_aws
from tests.unit.engine.journals import sample

PROMPT = generate("Which letter comes first?", max_tokens=2000)


class _Impatient(RealtimeDispatcher):
    """Makes the next attempt at once."""

    async def _wait(self, failure: ProviderError, pause: float) -> None:
        assert pause >= 0


class _Unmoved(Limiter):
    """Lets nobody wait because of a refusal."""

    def refused(self, error: ProviderError) -> None:
        """Nothing."""


@dataclass
class Bench:
    """Asks one question after the other, each once; every reply goes into the journal."""

    lane: Lane
    server: Server
    provider: Any
    journal: Journal
    budget: Budget
    prices: UnitPrices = field(default=UnitPrices(Rates(Decimal(1), Decimal(2))))
    rows: Any = field(default_factory=lambda: itertools.count(1))

    @property
    def model(self) -> ModelRef:
        """Who is asked."""
        return ModelRef.parse(f"{self.lane.provider}/{self.lane.model}")

    async def ask(
        self, response: Response, *, attempts: int = 1, later: Response | None = None
    ) -> Reply | RunFatal:
        """What becomes of a call that is answered so: a reply, maybe a failed one, or the end.

        Args:
            response: the answer to the first attempt.
            attempts: the most that are made, without a pause between them.
            later: the answer to every further one.
        """
        row = next(self.rows)
        realtime = _Impatient(
            self.provider,
            _Unmoved(concurrency=1),
            CostMeter(self.budget, self.prices),
            attempts=attempts,
            report=lambda kind, **body: None,
        )
        models = {"candidate": BoundModel(self.model, realtime, {})}
        run = RunAsks(self.journal, models, lambda: False, frozenset({Outcome.ERROR}))
        ask = SampleAsk(run, row, 0, sample=sample(row), known={}, count=lambda role, reply: None)
        self.server.response, self.server.later, self.server.asked = response, later, 0
        try:
            return await ask("candidate", PROMPT)
        except CallFailed as failed:
            return failed.reply
        except RunFatal as error:
            return error

    def line(self, body: bytes) -> bytes:
        """A body as a line of a batch's results."""
        for name in reversed(self.lane.line):
            extra = b',"status_code":200' if name == "body" else b""
            extra = b',"type":"succeeded"' if name == "message" else extra
            body = b'{"%s":%s%s}' % (name.encode(), body, extra)
        return b'{"%s":"x",%s' % (self.lane.item.encode(), body[1:])

    def read_line(self, body: bytes) -> Reply:
        """What a line of a batch's results says; raises what the provider raises."""
        with TemporaryDirectory() as folder:
            results = Path(folder) / "results.jsonl"
            results.write_bytes(self.line(body))
            # As is done with each file that is fetched.
            self.provider.scrub.file(results)
            line = results.read_bytes()
        result = self.provider.batch_api.parse(line)
        assert result.item == "x"
        reply: Reply = self.provider.batch_api.reply(result, Call(self.model, PROMPT))
        return reply


@asynccontextmanager
async def bench(lane: Lane, folder: Path, secret: str) -> AsyncIterator[Bench]:
    """A bench for one protocol, with a journal in a folder."""
    path = folder / "journal.db"
    create(path)
    key = pair_of_aws(secret) if lane.provider == "bedrock" else secret
    async with Server() as server:
        settings = {"base_url": lane.base_url(server.url), "timeout": 30.0, **lane.settings}
        provider_class: Any = registry.provider_class(lane.provider)
        provider = provider_class(settings, key)
        journal = Journal(path)
        try:
            await journal.add_samples([(row, sample(row)) for row in range(1, 3)])
            yield Bench(lane, server, provider, journal, Budget())
        finally:
            await provider.close()
            await journal.close()
            # Connections of the server end with their clients'.
            await asyncio.sleep(0)
