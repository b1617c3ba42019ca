"""Tries a user-defined benchmark without a model: its first prompts, and the score of a reply."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from evalbench.engine.benchmark import DataSource, Sample, Score, SequentialAsk, sample_ids
from evalbench.engine.benchmarks.custom.benchmark import Custom
from evalbench.engine.calls import Outcome, Prompt, Reply
from evalbench.engine.calls.options import parse_options
from evalbench.engine.errors import UsageError
from evalbench.engine.paths import cache_dir

_SAMPLES = 20


class Trial:
    """The first samples of a file, for scoring replies."""

    def __init__(self, file: Path) -> None:
        """Read a file and its first samples.

        Raises:
            DataError: they are invalid.
        """
        options = parse_options(Custom.options, {"file": str(file)}, "custom")
        found = Custom(options).prepare(DataSource(None, cache_dir() / "downloads"))
        self.samples: Sequence[Sample] = list(islice(sample_ids(found.items), _SAMPLES))
        self._benchmark = Custom(options, shared=found.shared)
        self._benchmark.judges = ("judge",)

    async def score(self, number: int, reply: str) -> Score:
        """The score of a reply to sample ``number``, from 1.

        Raises:
            UsageError: there is no such sample, or it needs a judge.
        """
        if not 1 <= number <= len(self.samples):
            raise UsageError(
                f"there is no sample {number}", why=f"1 to {len(self.samples)} are read"
            )
        return await self._benchmark.solve(self.samples[number - 1], _Given(reply))


class _Given(SequentialAsk):
    """An ``ask`` that always returns the same reply."""

    def __init__(self, reply: str) -> None:
        self._reply = Reply(reply, outcome=Outcome.OK)

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        if role != "candidate":
            raise UsageError("only a judge can score this reply")
        if prompt.kind == "choose":
            raise UsageError("this file scores log-likelihoods, and no replies")
        return self._reply
