"""A benchmark of real questions and a provider that answers at once, for measuring the engine.

Installed as a plug-in by ``PYTHONPATH=bench/plugins``, so a detached engine finds them.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from evalbench.engine.benchmark import (
    Ask,
    Benchmark,
    DataSet,
    DataSource,
    Item,
    Sample,
    Score,
    answer_outcome,
)
from evalbench.engine.calls import (
    Call,
    Capabilities,
    ModelInfo,
    ParamNote,
    Prompt,
    Provider,
    Reply,
    TextPart,
    Usage,
    generate,
    user,
)
from evalbench.engine.calls.options import Option
from evalbench.engine.scoring.tally import Metric, Tally

_LETTERS = "ABCD"


class Questions(Benchmark):
    """Multiple-choice questions, one generating call each, until there are ``size`` of them."""

    name = "questions"
    version = "1"
    title = "Questions"
    summary = "Multiple-choice questions in one call each"
    options: ClassVar[tuple[Option, ...]] = (
        Option("size", int, 10_000, "how many samples", minimum=1, affects_data=True),
    )

    def prepare(self, source: DataSource) -> DataSet:
        rows = _read(source.path) if source.path else _made()
        return DataSet(self._repeated(rows), origin=source.path.name if source.path else "made up")

    def _repeated(self, rows: list[Item]) -> Iterator[Item]:
        for number in range(self.opt["size"]):
            yield rows[number % len(rows)]

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        reply = await ask("candidate", prompt(sample))
        letter = reply.text.strip()[-1:]
        read = letter if letter in _LETTERS else None
        return Score(
            answer_outcome(reply, read),
            {"accuracy": float(read == _LETTERS[sample.gold])},
            {"letter": read},
        )

    def metrics(self, tally: Tally) -> list[Metric]:
        n, total, _, _ = tally.sums("accuracy")
        return [Metric("accuracy", total / n if n else None, k=total, n=n, title="accuracy")]


def prompt(sample: Sample) -> Prompt:
    """A question with its choices, after an instruction that its subject shares."""
    choices = "\n".join(
        f"{letter}. {text}" for letter, text in zip(_LETTERS, sample.inputs["choices"], strict=True)
    )
    subject = sample.tags["subject"].replace("_", " ")
    head = f"The following is a multiple choice question about {subject}. Answer with one letter."
    turn = user(
        [TextPart(head, shared=True), f"\n\n{sample.inputs['question']}\n{choices}\nAnswer:"]
    )
    return generate([turn], max_tokens=16, temperature=0.0)


def _read(path: Path) -> list[Item]:
    import pandas as pd

    table = pd.read_parquet(path)
    return [
        Item(
            {"question": row["question"], "choices": list(row["choices"])},
            int(row["answer"]),
            {"subject": row["subject"]},
        )
        for row in table.to_dict("records")
    ]


def _made() -> list[Item]:
    draw = random.Random(7)
    words = [
        "".join(draw.choices("etaoinshrdlucmfwypvbgk", k=draw.randint(2, 9))) for _ in range(4000)
    ]

    def text(low: int, high: int) -> str:
        return " ".join(draw.choices(words, k=draw.randint(low, high)))

    return [
        Item(
            {"question": text(10, 90) + "?", "choices": [text(1, 14) for _ in _LETTERS]},
            draw.randrange(4),
            {"subject": f"subject_{draw.randrange(57)}"},
        )
        for _ in range(14_000)
    ]


class Instant(Provider):
    """Answers without waiting, in bodies as providers send them.

    ``body``: ``chat`` is about 0.8 KB, the shape of a chat completion that is
    one letter long; ``reasoning`` is about 3 KB, the shape of a response with a
    reasoning summary, whose sentences are drawn from questions asked before.
    """

    name: ClassVar[str] = "instant"
    title: ClassVar[str] = "Instant answers"
    key: ClassVar[None] = None
    options: ClassVar[tuple[Option, ...]] = (
        Option("body", str, "chat", "shape of the answers", choices=("chat", "reasoning")),
    )

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        self._make = self._chat if settings.get("body", "chat") == "chat" else self._reasoning
        self._draw = random.Random(11)
        self._sentences = ["The question asks which of the statements is true."]
        self._first_file = os.environ.get("BENCH_FIRST_REQUEST")

    def capabilities(self, model: str) -> Capabilities:
        return Capabilities()

    def check_model(self, model: str) -> None:
        return

    async def models(self) -> Sequence[ModelInfo]:
        return [ModelInfo("instant-1")]

    async def check_key(self) -> str:
        return "no key is needed"

    async def answer(self, call: Call) -> Reply:
        if self._first_file:
            self._note_first(self._first_file)
        return self._make(call)

    async def close(self) -> None:
        return

    def _note_first(self, file: str) -> None:
        Path(file).write_text(repr(time.time()))
        self._first_file = None

    def _id(self, characters: int) -> str:
        return f"{self._draw.getrandbits(4 * characters):0{characters}x}"

    def _chat(self, call: Call) -> Reply:
        letter = _LETTERS[self._draw.getrandbits(2)]
        prompt = len(call.prompt.messages[0].text) // 4 + self._draw.getrandbits(3)
        raw = {
            "id": "chatcmpl-" + self._id(29),
            "object": "chat.completion",
            "created": int(time.time()),
            "model": "instant-1-2026-07-18",
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": letter,
                        "refusal": None,
                        "annotations": [],
                    },
                    "logprobs": None,
                    "finish_reason": "stop",
                }
            ],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": 1,
                "total_tokens": prompt + 1,
                "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
                "completion_tokens_details": {
                    "reasoning_tokens": 0,
                    "audio_tokens": 0,
                    "accepted_prediction_tokens": 0,
                    "rejected_prediction_tokens": 0,
                },
            },
            "service_tier": "default",
            "system_fingerprint": "fp_34a54ae93c",
        }
        return Reply(
            letter,
            stop_reason="stop",
            usage=Usage(prompt, 1, 0, None, 0),
            latency_s=self._draw.random(),
            provider_model="instant-1-2026-07-18",
            request_id="req_" + self._id(32),
            params=_SENT,
            raw=raw,
        )

    def _reasoning(self, call: Call) -> Reply:
        asked = call.prompt.messages[0].text
        if len(self._sentences) < 20_000:
            self._sentences += [s for s in re.split(r"(?<=[.?!])\s+|\n", asked) if len(s) > 30]
        thought, length = [], 0
        while length < 1300:
            thought.append(self._draw.choice(self._sentences))
            length += len(thought[-1])
        reasoning = " ".join(thought)
        letter = _LETTERS[self._draw.getrandbits(2)]
        text = self._draw.choice(self._sentences) + f" The answer is {letter}"
        prompt, spent = len(asked) // 4, 300 + self._draw.getrandbits(9)
        raw = {
            "id": "resp_" + self._id(48),
            "object": "response",
            "created_at": int(time.time()),
            "status": "completed",
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "max_output_tokens": 2048,
            "max_tool_calls": None,
            "model": "instant-1-2026-07-18",
            "output": [
                {
                    "id": "rs_" + self._id(48),
                    "type": "reasoning",
                    "summary": [{"type": "summary_text", "text": reasoning}],
                },
                {
                    "id": "msg_" + self._id(48),
                    "type": "message",
                    "status": "completed",
                    "content": [
                        {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
                    ],
                    "role": "assistant",
                },
            ],
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "prompt_cache_key": None,
            "reasoning": {"effort": "medium", "summary": "detailed"},
            "safety_identifier": None,
            "service_tier": "default",
            "store": True,
            "temperature": 1.0,
            "text": {"format": {"type": "text"}, "verbosity": "medium"},
            "tool_choice": "auto",
            "tools": [],
            "top_logprobs": 0,
            "top_p": 1.0,
            "truncation": "disabled",
            "usage": {
                "input_tokens": prompt,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": spent + 40,
                "output_tokens_details": {"reasoning_tokens": spent},
                "total_tokens": prompt + spent + 40,
            },
            "user": None,
            "metadata": {},
        }
        return Reply(
            text,
            reasoning=reasoning,
            stop_reason="completed",
            usage=Usage(prompt, spent + 40, 0, None, spent),
            latency_s=self._draw.random(),
            provider_model="instant-1-2026-07-18",
            request_id="req_" + self._id(32),
            params=_SENT,
            raw=raw,
        )


_SENT = (ParamNote("max_tokens", "sent"), ParamNote("temperature", "sent"))
