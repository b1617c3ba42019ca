"""Finished runs for tests of reports."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from evalbench.engine.benchmark import Item, Sample
from evalbench.engine.benchmarks.mmlu.subjects import SUBJECTS
from evalbench.engine.calls import Call, Outcome, Reply, Usage, generate
from evalbench.engine.config.spec import build_benchmark, make_spec
from evalbench.engine.journal import CallKey, Journal
from evalbench.engine.journal.codec import quotable
from evalbench.engine.journal.reader import tally_of
from evalbench.engine.runs.folder import RunFolder, make_run
from evalbench.engine.runs.status import State, metrics_json
from tests.finished import finished
from tests.pretending import PretendEngine

KEY = "sk-ant-api03-PLANTEDplantedPLANTED0123456789"

HOSTILE = (
    "</pre></style><script src=http://evil.example/x.js>alert(1)</script>"
    '<img src=x onerror="alert(2)"><svg onload=alert(3)>&lt;b&gt; {{ 7*7 }} {% raw %}'
    "\x1b]0;owned\x07\x9b31m\x1b[2J\u202e```\n| a | b |\n# head\n[link](http://evil.example)"
    f" $x^2$ {KEY}"
)
"""What a model may say."""


def mmlu_run(
    said: Sequence[str | None], model: str = "openai/gpt-4.1", tag: str = "anatomy", **common: Any
) -> RunFolder:
    """A run of MMLU, a question for each reply; B is right, ``refused`` a refusal, None fails."""
    items = [
        Item(
            {"question": f"How much is {n}?", "choices": ["zero", "one", "two", "three"]},
            1,
            {"subject": tag if n % 2 else "law", "category": "STEM"},
        )
        for n in range(len(said))
    ]

    def say(sample: Sample, epoch: int, *_: object) -> Reply | None:
        text = said[int(sample.inputs["question"].split()[3][:-1])]
        outcome = Outcome.REFUSED if text == "refused" else Outcome.OK
        return None if text is None else Reply(text, outcome, usage=Usage(10, 3))

    return finished(make_spec("mmlu", model, options={"family": "chat"}, **common), items, say)


def mt_bench_run(text: str = "fine", up: int = 0) -> RunFolder:
    """A run of MT-bench with two judges; ``up`` is added to some of the ratings."""
    items = [
        Item(
            {"question_id": 81 + n, "turns": [f"first {n}", f"second {n}"]},
            None,
            {"category": "writing" if n % 2 else "math"},
        )
        for n in range(6)
    ]

    def say(sample: Sample, epoch: int, role: str, step: str, repeat: int) -> Reply:
        if role == "candidate":
            return Reply(f"{text} {step}", latency_s=1.5, usage=Usage(5, 7))
        number = int(sample.inputs["question_id"]) - 81
        rating = 1 + (number + int(step[-1]) + (up if number % 2 else 0)) % 9
        return Reply(f"{text} Rating: [[{rating}]]")

    judges = ["openai/gpt-4.1", "openai/gpt-4.1-mini"]
    return finished(make_spec("mt-bench", "openai/gpt-4.1-nano", judge=judges), items, say)


async def large_run(count: int) -> RunFolder:
    """A complete run of MMLU with as many questions, 57 subjects, and replies of some length."""
    spec = make_spec("mmlu", "openai/gpt-4.1", options={"family": "chat"})
    engine = PretendEngine(make_run(spec, total=count))
    benchmark = build_benchmark(spec)
    subjects = list(SUBJECTS)
    journal = Journal(engine.folder.journal)
    key = CallKey(0, "candidate", spec.model, "answer", 0)
    for row in range(1, count + 1):
        subject = subjects[row * len(subjects) // (count + 1)]
        tags = {"subject": subject, "category": SUBJECTS[subject].category}
        question = f"Question {row}: which of these holds for the number {row}? " * 4
        inputs = {"question": question, "choices": [f"choice {row} {n}" for n in range(4)]}
        sample = Sample(f"{row:016x}.1", inputs, row % 4, tags)
        journal.add_samples([(row, sample)])
        call = Call(spec.candidate, generate(question))
        journal.intend(row, key, 0, call, call.content_hash, quotable(sample))
        read = "ABCD"[row * row % 4]
        journal.store_reply(row, key, 0, Reply(f"{row}. Let us think about it. " * 20 + read))
        outcome = Outcome.UNPARSED if row % 50 == 0 else Outcome.OK
        right = outcome is Outcome.OK and row * row % 4 == row % 4
        values = dict.fromkeys(("accuracy", "accuracy_first", "accuracy_strict"), float(right))
        journal.store_score(row, 0, tags, outcome, values, {"parsed": {"letter-lenient/12": read}})
        if row % 500 == 0:
            journal.flush()
            await asyncio.sleep(0)
    journal.flush()
    tally = journal.query(partial(tally_of, path=journal.path))
    metrics = metrics_json(benchmark.metrics(tally))
    journal.set(metrics=metrics, outcomes=tally.outcomes(), state=State.COMPLETE)
    await journal.close()
    engine.status(
        State.COMPLETE, done=count, outcomes=tally.outcomes(), seconds=93.0,
        metrics={name: held for name, held in metrics.items() if not held["group"]},
    )  # fmt: skip
    return engine.folder
