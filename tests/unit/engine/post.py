"""A provider that takes batches, in memory: it does what a test says, and counts what it did."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import orjson

from evalbench.engine.calls import (
    BatchApi,
    BatchJob,
    BatchTerms,
    Call,
    Capabilities,
    JobState,
    KeyNeed,
    ModelInfo,
    ModelRef,
    Provider,
    Reply,
    ResultLine,
    Usage,
)
from evalbench.engine.calls.options import Option
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.engine.dispatch.batch import BatchDispatcher, BatchSettings
from evalbench.engine.dispatch.limiter import Limiter
from evalbench.engine.dispatch.realtime import RealtimeDispatcher
from evalbench.engine.errors import CallRejected, DeadlineExceeded, ProviderError, ServerFault
from evalbench.engine.journal import Journal
from tests.unit.engine.journals import MODEL

REALTIME = UnitPrices(Rates(Decimal(2), Decimal(2)))
HALF = UnitPrices(Rates(Decimal(1), Decimal(1)), mode="batch")
USAGE = Usage(input_tokens=10, output_tokens=10)


@dataclass
class Parcel:
    """One batch as the provider holds it."""

    id: str
    name: str
    lines: list[dict[str, Any]]
    state: JobState = JobState.WAITING
    looks: int = 0
    made: float = -1e9
    dated: float | None = None
    results: list[bytes] = field(default_factory=list)
    why: str = ""


Ends = Callable[[Parcel], JobState]


def third_look(parcel: Parcel) -> JobState:
    """Waits, runs, and has ended at the third look."""
    return [JobState.WAITING, JobState.RUNNING, JobState.ENDED][min(parcel.looks - 1, 2)]


class Post(Provider, BatchApi):
    """The provider, and its batches.

    Attributes:
        says: the text that answers a prompt's text, or the error in its line.
        becomes: the state of a parcel at a look.
        spoil: changes the result lines of a parcel that is over.
        delivers: changes what one download brings.
        counts: what it tells besides of a parcel that is over.
        withheld: parcels whose results it does not give, and why.
        lists_after: seconds before a new parcel stands in the list of parcels.
        trouble: errors of the next steps by name; ``created`` fails after the parcel was made.
        names: whether parcels keep their names.
        clock: the time that it tells with every poll; None: none.
        usage: what answers in batches say of their tokens.
        executed: how often each prompt was worked on.
        asked: texts that were answered at once.
    """

    name: ClassVar[str] = "post"
    title: ClassVar[str] = "Post"
    options: ClassVar[tuple[Option, ...]] = ()
    key: ClassVar[KeyNeed | None] = None

    def __init__(self, **terms: Any) -> None:
        self.batch_api = self
        self.limits = BatchTerms(**{"most_requests": 1000, "most_bytes": 1_000_000, **terms})
        self.says: Callable[[str], str | ProviderError] = lambda text: f"to {text}"
        self.becomes: Ends = third_look
        self.spoil: Callable[[list[bytes]], list[bytes]] = lambda lines: lines
        self.delivers: Callable[[bytes], bytes] = lambda results: results
        self.withheld: dict[str, ProviderError] = {}
        self.counts: dict[str, dict[str, Any]] = {}
        self.lists_after = 0.0
        self.trouble: dict[str, deque[Exception]] = {}
        self.names = True
        self.clock: Callable[[], float] | None = None
        self.usage = USAGE
        self.parcels: dict[str, Parcel] = {}
        self.executed: Counter[str] = Counter()
        self.asked: list[str] = []
        self.steps: list[str] = []
        self.cut_off = False

    def fail(self, step: str, *errors: Exception) -> None:
        """Let the next so many of a step fail."""
        self.trouble.setdefault(step, deque()).extend(errors)

    async def _step(self, step: str) -> None:
        if self.cut_off:
            # Nobody listens any more: what a dead engine would have sent never arrives.
            await asyncio.Event().wait()
        self.steps.append(step)
        if errors := self.trouble.get(step):
            raise errors.popleft()

    def capabilities(self, model: str) -> Capabilities:
        return Capabilities(batch=True)

    def check_model(self, model: str) -> None: ...

    async def models(self) -> Sequence[ModelInfo]:
        return []

    async def check_key(self) -> str:
        return ""

    async def close(self) -> None: ...

    async def answer(self, call: Call) -> Reply:
        text = call.prompt.messages[-1].text
        self.asked.append(text)
        self.executed[text] += 1
        made = self.says(text)
        if isinstance(made, ProviderError):
            raise made
        return Reply(made, usage=USAGE)

    def terms(self, model: str) -> BatchTerms | None:
        return self.limits

    def line(self, call: Call, item: str) -> bytes:
        text = call.prompt.messages[-1].text
        if "impossible" in text:
            raise CallRejected("this cannot be asked")
        return orjson.dumps({"id": item, "text": text})

    async def upload(self, file: Path, name: str, model: str) -> dict[str, Any]:
        await self._step("upload")
        return {"file": str(file)}

    async def create(
        self, file: Path, name: str, model: str, uploaded: Mapping[str, Any]
    ) -> BatchJob:
        await self._step("create")
        lines = [orjson.loads(line) for line in file.read_bytes().splitlines()]
        parcel = Parcel(f"job-{len(self.parcels) + 1}", name, lines)
        parcel.made = asyncio.get_running_loop().time()
        parcel.dated = self.clock and self.clock()
        self.parcels[parcel.id] = parcel
        await self._step("created")
        return self._job(parcel)

    def _job(self, parcel: Parcel) -> BatchJob:
        return BatchJob(
            parcel.id,
            parcel.state,
            parcel.name if self.names else "",
            total=len(parcel.lines),
            **self.counts.get(parcel.id, {}) if parcel.state.over else {},
            why=parcel.why,
            again=parcel.why == "queue full",
            created=parcel.dated,
            reported=self.clock and self.clock(),
        )

    async def find(
        self, name: str, model: str, uploaded: Mapping[str, Any], *, requests: int, since: float
    ) -> Sequence[BatchJob]:
        await self._step("find")
        since = asyncio.get_running_loop().time() - self.lists_after
        listed = [one for one in self.parcels.values() if one.made <= since]
        jobs = [self._job(parcel) for parcel in listed]
        if self.names:
            return [job for job in jobs if job.name == name]
        return [job for job in jobs if job.total == requests]

    async def poll(self, job: str, model: str) -> BatchJob:
        await self._step("poll")
        parcel = self.parcels[job]
        if not parcel.state.over:
            parcel.looks += 1
            parcel.state = self.becomes(parcel)
            if parcel.state.over and parcel.state is not JobState.FAILED:
                self._work_off(parcel)
        return self._job(parcel)

    def _work_off(self, parcel: Parcel) -> None:
        """Answer the lines; of an expired or cancelled parcel the first half."""
        share = 1.0 if parcel.state is JobState.ENDED else 0.5
        done = int(len(parcel.lines) * share)
        lines = []
        for line in parcel.lines[:done]:
            self.executed[line["text"]] += 1
            made = self.says(line["text"])
            if isinstance(made, ProviderError):
                lines.append(orjson.dumps({"id": line["id"], "error": type(made).__name__}))
            else:
                lines.append(orjson.dumps({"id": line["id"], "reply": made}))
        lines += [
            orjson.dumps({"id": line["id"], "error": "DeadlineExceeded"})
            for line in parcel.lines[done:]
        ]
        parcel.results = self.spoil(lines)

    async def fetch(self, job: BatchJob, into: Path) -> None:
        await self._step("fetch")
        # Whatever a provider makes of it, it was this user's alone before a byte was there.
        assert into.stat().st_mode & 0o777 == 0o600
        if error := self.withheld.get(job.id):
            raise error
        results = b"".join(line + b"\n" for line in self.parcels[job.id].results)
        into.write_bytes(self.delivers(results))

    def parse(self, line: bytes) -> ResultLine:
        body = orjson.loads(line)
        if "id" not in body:
            raise ValueError("no id")
        return ResultLine(str(body["id"]), body)

    def reply(self, result: ResultLine, call: Call) -> Reply:
        body = result.content
        if "error" in body:
            kinds = {kind.__name__: kind for kind in (CallRejected, ServerFault, DeadlineExceeded)}
            raise kinds[body["error"]]("the line says so")
        return Reply(body["reply"], usage=self.usage)

    async def cancel(self, job: str, model: str) -> None:
        await self._step("cancel")
        parcel = self.parcels[job]
        if not parcel.state.over:
            parcel.state = JobState.CANCELLED
            self._work_off(parcel)


def batching(
    post: Post,
    journal: Journal,
    *,
    role: str = "candidate",
    model: ModelRef = MODEL,
    budget: Budget | None = None,
    attempts: int = 3,
    **batch_settings: Any,
) -> BatchDispatcher:
    """A dispatcher over the post, by the loop's clock."""
    loop = asyncio.get_running_loop()
    money = budget or Budget()
    realtime = RealtimeDispatcher(
        post,
        Limiter(concurrency=4),
        CostMeter(money, REALTIME),
        attempts=attempts,
        report=journal.event,
    )
    return BatchDispatcher(
        realtime,
        CostMeter(money, HALF),
        journal,
        journal.path.parent / "batches",
        BatchSettings(**batch_settings),
        role=role,
        model=model.name,
        clock=lambda: 1_000_000.0 + loop.time(),
    )
