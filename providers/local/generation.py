"""Answers generated concurrently; a finished one frees its slot at once.

Batches that wait for their longest answer waste most of their work: lengths differ tenfold. Here
every answer has a slot, each step adds one token to all of them, and a freed slot is refilled
before the next step.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable
from itertools import islice

import torch
from torch import Tensor

from evalbench.engine.calls import Prompt
from evalbench.providers.local.attention import BLOCKS, RUNS
from evalbench.providers.local.batch_size import Budget
from evalbench.providers.local.cache import Prefix, Slots
from evalbench.providers.local.loglikelihoods import Answer
from evalbench.providers.local.model import LoadedModel
from evalbench.providers.local.packing import SHORTEST_PREFIX, common
from evalbench.providers.local.passes import prefill, prefill_together
from evalbench.providers.local.prefixes import Prefixes
from evalbench.providers.local.sequences import Sequence
from evalbench.providers.local.single_generation import generate_one
from evalbench.providers.local.tokens import Encoder

_NEIGHBOURS = 64
_ALIKE = 0.75
"""Prompts run together are padded to the longest: the shortest has at least this fraction of it."""
_TOKENS_SAVED = 4 * SHORTEST_PREFIX
"""What a short prefix must save others in all, to be worth a pass of its own: a chat template often
puts a few words before every question."""
_SHORTEST_KEPT = 8
"""A shorter prefix is computed again: prompts that share no more may go together."""


class Generation:
    """The ``generate`` calls that are waiting or being answered."""

    def __init__(
        self,
        model: LoadedModel,
        encoder: Encoder,
        budget: Budget,
        prefixes: Prefixes,
        *,
        share: bool,
        may_cut: bool,
        apart: bool = False,
    ) -> None:
        """Generate with ``model``.

        Args:
            model, encoder, budget, prefixes: what answers, and within which limits.
            share: compute prefixes that prompts have in common only once.
            may_cut: see :class:`.sequences.Sequence`.
            apart: other calls must not change how an answer is computed.
        """
        self.tokens_asked = 0
        self._apart = apart
        self._may_cut = may_cut
        self._model = model
        self._encoder = encoder
        self._budget = budget
        self._prefixes = prefixes
        self._share = share
        self._ends = end_tokens(model)
        self._waiting: deque[Sequence] = deque()
        self._active: list[Sequence] = []
        self._slots = self._no_slots()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._active)

    def __contains__(self, key: str) -> bool:
        return any(one.key == key for one in (*self._active, *self._waiting))

    def add(self, key: str, prompt: Prompt) -> None:
        """Accept a call.

        Raises:
            CallRejected: it cannot be answered (:class:`ContextTooLong` if it is too long); nothing
                was accepted.
        """
        encoded = self._encoder.prompt(prompt)
        model = self._model
        sequence = Sequence(
            key,
            encoded,
            prompt.params,
            model.tokenizer,
            model.context_tokens,
            may_cut=self._may_cut,
        )
        self.tokens_asked += len(sequence.prompt.tokens)
        self._waiting.append(sequence)

    def cancel(self, keys: Collection[str]) -> list[str]:
        """Drop calls, all of them if ``keys`` is empty; returns those that were in progress."""
        cancelled = [
            one.key for one in (*self._active, *self._waiting) if not keys or one.key in keys
        ]
        self._waiting = deque(one for one in self._waiting if one.key not in cancelled)
        for slot in reversed(range(len(self._active))):
            if self._active[slot].key in cancelled:
                self._free(slot)
        return cancelled

    def step(self) -> list[Answer]:
        """Start one waiting answer if there is room, else add a token to every active one.

        Raises:
            RuntimeError, MemoryError: memory ran out; call :meth:`retreat`.
        """
        if not self._model.packs:
            return self._alone()
        if self._waiting and self._has_room(self._waiting[0]):
            return self._start()
        return self._decode()

    def retreat(self) -> list[str]:
        """Free all slots after memory ran out; returns the affected calls.

        Tokens generated so far are kept and later computed as part of the prompt; with ``apart``
        they are generated again.
        """
        touched = [one.key for one in self._active] or [one.key for one in list(self._waiting)[:1]]
        if self._apart:
            for one in self._active:
                one.restart()
        self._waiting.extendleft(reversed(self._active))
        self._active = []
        self._slots = self._no_slots()
        return touched

    def _no_slots(self) -> Slots:
        return Slots(self._budget.slots, self._model.layers, apart=self._model.blocks)

    def _has_room(self, *more: Sequence) -> bool:
        """Whether these fit in addition to the active ones."""
        together = (*self._active, *more)
        if len(together) == 1:
            return True
        lengths = [len(one.prompt.tokens) + one.most for one in together]
        # Outside of blocks, slots are rows of equal width.
        needed = sum(lengths) if self._model.blocks else max(lengths) * len(together)
        return len(together) <= self._slots.count and needed <= self._budget.resident

    def _start(self) -> list[Answer]:
        """Compute the first waiting prompt, and similar ones, and their first tokens."""
        first = self._waiting[0]
        shared = self._shared(first)
        prefix = Prefix(())
        if shared:
            prefix = self._prefixes.get(
                first.tokens[:shared], chunk=self._budget.batch, most_tokens=self._budget.resident
            )
        starting = self._alike(first, shared)
        for one in starting:
            one.begin()
        ends = [one.tokens[shared:] for one in starting]
        if len(starting) == 1:
            computed = [prefill(self._model, prefix, ends[0], self._budget.batch)]
        else:
            computed = prefill_together(self._model, prefix, ends)
        for one, (cache, _) in zip(starting, computed, strict=True):
            self._slots.add(cache)
            self._active.append(one)
            self._waiting.remove(one)
        slots = range(len(self._active) - len(starting), len(self._active))
        logits = torch.stack([logits for _, logits in computed])
        return self._advance(slots, logits.argmax(dim=-1), logits)

    def _alike(self, first: Sequence, shared: int) -> list[Sequence]:
        """Waiting answers whose prompts are computed in one pass with the first one's.

        A short prompt alone costs nearly as much as several: the weights are read for each pass.
        They have ``shared`` tokens in common and, where they are padded, about the same length; a
        prompt with the same beginning as yet another one is left for the pass that computes that
        prefix once.
        """
        if self._apart or not self._share:
            return [first]
        near = list(islice(self._waiting, _NEIGHBOURS))
        begins = Counter(one.tokens[: shared + SHORTEST_PREFIX] for one in near)
        found = [first]
        padded = self._model.masked_attention != RUNS
        shortest = longest = total = len(first.tokens) - shared
        for one in near[1:]:
            size = len(one.tokens) - shared
            low, high = min(shortest, size), max(longest, size)
            together = high * (len(found) + 1) if padded else total + size
            if (
                (low >= _ALIKE * high or not padded)
                and together <= self._budget.batch
                and one.prompt.shared - shared < SHORTEST_PREFIX
                and one.tokens[:shared] == first.tokens[:shared]
                and begins[one.tokens[: shared + SHORTEST_PREFIX]] == 1
                and self._prefixes.covered(one.tokens) - shared < SHORTEST_PREFIX
                and self._has_room(*found, one)
            ):
                found.append(one)
                shortest, longest, total = low, high, total + size
        return found

    def _shared(self, sequence: Sequence) -> int:
        """How much of a prompt to read from, or add to, the kept prefixes.

        A prefix is worth keeping if it is marked, or if others begin with it too, more of them the
        shorter it is; a few tokens more than already kept are not worth a pass of their own.
        """
        if not self._share:
            return 0
        tokens = sequence.tokens
        most = len(tokens) - 1
        marked = min(sequence.prompt.shared, most)
        if self._apart:
            return marked if marked >= SHORTEST_PREFIX else 0
        covered = min(self._prefixes.covered(tokens), most)
        others = islice(self._waiting, 1, 1 + _NEIGHBOURS)
        lengths = [min(common(tokens, one.prompt.tokens), most) for one in others]
        longest = max(marked, *lengths, 0)
        if longest - covered >= SHORTEST_PREFIX:
            return longest
        for sharing, length in enumerate(sorted(lengths, reverse=True), 1):
            if (length - covered) * sharing >= _TOKENS_SAVED:
                return length
        return covered if covered >= _SHORTEST_KEPT else 0

    def _decode(self) -> list[Answer]:
        """One more token for every active answer."""
        model, slots = self._model, self._slots
        mask = slots.begin_step(model)
        key_positions = torch.arange(slots.width, device=model.device)[None]
        greedy = all(one.greedy for one in self._active)
        found = model.run(
            model.tensor([[self._active[slot].ids[-1]] for slot in slots.order]),
            slots.at[:, None],
            cache=slots.cache,
            mask=mask,
            key_positions=key_positions,
            attention=BLOCKS if model.blocks else "",
            likeliest=greedy,
        )[:, 0]
        slots.end_step()
        if greedy:
            return self._advance(slots.order, found)
        return self._advance(slots.order, found.argmax(dim=-1), found)

    def _advance(
        self, slots: Iterable[int], likeliest: Tensor, logits: Tensor | None = None
    ) -> list[Answer]:
        """Add the next token to the answer of each slot; frees finished slots.

        Args:
            slots: whose tokens these are.
            likeliest: the likeliest token of each, ``[slots]``.
            logits: where any token is drawn, those of all, ``[slots, vocabulary]``.
        """
        answers: list[Answer] = []
        rows = enumerate(zip(slots, likeliest.tolist(), strict=True))
        # Last slots first: a freed one is taken by the last.
        for row, (slot, token) in sorted(rows, key=lambda one: -one[1][0]):
            sequence = self._active[slot]
            if not sequence.greedy and logits is not None:
                token = sequence.draw(logits[row])
            reply = sequence.take(token, self._ends)
            if reply is not None:
                self.tokens_asked += len(sequence.ids)
                answers.append((sequence.key, reply))
                self._free(slot)
        return answers

    def _alone(self) -> list[Answer]:
        """Generate one answer with the model's own loop, for models that cannot run in slots."""
        sequence = self._waiting[0]
        sequence.begin()
        sequence.restart()
        reply = generate_one(self._model, sequence, self._ends)
        self._waiting.popleft()
        self.tokens_asked += len(sequence.ids)
        return [(sequence.key, reply)]

    def _free(self, slot: int) -> None:
        moved = self._slots.remove(slot)
        self._active[slot] = self._active[moved]
        self._active.pop()
        if self._apart:
            # Wide buffers left behind by an answer would change how the next is computed.
            self._slots = self._no_slots()


def end_tokens(model: LoadedModel) -> frozenset[int]:
    """End-of-answer tokens, from the configuration and tokenizer."""
    configured = getattr(model.network.generation_config, "eos_token_id", None)
    ends = {model.tokenizer.eos_token_id}
    ends |= set(configured) if isinstance(configured, list) else {configured}
    return frozenset(token for token in ends if token is not None)
