"""A journal with something in it, for tests that read one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Call, ModelRef, Outcome, Prompt, Reply, generate
from evalbench.engine.journal import CallKey, Journal
from evalbench.engine.journal.codec import quotable
from evalbench.engine.journal.schema import create

MODEL = ModelRef("acme", "writer")
KEY = CallKey(0, "candidate", str(MODEL), "answer", 0)


def sample(number: int, text: str = "", **tags: str) -> Sample:
    """A sample that no other number has."""
    return Sample(f"{number:016x}.1", {"question": text or f"How much is {number}?"}, "A", tags)


@asynccontextmanager
async def journal(path: Path) -> AsyncIterator[Journal]:
    """A journal at ``path``, made when it is not there; at rest afterwards."""
    if not path.exists():
        create(path)
    opened = Journal(path)
    try:
        yield opened
    finally:
        await opened.close()


async def ask(
    into: Journal,
    row: int,
    of: Sample,
    prompt: Prompt,
    reply: Reply | None,
    *,
    key: CallKey = KEY,
    reask: int = 0,
) -> Call:
    """Store a call of a sample and, unless it was cut off, its reply."""
    call = Call(MODEL, prompt)
    await into.intend(row, key, reask, call, call.content_hash, quotable(of))
    if reply is not None:
        await into.store_reply(row, key, reask, reply)
    return call


async def fill(into: Journal, rows: Iterable[int]) -> None:
    """Samples with one answered call and a score each."""
    for row in rows:
        await into.add_samples([(row, sample(row))])
        await ask(into, row, sample(row), generate(f"Say {row}"), Reply("A"))
        into.store_score(row, 0, {}, Outcome.OK, {"accuracy": 1.0}, {"parsed": {"letter": "A"}})
