"""``answers/NAME``: whose answers exist already. It is never asked anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from evalbench.engine.calls import Call, Capabilities, ModelInfo, Reply
from evalbench.engine.calls.options import Option
from evalbench.engine.errors import CallRejected


class Answers:
    """Stands for the contestants of a run whose answers are given."""

    name: ClassVar[str] = "answers"
    title: ClassVar[str] = "Answers that exist already"
    options: ClassVar[tuple[Option, ...]] = ()
    key: ClassVar[None] = None

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        """Nothing to set."""

    def capabilities(self, model: str) -> Capabilities:
        """None: it cannot be asked."""
        return Capabilities(
            generate=False, reason="these are answers that exist already, of no model to be asked"
        )

    def check_model(self, model: str) -> None:
        """Any name will do."""

    async def models(self) -> Sequence[ModelInfo]:
        """None."""
        return []

    async def check_key(self) -> str:
        """There is none to check."""
        return "answers take no key"

    async def answer(self, call: Call) -> Reply:
        """Never called by a benchmark that has its answers."""
        raise CallRejected(f"{call.model} stands for answers that exist; it cannot be asked")

    async def close(self) -> None:
        """Nothing is open."""
