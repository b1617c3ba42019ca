"""code-prediction: what does a program return, and what does its mutant?"""

from __future__ import annotations

import re
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
from evalbench.engine.benchmarks.code_reasoning.lenient import (
    PREDICTION_LENIENT,
    read_prediction_lenient,
)
from evalbench.engine.benchmarks.code_reasoning.parsers import PREDICTION, read_prediction
from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.calls.options import setting
from evalbench.engine.compat import override
from evalbench.engine.scoring.pooled import Counts, pooled
from evalbench.engine.scoring.statistics import pass_at_k
from evalbench.engine.scoring.tally import Metric, Tally

_MUTANT_SEED = 500
_KS = (1, 2, 5, 10, 20, 50, 100)
_CLOSED = re.compile(r"[\[<]\s?/\s?answer\s?[\]>]", re.IGNORECASE)

_MAIN = {
    "oc": "Original predicted right (OC)",
    "mc": "Mutant predicted right (MC)",
    "or": "Original predicted as the mutant's output (OR)",
    "mr": "Mutant predicted as the original's output (MR)",
}
_PROGRAMS = {"original": ("oc", "or"), "mutated": ("mc", "mr")}
"""Programs with the value names for a correct answer and for the other program's output."""
_TABLES = (
    ("difficulty", "difficulty", ("oc", "mc", "mr")),
    ("mutation", "kind of mutant", ("mc", "mr")),
)

Read = tuple[str | None, str | None]
"""The results of the lenient and the faithful parser for one reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionOptions(CodeOptions):
    """Options of :class:`CodePrediction`."""

    include_missing_mutations: bool = setting(
        False, "include problems without a mutant; they count for OC only", affects_data=True
    )
    generations: int = setting(
        5, "answers per program, each with its own sampling seed", minimum=1, maximum=200
    )


class CodePrediction(CodeBenchmark):
    """Predict the output of a program, and that of a similar-looking mutant."""

    name = "code-prediction"
    version = "1"
    title = "Code execution prediction"
    summary = "What does a Python program return? And with one operator changed?"
    licence = "of the data that is given"
    opt = PredictionOptions()

    prompt_templates = code_prompts.PREDICTION_TEMPLATES

    @property
    @override
    def without_mutants(self) -> bool:
        return self.opt.include_missing_mutations

    def parsers(self) -> tuple[str, str]:
        """The parsers for assertions."""
        return PREDICTION_LENIENT, PREDICTION

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """Ask about every program, generation and test case, at every effort, all concurrently."""
        cases = len(sample.inputs["calls"])
        asked = [
            (effort, program, generation, case)
            for effort in self.efforts
            for program in self._programs(sample)
            for generation in range(self.opt.generations)
            for case in range(cases)
        ]
        given = await ask.many([self._question(sample, *one) for one in asked])
        replies = dict(zip(asked, given, strict=True))
        reads = {one: _read(reply) for one, reply in replies.items()}
        outcomes = {one: answer_outcome(reply, reads[one][0]) for one, reply in replies.items()}
        values = {"reverts": float(self.reverts(sample))}
        parsed: dict[str, Any] = {PREDICTION_LENIENT: {}, PREDICTION: {}}
        for effort in self.efforts:
            for program in self._programs(sample):
                runs = [
                    [reads[effort, program, generation, case] for case in range(cases)]
                    for generation in range(self.opt.generations)
                ]
                values |= self._graded(sample, effort, program, runs)
                for place, parser in enumerate(parsed):
                    texts = [[shown(read[place]) for read in run] for run in runs]
                    parsed[parser][self.value_name(program, effort)] = (
                        texts if cases > 1 else [run[0] for run in texts]
                    )
            own = [one for one in asked if one[0] == effort]
            values |= self.reply_values(
                effort, [replies[one] for one in own], [outcomes[one] for one in own]
            )
        return Score(overall(list(outcomes.values())), values, parsed)

    def _programs(self, sample: Sample) -> tuple[str, ...]:
        return ("original",) if sample.inputs["mutant"] is None else ("original", "mutated")

    def _question(
        self, sample: Sample, effort: str, program: str, generation: int, case: int
    ) -> Asked:
        code = sample.inputs["code" if program == "original" else "mutant"]
        if self.own_templates:
            values = {"program": code, "call": sample.inputs["calls"][case], "effort": effort}
            messages = code_prompts.by_template(self.own_templates["prediction"], values)
        else:
            messages = code_prompts.predict(effort, code, sample.inputs["calls"][case])
        offset = generation + (_MUTANT_SEED if program == "mutated" else 0)
        step = program if len(sample.inputs["calls"]) == 1 else f"{program}, case {case + 1}"
        prompt = self.prompt(sample, messages, offset)
        return "candidate", prompt, self.value_name(step, effort), generation

    def _graded(
        self, sample: Sample, effort: str, program: str, runs: Sequence[Sequence[Read]]
    ) -> dict[str, float]:
        """Shares of generations that are correct, or revert, in all their test cases."""
        right, reverted = _PROGRAMS[program]
        targets = {right: sample.gold[program]}
        if self.reverts(sample):
            targets[reverted] = sample.gold["mutated" if program == "original" else "original"]
        values = {
            name + way.ending: _share([_agrees(run, outputs, way) for run in runs])
            for name, outputs in targets.items()
            for way in WAYS
        }
        values[right + "_read"] = _share([all(read[0] is not None for read in run) for run in runs])
        return {self.value_name(name, effort): value for name, value in values.items()}

    # -- metrics ----------------------------------------------------------------------

    def metrics(self, tally: Tally) -> list[Metric]:
        """OC, MC, OR and MR; then by parser, pass@k, by tag, and what was left out."""
        out = [
            pooled(
                tally,
                self._generations(name, effort),
                self.value_name(name, effort),
                self.titled(title, effort),
            )
            for effort in self.efforts
            for name, title in _MAIN.items()
        ]
        for effort in self.efforts:
            out += self._by_reading(tally, effort)
            out += self._pass_at(tally, effort)
            out += self.reply_metrics(tally, effort)
        if not self.comparing:
            out += self._by_tag(tally)
        return out + self.problem_metrics(tally)

    def _generations(self, name: str, effort: str, of: str = "") -> Counts:
        """A share of generations as counts: of all, or of those counted by ``of``."""
        every = self.opt.generations
        value, whole = self.value_name(name, effort), self.value_name(of, effort)

        def counts(values: Mapping[str, float]) -> tuple[float, float]:
            if value not in values:
                return 0.0, 0.0
            return values[value] * every, (values[whole] if of else 1) * every

        return counts

    def _by_reading(self, tally: Tally, effort: str) -> list[Metric]:
        out = [
            pooled(
                tally,
                self._generations(name + way.ending, effort),
                self.value_name(name + way.ending, effort),
                title,
                self.titled(way.title, effort),
            )
            for way in WAYS[1:]
            for name, title in _MAIN.items()
        ]
        group = self.titled("Among generations whose answers could all be read", effort)
        out += [
            pooled(
                tally,
                self._generations(name, effort, name + "_read"),
                self.value_name(name + "_read", effort),
                _MAIN[name],
                group,
            )
            for name in ("oc", "mc")
        ]
        return out

    def _pass_at(self, tally: Tally, effort: str) -> list[Metric]:
        """Unbiased pass@k: the mean over problems, with their answers as the denominator."""
        n = self.opt.generations

        def passed(name: str, k: int) -> Counts:
            value = self.value_name(name, effort)

            def counts(values: Mapping[str, float]) -> tuple[float, float]:
                if value not in values:
                    return 0.0, 0.0
                return pass_at_k(n, round(values[value] * n), k), 1.0

            return counts

        group = self.titled("At least one of k generations right (pass@k)", effort)
        return [
            pooled(
                tally,
                passed(name, k),
                self.value_name(f"{name}_pass_at_{k}", effort),
                f"{_MAIN[name]}, k = {k}",
                group,
            )
            for name in ("oc", "mc")
            for k in sorted({k for k in _KS if k <= n} | {n})
        ]

    def _by_tag(self, tally: Tally) -> list[Metric]:
        effort = self.efforts[0]
        tagged = {tag for row in tally for tag in row.tags}
        return [
            pooled(
                part,
                self._generations(name, effort),
                f"{name}/{tag}={value}",
                value,
                f"{_MAIN[name]}, by {word}",
            )
            for tag, word, names in _TABLES
            if tag in tagged
            for name in names
            for value, part in tally.groups(tag).items()
        ]


def _read(reply: Reply) -> Read:
    """The results of both parsers. In a truncated reply only closed answers count.

    The rest may be a value that ends too early.
    """
    if reply.outcome.declined:
        return None, None
    text = reply.text
    if reply.outcome is Outcome.TRUNCATED:
        ends = [found.end() for found in _CLOSED.finditer(text)]
        text = text[: ends[-1]] if ends else ""
    return read_prediction_lenient(text), read_prediction(reply.text)


def _agrees(run: Sequence[Read], outputs: Sequence[str], way: Way) -> bool:
    """Whether the answers of one generation match these outputs, in all test cases."""
    answers = (read[0] if way.lenient else read[1] for read in run)
    return all(
        answer is not None and way.same(answer, output)
        for answer, output in zip(answers, outputs, strict=True)
    )


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits)
