"""code-choice: which would the model rather run, a program or its mutant, and how well?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalbench.engine.benchmark import Ask, Asked, Sample, Score, answer_outcome
from evalbench.engine.benchmarks.code_reasoning import prompts as code_prompts
from evalbench.engine.benchmarks.code_reasoning.common import (
    WAYS,
    CodeBenchmark,
    CodeOptions,
    Way,
    overall,
    shown,
)
from evalbench.engine.benchmarks.code_reasoning.lenient import CHOICE_LENIENT, read_choice_lenient
from evalbench.engine.benchmarks.code_reasoning.parsers import CHOICE, Choice, read_choice
from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.calls.options import setting
from evalbench.engine.scoring.pooled import pooled
from evalbench.engine.scoring.tally import Metric, Tally

_ORIGINAL, _MUTATED = "original", "mutated"

_MAIN = (
    ("preference_original", "original", "valid", "Original chosen"),
    ("preference_mutated", "mutated", "valid", "Mutant chosen"),
    ("oc_correct", "oc", "original", "Original chosen and predicted right (OC)"),
    ("mc_correct", "mc", "mutated", "Mutant chosen and predicted right (MC)"),
    ("or_reversion", "or", "or_of", "Original chosen, the mutant's output predicted (OR)"),
    ("mr_reversion", "mr", "mr_of", "Mutant chosen, the original's output predicted (MR)"),
    ("invalid_runs", "invalid", "runs", "Invalid runs"),
)
_POSITION = (
    ("preference_a", "first", "valid", "Program A chosen"),
    ("same_choice", "agree", "pairs", "The same program chosen in both orders"),
)
"""Metrics: name, value names of numerator and denominator, title."""


@dataclass(frozen=True, slots=True)
class _Run:
    """One question and its parsed reply.

    Attributes:
        order: 0 when the original is program A, 1 when the mutant is.
        case: index of the test case.
        lenient, faithful: what the parsers found; None for an invalid run.
    """

    order: int
    case: int
    lenient: Choice | None
    faithful: Choice | None

    def read(self, way: Way) -> Choice | None:
        """The choice by one parser."""
        return self.lenient if way.lenient else self.faithful

    def chosen(self, way: Way) -> str:
        """The kind of program chosen; empty for an invalid run."""
        choice = self.read(way)
        if choice is None:
            return ""
        return _ORIGINAL if (choice.program == "A") == (self.order == 0) else _MUTATED


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceOptions(CodeOptions):
    """Options of :class:`CodeChoice`."""

    runs: int = setting(
        2, "1: original program first; 2: also with the order swapped", minimum=1, maximum=2
    )


class CodeChoice(CodeBenchmark):
    """Choose between a program and its mutant, and predict the output of the chosen one."""

    name = "code-choice"
    version = "1"
    title = "Code execution choice"
    summary = (
        "Which of two Python programs, one with an operator changed, is easier to run by hand?"
    )
    licence = "of the data that is given"
    opt = ChoiceOptions()

    prompt_templates = code_prompts.CHOICE_TEMPLATES

    def parsers(self) -> tuple[str, str]:
        """The parsers for chosen programs."""
        return CHOICE_LENIENT, CHOICE

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """Ask in every order, for every test case, at every effort, all concurrently."""
        asked = [
            (effort, order, case)
            for effort in self.efforts
            for order in range(self.opt.runs)
            for case in range(len(sample.inputs["calls"]))
        ]
        replies = await ask.many([self._question(sample, *one) for one in asked])
        values = {"reverts": float(self.reverts(sample))}
        parsed: dict[str, Any] = {CHOICE_LENIENT: {}, CHOICE: {}}
        outcomes: list[Outcome] = []
        for effort in self.efforts:
            own = [
                (_read(reply, order, case), reply)
                for (at, order, case), reply in zip(asked, replies, strict=True)
                if at == effort
            ]
            runs = [run for run, _ in own]
            of_effort = [answer_outcome(reply, run.lenient) for run, reply in own]
            values |= {
                self.value_name(name, effort): count
                for name, count in self._count(sample, runs).items()
            }
            values |= self.reply_values(effort, [reply for _, reply in own], of_effort)
            outcomes += of_effort
            for run in runs:
                step = self.value_name(self._step(sample, run.order, run.case), effort)
                for parser, choice in ((CHOICE_LENIENT, run.lenient), (CHOICE, run.faithful)):
                    parsed[parser][step] = choice and [choice.program, shown(choice.value)]
        return Score(overall(outcomes), values, parsed)

    def _question(self, sample: Sample, effort: str, order: int, case: int) -> Asked:
        programs = sample.inputs["code"], sample.inputs["mutant"]
        a, b = programs if order == 0 else programs[::-1]
        call = sample.inputs["calls"][case]
        if self.own_templates:
            values = {"program_a": a, "program_b": b, "call": call, "effort": effort}
            messages = code_prompts.by_template(self.own_templates["choice"], values)
        else:
            messages = code_prompts.choose(effort, a, b, call)
        step = self._step(sample, order, case)
        return "candidate", self.prompt(sample, messages, order), self.value_name(step, effort)

    def _step(self, sample: Sample, order: int, case: int) -> str:
        step = ("original first", "mutant first")[order]
        return step if len(sample.inputs["calls"]) == 1 else f"{step}, case {case + 1}"

    def _count(self, sample: Sample, runs: Sequence[_Run]) -> dict[str, float]:
        """All counts that the metrics are computed from, by name."""
        counts: dict[str, int] = {}
        for way in WAYS:
            counts |= self._count_way(sample, runs, way)
        counts["first"] = sum(
            run.lenient is not None and run.lenient.program == "A" for run in runs
        )
        by_case: dict[int, list[str]] = {}
        for run in runs:
            by_case.setdefault(run.case, []).append(run.chosen(WAYS[0]))
        pairs = [chosen for chosen in by_case.values() if len(chosen) == 2 and all(chosen)]
        counts["pairs"] = len(pairs)
        counts["agree"] = sum(one == two for one, two in pairs)
        values = {name: float(count) for name, count in counts.items()}
        if counts["valid"]:
            values["preference_original"] = counts[_ORIGINAL] / counts["valid"]
        return values

    def _count_way(self, sample: Sample, runs: Sequence[_Run], way: Way) -> dict[str, int]:
        """Counts of choices, correct predictions and reversions, for one way of parsing."""
        outputs: Mapping[str, Sequence[str]] = sample.gold
        counts: dict[str, int] = {"runs": len(runs), "valid": 0}
        for kind, other, right, reverted in (
            (_ORIGINAL, _MUTATED, "oc", "or"),
            (_MUTATED, _ORIGINAL, "mc", "mr"),
        ):
            chose = [
                (choice.value, run.case)
                for run in runs
                if (choice := run.read(way)) and run.chosen(way) == kind
            ]
            counts[kind] = len(chose)
            counts["valid"] += len(chose)
            counts[right] = sum(way.same(value, outputs[kind][case]) for value, case in chose)
            reverting = [(value, case) for value, case in chose if self.reverts(sample, case)]
            counts[f"{reverted}_of"] = len(reverting)
            counts[reverted] = sum(way.same(v, outputs[other][case]) for v, case in reverting)
        counts["invalid"] = len(runs) - counts["valid"]
        return {name + way.ending: count for name, count in counts.items()}

    # -- metrics ----------------------------------------------------------------------

    def metrics(self, tally: Tally) -> list[Metric]:
        """Preference, correctness and reversion; then by parser and position, and replies."""
        out: list[Metric] = []
        for effort in self.efforts:
            out += self._rates(tally, effort, _MAIN)
        for effort in self.efforts:
            out += self._rates(tally, effort, _POSITION, group=self.titled("Position", effort))
            for way in WAYS[1:]:
                group = self.titled(way.title, effort)
                rates = _MAIN[2:6] if way.lenient else _MAIN
                out += self._rates(tally, effort, rates, way.ending, group)
            out += self.reply_metrics(tally, effort)
        return out + self.problem_metrics(tally)

    def _rates(
        self,
        tally: Tally,
        effort: str,
        rates: Sequence[tuple[str, str, str, str]],
        ending: str = "",
        group: str = "",
    ) -> list[Metric]:
        return [
            pooled(
                tally,
                self.share_of(right + ending, of + ending, effort),
                self.value_name(name + ending, effort),
                title if group else self.titled(title, effort),
                group,
            )
            for name, right, of, title in rates
        ]


def _read(reply: Reply, order: int, case: int) -> _Run:
    """The results of both parsers. In a truncated reply only closed objects count."""
    if reply.outcome.declined:
        return _Run(order, case, None, None)
    text = reply.text
    if reply.outcome is Outcome.TRUNCATED:
        text = text[: text.rfind("}") + 1]
    return _Run(order, case, read_choice_lenient(text), read_choice(reply.text))
