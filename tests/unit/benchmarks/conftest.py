"""A model that answers from a list, and the work of custom files without a child process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from evalbench.engine.benchmarks.custom import child_work
from evalbench.engine.calls import Prompt, Reply
from evalbench.engine.limited_process import WorkFailed


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


class _WorkHere:
    """Does the work of patterns and templates in this process, as the child would but for limits.

    A child for each file costs more than all else in these tests. Those that are about it ask for
    ``in_a_child``.
    """

    def results(self, pieces: Sequence[Any]) -> Iterator[Any]:
        yield from map(self._done, pieces)

    async def result(self, piece: Any) -> Any:
        return self._done(piece)

    def close(self) -> None:
        pass

    def _done(self, piece: Any) -> Any:
        kind, source, given = json.loads(json.dumps(piece, default=str))
        try:
            return json.loads(json.dumps(child_work._done((kind, source, given))))
        except Exception as error:
            raise WorkFailed(f"{type(error).__name__}: {error}") from None


@pytest.fixture
def in_a_child() -> None:
    """Custom files have the child process that they have in use."""


@pytest.fixture(autouse=True)
def _work_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "in_a_child" not in request.fixturenames:
        monkeypatch.setattr(child_work, "process", _WorkHere)
