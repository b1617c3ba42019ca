"""What batches cost the engine: from samples to request files, from results to scores.

    python -m bench.batch_engine [--samples N] [--lanes openai,anthropic]

Every sample has a prompt of 2 KB like no other. The provider's own code writes and
reads the lines; its servers are a function that turns a file of requests into one of
results at once, so nothing is waited for. Each lane runs in a process of its own:
megabytes a second, by the clock and of CPU, of preparing (samples to finished request
files, journal included) and of parsing (results to replies and scores in the journal),
without what the function takes; and the highest resident memory.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from bench.figures import Figure, declare, tell
from evalbench.engine.benchmark import Ask, Benchmark, DataSet, DataSource, Sample, Score
from evalbench.engine.calls import (
    BatchApi,
    BatchJob,
    BatchTerms,
    Call,
    Capabilities,
    JobState,
    ModelRef,
    Provider,
    Reply,
    ResultLine,
    generate,
)
from evalbench.engine.config import registry
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.dispatch.batch import BatchDispatcher, BatchSettings
from evalbench.engine.dispatch.limiter import Limiter
from evalbench.engine.dispatch.realtime import RealtimeDispatcher
from evalbench.engine.execution.ask import BoundModel
from evalbench.engine.execution.driver import Driver
from evalbench.engine.journal import Journal
from evalbench.engine.journal.schema import create
from evalbench.engine.process.main import collect_seldom
from evalbench.engine.runs.status import State
from evalbench.engine.scoring.tally import Metric, Tally

LANES: Mapping[str, tuple[str, str, Callable[[str], dict[str, Any]]]] = {
    "openai": (
        "openai",
        "gpt-4.1",
        lambda item: {
            "id": f"batch_req_{item}",
            "custom_id": item,
            "response": {
                "status_code": 200,
                "request_id": f"req_{item}",
                "body": {
                    "id": f"chatcmpl-{item}",
                    "object": "chat.completion",
                    "created": 1,
                    "model": "gpt-4.1",
                    "choices": [
                        {
                            "index": 0,
                            "finish_reason": "stop",
                            "message": {"role": "assistant", "content": ANSWER},
                        }
                    ],
                    "usage": {"prompt_tokens": 500, "completion_tokens": 300, "total_tokens": 800},
                },
            },
            "error": None,
        },
    ),
    "anthropic": (
        "anthropic",
        "claude-sonnet-5-5",
        lambda item: {
            "custom_id": item,
            "result": {
                "type": "succeeded",
                "message": {
                    "id": f"msg_{item}",
                    "type": "message",
                    "role": "assistant",
                    "model": "claude-sonnet-5-5",
                    "content": [{"type": "text", "text": ANSWER}],
                    "stop_reason": "end_turn",
                    "stop_sequence": None,
                    "usage": {"input_tokens": 500, "output_tokens": 300},
                },
            },
        },
    ),
}
PROMPT = "The quick brown fox jumps over the lazy dog, and nobody minds.\n" * 32
ANSWER = "I think so, because the fox is quick and the dog is lazy. " * 20
MEGA = 1e6


class OneQuestion(Benchmark):
    """Asks each sample once."""

    name = "one-question"
    version = "1"
    title = "One question"
    summary = "as it says"

    def prepare(self, source: DataSource) -> DataSet:
        return DataSet(iter(()))

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        question = f"{sample.inputs['n']}\n{PROMPT}"
        reply = await ask("candidate", generate(question, max_tokens=400))
        return Score(reply.outcome, {"accuracy": 1.0})

    def metrics(self, tally: Tally) -> list[Metric]:
        return []


class AtOnce(Provider, BatchApi):
    """A provider's own lines; batches that are over as soon as they are made."""

    def __init__(self, lane: str) -> None:
        name, _, self._result = LANES[lane]
        cls: Any = registry.provider_class(name)
        self._real = cls({o.name: o.default for o in cls.options}, "sk-bench-0123456789")
        self._api = self._real.batch_api
        self.batch_api = self
        self.files: dict[str, Path] = {}
        self.made = self.made_cpu = 0.0
        self.served = self.served_cpu = 0.0
        self.fetched = 0

    def capabilities(self, model: str) -> Capabilities:
        able: Capabilities = self._real.capabilities(model)
        return able

    def line(self, call: Call, item: str) -> bytes:
        line: bytes = self._api.line(call, item)
        return line

    def parse(self, line: bytes) -> ResultLine:
        result: ResultLine = self._api.parse(line)
        return result

    def reply(self, result: ResultLine, call: Call) -> Reply:
        reply: Reply = self._api.reply(result, call)
        return reply

    async def cancel(self, job: str, model: str) -> None:
        raise AssertionError("this bench never cancels a batch")

    def terms(self, model: str) -> BatchTerms:
        """As the provider's, but for a queue without end."""
        terms: BatchTerms = self._api.terms(model)
        return BatchTerms(terms.most_requests, terms.most_bytes, creates_per_minute=6000)

    async def upload(self, file: Path, name: str, model: str) -> dict[str, Any]:
        return {}

    async def create(
        self, file: Path, name: str, model: str, uploaded: Mapping[str, Any]
    ) -> BatchJob:
        self.files[name] = file
        self.made, self.made_cpu = time.perf_counter(), time.process_time()
        return BatchJob(name, JobState.RUNNING, name)

    async def find(self, *_: Any, **__: Any) -> Sequence[BatchJob]:
        return []

    async def poll(self, job: str, model: str) -> BatchJob:
        return BatchJob(job, JobState.ENDED, job)

    async def fetch(self, job: BatchJob, into: Path) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        with self.files[job.id].open("rb") as asked, into.open("wb") as results:
            for line in asked:
                item = orjson.loads(line)["custom_id"]
                self.fetched += results.write(orjson.dumps(self._result(item)) + b"\n")
        self.served += time.perf_counter() - wall
        self.served_cpu += time.process_time() - cpu
        # As what is downloaded from any provider.
        self._real.scrub.file(into)

    async def answer(self, call: Call) -> Reply:
        raise AssertionError("here everything goes through batches")

    async def close(self) -> None:
        return


async def one(lane: str, samples: int, folder: Path) -> dict[str, float]:
    """A whole run; seconds and bytes of its two halves."""
    name, model, _ = LANES[lane]
    create(folder / "journal.db")
    journal = Journal(folder / "journal.db")
    for first in range(0, samples, 500):
        rows = range(first, min(first + 500, samples))
        await journal.add_samples((n + 1, Sample(f"{n:016x}.1", {"n": n}, "yes", {})) for n in rows)
    provider: Any = AtOnce(lane)
    meter = CostMeter(Budget(), None)
    realtime = RealtimeDispatcher(
        provider, Limiter(concurrency=4), meter, attempts=3, report=journal.event
    )
    dispatcher = BatchDispatcher(
        realtime, meter, journal, folder / "batches", BatchSettings(poll_s=0.01),
        role="candidate", model=model,
    )  # fmt: skip
    models = {"candidate": BoundModel(ModelRef(name, model), dispatcher, {})}
    driver = Driver(journal, OneQuestion({}), models)
    driver.open()
    collect_seldom()
    wall, cpu = time.perf_counter(), time.process_time()
    assert await driver.drive() is State.COMPLETE
    ended, ended_cpu = time.perf_counter(), time.process_time()
    await dispatcher.close()
    await journal.close()
    sent = sum(file.stat().st_size for file in (folder / "batches").glob("*.requests.jsonl"))
    return {
        "prepare_s": provider.made - wall,
        "parse_s": ended - provider.made - provider.served,
        "prepare_cpu_s": provider.made_cpu - cpu,
        "parse_cpu_s": ended_cpu - provider.made_cpu - provider.served_cpu,
        "sent": sent,
        "read": provider.fetched,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def main() -> None:
    """Run each lane in a process of its own and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=50_000)
    parser.add_argument("--lanes", default=",".join(LANES))
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    declare(parser)
    options = parser.parse_args()
    if options.inside:
        with tempfile.TemporaryDirectory() as folder:
            found = asyncio.run(one(options.inside, options.samples, Path(folder)))
        sys.stdout.buffer.write(orjson.dumps(found))
        return
    for lane in options.lanes.split(","):
        words = ["-m", "bench.batch_engine", "--inside", lane, "--samples", str(options.samples)]
        measured = orjson.loads(subprocess.check_output([sys.executable, *words]))
        sent, read = measured["sent"] / MEGA, measured["read"] / MEGA
        out, out_cpu = sent / measured["prepare_s"], sent / measured["prepare_cpu_s"]
        back, back_cpu = read / measured["parse_s"], read / measured["parse_cpu_s"]
        each = (measured["prepare_cpu_s"] + measured["parse_cpu_s"]) / options.samples * 1e3
        print(
            f"{lane:10} {options.samples:,} samples"
            f"  prepare {out:.1f} MB/s, {out_cpu:.1f} of CPU"
            f"  parse {back:.1f} MB/s, {back_cpu:.1f} of CPU"
            f"  CPU {each:.3f} ms a sample"
            f"  peak {measured['peak'] / MEGA:.0f} MB",
            flush=True,
        )
        of = f"batches through the engine, {lane}"
        figures = [
            Figure(f"{of}, CPU a sample, there and back", each,
                   "ms", note=f"{options.samples:,} samples of 2 KB"),
            Figure(f"{of}, samples to request files", out_cpu, "MB/s of CPU", 40, at_least=True,
                   note=f"{out:.1f} by the clock"),
            Figure(f"{of}, results to scores", back_cpu, "MB/s of CPU", 25, at_least=True,
                   note=f"{back:.1f} by the clock"),
            Figure(f"{of}, memory", measured["peak"] / MEGA, "MB", 120),
        ]  # fmt: skip
        tell(options.figures, figures)


if __name__ == "__main__":
    main()
