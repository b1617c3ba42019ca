"""A provider for the README's pictures: it knows most answers to the quickstart questions.

Installed as a plug-in by ``PYTHONPATH=docs/plugins``, so a detached engine finds it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from evalbench.engine.benchmarks import quickstart
from evalbench.engine.calls import (
    Call,
    Capabilities,
    ModelInfo,
    Outcome,
    Provider,
    Reply,
    Usage,
)

_KNOWS = {"large": 88, "small": 61}
"""Of a hundred questions, how many a model answers right."""

_WRONG = {"Yes": "No", "No": "Yes", "A": "C", "B": "D", "C": "A", "D": "B"}
_WAYS = ("{}", "{}", "{}.", "The answer is {}.", "{}")


class Demo(Provider):
    """Answers by what lies beside the questions; what it does not know is drawn by their hash."""

    name: ClassVar[str] = "demo"
    title: ClassVar[str] = "Answers for pictures"

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        self._latency = float(os.environ.get("DEMO_LATENCY", "0"))
        lines = quickstart._QUESTIONS.read_text("utf-8").splitlines()[1:]
        self._answers = {
            (row["question"], row.get("code", "")): row["answer"] for row in map(json.loads, lines)
        }

    def capabilities(self, model: str) -> Capabilities:
        """It writes."""
        return Capabilities(generate=True, reason="it only writes")

    def check_model(self, model: str) -> None:
        """Any will do."""

    async def models(self) -> Sequence[ModelInfo]:
        """Two."""
        return [ModelInfo(name, name.title(), 128_000) for name in _KNOWS]

    async def check_key(self) -> str:
        """There is none."""
        return "no key is needed"

    async def answer(self, call: Call) -> Reply:
        """After a while, that of the file or another."""
        text = call.prompt.messages[-1].text
        draw = int.from_bytes(hashlib.sha256(f"{call.model} {text}".encode()).digest()[:4], "big")
        await asyncio.sleep(self._latency * (0.5 + draw % 100 / 100))
        said, outcome = self._say(call.model.name, text, draw)
        usage = Usage(input_tokens=len(text) // 4 + 9, output_tokens=len(said) // 4 + 1)
        return Reply(said, outcome, stop_reason="stop", usage=usage, provider_model=call.model.name)

    def _say(self, model: str, text: str, draw: int) -> tuple[str, Outcome]:
        if draw % 97 == 0:
            return "I would rather not say.", Outcome.REFUSED
        right = next(
            answer
            for (question, code), answer in self._answers.items()
            if text.startswith(question) and code in text
        )
        if draw // 100 % 100 >= _KNOWS[model]:
            right = _WRONG.get(right, "I am not sure." if draw % 3 else "7")
        return _WAYS[draw % len(_WAYS)].format(right), Outcome.OK

    async def close(self) -> None:
        """Nothing is held."""
