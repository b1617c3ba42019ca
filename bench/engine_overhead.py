"""What the engine costs on top of the calls: CPU, bytes on disk, memory, time to open and resume.

    python -m bench.engine_overhead [--sizes 10000,100000] [--rounds 3] [--million] [--data FILE]

Real questions (MMLU's, where the shared data lies beside the checkout, else made
up ones) go through a provider that answers at once, in bodies as providers send
them: ``chat``, about 0.8 KB, and ``reasoning``, about 3 KB. The engine is the
real one, a process of its own. Its CPU time is compared with a bare loop that
only awaits the same provider. Prints one line of JSON per run and a table of
medians at the end.

CPU time grows when other work shares the processor, so a fixed loop of Python
is timed beside every run: ``busy`` is how much slower it was than at its best.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE / "plugins"))
os.environ["PYTHONPATH"] = str(_HERE / "plugins")
# Installed packages have their byte code beside them; a development tree may not.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

from evalbench_bench import Instant, prompt  # noqa: E402

from bench.figures import Figure, declare, tell  # noqa: E402
from bench.own_home import own_home  # noqa: E402
from evalbench.engine import preflight  # noqa: E402
from evalbench.engine.benchmark import Sample  # noqa: E402
from evalbench.engine.calls import Call, ModelRef  # noqa: E402
from evalbench.engine.config.registry import benchmark_class  # noqa: E402
from evalbench.engine.config.spec import RunSpec, make_spec  # noqa: E402
from evalbench.engine.data.dataset import read_samples  # noqa: E402
from evalbench.engine.journal import JournalReader  # noqa: E402
from evalbench.engine.process.launch import Engine, launch_runs, resume_run  # noqa: E402
from evalbench.engine.runs.folder import RunFolder  # noqa: E402

MODEL = ModelRef("instant", "instant-1")
SHARED = _HERE.parents[1] / "shared" / "data" / "mmlu" / "test.parquet"
BARE_CALLS = 10_000


@dataclass(frozen=True)
class Measured:
    """One run.

    Attributes:
        busy: how much slower the fixed loop ran beside it than at its best.
        cpu_ms: CPU time of the engine process per sample, its start included.
        bare_ms: of one awaited answer of the provider without an engine.
        overhead_ms: the difference.
        stored_bytes: size of the resting journal per sample.
        peak_mb: most resident memory of the engine.
        wall_s: from the engine's birth to its end.
        first_request_ms: from its birth to the first call.
        show_ms: to open the journal and read its metrics.
        recount_ms: to open it and count all scores anew.
        resume_ms: of an engine on the finished run, from birth to end.
    """

    samples: int
    body: str
    busy: float
    cpu_ms: float
    bare_ms: float
    overhead_ms: float
    stored_bytes: float
    peak_mb: float
    wall_s: float
    first_request_ms: float
    show_ms: float
    recount_ms: float
    resume_ms: float


def yardstick() -> float:
    """CPU seconds of a fixed loop."""
    begun = time.process_time()
    total = 0
    for number in range(200_000):
        total += number & 3
    return time.process_time() - begun


@dataclass(frozen=True)
class Life:
    """What an engine process took, from its birth to its end."""

    cpu_s: float
    peak_mb: float
    born: float
    alive_s: float
    busy: float


def watch(engine: Engine, best: float) -> Life:
    """Follow an engine to its end, timing the fixed loop beside it all the while."""
    proc = Path(f"/proc/{engine.pid}")
    ticks = int((proc / "stat").read_text().rpartition(")")[2].split()[19])
    born = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    born += ticks / os.sysconf("SC_CLK_TCK")
    peak, loops = 0.0, [yardstick()]
    while True:
        # ru_maxrss would count this process's memory, from between fork and exec.
        for line in (proc / "status").read_text().splitlines():
            if line.startswith("VmHWM"):
                peak = int(line.split()[1]) / 1024
        pid, status, used = os.wait4(engine.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.02 if time.time() - born < 5 else 0.25)
        if len(loops) < (time.time() - born) / 0.25:
            loops.append(yardstick())
    assert os.waitstatus_to_exitcode(status) == 0, engine.runs[0].engine_log.read_text()
    cpu = used.ru_utime + used.ru_stime
    return Life(cpu, peak, born, time.time() - born, statistics.mean(loops) / best)


def bare(spec: RunSpec, file: Path) -> float:
    """CPU milliseconds of one awaited answer of the provider, without anything around it."""
    samples: list[Sample] = []
    for sample in read_samples(file, spec, benchmark_class(spec.benchmark)):
        samples.append(sample)
        if len(samples) == BARE_CALLS:
            break
    calls = [Call(MODEL, prompt(sample)) for sample in samples]
    provider = Instant(spec.provider_options)

    async def loop() -> float:
        begun = time.process_time()
        for call in calls:
            await provider.answer(call)
        return time.process_time() - begun

    return asyncio.run(loop()) / len(calls) * 1000


def look(run: RunFolder) -> tuple[float, float]:
    """Milliseconds to open a journal and read its metrics, and to count all scores anew."""
    begun = time.perf_counter()
    with JournalReader(run.journal) as reader:
        assert reader.meta("metrics")
        assert reader.meta("outcomes")
    opened = time.perf_counter()
    with JournalReader(run.journal) as reader:
        reader.tally()
    return (opened - begun) * 1000, (time.perf_counter() - opened) * 1000


def measure(size: int, body: str, data: Path | None, home: Path, best: float) -> Measured:
    """Run ``size`` samples to the end, look at the run, and resume it for nothing."""
    spec = make_spec(
        "questions",
        str(MODEL),
        options={"size": size},
        provider_options={"body": body},
        data=str(data) if data else None,
    )
    file = preflight.check([spec])[0].file
    bare_ms = bare(spec, file)
    first_file = home / "first"
    os.environ["BENCH_FIRST_REQUEST"] = str(first_file)
    engine = launch_runs(spec)
    life = watch(engine, best)
    run = engine.runs[0]
    assert run.status().done == size
    show, recount = look(run)
    again = watch(resume_run(run), best)
    stored = run.journal.stat().st_size
    run.journal.unlink()
    return Measured(
        samples=size,
        body=body,
        busy=round(life.busy, 2),
        cpu_ms=round(life.cpu_s / size * 1000, 4),
        bare_ms=round(bare_ms, 4),
        overhead_ms=round(life.cpu_s / size * 1000 - bare_ms, 4),
        stored_bytes=round(stored / size, 1),
        peak_mb=round(life.peak_mb, 1),
        wall_s=round(life.alive_s, 2),
        first_request_ms=round((float(first_file.read_text()) - life.born) * 1000),
        show_ms=round(show, 1),
        recount_ms=round(recount, 1),
        resume_ms=round(again.alive_s * 1000),
    )


def table(runs: list[Measured]) -> Iterator[str]:
    """Medians by size and body, as a Markdown table."""
    names = [name for name in asdict(runs[0]) if name not in ("samples", "body")]
    yield "| samples | body | " + " | ".join(name for name in names) + " |"
    yield "|" + " --: |" * (len(names) + 2)
    for key in dict.fromkeys((run.samples, run.body) for run in runs):
        group = [asdict(run) for run in runs if (run.samples, run.body) == key]
        medians = [f"{statistics.median(run[name] for run in group):g}" for name in names]
        yield f"| {key[0]:,} | {key[1]} | " + " | ".join(medians) + " |"


def figures(runs: list[Measured]) -> Iterator[Figure]:
    """What is reported of the runs, by size and body."""
    for size, body in dict.fromkeys((run.samples, run.body) for run in runs):
        group = [run for run in runs if (run.samples, run.body) == (size, body)]
        names = ("cpu_ms", "bare_ms", "overhead_ms", "stored_bytes", "peak_mb", "first_request_ms")
        all_in, bare_ms, over, stored, peak, first = (
            statistics.median(getattr(run, name) for run in group) for name in names
        )
        busy = statistics.median(run.busy for run in group)
        short = body == "chat"
        of = f"{size:,} samples, bodies of {'0.8' if short else '3'} KB"
        yield Figure(f"engine over the call itself, CPU a sample, {of}", over, "ms",
                     0.3 if short else None, note=f"busy {busy:.2f}")  # fmt: skip
        yield Figure(f"engine all in, CPU a sample, {of}", all_in, "ms",
                     beside="bare loop over the same provider", beside_value=bare_ms)  # fmt: skip
        yield Figure(f"journal on disk a sample, {of}", stored, "bytes", 512 if short else None)
        yield Figure(f"memory of the engine, {of}", peak, "MB", 120)
        yield Figure(f"first request after the engine's birth, {of}", first / 1000, "s", 0.6,
                     note="by the clock")  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="10000,100000", help="numbers of samples")
    parser.add_argument("--bodies", default="chat,reasoning", help="shapes of the answers")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each; medians are shown")
    parser.add_argument("--million", action="store_true", help="one run of a million as well")
    parser.add_argument("--data", type=Path, default=SHARED, help="MMLU's test.parquet")
    parser.add_argument("--out", type=Path, help="append the JSON lines to this file as well")
    declare(parser)
    args = parser.parse_args()
    data = args.data if args.data.exists() else None
    plan = [
        (int(size), body)
        for _ in range(args.rounds)
        for size in args.sizes.split(",")
        for body in args.bodies.split(",")
    ]
    if args.million:
        plan.append((1_000_000, "chat"))
    best = min(yardstick() for _ in range(30))
    print(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} processors")
    print("questions:", data or "made up")
    runs = []
    with own_home() as home:
        measure(100, "chat", data, home, best)
        for size, body in plan:
            runs.append(measure(size, body, data, home, best))
            line = json.dumps(asdict(runs[-1]))
            print(line, flush=True)
            if args.out:
                with args.out.open("a") as out:
                    out.write(line + "\n")
    print("\n".join(table(runs)))
    tell(args.figures, list(figures(runs)))


if __name__ == "__main__":
    main()
