"""``answers/NAME``: a contestant whose answers already exist. It is never called."""

from __future__ import annotations

from typing import ClassVar

from evalbench.engine.calls import Call, Capabilities, Provider, Reply
from evalbench.engine.errors import CallRejected


class Answers(Provider):
    """Stands for the contestants of a run whose answers are given."""

    name: ClassVar[str] = "answers"
    title: ClassVar[str] = "Answers that exist already"
    free: ClassVar[bool] = True

    def capabilities(self, model: str) -> Capabilities:
        """None: it cannot be called."""
        return Capabilities(
            generate=False, reason="these are answers that exist already, of no model to be asked"
        )

    async def answer(self, call: Call) -> Reply:
        """Never called by a benchmark that already has its answers."""
        raise CallRejected(f"{call.model} stands for answers that exist; it cannot be asked")
