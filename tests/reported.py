"""Finished runs for tests of reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalbench.engine.benchmark import Item, Sample
from evalbench.engine.calls import Outcome, Reply, Usage
from evalbench.engine.runfolder import RunFolder
from evalbench.engine.settings import make_spec
from tests.finished import finished

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
