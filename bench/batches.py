"""What the batch side of a provider costs: lines written, results read, files carried.

    python -m bench.batches [--lines N] [--rounds N] [--megabytes N] [--lanes openai,anthropic]

Writing and reading lines alternates with what nobody can do without: orjson
writing and reading the same bytes. Files of ``--megabytes`` go to a simulator in
a process of its own and their results come back; memory is the highest
resident size during a transfer over what it was before. A call is a prompt of
2 KB, each another. Results are the best of the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from bench.figures import Figure, declare, tell
from bench.own_home import own_home
from evalbench.engine.calls import BatchJob, Call, JobState, ModelRef, generate
from evalbench.engine.config import registry
from tests.simulator.handle import InProcess

LANES = {
    "anthropic": ("anthropic", "claude-sonnet-5-5", {}),
    "openai": ("openai", "gpt-4.1", {}),
    "responses": ("openai", "gpt-6-luna", {"api": "responses"}),
    "groq": ("groq", "llama-3.3-70b-versatile", {}),
}
KEY = "sk-bench-0123456789"
PROMPT = "The quick brown fox jumps over the lazy dog, and nobody minds.\n" * 32
MEGA = 1e6


def call(lane: str, number: int) -> Call:
    """A prompt of 2 KB like no other."""
    name, model, _ = LANES[lane]
    return Call(ModelRef(name, model), generate(f"{number}\n{PROMPT}", max_tokens=64))


def best(rounds: int, work: Callable[[], Any]) -> float:
    """Seconds of CPU of the quickest round."""
    spent = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return min(spent)


_TOLD: list[Figure] = []
_WORDS = {"batch_line": "line written", "item + reply": "item and reply read"}


def show(lane: str, what: str, lines: int, size: int, seconds: float, bare: float) -> None:
    """One line of the result."""
    if what in _WORDS:
        _TOLD.append(
            Figure(f"batches of {lane}, {_WORDS[what]}", size / seconds / MEGA, "MB/s of CPU", 20,
                   at_least=True, beside="orjson alone", beside_value=size / bare / MEGA)
        )  # fmt: skip
    print(
        f"{lane:10} {what:12} {lines / seconds:>9,.0f} lines/s {size / seconds / MEGA:>7.1f} MB/s"
        f"   orjson alone {size / bare / MEGA:>7.1f} MB/s   ratio {seconds / bare:.1f}"
    )


async def measure_lines(lane: str, sim: InProcess, folder: Path, lines: int, rounds: int) -> None:
    """Lines written and read."""
    name, model, own = LANES[lane]
    made: Any = registry.provider_class(name)
    provider = made({"base_url": sim.base_url(name), **own}, KEY)
    calls = [call(lane, number) for number in range(lines)]
    await provider.get_ready(calls[0])
    items = [f"abcdef0123{number:06d}" for number in range(lines)]
    pairs = list(zip(calls, items, strict=True))
    written = [provider.batch_api.line(one, item) for one, item in pairs]
    size = sum(map(len, written))
    bodies = [orjson.loads(line) for line in written]
    show(
        lane, "batch_line", lines, size,
        best(rounds, lambda: [provider.batch_api.line(one, item) for one, item in pairs]),
        best(rounds, lambda: [orjson.dumps(body) for body in bodies]),
    )  # fmt: skip
    file = folder / f"{lane}.jsonl"
    file.write_bytes(b"\n".join(written) + b"\n")
    job = await created(provider, file, model)
    results = folder / f"{lane}.results"
    await provider.batch_api.fetch(job, results)
    got = results.read_bytes().splitlines()
    asked = dict(zip(items, calls, strict=True))
    size = sum(map(len, got))
    bare = best(rounds, lambda: [orjson.loads(line) for line in got])
    parse, reply = provider.batch_api.parse, provider.batch_api.reply
    show(lane, "batch_item", lines, size,
         best(rounds, lambda: [parse(line) for line in got]), bare)  # fmt: skip
    show(
        lane, "item + reply", lines, size,
        best(rounds, lambda: [reply(result, asked[result.item]) for result in map(parse, got)]),
        bare,
    )  # fmt: skip
    await provider.close()


async def created(provider: Any, file: Path, model: str) -> BatchJob:
    """A batch of a file, worked off."""
    uploaded = await provider.batch_api.upload(file, "bench00000", model)
    job: BatchJob = await provider.batch_api.create(file, "bench00000", model, uploaded)
    job = await provider.batch_api.poll(job.id, model)
    assert job.state is JobState.ENDED, job
    return job


async def measure_files(lane: str, sim: InProcess, folder: Path, megabytes: int) -> None:
    """A large file there, its results back."""
    name, model, own = LANES[lane]
    made: Any = registry.provider_class(name)
    provider = made({"base_url": sim.base_url(name), **own}, KEY)
    await provider.get_ready(call(lane, 0))
    file = folder / f"{lane}-large.jsonl"
    number = 0
    with file.open("wb") as lines:
        while lines.tell() < megabytes * MEGA:
            lines.write(provider.batch_api.line(call(lane, number), f"abcdef{number:08d}") + b"\n")
            number += 1
    before = fresh_peak()
    started = time.perf_counter()
    uploaded = await provider.batch_api.upload(file, "bench00000", model)
    job = await provider.batch_api.create(file, "bench00000", model, uploaded)
    seconds = time.perf_counter() - started
    show_transfer(lane, "sent", file, seconds, peak() - before)
    job = await provider.batch_api.poll(job.id, model)
    assert job.succeeded == number, job
    results = folder / f"{lane}-large.results"
    before = fresh_peak()
    started = time.perf_counter()
    await provider.batch_api.fetch(job, results)
    show_transfer(lane, "fetched", results, time.perf_counter() - started, peak() - before)
    await provider.close()
    file.unlink()
    results.unlink()


def show_transfer(lane: str, what: str, file: Path, seconds: float, memory: int) -> None:
    """One line of the result."""
    size = file.stat().st_size
    name = f"memory while a file of {size / MEGA:.0f} MB is {what}, {lane}, over what it was"
    _TOLD.append(Figure(name, memory / MEGA, "MB"))
    print(
        f"{lane:10} {what:12} {size / MEGA:>7.1f} MB in {seconds:6.2f} s"
        f" {size / seconds / MEGA:>7.1f} MB/s   memory +{memory / MEGA:.1f} MB"
    )


def fresh_peak() -> int:
    """Forget the highest resident size and give the present one, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """The highest resident size in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the kernel does not tell of memory")


async def run(options: argparse.Namespace, sim: InProcess, folder: Path) -> None:
    """All lanes."""
    for lane in options.lanes.split(","):
        await measure_lines(lane, sim, folder, options.lines, options.rounds)
    sim.reset()
    if options.megabytes:
        for lane in options.lanes.split(","):
            await measure_files(lane, sim, folder, options.megabytes)
            sim.reset()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.batches", description=__doc__)
    parser.add_argument("--lines", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--lanes", default=",".join(LANES))
    declare(parser)
    options = parser.parse_args()
    with own_home() as folder, InProcess("--count-only") as sim:
        asyncio.run(run(options, sim, folder))
    tell(options.figures, _TOLD)


if __name__ == "__main__":
    main()
