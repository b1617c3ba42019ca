"""Samples that another system asked and scored, with the scores that it gave.

Runs of it are made by ``evalbench import``; nobody can be asked. The scores are
what the other system's scorer said: it stands as a judge, and what it gave is the
judge's reply, a JSON object with ``values``, numbers by name, and what it read
and why. So a run shows and keeps both, and scores anew to the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from evalbench.engine.benchmark import Ask, Benchmark, DataSet, DataSource, Sample, Score
from evalbench.engine.calls import Outcome, generate
from evalbench.engine.calls.options import Option
from evalbench.engine.errors import DataError
from evalbench.engine.scoring import metrics
from evalbench.engine.scoring.tally import Metric, Tally

STEP = "score"
TAGS = ("task", "subject", "category", "topic", "difficulty", "level", "domain", "language")
"""What groups are made by, where the other system knows it."""


class Recorded(Benchmark):
    """Results of a system that has no benchmark here."""

    name = "recorded"
    version = "1"
    title = "Results of another system"
    summary = "samples, replies and scores as an inspect or lm-evaluation-harness log has them"
    data_source = "a log that evalbench import takes over"
    takes_data = False
    roles = ("candidate", "judge")
    options = (
        Option("task", str, "", "name of the task in the other tool"),
        Option("scores", str, (), "names of the scores, headline first", many=True),
    )

    def prepare(self, source: DataSource) -> DataSet:
        """Refuse: there are only samples that were scored elsewhere.

        Raises:
            DataError: always.
        """
        raise DataError(
            "results of another system cannot be asked again here",
            hint="evalbench import inspect LOG, or: evalbench import lm-eval SAMPLES",
        )

    def needs_judge(self) -> bool:
        """None need be named: an import brings its own."""
        return False

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """What was answered, and what every scorer gave for it."""
        question = str(sample.inputs.get("question") or "") or orjson.dumps(sample.inputs).decode()
        await ask("candidate", generate(question))
        values: dict[str, float] = {}
        parsed: dict[str, Any] = {}
        notes = []
        for role in self.judges:
            said = await ask(role, generate(f"Score the answer to: {question}"), step=STEP)
            told = given_by(said.text)
            values |= {name: float(value) for name, value in told.get("values", {}).items()}
            parsed[role.rpartition("/")[2]] = told.get("answer")
            if told.get("explanation"):
                notes.append(str(told["explanation"]))
        outcome = Outcome.OK if values else Outcome.UNPARSED
        return Score(outcome, values, parsed, "; ".join(notes))

    def metrics(self, tally: Tally) -> list[Metric]:
        """The mean of every score, and of the first by tag."""
        held = {name for row in tally for name in row.values}
        names = list(self.opt["scores"]) or sorted(held)
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
    """What a scorer gave, out of the reply that stands for it; empty where it is none."""
    try:
        told = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return told if isinstance(told, dict) else {}


def _mean(tally: Tally, value: str, name: str, title: str, group: str = "") -> Metric:
    """A rate where all values are 0 or 1, else a mean."""
    values = {row.values[value] for row in tally if value in row.values}
    if values <= {0.0, 1.0}:
        return metrics.rate(tally, value, name, title, group)
    scale = (0.0, 1.0) if all(0 <= one <= 1 for one in values) else None
    return metrics.mean(tally, value, name, title, group, scale=scale)
