"""Local models beside lm-evaluation-harness: log-likelihoods and answers, CPU and memory.

Both sides run the same rows on the same weights, in the same number format, with one
thread, in turns; each is its whole command with everything that it starts::

    pip install --no-deps --target /tmp/lm-eval -r bench/lm-eval.txt
    python bench/local.py --lm-eval /tmp/lm-eval --mmlu MMLU --mt-bench MT-BENCH

``MMLU`` holds ``test.parquet`` and ``dev.parquet`` with the columns question, subject,
choices and answer; ``MT-BENCH`` holds ``question.jsonl``, of which first turns are asked.
Printed are medians of the rounds; the exit status is 1 when an aim is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from transformers import AutoTokenizer

from bench.figures import Figure, declare, tell
from bench.lm_eval_side import LETTERS, SHOTS, TAG, LmEval, Scores, environment
from bench.whole_cost import Cost, measure
from bench.writing import write_benchmark
from evalbench.engine.benchmarks.lm_eval.index import all_tasks
from evalbench.engine.calls import Reply
from evalbench.engine.journal import JournalReader
from evalbench.providers.local.catalogue import DEFAULT, resolve
from evalbench.providers.local.weights import find

LEAST_EQUAL = 0.995
LARGEST_GAP = 1e-3
LEAST_RATIO = {"float32": 5.0, "bfloat16": 5.0}
LEAST_WRITING = {"float32": 3.0, "bfloat16": 5.0}

T = TypeVar("T")

PARTS = (
    "likelihood-float32",
    "likelihood-bfloat16",
    "tasks-float32",
    "writing-float32",
    "writing-bfloat16",
    "start",
)
LEAST_TASKS = 2.0


@dataclass(frozen=True)
class Evalbench:
    """Our command line; its engine and worker are processes of their own."""

    scratch: Path

    def score(
        self, data: Path, subjects: Sequence[str], limit: int, dtype: str
    ) -> tuple[Scores, Cost]:
        """MMLU by log-likelihood, asked the original way."""
        asked, cost = self._run(
            *("mmlu", "--data", str(data), "--family", "original", "--shots", str(SHOTS)),
            *("--limit", str(limit), "--dtype", dtype),
            *(part for subject in subjects for part in ("--subject", subject)),
        )
        return {prompt: reply.logprobs for prompt, reply in asked}, cost

    def score_tasks(self, tasks: Path, dtype: str) -> tuple[Scores, Cost]:
        """The same, by lm-evaluation-harness's own tasks."""
        asked, cost = self._run(
            *(f"lm-eval/{TAG}", "--include-path", str(tasks), "--dtype", dtype),
        )
        return {prompt: reply.logprobs for prompt, reply in asked}, cost

    def write(self, prompts: Sequence[str], most: int, dtype: str) -> tuple[list[str], Cost]:
        """Greedy answers to ``prompts`` of at most ``most`` tokens."""
        table = write_benchmark(self.scratch, prompts)
        asked, cost = self._run(str(table), "--max-tokens", str(most), "--dtype", dtype)
        texts = {prompt: reply.text for prompt, reply in asked}
        return [texts[prompt] for prompt in prompts], cost

    def _run(self, *words: str) -> tuple[list[tuple[str, Reply]], Cost]:
        """The replies by the text of the prompt."""
        number = sum(1 for _ in self.scratch.glob("runs-*"))
        runs = self.scratch / f"runs-{number}"
        command = [
            *(sys.executable, "-m", "evalbench.tui.cli.main", "run", *words),
            *("--model", f"local/{DEFAULT}", "--threads", "1", "--no-ui", "--json"),
            *("--run-dir", str(runs)),
        ]
        log = self.scratch / "evalbench.log"
        cost = measure(command, env=environment(), log=log, cwd=self.scratch)
        if cost.status:
            raise SystemExit(f"evalbench failed:\n{log.read_text()[-3000:]}")
        asked = []
        with JournalReader(next(runs.rglob("journal.db"))) as reader:
            for sample in reader.samples():
                (call,) = reader.calls(sample.row)
                assert call.reply is not None
                asked.append((call.prompt.messages[0].text, call.reply))
        return asked, cost


@dataclass(frozen=True)
class Bench:
    """Both sides, what they are asked, and the figures that came of it."""

    options: argparse.Namespace
    theirs: LmEval
    ours: Evalbench
    figures: list[Figure] = field(default_factory=list)

    def run(self, part: str) -> bool:
        """One part: measure, print, and tell whether its aims are met."""
        kind, _, dtype = part.partition("-")
        if kind == "start":
            return self._start()
        if kind == "tasks":
            return self._tasks(dtype)
        return self._likelihood(dtype) if kind == "likelihood" else self._writing(dtype)

    def _likelihood(self, dtype: str) -> bool:
        asked = self.options.mmlu, self.options.subject, self.options.questions, dtype
        theirs, ours, costs = self._in_turns(
            lambda: self.theirs.score(*asked, batch=1), lambda: self.ours.score(*asked)
        )
        if theirs.keys() != ours.keys():
            print(f"the prompts differ: {len(theirs.keys() ^ ours.keys())} occur on one side only")
            return False
        equal = sum(_letter(theirs[prompt]) == _letter(ours[prompt]) for prompt in ours)
        gap = max(abs(a - b) for p in ours for a, b in zip(theirs[p], ours[p], strict=True))
        print(f"\nlog-likelihood, {dtype}: {len(ours)} questions, batch 1 on the other side")
        ratio = self._tell_ratio(
            f"local log-likelihood, {dtype}: CPU of lm-evaluation-harness over ours",
            costs,
            LEAST_RATIO[dtype],
            f"{equal} of {len(ours)} letters equal, {gap:.6f} nats apart at most",
        )
        same = equal >= LEAST_EQUAL * len(ours) and (gap <= LARGEST_GAP or dtype != "float32")
        return (same or dtype != "float32") and ratio >= LEAST_RATIO[dtype]

    def _tell_ratio(
        self, name: str, costs: tuple[list[Cost], list[Cost]], least: float, note: str
    ) -> float:
        """Print and keep a CPU ratio, and return it."""
        ratio = _print_costs(costs)
        print(note)
        print(f"CPU ratio {ratio:.2f} (at least {least:g} wanted)")
        self.figures.append(Figure(name, ratio, "times", least, at_least=True, note=note))
        return ratio

    def _tasks(self, dtype: str) -> bool:
        """The library's own tasks: it loads them on both sides, and scores the replies."""
        asked = self.options.mmlu, self.options.subject, self.options.questions // 2, dtype
        all_tasks()  # made once for each version of the library
        theirs, ours, costs = self._in_turns(
            lambda: self.theirs.score(*asked, batch=1),
            lambda: self.ours.score_tasks(self.theirs.newest_tasks(), dtype),
        )
        gap = max(abs(a - b) for p in theirs for a, b in zip(theirs[p], ours[p], strict=True))
        print(f"\nlm-eval tasks, {dtype}: {len(ours)} questions, batch 1 on the other side")
        ratio = self._tell_ratio(
            f"lm-eval tasks on a local model, {dtype}: CPU of its own run over ours",
            costs,
            LEAST_TASKS,
            f"{len(ours)} questions, {gap:.6f} nats apart at most",
        )
        return theirs.keys() == ours.keys() and gap <= LARGEST_GAP and ratio >= LEAST_TASKS

    def _writing(self, dtype: str) -> bool:
        turns, most = _first_turns(self.options.mt_bench), self.options.tokens
        # Spread over all categories, whose answers differ in length.
        prompts = turns[:: max(1, len(turns) // self.options.answers)][: self.options.answers]
        batch = self.options.batch
        theirs, ours, costs = self._in_turns(
            lambda: self.theirs.write(prompts, most, dtype, batch),
            lambda: self.ours.write(prompts, most, dtype),
        )
        encode = AutoTokenizer.from_pretrained(self.theirs.weights).encode
        tokens = [sum(len(encode(text)) for text in texts) for texts in (theirs, ours)]
        equal = sum(a == b for a, b in zip(theirs, ours, strict=True))
        print(
            f"\nwriting, {dtype}: {len(prompts)} answers of at most {most} tokens, "
            f"batch {batch} on the other side"
        )
        _print_costs(costs)
        speeds = [
            count / statistics.median(cost.cpu_s for cost in side)
            for count, side in zip(tokens, costs, strict=True)
        ]
        print(f"tokens {tokens[0]}, {tokens[1]}; equal texts {equal} of {len(prompts)}")
        ratio = speeds[1] / speeds[0]
        print(f"tokens per CPU-second {speeds[0]:.1f}, {speeds[1]:.1f}")
        print(f"ratio {ratio:.2f} (at least {LEAST_WRITING[dtype]:g} wanted)")
        self.figures.append(
            Figure(
                f"local answers, {dtype}: our tokens a CPU-second over lm-evaluation-harness's",
                ratio,
                "times",
                LEAST_WRITING[dtype],
                at_least=True,
                note=f"{equal} of {len(prompts)} texts equal, batch {batch} on the other side",
            )
        )
        return ratio >= LEAST_WRITING[dtype] and (equal == len(prompts) or dtype != "float32")

    def _start(self) -> bool:
        """What of all that is the start: one prompt, one token."""
        prompts = _first_turns(self.options.mt_bench)[:1]
        *_, costs = self._in_turns(
            lambda: self.theirs.write(prompts, 1, "float32", 1),
            lambda: self.ours.write(prompts, 1, "float32"),
        )
        print("\nstart: one prompt, one token")
        _print_costs(costs)
        return True

    def _in_turns(
        self, theirs: Callable[[], tuple[T, Cost]], ours: Callable[[], tuple[T, Cost]]
    ) -> tuple[T, T, tuple[list[Cost], list[Cost]]]:
        """What both sides gave in the last round, and the costs of all rounds."""
        costs: tuple[list[Cost], list[Cost]] = [], []
        sides = (theirs, ours)
        given: dict[int, T] = {}
        for number in range(self.options.rounds):
            for side in (0, 1) if number % 2 == 0 else (1, 0):
                given[side], cost = sides[side]()
                costs[side].append(cost)
                load = os.getloadavg()[0]
                name = ("lm-evaluation-harness", "evalbench")[side]
                print(f"  {name}: {cost.cpu_s:.1f} CPU-s, load {load:.1f}", file=sys.stderr)
        return given[0], given[1], costs


def main() -> int:
    """Run the parts that are asked for; 0 when all aims are met."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lm-eval", required=True, type=Path, help="folder with its packages")
    parser.add_argument("--mmlu", required=True, type=Path, help="folder with the parquet files")
    parser.add_argument("--mt-bench", required=True, type=Path, help="folder of question.jsonl")
    parser.add_argument("--part", action="append", choices=PARTS, help="default: all of them")
    parser.add_argument("--subject", action="append", help="default: abstract_algebra, anatomy")
    parser.add_argument("--questions", type=int, default=200, help="of MMLU; tasks: half")
    parser.add_argument("--answers", type=int, default=32, help="to be written")
    parser.add_argument("--tokens", type=int, default=128, help="of one answer, at most")
    parser.add_argument("--batch", type=int, default=8, help="of lm-eval's writing")
    parser.add_argument("--rounds", type=int, default=1)
    declare(parser)
    options = parser.parse_args()
    options.subject = options.subject or ["abstract_algebra", "anatomy"]
    for name in ("lm_eval", "mmlu", "mt_bench"):
        setattr(options, name, getattr(options, name).absolute())
    weights = find(resolve(DEFAULT), lambda what, *_: print(what, file=sys.stderr))
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers"))
    print(f"{DEFAULT} ({weights.origin}); {packages}, Python {platform.python_version()}")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, 1 thread each")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        theirs = LmEval(options.lm_eval, weights.folder, folder)
        bench = Bench(options, theirs, Evalbench(folder))
        met = [bench.run(part) for part in options.part or PARTS]
    tell(options.figures, bench.figures)
    return 0 if all(met) else 1


def _print_costs(costs: tuple[list[Cost], list[Cost]]) -> float:
    """Medians of both sides; how much more CPU the first one took."""
    cpu = []
    for name, side in zip(("lm-evaluation-harness", "evalbench"), costs, strict=True):
        cpu.append(statistics.median(cost.cpu_s for cost in side))
        wall = statistics.median(cost.wall_s for cost in side)
        peak = statistics.median(cost.peak_mib for cost in side)
        print(f"{name:24} {cpu[-1]:8.1f} CPU-s {wall:8.1f} s {peak:6.0f} MiB peak")
    return cpu[0] / cpu[1]


def _first_turns(folder: Path) -> list[str]:
    lines = (folder / "question.jsonl").read_text().splitlines()
    return [json.loads(line)["turns"][0] for line in lines]


def _letter(logprobs: tuple[float, ...]) -> str:
    """The predicted letter."""
    return LETTERS[logprobs.index(max(logprobs))]


if __name__ == "__main__":
    sys.exit(main())
