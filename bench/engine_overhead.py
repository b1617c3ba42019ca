"""What the engine costs on top of the calls: CPU, bytes on disk, memory, time to open and resume.

    python bench/engine_overhead.py [--sizes 10000,100000] [--rounds 3] [--million] [--data FILE]

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
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE / "plugins"))
os.environ["PYTHONPATH"] = str(_HERE / "plugins")

from evalbench_bench import Instant, prompt  # noqa: E402

from evalbench.engine import desk  # noqa: E402
from evalbench.engine.benchmark import Sample  # noqa: E402
from evalbench.engine.calls import Call, ModelRef  # noqa: E402
from evalbench.engine.dataset import read_samples  # noqa: E402
from evalbench.engine.journal import JournalReader  # noqa: E402
from evalbench.engine.process import Engine, resume_run, start_run  # noqa: E402
from evalbench.engine.registry import benchmark_class  # noqa: E402
from evalbench.engine.runfolder import RunFolder  # noqa: E402
from evalbench.engine.settings import RunSpec, make_spec  # noqa: E402

MODEL = ModelRef("instant", "instant-1")
SHARED = _HERE.parents[1] / "shared" / "data" / "mmlu" / "test.parquet"
BARE_CALLS = 10_000


@dataclass(frozen=True)
class Measured:
    """One run. Times in milliseconds where not named otherwise."""

    size: int
    body: str
    busy: float
    cpu_per_sample: float
    bare_per_sample: float
    overhead_per_sample: float
    bytes_per_sample: float
    peak_mb: float
    wall_s: float
    first_request: float
    show: float
    recount: float
    resume: float
    resume_engine: float


def yardstick() -> float:
    """CPU seconds of a fixed loop."""
    begun = time.process_time()
    total = 0
    for number in range(1_000_000):
        total += number & 3
    return time.process_time() - begun


def reap(engine: Engine) -> tuple[float, float, float]:
    """Wait for an engine: its CPU seconds, peak resident megabytes, and seconds alive."""
    stat = Path(f"/proc/{engine.pid}/stat").read_text().rpartition(")")[2].split()
    born = int(stat[19]) / os.sysconf("SC_CLK_TCK")
    _, status, used = os.wait4(engine.pid, 0)
    alive = time.clock_gettime(time.CLOCK_BOOTTIME) - born
    assert os.waitstatus_to_exitcode(status) == 0, engine.runs[0].engine_log.read_text()
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, alive


def born_at(engine: Engine) -> float:
    """When an engine process began, in seconds since the epoch."""
    stat = Path(f"/proc/{engine.pid}/stat").read_text().rpartition(")")[2].split()
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(stat[19]) / os.sysconf("SC_CLK_TCK")
    return time.time() - age


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
        reader.size()
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
    file = desk.check([spec])[0].file
    bare_ms = bare(spec, file)
    first_file = home / "first"
    os.environ["BENCH_FIRST_REQUEST"] = str(first_file)
    before = yardstick()
    engine = start_run(spec)
    born = born_at(engine)
    cpu, peak, wall = reap(engine)
    busy = statistics.mean((before, yardstick())) / best
    first = float(first_file.read_text()) - born
    run = engine.runs[0]
    assert run.status().done == size
    show, recount = look(run)
    begun = time.perf_counter()
    again = resume_run(run)
    _, _, engine_alive = reap(again)
    resumed = time.perf_counter() - begun
    stored = run.journal.stat().st_size
    run.journal.unlink()
    return Measured(
        size=size,
        body=body,
        busy=round(busy, 2),
        cpu_per_sample=round(cpu / size * 1000, 4),
        bare_per_sample=round(bare_ms, 4),
        overhead_per_sample=round(cpu / size * 1000 - bare_ms, 4),
        bytes_per_sample=round(stored / size, 1),
        peak_mb=round(peak, 1),
        wall_s=round(wall, 2),
        first_request=round(first * 1000),
        show=round(show, 1),
        recount=round(recount, 1),
        resume=round(resumed * 1000),
        resume_engine=round(engine_alive * 1000),
    )


def table(runs: list[Measured]) -> Iterator[str]:
    """Medians by size and body, as a Markdown table."""
    names = [name for name in asdict(runs[0]) if name not in ("size", "body")]
    yield "| samples | body | " + " | ".join(name.replace("_", " ") for name in names) + " |"
    yield "|" + " --: |" * (len(names) + 2)
    for key in dict.fromkeys((run.size, run.body) for run in runs):
        group = [asdict(run) for run in runs if (run.size, run.body) == key]
        medians = [f"{statistics.median(run[name] for run in group):g}" for name in names]
        yield f"| {key[0]:,} | {key[1]} | " + " | ".join(medians) + " |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="10000,100000", help="numbers of samples")
    parser.add_argument("--bodies", default="chat,reasoning", help="shapes of the answers")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each; medians are shown")
    parser.add_argument("--million", action="store_true", help="one run of a million as well")
    parser.add_argument("--data", type=Path, default=SHARED, help="MMLU's test.parquet")
    parser.add_argument("--out", type=Path, help="append the JSON lines to this file as well")
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
    with tempfile.TemporaryDirectory() as home:
        os.environ["EVALBENCH_HOME"] = home
        for size, body in plan:
            runs.append(measure(size, body, data, Path(home), best))
            line = json.dumps(asdict(runs[-1]))
            print(line, flush=True)
            if args.out:
                with args.out.open("a") as out:
                    out.write(line + "\n")
    print("\n".join(table(runs)))


if __name__ == "__main__":
    main()
