"""Keys and values: the only module that touches the cache classes of transformers.

There are two layouts. A :class:`Prefix` holds one computed prefix; any number of forward passes can
continue from it without changing it, also with several independent runs of tokens in one pass.
:class:`Slots` holds many sequences of different lengths in
parallel and grows by one token each per decoding step: as rows of equal width or, on a CPU, in
blocks of similar lengths, so that little padding is read.

Tensors have the shape ``[batch, key/value heads, tokens, head size]``, one pair
per layer.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

from evalbench.providers.local.memory import drop_pages, zeros

if TYPE_CHECKING:
    from evalbench.providers.local.model import LoadedModel

Run = tuple[int, int, tuple[int, ...]]
"""Of a pack, see :class:`Runs`."""
_UNIT, _UNIT_APART = 128, 64
"""Widths are multiples of these many tokens: of one block, and of blocks for similar lengths."""
_ROWS = 8
"""Of a new block, where they are free."""


def cache_argument(model: Any) -> str:
    """The parameter name with which ``model`` takes a cache; it changed within transformers 5."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


@dataclass(frozen=True, slots=True)
class Prefix:
    """A computed prefix: its token ids and, per layer, its keys and values."""

    tokens: tuple[int, ...]
    layers: tuple[tuple[Tensor, Tensor], ...] = ()

    def cut(self, length: int) -> Prefix:
        """The first ``length`` tokens; shares memory with the original."""
        return Prefix(
            self.tokens[:length],
            tuple((keys[:, :, :length], values[:, :, :length]) for keys, values in self.layers),
        )

    @property
    def nbytes(self) -> int:
        """Memory of the keys and values, in bytes."""
        return sum(keys.nbytes + values.nbytes for keys, values in self.layers)


class _Layer(CacheLayerMixin):  # type: ignore[misc]
    """Common to all layouts: a length known from outside, and no bookkeeping of its own."""

    is_sliding = False

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing to prepare."""

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Number of keys that a query of ``query_length`` tokens sees, and their offset."""
        return self.length + query_length, 0

    def get_seq_length(self) -> int:
        """Tokens before the current forward pass."""
        return self.length

    def get_max_length(self) -> int:
        """No limit of its own."""
        return -1


class _BehindPrefix(_Layer):
    """Returns the prefix and the pass's own keys; stores the concatenation only if asked to."""

    def __init__(self, pair: tuple[Tensor, Tensor] | None, length: int, remember: bool) -> None:
        super().__init__(length)
        self._pair = pair
        self._remember = remember
        self.seen: tuple[Tensor, Tensor] | None = None

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """All keys and values visible to the pass."""
        if self._pair is not None:
            keys, values = (one.expand(len(key_states), -1, -1, -1) for one in self._pair)
            key_states = torch.cat((keys, key_states), dim=2)
            value_states = torch.cat((values, value_states), dim=2)
        if self._remember:
            self.seen = key_states, value_states
        return key_states, value_states


def behind(prefix: Prefix, layers: int, *, remember: bool = False) -> Cache:
    """A cache for one pass of a ``layers``-deep model after ``prefix``, which is not changed."""
    pairs = prefix.layers or (None,) * layers
    return Cache(layers=[_BehindPrefix(pair, len(prefix.tokens), remember) for pair in pairs])


class Runs:
    """What :func:`.attention.attend_runs` takes for keys or values of a pack: of each run its own.

    A run is ``(start, end, seen)``: tokens ``start`` to ``end`` of the pack, which follow the
    prefix and the earlier tokens ``seen``.
    """

    def __init__(self, prefix: Tensor | None, own: Tensor, runs: Sequence[Run]) -> None:
        self.runs = runs
        self._prefix = prefix
        self._own = own

    def of(self, run: Run) -> Tensor:
        """All that the last token of a run attends to, ``[heads, tokens, size]``."""
        start, end, seen = run
        own = self._own[0]
        parts = [] if self._prefix is None else [self._prefix[0]]
        if seen:
            parts.append(own[:, list(seen)])
        return torch.cat((*parts, own[:, start:end]), dim=1)


class _RunLayer(_Layer):
    """Keeps the runs of a pack behind a prefix apart; stores the pack's own keys if asked to."""

    def __init__(
        self,
        pair: tuple[Tensor, Tensor] | None,
        length: int,
        runs: Sequence[Run],
        remember: bool,
    ) -> None:
        super().__init__(length)
        self._pair = pair
        self._runs = runs
        self._remember = remember
        self.own: tuple[Tensor, Tensor] | None = None

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Any, Any]:
        """The keys and values of each run."""
        if self._remember:
            self.own = key_states, value_states
        keys, values = self._pair or (None, None)
        return Runs(keys, key_states, self._runs), Runs(values, value_states, self._runs)


def behind_in_runs(
    prefix: Prefix, layers: int, runs: Sequence[Run], *, remember: bool = False
) -> Cache:
    """A cache for the runs of one pack after ``prefix``; attention is ``attend_runs``."""
    pairs = prefix.layers or (None,) * layers
    length = len(prefix.tokens)
    return Cache(layers=[_RunLayer(pair, length, runs, remember) for pair in pairs])


def remembered(cache: Cache, tokens: tuple[int, ...], row: int = 0) -> Prefix:
    """The prefix computed by a pass with ``remember=True``; ``tokens`` is all of it.

    In a batch it is the one in ``row``, without its padding.
    """
    seen = ((keys[row : row + 1], values[row : row + 1]) for keys, values in _seen(cache))
    return Prefix(tokens, tuple(seen)).cut(len(tokens))


def remembered_run(cache: Any, prefix: Prefix, tokens: tuple[int, ...], start: int) -> Prefix:
    """``prefix`` and the run of ``tokens`` at ``start`` of the pack that a pass computed."""
    part = slice(start, start + len(tokens))
    own = [tuple(one[:, :, part] for one in layer.own) for layer in cache.layers]
    if prefix.layers:
        own = [
            tuple(torch.cat(pair, dim=2) for pair in zip(before, after, strict=True))
            for before, after in zip(prefix.layers, own, strict=True)
        ]
    return Prefix(prefix.tokens + tokens, tuple(own))


def _seen(cache: Any) -> Iterator[tuple[Tensor, Tensor]]:
    return (layer.seen for layer in cache.layers)


class Blocks(list[Tensor]):
    """What :func:`.attention.attend_blocks` takes for keys or values: one tensor for each block.

    Attributes:
        masks: what is added to the scores, ``[rows, 1, 1, tokens]`` for each block.
    """

    masks: list[Tensor]


class _Block:
    """Sequences in buffers of one width; the rows in use are always the first.

    Attributes:
        room: width of the buffers in tokens.
        slots: which slot each row holds.
        layers: keys and values of each layer.
        rows: the numbers of the rows in use.
        at: where the step writes in each of them.
        width: tokens of the longest sequence, the step's included.
    """

    def __init__(self, room: int, most: int) -> None:
        self.room = room
        self._most = most
        self.slots: list[int] = []
        self.layers: list[tuple[Tensor, Tensor]] = []
        self.rows = self.at = torch.empty(0, dtype=torch.long)
        self.width = 0

    def add(self, slot: int, layers: Iterable[tuple[Tensor, Tensor]], length: int) -> None:
        """Copy the first ``length`` tokens of a sequence, ``[1, heads, tokens, size]``."""
        row = len(self.slots)
        for index, pair in enumerate(layers):
            # In main memory, rows that nothing was written to take none.
            free = pair[0].device.type == "cpu"
            if index == len(self.layers):
                self.layers.append(self._empty(pair, min(self._most, _ROWS) if free else 1))
            if row >= len(self.layers[index][0]):
                rows = min(self._most, row + (row if free else row // 4 + 1))
                self.layers[index] = self._resized(self.layers[index], rows)
            for buffer, one in zip(self.layers[index], pair, strict=True):
                buffer[row, :, :length] = one[0, :, :length]
        self.slots.append(slot)

    def remove(self, slot: int) -> None:
        """Free a row; the last one moves into it."""
        row = self.slots.index(slot)
        last = self.slots.pop()
        for buffer in (buffer for pair in self.layers for buffer in pair):
            if last != slot:
                buffer[row] = buffer[len(self.slots)]
            drop_pages(buffer[len(self.slots)])
        if last != slot:
            self.slots[row] = last

    def of(self, slot: int) -> Iterator[tuple[Tensor, Tensor]]:
        """The keys and values of one sequence, by layer."""
        row = self.slots.index(slot)
        return ((keys[row : row + 1], values[row : row + 1]) for keys, values in self.layers)

    def widen(self, room: int) -> None:
        """Make the buffers ``room`` tokens wide."""
        self.room = room
        # One layer after the other: the old and the new buffers of all would take twice the memory.
        for index, pair in enumerate(self.layers):
            self.layers[index] = self._resized(pair, len(pair[0]))

    def _resized(self, pair: tuple[Tensor, Tensor], rows: int) -> tuple[Tensor, Tensor]:
        resized = self._empty(pair, rows)
        for new, old in zip(resized, pair, strict=True):
            used = len(self.slots)
            new[:used, :, : old.shape[2]] = old[:used]
        return resized

    def _empty(self, pair: tuple[Tensor, Tensor], rows: int) -> tuple[Tensor, Tensor]:
        keys, values = (
            zeros((rows, one.shape[1], self.room, one.shape[3]), like=one) for one in pair
        )
        return keys, values


class _ColumnBlock(_Block):
    """Keys are stored by column, which makes products with one query twice as fast on a CPU."""

    def _empty(self, pair: tuple[Tensor, Tensor], rows: int) -> tuple[Tensor, Tensor]:
        keys, values = pair
        by_column = zeros((rows, keys.shape[1], keys.shape[3], self.room), like=keys)
        by_row = zeros((rows, values.shape[1], self.room, values.shape[3]), like=values)
        return by_column.transpose(2, 3), by_row


class _SlotLayer(_Layer):
    """One layer of :class:`Slots`."""

    def __init__(self, slots: Slots, index: int) -> None:
        super().__init__(0)
        self._slots = slots
        self._index = index

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Any, Any]:
        """Write one token per active slot and return everything up to the longest slot."""
        start = 0
        found = Blocks(), Blocks()
        for block in self._slots.blocks:
            rows = len(block.slots)
            pair = block.layers[self._index]
            # With several cards, each layer is on its own.
            numbers, at = block.rows.to(pair[0].device), block.at.to(pair[0].device)
            for buffer, states, views in zip(pair, (key_states, value_states), found, strict=True):
                buffer[numbers, :, at] = states[start : start + rows, :, 0]
                views.append(buffer[:rows, :, : block.width])
            start += rows
        keys, values = found
        if not self._slots.apart:
            return keys[0], values[0]
        keys.masks = self._slots.masks
        return keys, values


class Slots:
    """Keys and values of up to ``count`` sequences of different lengths.

    ``lengths`` holds the number of tokens per slot. The sequences are rows of one block as wide as
    the longest or, ``apart``, of blocks for similar lengths; then attention is
    :func:`.attention.attend_blocks`.

    Attributes:
        order: the slots in the order in which a step takes and returns them.
        at: their lengths before the step.
        masks: see :class:`Blocks`.
    """

    def __init__(self, count: int, layers: int, *, apart: bool = False, unit: int = 0) -> None:
        self.count = count
        self.apart = apart
        self.lengths: list[int] = []
        self.blocks: list[_Block] = []
        self.masks: list[Tensor] = []
        self.order: list[int] = []
        self.at = torch.empty(0, dtype=torch.long)
        self._unit = unit or (_UNIT_APART if apart else _UNIT)
        self.cache = Cache(layers=[_SlotLayer(self, index) for index in range(layers)])

    @property
    def width(self) -> int:
        """Tokens of the longest sequence, the step's included."""
        return max(block.width for block in self.blocks)

    def add(self, prompt: Prefix) -> int:
        """Add a computed prompt; returns its slot."""
        slot, length = len(self.lengths), len(prompt.tokens)
        self.lengths.append(length)
        self._block(length + 1).add(slot, prompt.layers, length)
        return slot

    def remove(self, slot: int) -> int:
        """Free ``slot``; the last sequence takes its number. Returns the slot that it had."""
        self._leave(self._of(slot), slot)
        last = len(self.lengths) - 1
        if slot != last:
            block = self._of(last)
            block.slots[block.slots.index(last)] = slot
            self.lengths[slot] = self.lengths[last]
        self.lengths.pop()
        return last

    def begin_step(self, model: LoadedModel) -> Tensor | None:
        """Make room for one more token in every active slot.

        Returns:
            Which keys each slot may attend to, ``[slots, 1, 1, tokens]``, bool; None if ``apart``.
        """
        device = model.device
        for slot, length in enumerate(self.lengths):
            if length + 1 > self._of(slot).room:
                self._move(slot, length)
        self.order = [slot for block in self.blocks for slot in block.slots]
        self.at = torch.tensor([self.lengths[slot] for slot in self.order], device=device)
        self.masks = []
        start = 0
        for block in self.blocks:
            block.rows = torch.arange(len(block.slots), device=device)
            block.at = self.at[start : start + len(block.slots)]
            start += len(block.slots)
            # oneDNN, which multiplies in 16 bits, would copy a part of a buffer first.
            whole = self.apart and model.dtype.itemsize == 2
            longest = max(self.lengths[slot] for slot in block.slots) + 1
            block.width = block.room if whole else longest
            seen = (torch.arange(block.width, device=device) <= block.at[:, None])[:, None, None]
            if not self.apart:
                return seen
            nothing = torch.zeros(seen.shape, dtype=model.dtype, device=device)
            self.masks.append(nothing.masked_fill_(~seen, -torch.inf))
        return None

    def end_step(self) -> None:
        """Count the token that the step has written."""
        self.lengths = [length + 1 for length in self.lengths]

    def _of(self, slot: int) -> _Block:
        return next(block for block in self.blocks if slot in block.slots)

    def _block(self, tokens: int) -> _Block:
        """A block with room for a sequence of that many tokens."""
        room = self._room(tokens)
        if not self.apart and self.blocks:
            if room > self.blocks[0].room:
                self.blocks[0].widen(room)
            return self.blocks[0]
        for block in self.blocks:
            if block.room == room:
                return block
        kind = _ColumnBlock if self.apart else _Block
        self.blocks.append(kind(room, self.count))
        return self.blocks[-1]

    def _move(self, slot: int, length: int) -> None:
        """Give a sequence more room."""
        if not self.apart:
            self._block(length + 1)
            return
        block = self._of(slot)
        self._block(length + 1).add(slot, block.of(slot), length)
        self._leave(block, slot)

    def _leave(self, block: _Block, slot: int) -> None:
        block.remove(slot)
        if not block.slots:
            self.blocks.remove(block)

    def _room(self, tokens: int) -> int:
        """A multiple of the unit, which doubles with the length from eight units on."""
        unit = self._unit
        if self.apart:
            unit <<= (tokens // (8 * unit)).bit_length()
        return -(-tokens // unit) * unit
