"""Samples asked and scored by another system, with its scores.

Runs of it are created by ``evalbench import``; no model can be asked. The scores come from the
other system's scorer, which is treated as a judge: its reply is a JSON object with ``values``,
numbers by name, and what it parsed and why. So a run shows and stores both, and re-scores to the
same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from evalbench.engine.benchmark import Ask, Benchmark, DataSet, DataSource, Sample, Score
from evalbench.engine.calls import Outcome, generate
from evalbench.engine.calls.options import setting
from evalbench.engine.errors import DataError
from evalbench.engine.scoring import metrics
from evalbench.engine.scoring.tally import Metric, Tally

STEP = "score"
TAGS = ("task", "subject", "category", "topic", "difficulty", "level", "domain", "language")
"""The tags used for grouping, if the other system provides them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedOptions:
    """Options of :class:`Recorded`."""

    task: str = setting("", "name of the task in the other tool")
    scores: tuple[str, ...] = setting((), "names of the scores, headline first")


class Recorded(Benchmark):
    """Results from a system that has no benchmark here."""

    name = "recorded"
    version = "1"
    title = "Results of another system"
    summary = "samples, replies and scores as an inspect or lm-evaluation-harness log has them"
    data_source = "a log that evalbench import takes over"
    takes_data = False
    roles = ("candidate", "judge")
    opt = RecordedOptions()

    def prepare(self, source: DataSource) -> DataSet:
        """Always refuse: there are only samples that were scored elsewhere.

        Raises:
            DataError: always.
        """
        raise DataError(
            "results of another system cannot be asked again here",
            hint="evalbench import inspect LOG, or: evalbench import lm-eval SAMPLES",
        )

    def needs_judge(self) -> bool:
        """No judge need be given: an import brings its own."""
        return False

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """The recorded answer, and every scorer's result for it."""
        question = str(sample.inputs.get("question") or "") or orjson.dumps(sample.inputs).decode()
        await ask("candidate", generate(question))
        values: dict[str, float] = {}
        parsed: dict[str, Any] = {}
        notes = []
        for role in self.judges:
            reply = await ask(role, generate(f"Score the answer to: {question}"), step=STEP)
            scores = given_by(reply.text)
            values |= {name: float(value) for name, value in scores.get("values", {}).items()}
            parsed[role.rpartition("/")[2]] = scores.get("answer")
            if scores.get("explanation"):
                notes.append(str(scores["explanation"]))
        # Samples that no scorer has seen are not unread.
        outcome = Outcome.OK if values or not self.judges else Outcome.UNPARSED
        return Score(outcome, values, parsed, "; ".join(notes))

    def metrics(self, tally: Tally) -> list[Metric]:
        """The mean of every score, and of the first score by tag."""
        recorded = {name for row in tally for name in row.values}
        names = list(self.opt.scores) or sorted(recorded)
        out = [_mean(tally, name, name, name) for name in names]
        if not names:
            return out
        tagged = {tag for row in tally for tag in row.tags}
        for tag in TAGS:
            if tag in tagged:
                out += metrics.table(
                    tally,
                    tag,
                    names[0],
                    lambda part, name, title, tag=tag: _mean(  # type: ignore[misc]
                        part, names[0], name, title, f"By {tag}"
                    ),
                )
        return out


def given_by(text: str) -> Mapping[str, Any]:
    """A scorer's result, from the reply that represents it; empty if it is not one."""
    try:
        scores = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return scores if isinstance(scores, dict) else {}


def _mean(tally: Tally, value: str, name: str, title: str, group: str = "") -> Metric:
    """A rate if all values are 0 or 1, else a mean."""
    values = {row.values[value] for row in tally if value in row.values}
    if values <= {0.0, 1.0}:
        return metrics.rate(tally, value, name, title, group)
    scale = (0.0, 1.0) if all(0 <= one <= 1 for one in values) else None
    return metrics.mean(tally, value, name, title, group, scale=scale)
