"""A model for benchmark tests: it answers from a list and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from evalbench.engine.calls import Prompt, Reply


class FakeModel:
    """Gives ``replies`` in turn, the last one for ever; ``asked`` holds the prompts."""

    def __init__(self, *replies: Reply | str) -> None:
        self.replies = [Reply(text=r) if isinstance(r, str) else r for r in replies]
        self.asked: list[Prompt] = []

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0, reask: int = 0
    ) -> Reply:
        self.asked.append(prompt)
        return self.replies[min(len(self.asked), len(self.replies)) - 1]

    async def many(self, asks: Sequence[tuple[str, Prompt, str]]) -> list[Reply]:
        return [await self(role, prompt, step=step) for role, prompt, step in asks]


@pytest.fixture
def model() -> type[FakeModel]:
    """The class of fake models."""
    return FakeModel
