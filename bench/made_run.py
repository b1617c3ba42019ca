"""A finished run of any length, written by the engine's own journal writer: no model, no engine.

``make(parent, size)`` makes questions of four choices in 57 subjects and 5
categories, one call each, with replies of about 0.8 KB as providers send them.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import (
    Call,
    ModelRef,
    Outcome,
    ParamNote,
    Prompt,
    Reply,
    TextPart,
    Usage,
    generate,
    user,
)
from evalbench.engine.config.spec import make_spec
from evalbench.engine.journal import CallKey, Journal
from evalbench.engine.journal.codec import quotable
from evalbench.engine.journal.schema import create
from evalbench.engine.runs.folder import RunFolder, make_run
from evalbench.engine.runs.status import State, metrics_json
from evalbench.engine.scoring.tally import Metric

MODEL = ModelRef("scripted", "good")
LETTERS = "ABCD"
_CATEGORIES = ("humanities", "medicine", "natural sciences", "other", "social sciences")
_TURN = 2000
"""Samples stored between two commits."""


class Maker:
    """Makes samples, prompts and replies from a seed."""

    def __init__(self, seed: int = 7) -> None:
        self._draw = random.Random(seed)
        self._words = [
            "".join(self._draw.choices("etaoinshrdlucmfwypvbgk", k=self._draw.randint(2, 9)))
            for _ in range(4000)
        ]

    def text(self, low: int, high: int) -> str:
        return " ".join(self._draw.choices(self._words, k=self._draw.randint(low, high)))

    def sample(self, number: int) -> Sample:
        subject = self._draw.randrange(57)
        return Sample(
            hashlib.sha256(str(number).encode()).hexdigest()[:16] + ".1",
            {"question": self.text(10, 60) + "?", "choices": [self.text(1, 9) for _ in LETTERS]},
            self._draw.randrange(4),
            {"subject": f"subject {subject:02}", "category": _CATEGORIES[subject % 5]},
        )

    def prompt(self, sample: Sample) -> Prompt:
        choices = "\n".join(
            f"{letter}. {text}"
            for letter, text in zip(LETTERS, sample.inputs["choices"], strict=True)
        )
        head = f"A question about {sample.tags['subject']}. Answer with one letter.\n\n"
        turn = user(
            [TextPart(head, shared=True), f"{sample.inputs['question']}\n{choices}\nAnswer:"]
        )
        return generate([turn], max_tokens=16, temperature=0.0)

    def answer(self, sample: Sample) -> tuple[Reply, Outcome, str | None]:
        """A reply, its sample's outcome and the letter read: 70 % right, 3 % unread, some odd."""
        chance = self._draw.random()
        letter = LETTERS[sample.gold] if chance < 0.7 else self._draw.choice(LETTERS)
        number = self._draw.getrandbits(64)
        if chance > 0.999:
            return Reply(outcome=Outcome.ERROR, error="Overloaded: 529"), Outcome.ERROR, None
        if chance > 0.99:
            return Reply("I cannot help with that.", Outcome.REFUSED), Outcome.REFUSED, None
        read = None if chance > 0.97 else letter
        text = f"The answer is {read}: {self.text(3, 12)}." if read else self.text(10, 30)
        body = {
            "id": f"chatcmpl-{number:016x}",
            "object": "chat.completion",
            "created": 1_790_000_000 + number % 86_400,
            "model": "good-2026-11-01",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 150, "completion_tokens": 20, "total_tokens": 170},
            "system_fingerprint": "fp_44709d6fcb",
        }
        reply = Reply(
            text,
            stop_reason="stop",
            usage=Usage(150, 20, cache_read_tokens=0, reasoning_tokens=0),
            latency_s=round(self._draw.uniform(0.2, 2.0), 3),
            provider_model="good-2026-11-01",
            request_id=f"req_{number:016x}",
            params=(ParamNote("max_tokens", "sent"), ParamNote("temperature", "sent")),
            raw=body,
            cost=Decimal("0.000123"),
        )
        return reply, Outcome.OK if read else Outcome.UNPARSED, read


def make(parent: Path, size: int, seed: int = 7) -> RunFolder:
    """Make a complete run of ``size`` samples below ``parent``, whose ids no ``seed`` changes."""
    spec = make_spec("mmlu", str(MODEL), options={"family": "chat"})
    folder = make_run(spec, parent, total=size)
    create(folder.journal)
    outcomes, right = asyncio.run(_fill(folder.journal, size, seed))
    failed = outcomes["error"]
    scored = size - failed
    metric = Metric("accuracy", right / scored, k=right, n=scored, title="Accuracy")
    folder.write_status(
        replace(
            folder.status(),
            state=State.COMPLETE,
            exit_code=2 if failed else 0,
            done=size,
            failed=failed,
            outcomes=outcomes,
            metrics=metrics_json([metric]),
        )
    )
    return folder


async def _fill(path: Path, size: int, seed: int) -> tuple[dict[str, int], int]:
    journal, maker = Journal(path), Maker(seed)
    key = CallKey(0, "candidate", str(MODEL), "answer", 0)
    outcomes, right = {outcome.value: 0 for outcome in Outcome}, 0
    journal.set(created=time.time())
    for row in range(1, size + 1):
        sample = maker.sample(row)
        journal.add_samples([(row, sample)])
        call = Call(MODEL, maker.prompt(sample))
        journal.intend(row, key, 0, call, call.content_hash, quotable(sample))
        reply, outcome, read = maker.answer(sample)
        journal.store_reply(row, key, 0, reply)
        outcomes[outcome.value] += 1
        if outcome is Outcome.ERROR:
            journal.store_score(row, 0, sample.tags, outcome, {}, {"error": reply.error})
        else:
            is_right = read == LETTERS[sample.gold]
            right += is_right
            journal.store_score(
                row,
                0,
                sample.tags,
                outcome,
                {"accuracy": float(is_right), "accuracy_faithful": float(is_right)},
                {"parsed": {"lenient/2": read, "faithful/1": read}},
            )
        if row % _TURN == 0:
            journal.flush()
    journal.set(metrics={"accuracy": {"value": right / size, "k": right, "n": size}})
    await journal.close()
    return outcomes, right
