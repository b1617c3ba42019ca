"""Log-likelihoods of continuations: common prefixes computed once, everything else packed.

The lm-evaluation-harness runs the whole prompt for every call; here the few-shot block that calls
share is computed once, questions follow it in one row without padding, and only positions that
predict a continuation's token reach the output head.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from dataclasses import dataclass, field

import torch
from torch import Tensor

from evalbench.engine.calls import Prompt, Reply, Usage
from evalbench.engine.errors import CallRejected, ProviderError
from evalbench.providers.local.batch_size import Budget
from evalbench.providers.local.model import LoadedModel
from evalbench.providers.local.packing import Group, Pack, Row, group_rows, pack_rows
from evalbench.providers.local.passes import run_pack, run_padded
from evalbench.providers.local.prefixes import Prefixes
from evalbench.providers.local.sequences import CUT
from evalbench.providers.local.tokens import Encoder

Answer = tuple[str, Reply | ProviderError]


@dataclass(slots=True)
class _Job:
    """One call, and the results for its continuations so far.

    Attributes:
        targets, logprobs, greedy: of each window; only a long text has more than one.
        of: the continuation that each window belongs to.
    """

    key: str
    context: int
    targets: list[tuple[int, ...]]
    logprobs: list[float | None]
    greedy: list[bool]
    of: list[int]
    cut: int = 0
    began: float = field(default_factory=time.monotonic)


class Scoring:
    """The ``choose`` calls waiting for an answer."""

    def __init__(
        self,
        model: LoadedModel,
        encoder: Encoder,
        budget: Budget,
        prefixes: Prefixes,
        *,
        share: bool,
        apart: bool = False,
    ) -> None:
        """Score with ``model``.

        Args:
            model, encoder, budget, prefixes: what scores, and within which limits.
            share: compute prefixes that rows have in common only once.
            apart: never run rows of different calls together.
        """
        self.tokens_asked = 0
        self._apart = apart
        self._model = model
        self._encoder = encoder
        self._budget = budget
        self._prefixes = prefixes
        self._share = share
        self._jobs: dict[str, _Job] = {}
        self._rows: dict[Row, list[tuple[_Job, int]]] = {}
        self._planned: list[Pack] = []

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, key: str) -> bool:
        return key in self._jobs

    def add(self, key: str, prompt: Prompt) -> None:
        """Accept a call.

        Raises:
            CallRejected: it cannot be scored; nothing was accepted.
        """
        context, choices = self._encoder.choices(prompt)
        if not choices:
            raise CallRejected("the call has no continuations to choose from")
        windows = [(at, one) for at, choice in enumerate(choices) for one in choice.windows]
        targets = [one.targets for _, one in windows]
        unknown: list[float | None] = [None] * len(windows)
        job = self._jobs[key] = _Job(
            key,
            context,
            targets,
            unknown,
            [False] * len(windows),
            [at for at, _ in windows],
            max(choice.cut for choice in choices),
        )
        self.tokens_asked += context + sum(len(tokens) - 1 for tokens in targets)
        for index, (_, one) in enumerate(windows):
            row = Row(
                one.tokens,
                len(one.targets),
                one.shared if self._share else 0,
                key if self._apart else "",
            )
            self._rows.setdefault(row, []).append((job, index))

    def cancel(self, keys: Collection[str]) -> list[str]:
        """Drop calls, all of them if ``keys`` is empty; returns those that were waiting."""
        cancelled = [key for key in keys or list(self._jobs) if self._jobs.pop(key, None)]
        for row, users in list(self._rows.items()):
            left = [(job, index) for job, index in users if job.key in self._jobs]
            if left:
                self._rows[row] = left
            else:
                del self._rows[row]
        return cancelled

    def step(self) -> list[Answer]:
        """Run one forward pass over waiting calls and return the calls it answered.

        Raises:
            RuntimeError, MemoryError: memory ran out; call :meth:`retreat`.
        """
        pack = self._next_pack()
        if pack is None:
            return []
        if self._model.packs:
            prefix = self._prefixes.get(
                pack.prefix, chunk=self._budget.batch, most_tokens=self._budget.resident
            )
            read = run_pack(self._model, prefix, pack, self._budget.batch)
        else:
            read = run_padded(self._model, [row for row, _ in pack.reads])
        answers = []
        for row, logits in read:
            answers += self._read(row, logits)
        return answers

    def retreat(self) -> list[str]:
        """Drop the plan after memory ran out; returns the calls it would have answered."""
        planned, self._planned = self._planned, []
        rows = [row for pack in planned[:1] for row, _ in pack.reads]
        return list({job.key for row in rows for job, _ in self._rows.get(row, ())})

    # -- planning ------------------------------------------------------------

    def _next_pack(self) -> Pack | None:
        """The pack to run now; it stays planned until it has been read."""
        while True:
            while self._planned:
                pack = self._planned[0]
                if any(row in self._rows for row, _ in pack.reads):
                    return pack
                self._planned.pop(0)
            if not self._rows:
                return None
            self._planned = self._plan()

    def _plan(self) -> list[Pack]:
        """The packs of the group that is best run next."""
        size = self._budget.batch
        if self._apart:
            return self._plan_call(next(iter(self._rows)).owner, size)
        if not self._model.packs:
            return _padded_batches(list(self._rows), size)
        if not self._share:
            return [pack_rows(Group(0, (row,)), size)[0] for row in self._rows]
        groups = group_rows(list(self._rows), size)
        group = max(groups, key=self._urgency)
        packs = pack_rows(group, size)
        if len(groups) > 1 and len(packs) > 1 and len(packs[-1].tokens) < size // 2:
            # More rows of this group may arrive while the others run.
            packs.pop()
        return packs

    def _plan_call(self, key: str, size: int) -> list[Pack]:
        """The packs of one call, independent of all others."""
        rows = [row for row in self._rows if row.owner == key]
        if not self._model.packs or not self._share:
            return [pack_rows(Group(0, (row,)), size)[0] for row in rows]
        groups = group_rows(rows, size)
        return [pack for group in groups for pack in pack_rows(group, size)]

    def _urgency(self, group: Group) -> tuple[bool, int]:
        tokens = group.rows[0].tokens[: group.prefix]
        computed = bool(tokens) and self._prefixes.covered(tokens) == len(tokens)
        return computed, len(group.rows)

    # -- reading -------------------------------------------------------------

    def _read(self, row: Row, logits: Tensor) -> list[Answer]:
        """Pass a row's logits, ``[take, vocabulary]``, to all continuations that wait for them."""
        users = self._rows.pop(row, None)
        if not users:
            return []
        steps = torch.arange(row.take, device=logits.device)
        wanted = self._model.tensor([job.targets[index] for job, index in users])
        # Rounded as by lm-evaluation-harness: logits less their logsumexp lose digits.
        chosen = logits.log_softmax(dim=-1)[steps, wanted]
        greedy = (logits.argmax(dim=-1) == wanted).all(dim=-1).tolist()
        answers: list[Answer] = []
        values = chosen.sum(-1).tolist()
        for (job, index), value, likeliest in zip(users, values, greedy, strict=True):
            job.logprobs[index] = value
            job.greedy[index] = likeliest
            if None not in job.logprobs:
                del self._jobs[job.key]
                answers.append((job.key, _reply(job)))
        return answers


def _reply(job: _Job) -> Reply | ProviderError:
    logprobs, greedy = [0.0] * (job.of[-1] + 1), [True] * (job.of[-1] + 1)
    for at, value, likeliest in zip(job.of, job.logprobs, job.greedy, strict=True):
        logprobs[at] += value or 0.0
        greedy[at] = greedy[at] and likeliest
    if not all(map(math.isfinite, logprobs)):
        return CallRejected(
            "the model's output is not a number",
            why="its number format cannot hold the values that occur",
            hint="use --dtype float32 (or bfloat16)",
        )
    tokens = job.context + sum(map(len, job.targets))
    return Reply(
        logprobs=tuple(logprobs),
        usage=Usage(input_tokens=tokens, output_tokens=0),
        latency_s=round(time.monotonic() - job.began, 3),
        raw={"greedy": greedy},
        params=(CUT,) if job.cut else (),
        cut_tokens=job.cut,
    )


def _padded_batches(rows: list[Row], size: int) -> list[Pack]:
    """Batches of rows of similar length; a plain run only uses their ``reads``."""
    batches: list[Pack] = []
    for row in sorted(rows, key=lambda row: -len(row.tokens)):
        if not batches or len(batches[-1].reads[0][0].tokens) * (len(batches[-1].reads) + 1) > size:
            batches.append(Pack(()))
        batches[-1].reads.append((row, ()))
    return batches
