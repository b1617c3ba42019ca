"""A benchmark and a provider for tests, installed as a plug-in by PYTHONPATH.

They go through the same entry points as anybody's plug-in, so detached engine
processes find them too.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from evalbench.engine import errors
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
    Outcome,
    Provider,
    Reply,
    TextPart,
    Usage,
    assistant,
    generate,
    user,
)
from evalbench.engine.calls.options import Option, setting
from evalbench.engine.errors import DataError, NoSuchModel, nearest
from evalbench.engine.scoring.tally import Metric, Tally

_RUBRIC = os.environ.get(
    "SYNTHETIC_RUBRIC", "Answer the riddle with one letter and nothing else. " * 12
)
_GREETING = os.environ.get("SYNTHETIC_GREETING", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticOptions:
    """Options of :class:`Synthetic`."""

    size: int = setting(500, "how many samples", minimum=1, affects_data=True)
    wording: str = setting("riddle", "a word of the prompt")


class Synthetic(Benchmark):
    """Riddles with a letter as gold; ``size`` of them, in four groups.

    Preparing them takes ``SYNTHETIC_PREPARE_S`` seconds, by default none.
    ``SYNTHETIC_RUBRIC`` replaces the template of its prompts;
    ``SYNTHETIC_GREETING`` goes into them as well, but no template tells of it.
    """

    name = "synthetic"
    version = "1"
    title = "Synthetic riddles"
    summary = "Made-up one-call samples"
    licence = "CC0-1.0"
    opt = SyntheticOptions()
    spread_by = "group"
    filters: ClassVar[Mapping[str, str]] = {"group": "only this group"}

    def prepare(self, source: DataSource) -> DataSet:
        time.sleep(float(os.environ.get("SYNTHETIC_PREPARE_S", "0")))
        if source.path:
            return DataSet(self._rows(source.path), origin=source.path.name)
        return DataSet(self._made(), origin="made up")

    def _made(self) -> Iterator[Item]:
        for number in range(self.opt.size):
            words = hashlib.sha256(str(number).encode()).hexdigest()
            question = f"Riddle {number}: which letter hides in {words[:40]}?"
            yield Item({"question": question}, "ABCD"[int(words, 16) % 4], {"group": words[0]})

    def _rows(self, path: Path) -> Iterator[Item]:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            try:
                row = json.loads(line)
                yield Item({"question": row["question"]}, row["answer"], {"group": row["group"]})
            except (ValueError, KeyError) as error:
                raise DataError(
                    f"not a riddle: {type(error).__name__} {error}", path=str(path), line=number
                ) from None

    def templates(self) -> Any:
        return _RUBRIC

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        reply = await ask("candidate", generate([self.question(sample)], max_tokens=4))
        return self.grade(sample, reply)

    def question(self, sample: Sample) -> Any:
        text = f"{_GREETING}A {self.opt.wording}. {sample.inputs['question']}"
        return user([TextPart(_RUBRIC, shared=True), text])

    def grade(self, sample: Sample, reply: Reply) -> Score:
        letter = reply.text.strip() if reply.text.strip() in "ABCD" else None
        return Score(
            answer_outcome(reply, letter),
            {"accuracy": float(letter == sample.gold)},
            {"letter": letter},
        )

    def metrics(self, tally: Tally) -> list[Metric]:
        n, total, _, _ = tally.sums("accuracy")
        return [Metric("accuracy", total / n if n else None, k=total, n=n, title="accuracy")]


class TwoTurn(Synthetic):
    """Two dependent calls and two independent ones per sample."""

    name = "two-turn"
    title = "Two turns"

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        first = self.question(sample)
        one = await ask("candidate", generate([first], max_tokens=4), step="one")
        talk = [first, assistant(one.text), user("Are you sure?")]
        two = await ask("candidate", generate(talk, max_tokens=4), step="two")
        await ask.many(
            [("candidate", generate(f"{two.text}? {n}", max_tokens=4), f"extra{n}") for n in (1, 2)]
        )
        return self.grade(sample, one)


class Judged(Synthetic):
    """One answer, graded by every judge: the share of judges that say A or B."""

    name = "judged"
    title = "Judged riddles"
    roles = ("candidate", "judge")

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        answer = await ask("candidate", generate([self.question(sample)], max_tokens=4))
        grading = generate(f"Grade {answer.text} to {sample.inputs['question']}", max_tokens=8)
        verdicts = await ask.many([(judge, grading, "verdict") for judge in self.judges])
        likes = [verdict.text in ("A", "B") for verdict in verdicts]
        return Score(Outcome.OK, {"accuracy": sum(likes) / len(likes)})


class Scripted(Provider):
    """Answers by a hash of the question; keeps a ledger of every request.

    Model names: ``good``. Behaviour comes from the environment, so that
    resumed engines behave the same: ``SCRIPTED_LEDGER`` (a file: one line per
    request and per answer), ``SCRIPTED_LATENCY`` (seconds) and
    ``SCRIPTED_FAULT`` (JSON: error class, share of requests in percent, and
    the fields of the error). If ``SCRIPTED_CHOOSES`` is set, it gives log-likelihoods as well.
    """

    name: ClassVar[str] = "scripted"
    title: ClassVar[str] = "Scripted answers"
    options: ClassVar[tuple[Option, ...]] = (
        Option("mood", str, "plain", "how it answers", choices=("plain", "refusing", "mumbling")),
    )

    key: ClassVar[None] = None

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        self._mood = settings.get("mood", "plain")
        ledger = os.environ.get("SCRIPTED_LEDGER")
        self._ledger = os.open(ledger, os.O_CREAT | os.O_APPEND | os.O_WRONLY) if ledger else None
        self._latency = float(os.environ.get("SCRIPTED_LATENCY", "0"))
        self._fault = json.loads(os.environ.get("SCRIPTED_FAULT", "{}"))
        self._requests = 0

    def capabilities(self, model: str) -> Capabilities:
        chooses = bool(os.environ.get("SCRIPTED_CHOOSES"))
        return Capabilities(generate=True, choose=chooses, reason="it only writes")

    def check_model(self, model: str) -> None:
        if model not in ("good", "better"):
            raise NoSuchModel(
                f"scripted has no model {model!r}", hint=nearest(model, ("good", "better"))
            )

    async def models(self) -> Sequence[ModelInfo]:
        return [ModelInfo("good", "A good one", 8192), ModelInfo("better", "A better one", 8192)]

    async def check_key(self) -> str:
        return "scripted needs no key"

    async def answer(self, call: Call) -> Reply:
        digest = call.content_hash.hex()
        self._note("asked", digest)
        self._requests += 1
        self._trip()
        if self._latency:
            await asyncio.sleep(self._latency)
        letter = "ABCD"[int(digest, 16) % 4]
        self._note("answered", digest)
        if call.prompt.kind == "choose":
            numbers = [(int(digest, 16) >> at) % 97 for at in range(len(call.prompt.continuations))]
            return Reply(logprobs=tuple(-number / 7 for number in numbers))
        if self._mood == "refusing":
            return Reply("I would rather not.", Outcome.REFUSED, stop_reason="refusal")
        if self._mood == "mumbling":
            return Reply("hmm", stop_reason="stop")
        return Reply(
            letter,
            stop_reason="stop",
            usage=Usage(input_tokens=150, output_tokens=1),
            provider_model="scripted-good-1",
            request_id="req_" + digest,
            raw={"id": "msg_" + digest, "content": letter, "model": "scripted-good-1"},
        )

    def _trip(self) -> None:
        every = self._fault.get("every")
        if every and self._requests % every == 0:
            kind = getattr(errors, self._fault["class"])
            raise kind("scripted fault", **self._fault.get("fields", {}))

    def _note(self, what: str, digest: str) -> None:
        if self._ledger is not None:
            os.write(self._ledger, f"{what} {digest} {time.time()}\n".encode())

    async def close(self) -> None:
        if self._ledger is not None:
            os.close(self._ledger)
            self._ledger = None


def brevity(reply: str, right: Sequence[str], row: Mapping[str, Any]) -> float:
    """A scorer: one over the number of words."""
    return 1 / max(1, len(reply.split()))
