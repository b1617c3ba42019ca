"""One run of ``gpu.py`` by ``evalbench run``, and what its folder tells afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import gpu_questions
from bench.figures import median
from bench.plan import ROOT
from bench.writing import TABLE
from evalbench.engine.hardware.measures import Measures
from evalbench.engine.journal import JournalReader

LIMIT = "LIMIT"
"""Stands in a step's words for the memory limit."""

Scores = dict[str, tuple[float, ...]]
"""Log-likelihoods of the choices by the whole prompt text."""


class RunFailed(Exception):
    """A run did not complete; the text is the end of what it said."""


@dataclass(frozen=True)
class Step:
    """What is run.

    Attributes:
        name: unique.
        model: ``embedded`` or ``synthetic``.
        kind: ``writing`` or ``exam``.
        words: options.
        tiny: whether the small trial on a CPU has it.
    """

    name: str
    model: str
    kind: str
    words: tuple[str, ...] = ("--dtype", "bfloat16")
    tiny: bool = True

    @property
    def quantized(self) -> bool:
        """Needs bitsandbytes."""
        return "--quantize" in self.words

    @property
    def limited(self) -> bool:
        """Has a memory limit."""
        return LIMIT in self.words


@dataclass(frozen=True)
class Sizes:
    """How much is asked.

    Attributes:
        prompts, words, tokens: of the writing: how many, how long, and of one answer at most.
        questions, few: of the exam: all, and those that measure the start.
    """

    prompts: int = 96
    words: int = 200
    tokens: int = 128
    questions: int = 320
    few: int = 20


@dataclass(frozen=True)
class Ran:
    """What a run left behind.

    Attributes:
        step: which.
        wall_s: of the whole command.
        measures, info: as the record tells them.
        budgets: batches, in tokens, after each time that memory ran out.
        scores: of the exam.
        failed: samples without an answer.
        cards: what the engine last reported of the cards.
    """

    step: Step
    wall_s: float
    measures: Measures
    info: Mapping[str, Any]
    budgets: list[int]
    scores: Scores
    failed: int
    cards: list[dict[str, Any]]

    @property
    def off_percent(self) -> float:
        """How far the peak that was estimated lies from the one that was measured."""
        held = self.measures
        return abs(held.expected / held.peak - 1) * 100 if held.peak else 100.0

    @property
    def read_rate(self) -> float:
        """Tokens of prompts in a second of computing."""
        return self.measures.input_tokens / max(self.measures.busy_s, 1e-3)


@dataclass(frozen=True)
class Runner:
    """Starts runs on one device.

    Attributes:
        scratch: where everything goes.
        models: folders by ``Step.model``.
        sizes: how much is asked.
        device: ``cuda`` or ``cpu``.
        limit_gb: the memory limit.
    """

    scratch: Path
    models: Mapping[str, Path]
    sizes: Sizes
    device: str
    limit_gb: float

    def prepare(self) -> None:
        """Write what is asked."""
        gpu_questions.writing(self.scratch, self.sizes.prompts, self.sizes.words)
        gpu_questions.exam(self.exam, self.sizes.questions)

    @property
    def exam(self) -> Path:
        """The folder of the questions, laid out as MMLU's."""
        return self.scratch / "exam"

    def run(self, step: Step, most_s: float, limit: int | None = None) -> Ran:
        """One run.

        Args:
            step: which.
            most_s: it is ended after so many seconds.
            limit: of the samples.

        Raises:
            RunFailed: with the end of its log.
        """
        runs = self.scratch / f"runs-{len(list(self.scratch.glob('runs-*')))}"
        log = self.scratch / "log"
        began = time.monotonic()
        with log.open("wb") as file:
            try:
                status = subprocess.run(
                    self._command(step, runs, limit),
                    env=self._environment(),
                    cwd=self.scratch,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    timeout=most_s,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                raise RunFailed(f"ended after {most_s:.0f} s") from None
        if status:
            said = log.read_text("utf-8", "replace")[-1500:]
            raise RunFailed(f"evalbench run ended with {status}:\n{said}")
        return _read(step, next(runs.rglob("journal.db")), time.monotonic() - began)

    def _command(self, step: Step, runs: Path, limit: int | None) -> list[str]:
        target = [str(self.scratch / TABLE), "--max-tokens", str(self.sizes.tokens)]
        if step.kind == "exam":
            shots = str(gpu_questions.SHOTS)
            target = ["mmlu", "--data", str(self.exam), "--family", "original", "--shots", shots]
        return [
            *(sys.executable, "-m", "evalbench.tui.cli.main", "run", *target),
            *("--model", f"local/{self.models[step.model]}", "--device", self.device),
            *(f"{self.limit_gb}GB" if word == LIMIT else word for word in step.words),
            *(() if limit is None else ("--limit", str(limit))),
            *("--no-ui", "--yes", "--foreground", "--json", "--run-dir", str(runs)),
        ]

    def _environment(self) -> dict[str, str]:
        """No network, and nothing of this is kept."""
        paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        return {
            **os.environ,
            "EVALBENCH_KEEP_LOADED": "0",
            "EVALBENCH_HOME": str(self.scratch / "home"),
            "HF_HUB_OFFLINE": "1",
            "HF_DATASETS_OFFLINE": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        }


def _read(step: Step, journal: Path, wall_s: float) -> Ran:
    measures = Measures()
    info: Mapping[str, Any] = {}
    budgets: list[int] = []
    scores: Scores = {}
    failed = 0
    with JournalReader(journal) as reader:
        for event in reader.events():
            if event.kind == "model-loaded":
                info = event.body
            elif event.kind == "model-unloaded":
                measures.add(Measures.from_json(event.body))
            elif event.kind == "out-of-memory":
                budgets.append(int(event.body["budget"]))
        for sample in reader.samples():
            (call,) = reader.calls(sample.row)
            if call.reply is None or call.reply.error:
                failed += 1
            else:
                scores[call.prompt.messages[0].text] = call.reply.logprobs
    status = json.loads((journal.parent / "status.json").read_text())
    cards = list((status.get("gauges") or {}).get("gpus") or ())
    return Ran(step, wall_s, measures, info, budgets, scores, failed, cards)


def apart(one: Scores, other: Scores) -> float:
    """The median distance of the numbers of equal prompts; infinite where there are none."""
    gaps = [
        abs(a - b)
        for prompt in one.keys() & other.keys()
        for a, b in zip(one[prompt], other[prompt], strict=True)
    ]
    return median(gaps) if gaps else float("inf")
