"""Local models on one NVIDIA card: fit, gauges, speed and recovery, in under eight minutes.

It asks the embedded model and one of 1.5 billion random weights, made here, through
``evalbench run``: the real engine and its worker, in 16, 8 and 4 bits, and with a limit of 6 GB,
within which memory is made to run out. A card of 24 GB or more is wanted; nothing is fetched.
How it comes to another machine, that may reach no network in the end::

    git clone REPOSITORY evalbench && cd evalbench
    python3 -m venv .venv && .venv/bin/pip install '.[gpu]'       # '.[local]': without 4 and 8 bits
    .venv/bin/evalbench run quickstart --limit 1                  # fetches and converts the weights
    .venv/bin/python -m bench.gpu

The weights may be carried instead: the folder in ``models/`` of evalbench's cache, or any that
transformers has saved, named with ``--weights``. To measure beside lm-evaluation-harness
add ``pip install --no-deps --target /tmp/lm-eval -r bench/lm-eval.txt`` and ``--lm-eval
/tmp/lm-eval``. ``--device cpu --tiny`` runs every kind of step without a card on a model of a few
kilobytes, all but the gauges; it says nothing about speed.

Printed are a line for each run and a table for ``docs/performance.md``. The exit status is 0 when
every aim is met, 1 when one is missed or a run fails, 2 without a card.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import gpu_questions
from bench.figures import Figure, declare, tell
from bench.gpu_gauges import TOLERATED, Beside
from bench.gpu_runs import LIMIT, Ran, RunFailed, Runner, Sizes, Step, apart
from bench.plan import ROOT
from evalbench.engine.errors import EvalbenchError
from evalbench.providers.local.catalogue import DEFAULT, resolve
from evalbench.providers.local.weights import find

MOST_OFF_PERCENT = 10.0
_LIMIT_GB = {"cuda": 6.0, "cpu": 1.2}
_TOO_MANY_TOKENS = "131072"
"""A batch for which the limit leaves no room, as long as there are questions enough."""

_ENOUGH_APART = 0.2
"""Nats between log-likelihoods of bfloat16 in other batches, at most; the median."""

_HALF = ("--dtype", "bfloat16")
_8BIT, _4BIT = ("--quantize", "8bit"), ("--quantize", "4bit")
_LIMITED = (*_HALF, "--memory-limit", LIMIT)
_PLAIN_EXAM = Step("1.5 B, bfloat16, log-likelihood", "synthetic", "exam")
_WATCHED = Step("1.5 B, bfloat16, answers", "synthetic", "writing", tiny=False)
_SHORT = Step(
    "1.5 B, limit and a batch too large, log-likelihood",
    "synthetic",
    "exam",
    (*_LIMITED, "--max-batch-tokens", _TOO_MANY_TOKENS),
)
STEPS = (
    _WATCHED,
    _PLAIN_EXAM,
    _SHORT,
    Step("1.5 B, limit, answers", "synthetic", "writing", _LIMITED, tiny=False),
    Step("embedded, bfloat16, answers", "embedded", "writing", tiny=False),
    Step("embedded, bfloat16, log-likelihood", "embedded", "exam", tiny=False),
    Step("1.5 B, 8 bits, log-likelihood", "synthetic", "exam", _8BIT),
    Step("1.5 B, 4 bits, answers", "synthetic", "writing", _4BIT, tiny=False),
    Step("1.5 B, 8 bits, answers", "synthetic", "writing", _8BIT, tiny=False),
    Step("1.5 B, 4 bits, log-likelihood", "synthetic", "exam", _4BIT, tiny=False),
    Step("embedded, 8 bits, answers", "embedded", "writing", _8BIT, tiny=False),
    Step("embedded, 4 bits, answers", "embedded", "writing", _4BIT),
)
_TINY = Sizes(prompts=4, words=20, tokens=6, questions=100, few=5)


@dataclass
class Bench:
    """All of it, and what came of it.

    Attributes:
        runner: starts runs.
        card: of the device, see ``gpu_model``.
        ends: when the time is over, on the monotonic clock.
        lm_eval: folder of lm-evaluation-harness, and the size of its batches.
        ran: the runs that completed, by their step's name.
        figures, skipped, problems: what is reported at the end.
    """

    runner: Runner
    card: dict[str, Any]
    ends: float
    lm_eval: tuple[Path, int] | None
    ran: dict[str, Ran] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def on_card(self) -> bool:
        """Aims are those of cards: most of what a CPU holds are libraries."""
        return self.runner.device == "cuda"

    def all(self, steps: Sequence[Step]) -> None:
        """Every step, what it is beside another, and lm-evaluation-harness."""
        for step in steps:
            if step.quantized and self.card["bitsandbytes"]:
                self.skip(f"{step.name}: {self.card['bitsandbytes']}")
            elif self._late():
                self.problems.append(f"{step.name}: left out, the time is over")
            else:
                self._step(step)
        if short := self.ran.get(_SHORT.name):
            self._recovery(short)
        if self.lm_eval and (plain := self.ran.get(_PLAIN_EXAM.name)):
            self._beside_lm_eval(plain, *self.lm_eval)

    def skip(self, words: str) -> None:
        """Say what cannot be measured here."""
        print(f"left out: {words}", flush=True)
        self.skipped.append(words)

    def tell(
        self, name: str, value: float, unit: str, target: float | None = None, **more: Any
    ) -> None:
        """Keep a figure; the card's name stands in its note."""
        note = "; ".join(filter(None, [self.card["name"], more.pop("note", "")]))
        self.figures.append(Figure(f"GPU, {name}", value, unit, target, note=note, **more))

    def _late(self) -> bool:
        longest = max((one.wall_s for one in self.ran.values()), default=0.0)
        return time.monotonic() + longest > self.ends

    def _run(self, step: Step, limit: int | None = None) -> Ran | None:
        try:
            return self.runner.run(step, max(30.0, self.ends - time.monotonic()), limit)
        except RunFailed as failure:
            print(f"{step.name} failed: {failure}", flush=True)
            self.problems.append(f"{step.name} failed")
            return None

    def _step(self, step: Step) -> None:
        if self.on_card and step is _WATCHED:
            with Beside() as beside:
                ran = self._run(step)
            self._gauges(beside, ran)
        else:
            ran = self._run(step)
        if ran is None:
            return
        self.ran[step.name] = ran
        held = ran.measures
        peaks = f"{held.expected / 1e9:.2f} GB estimated, {held.peak / 1e9:.2f} GB measured"
        print(
            f"{step.name}: {held.answers} answers in {ran.wall_s:.0f} s, "
            f"{ran.read_rate:,.0f} tokens read and {held.tokens_per_second or 0:,.0f} written "
            f"a second of computing; peak: {peaks}",
            flush=True,
        )
        if ran.failed:
            self.problems.append(f"{step.name}: {ran.failed} samples failed")
        if step is not _SHORT:
            # There less is taken than was meant to be.
            most = MOST_OFF_PERCENT if self.on_card else None
            name = f"{step.name}: peak that was estimated, off the one measured by"
            self.tell(name, ran.off_percent, "%", most, note=peaks)
        if step.limited:
            most = self.runner.limit_gb if self.on_card else None
            self.tell(f"{step.name}: peak", held.peak / 1e9, "GB", most)

    def _gauges(self, beside: Beside, ran: Ran | None) -> None:
        if beside.problem or not beside.seen:
            self.problems.append(f"gauges: {beside.problem or 'the run was too short to compare'}")
            return
        count = f"{len(beside.seen)} readings"
        for name, gap in beside.gaps().items():
            most, unit = TOLERATED[name]
            print(f"gauge of {name}: nvidia-smi {gap:.1f} {unit} outside of ours, {count}")
            words = f"gauge of {name}: nvidia-smi outside of two readings of ours, median"
            self.tell(words, gap, unit, most, note=count)
        peak = max((card["peak"] or 0 for card in ran.cards), default=0) if ran else 0
        if not peak:
            self.problems.append("gauges: the engine reported nothing about the card")
            return
        name = "memory in use at its peak, as the engine reported"
        smi = beside.peak * (1 << 20) / 1e9
        self.tell(name, peak / 1e9, "GB", beside="nvidia-smi", beside_value=smi)

    def _recovery(self, short: Ran) -> None:
        if not short.budgets:
            self.problems.append(f"{_SHORT.name}: memory did not run out, so nothing was tried")
            return
        words = f"it ran out {len(short.budgets)} times, the last batch {short.budgets[-1]} tokens"
        print(f"memory: {words}")
        share = 100 * len(short.scores) / self.runner.sizes.questions
        self.tell("answers where memory ran out", share, "%", 100.0, at_least=True, note=words)
        if plain := self.ran.get(_PLAIN_EXAM.name):
            name = "log-likelihoods where memory ran out, apart from those without, median"
            self.tell(name, apart(plain.scores, short.scores), "nats", _ENOUGH_APART)

    def _beside_lm_eval(self, plain: Ran, packages: Path, batch: int) -> None:
        """Questions a second beyond a few of them: starting and loading cancel out."""
        from bench.lm_eval_side import LmEval

        runner, sizes = self.runner, self.runner.sizes
        if (few := self._run(_PLAIN_EXAM, sizes.few)) is None:
            return
        theirs = LmEval(packages, runner.models["synthetic"], runner.scratch, runner.device)
        asked = runner.exam, [gpu_questions.SUBJECT]
        try:
            _, cost_few = theirs.score(*asked, sizes.few, "bfloat16", batch)
            scores, cost = theirs.score(*asked, sizes.questions, "bfloat16", batch)
        except SystemExit as failure:
            print(failure)
            self.problems.append("lm-evaluation-harness failed")
            return
        ours, other = (
            (sizes.questions - sizes.few) / max(1e-3, spent)
            for spent in (plain.wall_s - few.wall_s, cost.wall_s - cost_few.wall_s)
        )
        gap = f"{apart(plain.scores, scores):.3f} nats apart, median"
        name = f"{_PLAIN_EXAM.name}, questions a second beyond {sizes.few}"
        side = f"lm-evaluation-harness, batch {batch}"
        print(f"{name}: {ours:.1f}; {side}: {other:.1f}; {gap}")
        self.tell(name, ours, "a second", beside=side, beside_value=other, note=gap)

    def table(self) -> list[str]:
        """The runs, in Markdown."""
        cuda = f", CUDA {self.card['cuda']}" if self.card["cuda"] else ""
        lines = [
            f"{self.card['name']}; torch {self.card['torch']}{cuda}",
            "",
            "| run | answers | tokens read /s | written /s | peak GB | estimated GB | off |"
            " batch, slots | whole command s |",
            "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        ]
        for name, one in self.ran.items():
            held = one.measures
            batch = one.budgets[-1] if one.budgets else one.info["batch_tokens"]
            cells = (
                name,
                f"{held.answers:,}",
                f"{one.read_rate:,.0f}",
                f"{held.tokens_per_second or 0:,.0f}",
                f"{held.peak / 1e9:.2f}",
                f"{held.expected / 1e9:.2f}",
                f"{one.off_percent:.1f} %",
                f"{batch}, {one.info['slots']}",
                f"{one.wall_s:.0f}",
            )
            lines.append(f"| {' | '.join(cells)} |")
        return lines

    def verdict(self) -> int:
        """Print what was missed; the exit status."""
        missed = [one for one in self.figures if _missed(one)]
        for one in missed:
            print(f"missed: {one.name}: {one.value:.3g} {one.unit}, wanted {one.target:g}")
        for problem in self.problems:
            print(f"problem: {problem}")
        return 1 if missed or self.problems else 0


def _missed(figure: Figure) -> bool:
    if figure.target is None:
        return False
    if figure.at_least:
        return figure.value < figure.target
    return figure.value > figure.target


def _child(*words: str) -> dict[str, Any]:
    """What ``gpu_model`` tells."""
    command = [sys.executable, "-m", "bench.gpu_model", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the model could not be made:\n{done.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main(words: Sequence[str] | None = None) -> int:
    """Run every step; see the module's first lines."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--tiny", action="store_true", help="small models and few questions")
    parser.add_argument("--weights", type=Path, help="folder of the embedded model")
    parser.add_argument("--lm-eval", type=Path, help="folder with lm-evaluation-harness")
    parser.add_argument("--lm-eval-batch", type=int, default=32)
    parser.add_argument("--minutes", type=float, default=7.5, help="for all steps of ours")
    parser.add_argument("--scratch", type=Path, help="where 4 GB may lie meanwhile")
    declare(parser)
    options = parser.parse_args(words)
    ends = time.monotonic() + 60 * options.minutes
    if options.device == "cuda" and (problem := _child("look", "cuda")["problem"]):
        print(f"there is no CUDA device here: {problem}", file=sys.stderr)
        return 2
    try:
        weights = options.weights or find(resolve(DEFAULT), lambda what, *_: print(what)).folder
    except EvalbenchError as error:
        print(f"the embedded model is not here, --weights FOLDER names it: {error}")
        return 1
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        scratch = Path(folder)
        models = {"embedded": weights.absolute(), "synthetic": scratch / "synthetic"}
        tiny = ["--tiny"] if options.tiny else []
        folders = str(models["synthetic"]), str(models["embedded"])
        card = _child("make", options.device, *folders, *tiny)
        print(f"{card['name']}: made a model of random weights", flush=True)
        sizes = _TINY if options.tiny else Sizes()
        runner = Runner(scratch, models, sizes, options.device, _LIMIT_GB[options.device])
        runner.prepare()
        lm_eval = (options.lm_eval.absolute(), options.lm_eval_batch) if options.lm_eval else None
        bench = Bench(runner, card, ends, lm_eval)
        bench.all([step for step in STEPS if step.tiny or not options.tiny])
    print("\n" + "\n".join(bench.table()) + "\n")
    tell(options.figures, bench.figures, skipped=bench.skipped)
    return bench.verdict()


if __name__ == "__main__":
    sys.exit(main())
